import { assert } from '../../kernel/assert.ts'
import { conflict, missing } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import type { EventType } from '../events/queries.ts'
import { recordEvent } from '../events/record.ts'
import { becomesDefault, checkCanBeSpared, defaultAfterEdit } from '../packages/rules.ts'
import { type ComponentTree, lockedComponentTree } from './actions.ts'
import { type ComponentVersion, isComponentVersionUsed, listComponentVersions, updateComponent } from './queries.ts'
import { type CurrencyInput, planPrices, type PricesPlan } from './rules.ts'
import {
  applyPricesPlan,
  deleteComponentVersion,
  insertComponentVersion,
  insertVersionCurrencies,
  unsetDefaultVersion,
  updateComponentVersion,
} from './version-queries.ts'
import {
  type ComponentVersionBody,
  ComponentVersionOut,
  componentVersionToWire,
  type NewComponentVersionBody,
} from './wire.ts'

export const unknownVersion = (componentId: bigint) => (versionNo: bigint | string) =>
  missing('component_version_unknown', `The component ${componentId} has no version ${versionNo}.`, 'versionno')

/** A version within its component, both locked. */
export interface VersionInTree extends ComponentTree {
  version: ComponentVersion
}

export async function lockedVersion(tx: Transaction, componentId: bigint, versionNo: bigint): Promise<VersionInTree> {
  const tree = await lockedComponentTree(tx, componentId)
  const version = tree.versions.find((one) => BigInt(one.versionNo) === versionNo)
  if (!version) throw unknownVersion(componentId)(versionNo)
  return { ...tree, version }
}

const codesOf = (currencies: readonly { currency: string }[]): string[] => currencies.map(({ currency }) => currency)
const defaultOf = ({ versions }: ComponentTree) => versions.find(({ isDefault }) => isDefault)
const ownerOf = ({ component }: ComponentTree): string => `component ${component.id}`

/** Adds a version under the next number; it takes the default only where the rule lets it. */
export async function addVersion(
  tx: Transaction,
  context: RequestContext,
  tree: ComponentTree,
  body: NewComponentVersionBody,
  currencies: readonly CurrencyInput[],
): Promise<{ version: ComponentVersion; json: string }> {
  const { account } = tx
  const { component } = tree
  const versionNo = component.lastVersionNo + 1
  const losing = defaultOf(tree)
  const { isActive } = body
  const wanted = { isDefault: body.isDefault, isActive, currencies: codesOf(currencies) }
  const isDefault = becomesDefault(wanted, codesOf(losing?.currencies ?? []))
  await updateComponent(tx, account, { ...component, lastVersionNo: versionNo })
  if (isDefault) await unsetDefaultVersion(tx, account, component.id)
  const added = { componentId: component.id, versionNo, name: body.VersionName, isDefault, isActive }
  const id = await insertComponentVersion(tx, account, added)
  await insertVersionCurrencies(tx, account, id, currencies)
  const version = await readVersion(tx, component.id, versionNo)
  const json = await recordVersion(tx, context, 'component_version.created', version)
  if (isDefault && losing)
    await recordVersion(tx, context, 'component_version.updated', { ...losing, isDefault: false })
  return { version, json }
}

async function readVersion(tx: Transaction, componentId: bigint, versionNo: number): Promise<ComponentVersion> {
  const [version] = await listComponentVersions(tx, tx.account, { componentId, versionNo: BigInt(versionNo) })
  assert(version, `version ${versionNo} of component ${componentId} exists`)
  return version
}

async function recordVersion(
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  version: ComponentVersion,
): Promise<string> {
  const record = ComponentVersionOut.write(componentVersionToWire(version))
  await recordEvent(tx, context, { type, recordId: version.id, record })
  return record
}

/** Replaces a version; an absent isDefault and absent prices stay as they are. */
export async function editVersion(
  tx: Transaction,
  context: RequestContext,
  present: VersionInTree,
  body: ComponentVersionBody,
  wanted: readonly CurrencyInput[] | undefined,
): Promise<ComponentVersion> {
  const { version } = present
  const { account } = tx
  const isDefault = defaultAfter(present, body, codesOf(wanted ?? version.currencies))
  const plan = wanted && planPrices(version.currencies, wanted)
  if (plan) await checkFrozen(tx, version, plan)
  const losing = isDefault && !version.isDefault ? defaultOf(present) : undefined
  if (losing) await unsetDefaultVersion(tx, account, version.componentId)
  const { VersionName: name, isActive } = body
  await updateComponentVersion(tx, account, { id: version.id, name, isDefault, isActive })
  if (plan) await applyPricesPlan(tx, account, version.id, plan)
  const edited = await readVersion(tx, version.componentId, version.versionNo)
  await recordVersion(tx, context, 'component_version.updated', edited)
  if (losing) await recordVersion(tx, context, 'component_version.updated', { ...losing, isDefault: false })
  return edited
}

function defaultAfter(present: VersionInTree, body: ComponentVersionBody, currencies: readonly string[]): boolean {
  const { version, versions } = present
  const wanted = { isDefault: body.isDefault ?? version.isDefault, isActive: body.isActive, currencies }
  const held = codesOf(defaultOf(present)?.currencies ?? [])
  return defaultAfterEdit(ownerOf(present), version, versions.length, wanted, held)
}

/** A version that subscriptions name keeps its prices: what they were sold stays what they are billed. */
async function checkFrozen(tx: Transaction, version: ComponentVersion, plan: PricesPlan): Promise<void> {
  if (plan.frozen.length === 0 || !(await isComponentVersionUsed(tx, tx.account, version.id))) return
  throw conflict(
    'component_version_used',
    `Version ${version.versionNo} of component ${version.componentId} is in use by subscriptions: ${sentenceList(plan.frozen)} ` +
      'cannot change. Add a new version instead.',
    'ComponentVersionCurrencies',
  )
}

/** Deletes a version that no subscription ever named and that the component can do without. */
export async function removeVersion(tx: Transaction, context: RequestContext, present: VersionInTree): Promise<void> {
  const { version, versions } = present
  checkCanBeSpared(ownerOf(present), version, versions.length)
  if (await isComponentVersionUsed(tx, tx.account, version.id))
    throw conflict(
      'component_version_used',
      `Version ${version.versionNo} of component ${version.componentId} is named by subscriptions and cannot be deleted; ` +
        'make it inactive instead.',
      'versionno',
    )
  await deleteComponentVersion(tx, tx.account, version.id)
  await recordVersion(tx, context, 'component_version.deleted', version)
}
