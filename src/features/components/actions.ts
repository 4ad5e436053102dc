import { assert } from '../../kernel/assert.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { PathParams } from '../../platform/http/operation.ts'
import { recordKind } from '../../platform/http/record.ts'
import { checkCurrenciesHeld } from '../currencies/held.ts'
import { recordChange } from '../events/record.ts'
import { checkPackageGroup, packageGroupGone } from '../package-groups/reference.ts'
import { checkMonths } from '../packages/rules.ts'
import {
  type Component,
  type ComponentInput,
  type ComponentTree,
  deleteComponent,
  findComponent,
  insertComponent,
  isComponentUsed,
  listComponentTrees,
  listComponentVersions,
  lockComponent,
  lockComponentVersions,
  updateComponent,
} from './queries.ts'
import { type CurrencyInput, frozenFields, readCurrencies } from './rules.ts'
import { insertComponentVersion, insertVersionCurrencies } from './version-queries.ts'
import {
  type ComponentBody,
  componentEtag,
  componentFromWire,
  componentShape,
  type CurrencyBody,
  type FirstVersionBody,
  type NewComponentBody,
} from './wire.ts'

export const componentKind = recordKind({
  code: 'component',
  name: 'component',
  param: 'componentID',
  path: '/v1/components',
  out: componentShape,
  idOf: ({ owner }) => owner.id,
  find: async (db, { account }, id) => {
    const [owner, versions] = await Promise.all([
      findComponent(db, account.id, id),
      listComponentVersions(db, account.id, { componentIds: [id] }),
    ])
    return owner && { owner, versions }
  },
  lock: async (tx, _context, id) => {
    const owner = await lockComponent(tx, tx.account, id)
    if (!owner) return undefined
    await lockComponentVersions(tx, tx.account, id)
    return (await listComponentTrees(tx, tx.account, [owner]))[0]
  },
  etag: ({ owner }) => componentEtag(owner),
})

export async function foundComponent(
  db: Queryable,
  { account }: RequestContext,
  params: PathParams,
): Promise<Component> {
  const id = componentKind.pathId(params)
  const found = await findComponent(db, account.id, id)
  if (!found) throw componentKind.unknown(id)
  return found
}

export async function lockedComponent(tx: Transaction, params: PathParams): Promise<Component> {
  const id = componentKind.pathId(params)
  const found = await lockComponent(tx, tx.account, id)
  if (!found) throw componentKind.unknown(id)
  return found
}

export async function checkComponentBody(
  tx: Transaction,
  body: Partial<ComponentBody>,
  problems: Problems,
): Promise<void> {
  checkMonths(body.Term, body.TermType, 'Term', problems)
  await checkPackageGroup(tx, body.packageGroupID, problems)
}

/** Reads prices, checked on their own and against the account's currencies; undefined when none were sent. */
export async function resolveCurrencies(
  tx: Transaction,
  bodies: readonly Partial<CurrencyBody>[] | null | undefined,
  path: string,
  problems: Problems,
): Promise<CurrencyInput[] | undefined> {
  if (!bodies) return undefined
  await checkCurrenciesHeld(tx, bodies, path, problems)
  return readCurrencies(bodies, path, problems)
}

const refusals = (wanted: ComponentInput) => ({
  components_code_key: () =>
    conflict(
      'component_code_taken',
      `Another component has the ComponentCode ${JSON.stringify(wanted.code)} (letter case does not count).`,
      'ComponentCode',
    ),
  components_group_fkey: () => packageGroupGone(wanted.groupId),
})

/** Adds a component with its first version. Rule: that one is the default, and active. */
export async function addComponent(
  tx: Transaction,
  context: RequestContext,
  body: NewComponentBody & { ComponentVersion: FirstVersionBody },
  currencies: readonly CurrencyInput[],
): Promise<ComponentTree> {
  const wanted = componentFromWire(body, { code: body.ComponentCode, glCode: null })
  const component = await refuseOn(insertComponent(tx, tx.account, wanted, 1), refusals(wanted))
  const first = { ownerId: component.id, versionNo: 1, isDefault: true, isActive: true }
  const versionId = await insertComponentVersion(tx, tx.account, { ...first, name: body.ComponentVersion.VersionName })
  await insertVersionCurrencies(tx, tx.account, versionId, currencies)
  return recordWritten(tx, context, 'component.created', component)
}

/** Reads a component with its versions as it now is, and records its event. */
async function recordWritten(
  tx: Transaction,
  context: RequestContext,
  type: 'component.created' | 'component.updated',
  owner: Component,
): Promise<ComponentTree> {
  const [row] = await listComponentTrees(tx, tx.account, [owner])
  assert(row, `component ${owner.id} exists`)
  await recordChange(tx, context, componentKind, { type, row })
  return row
}

/** Replaces the fields of a component; one that any subscription ever named keeps how it is counted and charged. */
export async function editComponent(
  tx: Transaction,
  context: RequestContext,
  present: Component,
  body: ComponentBody,
): Promise<ComponentTree> {
  const edited = { ...present, ...componentFromWire(body, present) }
  const frozen = frozenFields(present, edited)
  if (frozen.length > 0 && (await isComponentUsed(tx, tx.account, present.id)))
    throw conflict(
      'component_used',
      `The component ${present.id} is in use by subscriptions: ${sentenceList(frozen)} cannot change. Add a new component instead.`,
      frozen[0],
    )
  await refuseOn(updateComponent(tx, tx.account, edited), refusals(edited))
  return recordWritten(tx, context, 'component.updated', edited)
}

/** Deletes a component with all its versions; one that any subscription ever named stays. */
export async function removeComponent(tx: Transaction, context: RequestContext, tree: ComponentTree): Promise<void> {
  const component = tree.owner
  if (await isComponentUsed(tx, tx.account, component.id))
    throw conflict(
      'component_used',
      `The component ${component.id} cannot be deleted: subscriptions name it. Make it inactive instead.`,
      'componentID',
    )
  await deleteComponent(tx, tx.account, component.id)
  await recordChange(tx, context, componentKind, { type: 'component.deleted', row: tree })
}
