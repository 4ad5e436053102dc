import { introduced } from '../../platform/http/tags.ts'
import { filter } from '../../platform/wire/left-out.ts'
import { text } from '../../platform/wire/fields.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import {
  addComponent,
  checkComponentBody,
  resolveCurrencies,
  componentKind,
  editComponent,
  lockedComponent,
  removeComponent,
} from './actions.ts'
import { type Component, type ComponentFilter, countComponents, listComponents, listComponentTrees } from './queries.ts'
import { componentVersionOperations } from './version-routes.ts'
import { componentEtag, ComponentIn, componentShape, NewComponentIn } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Components', 'Quantities, opt-ins and metered usage that are sold beside a package.')

export const componentOperations = (): Operation[] => [
  listOperation({
    id: 'listComponents',
    path: '/v1/components',
    tag,
    summary: 'List components with their versions and bracket prices',
    out: componentShape,
    filters: {
      ComponentCode: filter(text({ takesNumbers: true }), 'the component with this code'),
    },
    filterOf: (query): ComponentFilter => ({ codeKey: query.ComponentCode?.toLowerCase() }),
    knowsUpdates: true,
    rows: listComponents,
    count: countComponents,
    complete: (db, { account }, rows) => listComponentTrees(db, account.id, rows),
  }),
  componentKind.readOperation({
    id: 'getComponent',
    tag,
    summary: 'Read a component with its versions and bracket prices',
  }),
  writeOperation({
    id: 'addComponent',
    method: 'POST',
    path: '/v1/components',
    tag,
    summary: 'Add a component with its first version, which is its default and active',
    body: NewComponentIn,
    success: { status: 201, schema: componentShape.schema },
    refusals: { 409: 'Another component has the ComponentCode' },
    references: async (tx, _context, { body }, problems) => {
      await checkComponentBody(tx, body, problems)
      const currencies = body.ComponentVersion?.ComponentVersionCurrencies
      return resolveCurrencies(tx, currencies, 'ComponentVersion.ComponentVersionCurrencies', problems)
    },
    write: async (tx, context, { body }, _record, currencies) =>
      componentKind.created(await addComponent(tx, context, body, currencies ?? []), context),
  }),
  writeOperation({
    ...componentKind.editing,
    id: 'editComponent',
    tag,
    summary: 'Replace the fields of a component; its versions are edited separately',
    body: ComponentIn,
    success: { status: 200 },
    refusals: {
      409: 'Another component has the ComponentCode, or subscriptions name the component and Type, Scheme, Term or TermType would change',
    },
    record: (tx, _context, { params }) => lockedComponent(tx, params),
    etag: componentEtag,
    references: (tx, _context, { body }, problems) => checkComponentBody(tx, body, problems),
    write: async (tx, context, { body }, present: Component) => ({
      status: 200,
      etag: componentKind.etag(await editComponent(tx, context, present, body)),
    }),
  }),
  writeOperation({
    ...componentKind.deleting,
    id: 'deleteComponent',
    tag,
    summary: 'Delete a component that no subscription ever named',
    refusals: { 409: 'Subscriptions name the component' },
    write: async (tx, context, _input, tree) => {
      await removeComponent(tx, context, tree)
      return noContent()
    },
  }),
  ...componentVersionOperations(),
]
