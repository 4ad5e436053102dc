import { introduced } from '../../platform/http/tags.ts'
import type { Operation } from '../../platform/http/operation.ts'
import { versionOperations } from '../packages/version-operations.ts'
import type { VersionedKind } from '../packages/versioned.ts'
import { resolveCurrencies, componentKind, foundComponent } from './actions.ts'
import {
  type Component,
  type ComponentVersion,
  countComponentVersions,
  isComponentVersionUsed,
  listComponentVersions,
  updateComponent,
} from './queries.ts'
import { checkNewCurrenciesHaveBrackets, type CurrencyInput, planPrices, type PricesPlan } from './rules.ts'
import {
  applyPricesPlan,
  deleteComponentVersion,
  insertComponentVersion,
  insertVersionCurrencies,
  unsetDefaultComponentVersion,
  updateComponentVersion,
} from './version-queries.ts'
import {
  type ComponentVersionBody,
  componentVersionEtag,
  ComponentVersionIn,
  componentVersionShape,
  NewComponentVersionIn,
} from './wire.ts'

const versions: VersionedKind<Component, ComponentVersion, ComponentVersionBody, CurrencyInput, PricesPlan> = {
  owner: 'component',
  code: 'component_version',
  path: '/v1/components',
  param: 'componentID',
  tag: introduced('Component versions', 'Prices of a component by currency, in brackets of quantity.'),
  shape: componentVersionShape,
  etag: componentVersionEtag,
  pricesField: 'ComponentVersionCurrencies',
  newBody: NewComponentVersionIn,
  editBody: ComponentVersionIn,
  ownerIdOf: ({ componentId }) => componentId,
  currenciesOf: ({ currencies }) => currencies.map(({ currency }) => currency),
  foundOwner: foundComponent,
  lockedTree: componentKind.locked,
  list: listComponentVersions,
  count: countComponentVersions,
  readPrices: (tx, body, path, problems) => resolveCurrencies(tx, body.ComponentVersionCurrencies, path, problems),
  checkNewPrices: (body, { currencies }, path, problems) =>
    checkNewCurrenciesHaveBrackets(body.ComponentVersionCurrencies ?? [], currencies, path, problems),
  currencyOf: ({ currency }) => currency,
  planPrices: ({ currencies }, wanted) => planPrices(currencies, wanted),
  isUsed: isComponentVersionUsed,
  updateOwner: updateComponent,
  insert: insertComponentVersion,
  insertPrices: insertVersionCurrencies,
  update: updateComponentVersion,
  unsetDefault: unsetDefaultComponentVersion,
  applyPlan: applyPricesPlan,
  remove: deleteComponentVersion,
}

export const componentVersionOperations = (): Operation[] =>
  versionOperations(versions, {
    list: 'List the versions of a component',
    read: 'Read a version of a component',
    add: 'Add a version to a component; subscriptions that have it stay on theirs',
    edit: 'Replace a version; prices are matched by currency and QtyFrom, so identifiers stay',
  })
