import { pathId } from '../../platform/http/handle.ts'
import { noContent, type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, pageOf } from '../../platform/http/query.ts'
import { reference } from '../../platform/wire/fields.ts'
import { objectOf, optional } from '../../platform/wire/read.ts'
import { checkPackageGroup } from '../package-groups/reference.ts'
import {
  addPackage,
  chooseRates,
  editPackage,
  foundPackage,
  lockedPackage,
  lockedPackageTree,
  type PackageTree,
  removePackage,
  unknownPackage,
} from './actions.ts'
import { countPackages, listPackages, listPackageVersions, type Package, type PackageVersion } from './queries.ts'
import { packageVersionOperations } from './version-routes.ts'
import { NewPackageIn, packageEtag, PackageIn, PackageOut, PackagesOut, packageToWire } from './wire.ts'

const tag = 'Packages'

function versionsByPackage(versions: readonly PackageVersion[]): Map<bigint, PackageVersion[]> {
  const byPackage = new Map<bigint, PackageVersion[]>()
  for (const version of versions) {
    const known = byPackage.get(version.packageId)
    if (known) known.push(version)
    else byPackage.set(version.packageId, [version])
  }
  return byPackage
}

export const packageOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listPackages',
    method: 'GET',
    path: '/v1/packages',
    tag,
    summary: 'List packages with their versions, rates and terms',
    query: listQuery({}),
    success: { status: 200, schema: PackagesOut.schema },
    read: async (db, { account, moment }, { query, url }) => {
      const page = pageOf(query)
      const rows = await listPackages(db, account.id, (page.page - 1) * page.size, page.size + 1)
      const packageIds = rows.slice(0, page.size).map(({ id }) => id)
      const versions =
        packageIds.length === 0 ? [] : await listPackageVersions(db, account.id, { packageIds }, moment.today)
      const byPackage = versionsByPackage(versions)
      return listAnswer(
        { rows, page, url, count: () => countPackages(db, account.id) },
        (some) => PackagesOut.write(some.map((row) => packageToWire(row, byPackage.get(row.id) ?? []))),
        deps.publicUrl,
      )
    },
  }),
  readOperation({
    id: 'getPackage',
    method: 'GET',
    path: '/v1/packages/{packageID}',
    tag,
    summary: 'Read a package with its versions, rates and terms',
    success: { status: 200, schema: PackageOut.schema },
    read: async (db, { account, moment }, { params }) => {
      const id = pathId(params, 'packageID', unknownPackage)
      const [found, versions] = await Promise.all([
        foundPackage(db, account.id, id),
        listPackageVersions(db, account.id, { packageIds: [id] }, moment.today),
      ])
      return { status: 200, body: PackageOut.write(packageToWire(found, versions)), etag: packageEtag(found) }
    },
  }),
  writeOperation({
    id: 'addPackage',
    method: 'POST',
    path: '/v1/packages',
    tag,
    summary: 'Add a package with its first version',
    body: NewPackageIn,
    success: { status: 201, schema: PackageOut.schema },
    refusals: { 409: 'Another package has the packageCode' },
    references: async (tx, _context, { body }, problems) => {
      await checkPackageGroup(tx, body.packageGroupID, problems)
      return chooseRates(tx, body.PackageVersion?.packageVersionRates, 'PackageVersion.packageVersionRates', problems)
    },
    write: async (tx, context, { body }, _record, rates) => {
      const { package: added, json } = await addPackage(tx, context, body, rates ?? [])
      return { status: 201, body: json, etag: packageEtag(added), headers: { location: `/v1/packages/${added.id}` } }
    },
  }),
  writeOperation({
    id: 'editPackage',
    method: 'PUT',
    path: '/v1/packages/{packageID}',
    tag,
    summary: 'Replace the fields of a package; its versions are edited by themselves',
    body: PackageIn,
    success: { status: 200 },
    refusals: { 409: 'Another package has the packageCode' },
    record: (tx, _context, { params }) => lockedPackage(tx, pathId(params, 'packageID', unknownPackage)),
    etag: packageEtag,
    references: (tx, _context, { body }, problems) => checkPackageGroup(tx, body.packageGroupID, problems),
    write: async (tx, context, { body }, present: Package) => ({
      status: 200,
      etag: packageEtag(await editPackage(tx, context, present, body)),
    }),
  }),
  writeOperation({
    id: 'deletePackage',
    method: 'DELETE',
    path: '/v1/packages/{packageID}',
    tag,
    summary: 'Delete a package that no subscription ever named',
    success: { status: 204 },
    refusals: { 409: 'Subscriptions name the package' },
    record: (tx, context, { params }) => lockedPackageTree(tx, context, pathId(params, 'packageID', unknownPackage)),
    etag: (tree: PackageTree) => packageEtag(tree.package),
    write: async (tx, context, _input, tree) => {
      await removePackage(tx, context, tree)
      return noContent()
    },
  }),
  deleteByGivenId,
  ...packageVersionOperations(deps),
]

const givenPackage = { packageID: optional(reference()) }

/** The interface names packageID as input of DELETE /v1/packages and not where it is carried: query and body both do. */
const deleteByGivenId: Operation = writeOperation({
  id: 'deletePackageByGivenId',
  method: 'DELETE',
  path: '/v1/packages',
  tag,
  summary: 'Delete a package that no subscription ever named; packageID in the query or the body',
  query: objectOf(givenPackage),
  body: objectOf(givenPackage, { name: 'PackageChoice' }),
  isBodyOptional: true,
  success: { status: 204 },
  refusals: { 404: 'There is no such package', 409: 'Subscriptions name the package' },
  record: async (tx, context, { query, body }): Promise<PackageTree | undefined> => {
    const id = query.packageID ?? body?.packageID
    return id ? lockedPackageTree(tx, context, id) : undefined
  },
  etag: (tree) => (tree ? packageEtag(tree.package) : ''),
  references: async (_tx, _context, { query, body }, problems) => {
    if (problems.found.some(({ field }) => field === 'packageID')) return
    if (query.packageID && body.packageID && query.packageID !== body.packageID)
      problems.add('contradiction', 'packageID', 'packageID was sent with different values in the query and the body.')
    else if (!query.packageID && !body.packageID)
      problems.add('required', 'packageID', 'packageID is required, in the query or in the body.')
  },
  write: async (tx, context, _input, tree) => {
    if (tree) await removePackage(tx, context, tree)
    return noContent()
  },
})
