import { assert } from '../../kernel/assert.ts'
import { conflict, missing } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import type { EventType } from '../events/queries.ts'
import { recordEvent } from '../events/record.ts'
import { lockedPackageTree, type PackageTree } from './actions.ts'
import { listPackageVersions, listUsedVersions, type PackageVersion, updatePackage } from './queries.ts'
import {
  becomesDefault,
  checkCanBeSpared,
  defaultAfterEdit,
  planRates,
  type RateInput,
  type VersionPlan,
} from './rules.ts'
import {
  applyVersionPlan,
  deletePackageVersion,
  insertPackageVersion,
  insertRates,
  unsetDefaultVersion,
  updatePackageVersion,
} from './version-queries.ts'
import { type NewPackageVersionBody, type PackageVersionBody, PackageVersionOut, packageVersionToWire } from './wire.ts'

export const unknownVersion = (packageId: bigint) => (versionNo: bigint | string) =>
  missing('package_version_unknown', `The package ${packageId} has no version ${versionNo}.`, 'versionno')

/** A version within its package, both locked. */
export interface VersionInTree extends PackageTree {
  version: PackageVersion
}

export async function lockedVersion(
  tx: Transaction,
  context: RequestContext,
  packageId: bigint,
  versionNo: bigint,
): Promise<VersionInTree> {
  const tree = await lockedPackageTree(tx, context, packageId)
  const version = tree.versions.find((one) => BigInt(one.versionNo) === versionNo)
  if (!version) throw unknownVersion(packageId)(versionNo)
  return { ...tree, version }
}

const currenciesOf = (rates: readonly { currency: string }[]): string[] => rates.map(({ currency }) => currency)
const ownerOf = ({ package: owner }: PackageTree): string => `package ${owner.id}`
const defaultOf = ({ versions }: PackageTree) => versions.find(({ isDefault }) => isDefault)

/** Adds a version under the next number; it takes the default only where the rule lets it. */
export async function addVersion(
  tx: Transaction,
  context: RequestContext,
  tree: PackageTree,
  body: NewPackageVersionBody,
  rates: readonly RateInput[],
): Promise<{ version: PackageVersion; json: string }> {
  const { account } = tx
  const versionNo = tree.package.lastVersionNo + 1
  const present = defaultOf(tree)
  const wanted = { isDefault: body.isDefault, isActive: body.isActive, currencies: currenciesOf(rates) }
  const isDefault = becomesDefault(wanted, currenciesOf(present?.rates ?? []))
  await updatePackage(tx, account, { ...tree.package, lastVersionNo: versionNo })
  if (isDefault) await unsetDefaultVersion(tx, account, tree.package.id)
  const id = await insertPackageVersion(tx, account, {
    packageId: tree.package.id,
    versionNo,
    name: body.VersionName,
    isDefault,
    isActive: body.isActive,
  })
  await insertRates(tx, account, id, rates)
  const version = await readVersion(tx, context, tree.package.id, versionNo)
  const json = await recordVersion(tx, context, 'package_version.created', version)
  if (isDefault && present)
    await recordVersion(tx, context, 'package_version.updated', { ...present, isDefault: false })
  return { version, json }
}

async function readVersion(
  tx: Transaction,
  context: RequestContext,
  packageId: bigint,
  versionNo: number,
): Promise<PackageVersion> {
  const choice = { packageId, versionNo: BigInt(versionNo) }
  const [version] = await listPackageVersions(tx, tx.account, choice, context.moment.today)
  assert(version, `version ${versionNo} of package ${packageId} exists`)
  return version
}

async function recordVersion(
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  version: PackageVersion,
): Promise<string> {
  const record = PackageVersionOut.write(packageVersionToWire(version))
  await recordEvent(tx, context, { type, recordId: version.id, record })
  return record
}

export async function editVersion(
  tx: Transaction,
  context: RequestContext,
  present: VersionInTree,
  body: PackageVersionBody,
  wanted: readonly RateInput[] | undefined,
): Promise<PackageVersion> {
  const { version } = present
  const isDefault = defaultAfter(present, body, wanted)
  const plan = wanted && planRates(version.rates, wanted)
  if (plan) await checkFrozen(tx, version, plan)
  const losing = isDefault && !version.isDefault ? defaultOf(present) : undefined
  if (losing) await unsetDefaultVersion(tx, tx.account, version.packageId)
  await updatePackageVersion(tx, tx.account, {
    id: version.id,
    name: body.VersionName,
    isDefault,
    isActive: body.isActive,
  })
  if (plan) await applyVersionPlan(tx, tx.account, version.id, plan)
  const edited = await readVersion(tx, context, version.packageId, version.versionNo)
  await recordVersion(tx, context, 'package_version.updated', edited)
  if (losing) await recordVersion(tx, context, 'package_version.updated', { ...losing, isDefault: false })
  return edited
}

function defaultAfter(
  present: VersionInTree,
  body: PackageVersionBody,
  wanted: readonly RateInput[] | undefined,
): boolean {
  const { version, versions } = present
  const { isDefault, isActive } = body
  const currencies = currenciesOf(wanted ?? version.rates)
  const held = currenciesOf(defaultOf(present)?.rates ?? [])
  return defaultAfterEdit(ownerOf(present), version, versions.length, { isDefault, isActive, currencies }, held)
}

/** A version that subscriptions name keeps its fees, prices and trial: what they were sold stays what they are billed. */
async function checkFrozen(tx: Transaction, version: PackageVersion, plan: VersionPlan): Promise<void> {
  const [first] = plan.frozen
  if (first === undefined || (await listUsedVersions(tx, tx.account, [version.id])).length === 0) return
  throw conflict(
    'package_version_used',
    `Version ${version.versionNo} of package ${version.packageId} is in use by subscriptions: ${sentenceList(plan.frozen)} ` +
      'cannot change. Add a new version instead.',
    'packageVersionRates',
  )
}

/** Deletes a version that no subscription ever named and that the package can do without. */
export async function removeVersion(tx: Transaction, context: RequestContext, present: VersionInTree): Promise<void> {
  const { version, versions } = present
  checkCanBeSpared(ownerOf(present), version, versions.length)
  if ((await listUsedVersions(tx, tx.account, [version.id])).length > 0)
    throw conflict(
      'package_version_used',
      `Version ${version.versionNo} of package ${version.packageId} is named by subscriptions and cannot be deleted; ` +
        'make it inactive instead.',
      'versionno',
    )
  await deletePackageVersion(tx, tx.account, version.id)
  await recordVersion(tx, context, 'package_version.deleted', version)
}
