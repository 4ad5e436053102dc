import { introduced } from '../../platform/http/tags.ts'
import { described } from '../../platform/wire/described.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { invalid } from '../../kernel/fault.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listOperation, memoryAnswer } from '../../platform/http/list.ts'
import { type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { withWarnings } from '../../platform/http/warnings.ts'
import { paging } from '../../platform/http/query.ts'
import { reference } from '../../platform/wire/fields.ts'
import { type BodyOf, listOf, objectOf, required } from '../../platform/wire/read.ts'
import {
  addCustomer,
  changePause,
  type CheckedCustomer,
  checkCustomerBody,
  checkNewCustomer,
  editCustomer,
  type OnReturn,
} from './actions.ts'
import { listCustomLabels } from './custom-value-queries.ts'
import { countCustomers, COUNTED_CUSTOMERS, type CustomerFilter, listCustomers, listCustomersByIds } from './queries.ts'
import { customerKind } from './record.ts'
import { warningsOfCustomer } from './warnings.ts'
import { customerByIdShape, customerFilters, CustomerIn, customerShape, customerWithFieldsShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced(
  'Customers',
  'People and companies that are billed: their names, addresses, languages, tax data and ways of paying.',
)

interface CustomerDeps {
  onReturn: OnReturn
  /** Looks anew at what is to be collected of a customer whose hold, gateway or state has changed. */
  onCollectionChanged(tx: Transaction, context: RequestContext, customerId: CustomerId): Promise<void>
}
const IDS_MAX = 1000

const list = {
  tag,
  filters: customerFilters,
  filterOf: (query: BodyOf<typeof customerFilters>): CustomerFilter => {
    if (query.hasCountry === false && query.countryID != null)
      throw invalid('contradiction', 'hasCountry false is for customers without a countryID.', 'hasCountry')
    return {
      reference: query.Reference,
      emailKey: query.Email?.toLowerCase(),
      status: query.comp_status,
      vatNumber: query.VatNo,
      countryId: query.countryID,
      currency: query.CurrencyCode,
      words: query.q?.words,
      hasCountry: query.hasCountry,
    }
  },
  knowsUpdates: true as const,
  blocks: COUNTED_CUSTOMERS,
  rows: listCustomers,
  count: countCustomers,
}

const reading: Operation[] = [
  listOperation({ ...list, id: 'listCustomers', path: '/v1/customers', summary: 'List customers', out: customerShape }),
  listOperation({
    ...list,
    id: 'listCustomersWithCustomFields',
    path: '/v1/customers/with_customfields',
    summary: 'List customers with their custom fields',
    out: customerWithFieldsShape,
    complete: async (db, { account }, customers) => {
      const labels = await listCustomLabels(db, account.id)
      return customers.map((customer) => ({ customer, labels }))
    },
  }),
  readOperation({
    id: 'listCustomersByIds',
    method: 'POST',
    path: '/v1/by_customer_ids',
    tag,
    permission: 'read',
    summary: 'List customers by their identifiers',
    query: objectOf(paging),
    body: objectOf(
      {
        ids: required(
          listOf(reference(), { max: IDS_MAX, what: 'identifiers' }),
          'The identifiers of the customers that are wanted.',
        ),
        page: described(
          paging.page,
          'The page of the list, counted from 1; it may stand in the query as well.',
          'Left out, it is 1.',
        ),
        page_size: described(
          paging.page_size,
          'How many records a page has, at most 200; it may stand in the query as well.',
          'Left out, it is 100.',
        ),
      },
      { name: 'CustomerChoice' },
    ),
    success: { status: 200, schema: customerByIdShape.list.schema },
    read: async (db, context, { body, query, url }) => {
      const ids = [...new Set(body.ids.filter((id) => id !== null))]
      const customers = await listCustomersByIds(db, context.account.id, ids, context.moment.today, true)
      const page = body.page ?? query.page ?? null
      const page_size = body.page_size ?? query.page_size ?? null
      return memoryAnswer(customers, customerByIdShape, context, { page, page_size }, url)
    },
  }),
  customerKind.readOperation({ id: 'getCustomer', tag, summary: 'Read a customer' }),
]

const writing = ({ onCollectionChanged }: Pick<CustomerDeps, 'onCollectionChanged'>): Operation[] => [
  writeOperation({
    id: 'addCustomer',
    method: 'POST',
    path: '/v1/customers',
    tag,
    summary: 'Add a customer',
    body: CustomerIn,
    success: { status: 201, schema: customerShape.schema, headers: ['Perennial-Warning'] },
    refusals: { 409: 'Another customer has the Reference' },
    grouping: { recordOf: () => null },
    references: (tx, _context, { body }, problems) => checkNewCustomer(tx, body, problems),
    write: async (tx, context, { body }, _record, checked: CheckedCustomer) => {
      const { view, written } = await addCustomer(tx, context, body, checked)
      return withWarnings(customerKind.created(view, context, written), await warningsOfCustomer(tx, view))
    },
  }),
  writeOperation({
    ...customerKind.editing,
    success: { ...customerKind.editing.success, headers: ['Perennial-Warning'] },
    id: 'editCustomer',
    tag,
    summary: 'Replace the fields of a customer',
    body: CustomerIn,
    refusals: { 409: 'Another customer has the Reference, or the currency cannot change any more' },
    references: (tx, _context, { body }, problems, present) => checkCustomerBody(tx, body, problems, present),
    write: async (tx, context, { body }, present, customValues) => {
      const edited = await editCustomer(tx, context, present, body, customValues)
      const isOther =
        present.isCollectionHold !== edited.isCollectionHold || present.primaryGatewayId !== edited.primaryGatewayId
      if (isOther) await onCollectionChanged(tx, context, present.id)
      return withWarnings(customerKind.edited(edited), await warningsOfCustomer(tx, edited))
    },
  }),
]

const pauses = {
  suspend: 'Suspend a customer: it is not billed until unsuspended',
  unsuspend: 'Bill a suspended customer again',
  archive: 'Archive a customer: it is not billed and takes no new subscriptions',
  reopen: 'Reopen an archived customer',
} as const

const pausing = ({ onReturn, onCollectionChanged }: CustomerDeps): Operation[] =>
  (Object.keys(pauses) as (keyof typeof pauses)[]).map((change) =>
    writeOperation({
      id: `${change}Customer`,
      method: 'PUT',
      path: `/v1/customers/{customerID}/${change}`,
      tag,
      summary: pauses[change],
      record: customerKind.editing.record,
      etag: customerKind.editing.etag,
      representation: customerKind.representation,
      write: async (tx, context, _input, customer) => {
        await changePause(tx, context, customer, change, onReturn)
        if (change === 'suspend' || change === 'archive') await onCollectionChanged(tx, context, customer.id)
        return noContent(customerKind.etag(customer))
      },
    }),
  )

export const customerOperations = (deps: CustomerDeps): Operation[] => [...reading, ...writing(deps), ...pausing(deps)]
