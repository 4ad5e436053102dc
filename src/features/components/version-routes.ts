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
import { chooseCurrencies, foundComponent, lockedComponentTree, unknownComponent } from './actions.ts'
import { countComponentVersions, listComponentVersions } from './queries.ts'
import { checkNewCurrenciesHaveBrackets } from './rules.ts'
import {
  addVersion,
  editVersion,
  lockedVersion,
  removeVersion,
  unknownVersion,
  type VersionInTree,
} from './version-actions.ts'
import {
  componentVersionEtag,
  ComponentVersionIn,
  ComponentVersionOut,
  ComponentVersionsOut,
  componentVersionToWire,
  NewComponentVersionIn,
} from './wire.ts'

const tag = 'Component versions'
const CURRENCIES = 'ComponentVersionCurrencies'

const componentIdOf = (params: PathParams): bigint => pathId(params, 'componentID', unknownComponent)

/** A number that cannot be one belongs to no version, so it is as unknown as any other. */
function versionPath(params: PathParams): { componentId: bigint; versionNo: bigint } {
  const componentId = componentIdOf(params)
  return { componentId, versionNo: pathId(params, 'versionno', unknownVersion(componentId)) }
}

const versionEtag = ({ version }: VersionInTree): string => componentVersionEtag(version)

export const componentVersionOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listComponentVersions',
    method: 'GET',
    path: '/v1/components/{componentID}/versions',
    tag,
    summary: 'List the versions of a component',
    query: listQuery({}),
    success: { status: 200, schema: ComponentVersionsOut.schema },
    record: (db, { account }, params) => foundComponent(db, account.id, componentIdOf(params)),
    read: async (db, { account }, { params, query, url }) => {
      const componentId = componentIdOf(params)
      const page = pageOf(query)
      const choice = { componentId, skip: (page.page - 1) * page.size, limit: page.size + 1 }
      const [, rows] = await Promise.all([
        foundComponent(db, account.id, componentId),
        listComponentVersions(db, account.id, choice),
      ])
      return listAnswer(
        { rows, page, url, count: () => countComponentVersions(db, account.id, componentId) },
        (some) => ComponentVersionsOut.write(some.map(componentVersionToWire)),
        deps.publicUrl,
      )
    },
  }),
  readOperation({
    id: 'getComponentVersion',
    method: 'GET',
    path: '/v1/components/{componentID}/versions/{versionno}',
    tag,
    summary: 'Read a version of a component',
    success: { status: 200, schema: ComponentVersionOut.schema },
    read: async (db, { account }, { params }) => {
      const choice = versionPath(params)
      const [version] = await listComponentVersions(db, account.id, choice)
      if (!version) {
        await foundComponent(db, account.id, choice.componentId)
        throw unknownVersion(choice.componentId)(choice.versionNo)
      }
      const body = ComponentVersionOut.write(componentVersionToWire(version))
      return { status: 200, body, etag: componentVersionEtag(version) }
    },
  }),
  writeOperation({
    id: 'addComponentVersion',
    method: 'POST',
    path: '/v1/components/{componentID}/versions',
    tag,
    summary: 'Add a version to a component; subscriptions that have it stay on theirs',
    body: NewComponentVersionIn,
    success: { status: 201, schema: ComponentVersionOut.schema },
    record: (tx, _context, { params }) => lockedComponentTree(tx, componentIdOf(params)),
    references: (tx, _context, { body }, problems) =>
      chooseCurrencies(tx, body.ComponentVersionCurrencies, CURRENCIES, problems),
    write: async (tx, context, { body }, tree, currencies) => {
      const { version, json } = await addVersion(tx, context, tree, body, currencies ?? [])
      const location = `/v1/components/${version.componentId}/versions/${version.versionNo}`
      return { status: 201, body: json, etag: componentVersionEtag(version), headers: { location } }
    },
  }),
  writeOperation({
    id: 'editComponentVersion',
    method: 'PUT',
    path: '/v1/components/{componentID}/versions/{versionno}',
    tag,
    summary: 'Replace a version; prices are matched by currency and QtyFrom, so identifiers stay',
    body: ComponentVersionIn,
    success: { status: 204 },
    refusals: {
      409: 'Subscriptions name the version and its prices would change, or it is the default and would not be',
    },
    record: (tx, _context, { params }) => {
      const { componentId, versionNo } = versionPath(params)
      return lockedVersion(tx, componentId, versionNo)
    },
    etag: versionEtag,
    references: async (tx, _context, { body }, problems, { version }) => {
      const sent = body.ComponentVersionCurrencies
      checkNewCurrenciesHaveBrackets(sent ?? [], version.currencies, CURRENCIES, problems)
      return chooseCurrencies(tx, sent, CURRENCIES, problems)
    },
    write: async (tx, context, { body }, present, currencies) =>
      noContent(componentVersionEtag(await editVersion(tx, context, present, body, currencies))),
  }),
  writeOperation({
    id: 'deleteComponentVersion',
    method: 'DELETE',
    path: '/v1/components/{componentID}/versions/{versionno}',
    tag,
    summary: 'Delete a version that no subscription ever named',
    success: { status: 204 },
    refusals: { 409: 'Subscriptions name the version, or it is the default or the last one' },
    record: (tx, _context, { params }) => {
      const { componentId, versionNo } = versionPath(params)
      return lockedVersion(tx, componentId, versionNo)
    },
    etag: versionEtag,
    write: async (tx, context, _input, present: VersionInTree) => {
      await removeVersion(tx, context, present)
      return noContent()
    },
  }),
]
