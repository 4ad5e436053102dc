import { conflict, missing, type Problems } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { checkCurrenciesHeld } from '../currencies/held.ts'
import { recordEvent } from '../events/record.ts'
import { checkPackageGroup, packageGroupGone } from '../package-groups/reference.ts'
import { checkMonths } from '../packages/rules.ts'
import {
  type Component,
  type ComponentInput,
  type ComponentVersion,
  deleteComponent,
  findComponent,
  insertComponent,
  isComponentUsed,
  listComponentVersions,
  lockComponent,
  lockComponentVersions,
  updateComponent,
} from './queries.ts'
import { type CurrencyInput, frozenFields, readCurrencies } from './rules.ts'
import { insertComponentVersion, insertVersionCurrencies } from './version-queries.ts'
import {
  type ComponentBody,
  componentFromWire,
  ComponentOut,
  componentToWire,
  type CurrencyBody,
  type FirstVersionBody,
  type NewComponentBody,
} from './wire.ts'

export const unknownComponent = (id: bigint | string) =>
  missing('component_unknown', `There is no component ${id}.`, 'componentID')

export async function foundComponent(db: Queryable, account: AccountId, id: bigint): Promise<Component> {
  const found = await findComponent(db, account, id)
  if (!found) throw unknownComponent(id)
  return found
}

export async function lockedComponent(tx: Transaction, id: bigint): Promise<Component> {
  const found = await lockComponent(tx, tx.account, id)
  if (!found) throw unknownComponent(id)
  return found
}

export interface ComponentTree {
  component: Component
  versions: ComponentVersion[]
}

/** A component and all its versions, locked: no subscription can start to use one of them until the commit. */
export async function lockedComponentTree(tx: Transaction, id: bigint): Promise<ComponentTree> {
  const component = await lockedComponent(tx, id)
  await lockComponentVersions(tx, tx.account, id)
  return { component, versions: await listComponentVersions(tx, tx.account, { componentIds: [id] }) }
}

export async function checkComponentBody(
  tx: Transaction,
  body: Partial<ComponentBody>,
  problems: Problems,
): Promise<void> {
  checkMonths(body.Term, body.TermType, 'Term', problems)
  await checkPackageGroup(tx, body.packageGroupID, problems)
}

/** Reads prices, checked by themselves and against the account's currencies; undefined when none were sent. */
export async function chooseCurrencies(
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
): Promise<{ component: Component; json: string }> {
  const wanted = componentFromWire(body, body.ComponentCode)
  const component = await refuseOn(insertComponent(tx, tx.account, wanted, 1), refusals(wanted))
  const first = { componentId: component.id, versionNo: 1, isDefault: true, isActive: true }
  const versionId = await insertComponentVersion(tx, tx.account, { ...first, name: body.ComponentVersion.VersionName })
  await insertVersionCurrencies(tx, tx.account, versionId, currencies)
  const json = await writtenComponent(tx, component)
  await recordEvent(tx, context, { type: 'component.created', recordId: component.id, record: json })
  return { component, json }
}

async function writtenComponent(tx: Transaction, component: Component): Promise<string> {
  const versions = await listComponentVersions(tx, tx.account, { componentIds: [component.id] })
  return ComponentOut.write(componentToWire(component, versions))
}

/** Replaces the fields of a component; one that any subscription ever named keeps how it is counted and charged. */
export async function editComponent(
  tx: Transaction,
  context: RequestContext,
  present: Component,
  body: ComponentBody,
): Promise<Component> {
  const edited = { ...present, ...componentFromWire(body, present.code) }
  const frozen = frozenFields(present, edited)
  if (frozen.length > 0 && (await isComponentUsed(tx, tx.account, present.id)))
    throw conflict(
      'component_used',
      `The component ${present.id} is in use by subscriptions: ${sentenceList(frozen)} cannot change. Add a new component instead.`,
      frozen[0],
    )
  await refuseOn(updateComponent(tx, tx.account, edited), refusals(edited))
  const record = await writtenComponent(tx, edited)
  await recordEvent(tx, context, { type: 'component.updated', recordId: edited.id, record })
  return edited
}

/** Deletes a component with all its versions; one that any subscription ever named stays. */
export async function removeComponent(tx: Transaction, context: RequestContext, tree: ComponentTree): Promise<void> {
  const { component, versions } = tree
  if (await isComponentUsed(tx, tx.account, component.id))
    throw conflict(
      'component_used',
      `The component ${component.id} cannot be deleted: subscriptions name it. Make it inactive instead.`,
      'componentID',
    )
  await deleteComponent(tx, tx.account, component.id)
  const record = ComponentOut.write(componentToWire(component, versions))
  await recordEvent(tx, context, { type: 'component.deleted', recordId: component.id, record })
}
