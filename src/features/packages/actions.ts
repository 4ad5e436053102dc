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
import { packageGroupGone } from '../package-groups/reference.ts'
import {
  deletePackage,
  findPackage,
  insertPackage,
  listPackageTrees,
  listPackageVersions,
  listUsedVersions,
  lockPackage,
  lockPackageVersions,
  updatePackage,
} from './queries.ts'
import { type RateInput, readRates } from './rules.ts'
import { insertPackageVersion, insertRates } from './version-queries.ts'
import {
  type NewPackageVersionBody,
  type PackageBody,
  packageEtag,
  packageFromWire,
  packageShape,
  type RateBody,
} from './wire.ts'
import type { Package, PackageTree } from './types.ts'

const USED_SHOWN = 5

export const packageKind = recordKind({
  code: 'package',
  name: 'package',
  param: 'packageID',
  path: '/v1/packages',
  out: packageShape,
  idOf: ({ owner }) => owner.id,
  find: async (db, { account, moment }, id) => {
    const [owner, versions] = await Promise.all([
      findPackage(db, account.id, id),
      listPackageVersions(db, account.id, { packageIds: [id] }, moment.today),
    ])
    return owner && { owner, versions }
  },
  lock: (tx, context, id) => lockPackageTree(tx, context, id),
  etag: ({ owner }) => packageEtag(owner),
})

/** Locks a package and all its versions: no subscription can start to use one of them until the commit. */
export async function lockPackageTree(
  tx: Transaction,
  context: RequestContext,
  id: bigint,
): Promise<PackageTree | undefined> {
  const owner = await lockPackage(tx, tx.account, id)
  if (!owner) return undefined
  await lockPackageVersions(tx, tx.account, id)
  return (await listPackageTrees(tx, tx.account, [owner], context.moment.today))[0]
}

export async function foundPackage(db: Queryable, { account }: RequestContext, params: PathParams): Promise<Package> {
  const id = packageKind.pathId(params)
  const found = await findPackage(db, account.id, id)
  if (!found) throw packageKind.unknown(id)
  return found
}

export async function lockedPackage(tx: Transaction, params: PathParams): Promise<Package> {
  const id = packageKind.pathId(params)
  const found = await lockPackage(tx, tx.account, id)
  if (!found) throw packageKind.unknown(id)
  return found
}

/** Reads rates, checked on their own and against the account's currencies; undefined when none were sent. */
export async function resolveRates(
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
): Promise<PackageTree> {
  const first = body.PackageVersion
  const added = await refuseOn(insertPackage(tx, tx.account, packageFromWire(body), 1), refusals(body))
  const versionId = await insertPackageVersion(tx, tx.account, {
    ownerId: added.id,
    versionNo: 1,
    name: first.VersionName,
    isDefault: true,
    isActive: first.isActive,
  })
  await insertRates(tx, tx.account, versionId, rates)
  return recordWritten(tx, context, 'package.created', added)
}

/** Reads a package with its versions as it now is, and records its event. */
async function recordWritten(
  tx: Transaction,
  context: RequestContext,
  type: 'package.created' | 'package.updated',
  owner: Package,
): Promise<PackageTree> {
  const [row] = await listPackageTrees(tx, tx.account, [owner], context.moment.today)
  assert(row, `package ${owner.id} exists`)
  await recordChange(tx, context, packageKind, { type, row })
  return row
}

export async function editPackage(
  tx: Transaction,
  context: RequestContext,
  present: Package,
  body: PackageBody,
): Promise<PackageTree> {
  const edited = { ...present, ...packageFromWire(body, present) }
  await refuseOn(updatePackage(tx, tx.account, edited), refusals(body))
  return recordWritten(tx, context, 'package.updated', edited)
}

/** Deletes a package with all its versions; one that any subscription ever named stays. */
export async function removePackage(tx: Transaction, context: RequestContext, tree: PackageTree): Promise<void> {
  const { owner: gone, versions } = tree
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
  await recordChange(tx, context, packageKind, { type: 'package.deleted', row: tree })
}
