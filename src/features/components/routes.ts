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
import {
  addComponent,
  checkComponentBody,
  chooseCurrencies,
  type ComponentTree,
  editComponent,
  foundComponent,
  lockedComponent,
  lockedComponentTree,
  removeComponent,
  unknownComponent,
} from './actions.ts'
import {
  type Component,
  type ComponentVersion,
  countComponents,
  listComponents,
  listComponentVersions,
} from './queries.ts'
import { componentVersionOperations } from './version-routes.ts'
import { componentEtag, ComponentIn, ComponentOut, ComponentsOut, componentToWire, NewComponentIn } from './wire.ts'

const tag = 'Components'

const componentIdOf = (params: PathParams): bigint => pathId(params, 'componentID', unknownComponent)

function versionsByComponent(versions: readonly ComponentVersion[]): Map<bigint, ComponentVersion[]> {
  const byComponent = new Map<bigint, ComponentVersion[]>()
  for (const version of versions) {
    const known = byComponent.get(version.componentId)
    if (known) known.push(version)
    else byComponent.set(version.componentId, [version])
  }
  return byComponent
}

export const componentOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listComponents',
    method: 'GET',
    path: '/v1/components',
    tag,
    summary: 'List components with their versions and bracket prices',
    query: listQuery({}),
    success: { status: 200, schema: ComponentsOut.schema },
    read: async (db, { account }, { query, url }) => {
      const page = pageOf(query)
      const rows = await listComponents(db, account.id, (page.page - 1) * page.size, page.size + 1)
      const componentIds = rows.slice(0, page.size).map(({ id }) => id)
      const versions = componentIds.length === 0 ? [] : await listComponentVersions(db, account.id, { componentIds })
      const byComponent = versionsByComponent(versions)
      return listAnswer(
        { rows, page, url, count: () => countComponents(db, account.id) },
        (some) => ComponentsOut.write(some.map((row) => componentToWire(row, byComponent.get(row.id) ?? []))),
        deps.publicUrl,
      )
    },
  }),
  readOperation({
    id: 'getComponent',
    method: 'GET',
    path: '/v1/components/{componentID}',
    tag,
    summary: 'Read a component with its versions and bracket prices',
    success: { status: 200, schema: ComponentOut.schema },
    read: async (db, { account }, { params }) => {
      const id = componentIdOf(params)
      const [found, versions] = await Promise.all([
        foundComponent(db, account.id, id),
        listComponentVersions(db, account.id, { componentIds: [id] }),
      ])
      return { status: 200, body: ComponentOut.write(componentToWire(found, versions)), etag: componentEtag(found) }
    },
  }),
  writeOperation({
    id: 'addComponent',
    method: 'POST',
    path: '/v1/components',
    tag,
    summary: 'Add a component with its first version, which is its default and active',
    body: NewComponentIn,
    success: { status: 201, schema: ComponentOut.schema },
    refusals: { 409: 'Another component has the ComponentCode' },
    references: async (tx, _context, { body }, problems) => {
      await checkComponentBody(tx, body, problems)
      const currencies = body.ComponentVersion?.ComponentVersionCurrencies
      return chooseCurrencies(tx, currencies, 'ComponentVersion.ComponentVersionCurrencies', problems)
    },
    write: async (tx, context, { body }, _record, currencies) => {
      const { component, json } = await addComponent(tx, context, body, currencies ?? [])
      const location = `/v1/components/${component.id}`
      return { status: 201, body: json, etag: componentEtag(component), headers: { location } }
    },
  }),
  writeOperation({
    id: 'editComponent',
    method: 'PUT',
    path: '/v1/components/{componentID}',
    tag,
    summary: 'Replace the fields of a component; its versions are edited by themselves',
    body: ComponentIn,
    success: { status: 200 },
    refusals: {
      409: 'Another component has the ComponentCode, or subscriptions name the component and Type, Scheme, Term or TermType would change',
    },
    record: (tx, _context, { params }) => lockedComponent(tx, componentIdOf(params)),
    etag: componentEtag,
    references: (tx, _context, { body }, problems) => checkComponentBody(tx, body, problems),
    write: async (tx, context, { body }, present: Component) => ({
      status: 200,
      etag: componentEtag(await editComponent(tx, context, present, body)),
    }),
  }),
  writeOperation({
    id: 'deleteComponent',
    method: 'DELETE',
    path: '/v1/components/{componentID}',
    tag,
    summary: 'Delete a component that no subscription ever named',
    success: { status: 204 },
    refusals: { 409: 'Subscriptions name the component' },
    record: (tx, _context, { params }) => lockedComponentTree(tx, componentIdOf(params)),
    etag: (tree: ComponentTree) => componentEtag(tree.component),
    write: async (tx, context, _input, tree) => {
      await removeComponent(tx, context, tree)
      return noContent()
    },
  }),
  ...componentVersionOperations(deps),
]
