import { pathId } from '../../platform/http/handle.ts'
import {
  noContent,
  type Operation,
  type PathParams,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, pageOf } from '../../platform/http/query.ts'
import { chooseRates, foundPackage, lockedPackageTree, unknownPackage } from './actions.ts'
import { countPackageVersions, listPackageVersions } from './queries.ts'
import { checkNewRatesHaveTerms } from './rules.ts'
import {
  addVersion,
  editVersion,
  lockedVersion,
  removeVersion,
  unknownVersion,
  type VersionInTree,
} from './version-actions.ts'
import {
  NewPackageVersionIn,
  packageVersionEtag,
  PackageVersionIn,
  PackageVersionOut,
  PackageVersionsOut,
  packageVersionToWire,
} from './wire.ts'

const tag = 'Package versions'
const RATES = 'packageVersionRates'

const packageIdOf = (params: PathParams): bigint => pathId(params, 'packageID', unknownPackage)

/** A number that cannot be one belongs to no version, so it is as unknown as any other. */
function versionPath(params: PathParams): { packageId: bigint; versionNo: bigint } {
  const packageId = packageIdOf(params)
  return { packageId, versionNo: pathId(params, 'versionno', unknownVersion(packageId)) }
}

const versionEtag = ({ version }: VersionInTree): string => packageVersionEtag(version)

export const packageVersionOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listPackageVersions',
    method: 'GET',
    path: '/v1/packages/{packageID}/versions',
    tag,
    summary: 'List the versions of a package',
    query: listQuery({}),
    success: { status: 200, schema: PackageVersionsOut.schema },
    record: (db, { account }, params) => foundPackage(db, account.id, packageIdOf(params)),
    read: async (db, { account, moment }, { params, query, url }) => {
      const packageId = packageIdOf(params)
      const page = pageOf(query)
      const choice = { packageId, skip: (page.page - 1) * page.size, limit: page.size + 1 }
      const [, rows] = await Promise.all([
        foundPackage(db, account.id, packageId),
        listPackageVersions(db, account.id, choice, moment.today),
      ])
      return listAnswer(
        { rows, page, url, count: () => countPackageVersions(db, account.id, packageId) },
        (some) => PackageVersionsOut.write(some.map(packageVersionToWire)),
        deps.publicUrl,
      )
    },
  }),
  readOperation({
    id: 'getPackageVersion',
    method: 'GET',
    path: '/v1/packages/{packageID}/versions/{versionno}',
    tag,
    summary: 'Read a version of a package',
    success: { status: 200, schema: PackageVersionOut.schema },
    read: async (db, { account, moment }, { params }) => {
      const choice = versionPath(params)
      const [version] = await listPackageVersions(db, account.id, choice, moment.today)
      if (!version) {
        await foundPackage(db, account.id, choice.packageId)
        throw unknownVersion(choice.packageId)(choice.versionNo)
      }
      const body = PackageVersionOut.write(packageVersionToWire(version))
      return { status: 200, body, etag: packageVersionEtag(version) }
    },
  }),
  writeOperation({
    id: 'addPackageVersion',
    method: 'POST',
    path: '/v1/packages/{packageID}/versions',
    tag,
    summary: 'Add a version to a package; running subscriptions stay on theirs',
    body: NewPackageVersionIn,
    success: { status: 201, schema: PackageVersionOut.schema },
    record: (tx, context, { params }) => lockedPackageTree(tx, context, packageIdOf(params)),
    references: (tx, _context, { body }, problems) => chooseRates(tx, body.packageVersionRates, RATES, problems),
    write: async (tx, context, { body }, tree, rates) => {
      const { version, json } = await addVersion(tx, context, tree, body, rates ?? [])
      const location = `/v1/packages/${version.packageId}/versions/${version.versionNo}`
      return { status: 201, body: json, etag: packageVersionEtag(version), headers: { location } }
    },
  }),
  writeOperation({
    id: 'editPackageVersion',
    method: 'PUT',
    path: '/v1/packages/{packageID}/versions/{versionno}',
    tag,
    summary: 'Replace a version; rates are matched by currency and terms by length, so identifiers stay',
    body: PackageVersionIn,
    success: { status: 204 },
    refusals: {
      409: 'Subscriptions name the version and its prices would change, or it is the default and would not be',
    },
    record: (tx, context, { params }) => {
      const { packageId, versionNo } = versionPath(params)
      return lockedVersion(tx, context, packageId, versionNo)
    },
    etag: versionEtag,
    references: async (tx, _context, { body }, problems, { version }) => {
      checkNewRatesHaveTerms(body.packageVersionRates ?? [], version.rates, RATES, problems)
      return chooseRates(tx, body.packageVersionRates, RATES, problems)
    },
    write: async (tx, context, { body }, present, rates) =>
      noContent(packageVersionEtag(await editVersion(tx, context, present, body, rates))),
  }),
  writeOperation({
    id: 'deletePackageVersion',
    method: 'DELETE',
    path: '/v1/packages/{packageID}/versions/{versionno}',
    tag,
    summary: 'Delete a version that no subscription ever named',
    success: { status: 204 },
    refusals: { 409: 'Subscriptions name the version, or it is the default or the last one' },
    record: (tx, context, { params }) => {
      const { packageId, versionNo } = versionPath(params)
      return lockedVersion(tx, context, packageId, versionNo)
    },
    etag: versionEtag,
    write: async (tx, context, _input, present: VersionInTree) => {
      await removeVersion(tx, context, present)
      return noContent()
    },
  }),
]
