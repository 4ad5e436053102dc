import { conflict, missing, type Problems } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { checkCurrenciesHeld } from '../currencies/held.ts'
import { recordEvent } from '../events/record.ts'
import { packageGroupGone } from '../package-groups/reference.ts'
import {
  deletePackage,
  findPackage,
  insertPackage,
  listPackageVersions,
  listUsedVersions,
  lockPackage,
  lockPackageVersions,
  type Package,
  type PackageVersion,
  updatePackage,
} from './queries.ts'
import { type RateInput, readRates } from './rules.ts'
import { insertPackageVersion, insertRates } from './version-queries.ts'
import {
  type NewPackageVersionBody,
  type PackageBody,
  packageFromWire,
  PackageOut,
  packageToWire,
  type RateBody,
} from './wire.ts'

export const unknownPackage = (id: bigint | string) =>
  missing('package_unknown', `There is no package ${id}.`, 'packageID')

const USED_SHOWN = 5

export async function foundPackage(db: Queryable, account: AccountId, id: bigint): Promise<Package> {
  const found = await findPackage(db, account, id)
  if (!found) throw unknownPackage(id)
  return found
}

export async function lockedPackage(tx: Transaction, id: bigint): Promise<Package> {
  const found = await lockPackage(tx, tx.account, id)
  if (!found) throw unknownPackage(id)
  return found
}

export interface PackageTree {
  package: Package
  versions: PackageVersion[]
}

/** A package and all its versions, locked: no subscription can start to use one of them until the commit. */
export async function lockedPackageTree(tx: Transaction, context: RequestContext, id: bigint): Promise<PackageTree> {
  const found = await lockedPackage(tx, id)
  await lockPackageVersions(tx, tx.account, id)
  const versions = await listPackageVersions(tx, tx.account, { packageIds: [id] }, context.moment.today)
  return { package: found, versions }
}

/** Reads rates, checked by themselves and against the account's currencies; undefined when none were sent. */
export async function chooseRates(
  tx: Transaction,
  bodies: readonly Partial<RateBody>[] | null | undefined,
  path: string,
  problems: Problems,
): Promise<RateInput[] | undefined> {
  if (!bodies) return undefined
  await checkCurrenciesHeld(tx, bodies, path, problems)
  return readRates(bodies, path, problems)
}

const refusals = (body: PackageBody) => ({
  packages_code_key: () =>
    conflict(
      'package_code_taken',
      `Another package has the packageCode ${JSON.stringify(body.packageCode)} (letter case does not count).`,
      'packageCode',
    ),
  packages_group_fkey: () => packageGroupGone(body.packageGroupID),
})

/** Adds a package with its first version, which is always its default. */
export async function addPackage(
  tx: Transaction,
  context: RequestContext,
  body: PackageBody & { PackageVersion: NewPackageVersionBody },
  rates: readonly RateInput[],
): Promise<{ package: Package; json: string }> {
  const first = body.PackageVersion
  const added = await refuseOn(insertPackage(tx, tx.account, packageFromWire(body), 1), refusals(body))
  const versionId = await insertPackageVersion(tx, tx.account, {
    packageId: added.id,
    versionNo: 1,
    name: first.VersionName,
    isDefault: true,
    isActive: first.isActive,
  })
  await insertRates(tx, tx.account, versionId, rates)
  const json = await writtenPackage(tx, context, added)
  await recordEvent(tx, context, { type: 'package.created', recordId: added.id, record: json })
  return { package: added, json }
}

async function writtenPackage(tx: Transaction, context: RequestContext, p: Package): Promise<string> {
  const versions = await listPackageVersions(tx, tx.account, { packageIds: [p.id] }, context.moment.today)
  return PackageOut.write(packageToWire(p, versions))
}

export async function editPackage(
  tx: Transaction,
  context: RequestContext,
  present: Package,
  body: PackageBody,
): Promise<Package> {
  const edited = { ...present, ...packageFromWire(body) }
  await refuseOn(updatePackage(tx, tx.account, edited), refusals(body))
  const record = await writtenPackage(tx, context, edited)
  await recordEvent(tx, context, { type: 'package.updated', recordId: edited.id, record })
  return edited
}

/** Deletes a package with all its versions; one that any subscription ever named stays. */
export async function removePackage(tx: Transaction, context: RequestContext, tree: PackageTree): Promise<void> {
  const { package: gone, versions } = tree
  const used = await listUsedVersions(
    tx,
    tx.account,
    versions.map(({ id }) => id),
  )
  if (used.length > 0) {
    const numbers = versions
      .filter(({ id }) => used.some((one) => one.id === id))
      .map(({ versionNo }) => `${versionNo}`)
    const shown = numbers.length > USED_SHOWN ? `${numbers.length} of its versions` : `version ${sentenceList(numbers)}`
    throw conflict(
      'package_used',
      `The package ${gone.id} cannot be deleted: subscriptions name ${shown}. Make it inactive instead.`,
      'packageID',
    )
  }
  await deletePackage(tx, tx.account, gone.id)
  const record = PackageOut.write(packageToWire(gone, versions))
  await recordEvent(tx, context, { type: 'package.deleted', recordId: gone.id, record })
}
