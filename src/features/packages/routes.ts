import { introduced } from '../../platform/http/tags.ts'
import { filter, LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { reference, text } from '../../platform/wire/fields.ts'
import { objectOf, optional } from '../../platform/wire/read.ts'
import { checkPackageGroup } from '../package-groups/reference.ts'
import { addPackage, resolveRates, editPackage, lockedPackage, packageKind, removePackage } from './actions.ts'
import { countPackages, listPackages, listPackageTrees, type PackageFilter } from './queries.ts'
import { packageVersionOperations } from './version-routes.ts'
import { NewPackageIn, packageEtag, PackageIn, packageShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'
import type { Package, PackageTree } from './types.ts'

const tag = introduced(
  'Packages',
  'Plans that customers subscribe to. Their prices are in versions, so that they can change without changing what was sold.',
)

export const packageOperations = (): Operation[] => [
  listOperation({
    id: 'listPackages',
    path: '/v1/packages',
    tag,
    summary: 'List packages with their versions, rates and terms',
    out: packageShape,
    filters: {
      packageCode: filter(text({ takesNumbers: true }), 'the package with this code'),
    },
    filterOf: (query): PackageFilter => ({ codeKey: query.packageCode?.toLowerCase() }),
    knowsUpdates: true,
    rows: listPackages,
    count: countPackages,
    complete: (db, { account, moment }, rows) => listPackageTrees(db, account.id, rows, moment.today),
  }),
  packageKind.readOperation({
    id: 'getPackage',
    tag,
    summary: 'Read a package with its versions, rates and terms',
  }),
  writeOperation({
    id: 'addPackage',
    method: 'POST',
    path: '/v1/packages',
    tag,
    summary: 'Add a package with its first version',
    body: NewPackageIn,
    success: { status: 201, schema: packageShape.schema },
    refusals: { 409: 'Another package has the packageCode' },
    references: async (tx, _context, { body }, problems) => {
      await checkPackageGroup(tx, body.packageGroupID, problems)
      return resolveRates(tx, body.PackageVersion?.packageVersionRates, 'PackageVersion.packageVersionRates', problems)
    },
    write: async (tx, context, { body }, _record, rates) => {
      return packageKind.created(await addPackage(tx, context, body, rates ?? []), context)
    },
  }),
  writeOperation({
    ...packageKind.editing,
    id: 'editPackage',
    tag,
    summary: 'Replace the fields of a package; its versions are edited separately',
    body: PackageIn,
    success: { status: 200 },
    refusals: { 409: 'Another package has the packageCode' },
    record: (tx, _context, { params }) => lockedPackage(tx, params),
    etag: packageEtag,
    references: (tx, _context, { body }, problems) => checkPackageGroup(tx, body.packageGroupID, problems),
    write: async (tx, context, { body }, present: Package) => ({
      status: 200,
      etag: packageKind.etag(await editPackage(tx, context, present, body)),
    }),
  }),
  writeOperation({
    ...packageKind.deleting,
    id: 'deletePackage',
    tag,
    summary: 'Delete a package that no subscription ever named',
    refusals: { 409: 'Subscriptions name the package' },
    write: async (tx, context, _input, tree) => {
      await removePackage(tx, context, tree)
      return noContent()
    },
  }),
  deleteByGivenId,
  ...packageVersionOperations(),
]

const givenPackage = { packageID: optional(reference(), identifies('package'), LEFT_OUT.fromQuery) }

/** The interface names packageID as input of DELETE /v1/packages and not where it is carried: query and body both do. */
const deleteByGivenId: Operation = writeOperation({
  id: 'deletePackageByGivenId',
  method: 'DELETE',
  path: '/v1/packages',
  tag,
  summary: 'Delete a package that no subscription ever named; packageID in the query or the body',
  query: objectOf(whenLeftOut(givenPackage, { packageID: 'Left out, the body names it.' })),
  body: objectOf(givenPackage, { name: 'PackageChoice' }),
  isBodyOptional: true,
  refusals: { 404: 'There is no such package', 409: 'Subscriptions name the package' },
  record: async (tx, context, { query, body }): Promise<PackageTree | undefined> => {
    const id = query.packageID ?? body?.packageID
    return id ? packageKind.locked(tx, context, { packageID: String(id) }) : undefined
  },
  etag: (tree) => (tree ? packageKind.etag(tree) : ''),
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
