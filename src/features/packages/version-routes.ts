import { introduced } from '../../platform/http/tags.ts'
import type { Operation } from '../../platform/http/operation.ts'
import { resolveRates, foundPackage, packageKind } from './actions.ts'
import { countPackageVersions, listPackageVersions, listUsedVersions, updatePackage } from './queries.ts'
import { checkNewRatesHaveTerms, planRates, type RateInput, type VersionPlan } from './rules.ts'
import { versionOperations } from './version-operations.ts'
import {
  applyVersionPlan,
  deletePackageVersion,
  insertPackageVersion,
  insertRates,
  unsetDefaultPackageVersion,
  updatePackageVersion,
} from './version-queries.ts'
import type { VersionedKind } from './versioned.ts'
import {
  NewPackageVersionIn,
  type PackageVersionBody,
  packageVersionEtag,
  PackageVersionIn,
  packageVersionShape,
} from './wire.ts'
import type { Package, PackageVersion } from './types.ts'

const versions: VersionedKind<Package, PackageVersion, PackageVersionBody, RateInput, VersionPlan> = {
  owner: 'package',
  code: 'package_version',
  path: '/v1/packages',
  param: 'packageID',
  tag: introduced(
    'Package versions',
    'Prices of a package by currency and term. Subscriptions keep their version until they are changed.',
  ),
  shape: packageVersionShape,
  etag: packageVersionEtag,
  pricesField: 'packageVersionRates',
  newBody: NewPackageVersionIn,
  editBody: PackageVersionIn,
  ownerIdOf: ({ packageId }) => packageId,
  currenciesOf: ({ rates }) => rates.map(({ currency }) => currency),
  foundOwner: foundPackage,
  lockedTree: packageKind.locked,
  list: listPackageVersions,
  count: countPackageVersions,
  readPrices: (tx, body, path, problems) => resolveRates(tx, body.packageVersionRates, path, problems),
  checkNewPrices: (body, { rates }, path, problems) =>
    checkNewRatesHaveTerms(body.packageVersionRates ?? [], rates, path, problems),
  currencyOf: ({ currency }) => currency,
  planPrices: ({ rates }, wanted) => planRates(rates, wanted),
  isUsed: async (tx, account, id) => (await listUsedVersions(tx, account, [id])).length > 0,
  updateOwner: updatePackage,
  insert: insertPackageVersion,
  insertPrices: insertRates,
  update: updatePackageVersion,
  unsetDefault: unsetDefaultPackageVersion,
  applyPlan: applyVersionPlan,
  remove: deletePackageVersion,
}

export const packageVersionOperations = (): Operation[] =>
  versionOperations(versions, {
    list: 'List the versions of a package',
    read: 'Read a version of a package',
    add: 'Add a version to a package; running subscriptions stay on theirs',
    edit: 'Replace a version; rates are matched by currency and terms by length, so identifiers stay',
  })
