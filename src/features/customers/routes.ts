import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { pathId } from '../../platform/http/handle.ts'
import {
  noContent,
  type Operation,
  lookupOperation,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { countList, listAnswer, pageStart } from '../../platform/http/paging.ts'
import { PAGE_SIZE_MAX, pageOf, paging } from '../../platform/http/query.ts'
import { reference } from '../../platform/wire/fields.ts'
import { listOf, objectOf, required } from '../../platform/wire/read.ts'
import {
  addCustomer,
  changePause,
  checkCustomerBody,
  editCustomer,
  lockedCustomer,
  type OnReturn,
  unknownCustomer,
} from './actions.ts'
import { type CustomLabel, listCustomLabels } from './custom-value-queries.ts'
import {
  countCustomers,
  type Customer,
  type CustomerFilter,
  type CustomerView,
  findCustomerView,
  listCustomers,
  listCustomersByIds,
} from './queries.ts'
import {
  customerEtag,
  CustomerIn,
  CustomerOut,
  CustomerQuery,
  CustomersByIdOut,
  CustomersOut,
  CustomersWithFieldsOut,
  customFieldsToWire,
  customerToWire,
} from './wire.ts'

const tag = 'Customers'
const IDS_MAX = 1000

type Clock = Parameters<typeof customerToWire>[1]

interface Deps {
  publicUrl: string | undefined
  onReturn: OnReturn
}

function listing(
  deps: Deps,
  about: { id: string; path: string; summary: string },
  schema: object,
  write: (customers: readonly CustomerView[], clock: Clock, labels: readonly CustomLabel[]) => string,
  labelsOf: (db: Queryable, account: AccountId) => Promise<CustomLabel[]> = async () => [],
): Operation {
  return readOperation({
    ...about,
    method: 'GET',
    tag,
    query: CustomerQuery,
    success: { status: 200, schema: schema as Record<string, unknown> },
    read: async (db, { account, moment }, { query, url }) => {
      const page = pageOf(query)
      const filter: CustomerFilter = {
        reference: query.Reference,
        emailKey: query.Email?.toLowerCase(),
        status: query.comp_status,
      }
      const isFiltered = Object.values(filter).some((value) => value != null)
      const start = isFiltered
        ? { fromId: 0n, skip: (page.page - 1) * page.size }
        : await pageStart(db, account.id, 'customers', page)
      const rows = await listCustomers(db, account.id, filter, start, page.size + 1, moment.today)
      const count = () => (isFiltered ? countCustomers(db, account.id, filter) : countList(db, account.id, 'customers'))
      const clock = { timeZone: account.timeZone, today: moment.today }
      const labels = await labelsOf(db, account.id)
      return listAnswer({ rows, page, url, count }, (some) => write(some, clock, labels), deps.publicUrl)
    },
  })
}

const pauses = {
  suspend: 'Suspend a customer: it is not billed until unsuspended',
  unsuspend: 'Bill a suspended customer again',
  archive: 'Archive a customer: it is not billed and takes no new subscriptions',
  reopen: 'Reopen an archived customer',
} as const

export const customerOperations = (deps: Deps): Operation[] => [
  listing(
    deps,
    { id: 'listCustomers', path: '/v1/customers', summary: 'List customers' },
    CustomersOut.schema,
    (rows, clock) => CustomersOut.write(rows.map((row) => customerToWire(row, clock))),
  ),
  listing(
    deps,
    {
      id: 'listCustomersWithCustomFields',
      path: '/v1/customers/with_customfields',
      summary: 'List customers with their custom fields',
    },
    CustomersWithFieldsOut.schema,
    (rows, clock, labels) =>
      CustomersWithFieldsOut.write(
        rows.map((row) => ({ ...customerToWire(row, clock), CustomFields: customFieldsToWire(row, labels) })),
      ),
    listCustomLabels,
  ),
  readOperation({
    id: 'listCustomersByIds',
    method: 'POST',
    path: '/v1/by_customer_ids',
    tag,
    permission: 'read',
    summary: 'List customers by their identifiers',
    query: objectOf(paging),
    body: objectOf(
      { ids: required(listOf(reference(), { max: IDS_MAX, what: 'identifiers' })), ...paging },
      { name: 'CustomerChoice' },
    ),
    success: { status: 200, schema: CustomersByIdOut.schema },
    read: async (db, { account, moment }, { body, query, url }) => {
      const ids = [...new Set(body.ids.filter((id) => id !== null))]
      const customers = await listCustomersByIds(db, account.id, ids, moment.today)
      const given = { page: body.page ?? query.page ?? null, page_size: body.page_size ?? query.page_size ?? null }
      const isPaged = given.page !== null || given.page_size !== null
      const page = isPaged ? pageOf(given) : { page: 1, size: Math.max(customers.length, PAGE_SIZE_MAX) }
      const first = (page.page - 1) * page.size
      const clock = { timeZone: account.timeZone, today: moment.today }
      const write = (rows: typeof customers) =>
        CustomersByIdOut.write(rows.map((row) => ({ ...customerToWire(row, clock), PrimaryPaymentMethod: false })))
      return listAnswer(
        { rows: customers.slice(first, first + page.size + 1), page, url, count: async () => customers.length },
        write,
        deps.publicUrl,
      )
    },
  }),
  lookupOperation({
    id: 'getCustomer',
    method: 'GET',
    path: '/v1/customers/{customerID}',
    tag,
    summary: 'Read a customer',
    success: { status: 200, schema: CustomerOut.schema },
    read: async (db, { account, moment }, { params }) => {
      const id = pathId(params, 'customerID', unknownCustomer)
      const customer = await findCustomerView(db, account.id, id, moment.today)
      if (!customer) throw unknownCustomer(id)
      const body = CustomerOut.write(customerToWire(customer, { timeZone: account.timeZone, today: moment.today }))
      return { status: 200, body, etag: customerEtag(customer) }
    },
  }),
  writeOperation({
    id: 'addCustomer',
    method: 'POST',
    path: '/v1/customers',
    tag,
    summary: 'Add a customer',
    body: CustomerIn,
    success: { status: 201, schema: CustomerOut.schema },
    refusals: { 409: 'Another customer has the Reference' },
    references: (tx, _context, { body }, problems) => checkCustomerBody(tx, body, problems),
    write: async (tx, context, { body }, _record, customValues) => {
      const { customer, json } = await addCustomer(tx, context, body, customValues)
      return {
        status: 201,
        body: json,
        etag: customerEtag(customer),
        headers: { location: `/v1/customers/${customer.id}` },
      }
    },
  }),
  writeOperation({
    id: 'editCustomer',
    method: 'PUT',
    path: '/v1/customers/{customerID}',
    tag,
    summary: 'Replace the fields of a customer',
    body: CustomerIn,
    success: { status: 204 },
    refusals: { 409: 'Another customer has the Reference, or the currency cannot change any more' },
    record: (tx, _context, { params }) => lockedCustomer(tx, pathId(params, 'customerID', unknownCustomer)),
    etag: (customer: Customer) => customerEtag(customer),
    references: (tx, _context, { body }, problems) => checkCustomerBody(tx, body, problems),
    write: async (tx, context, { body }, present, customValues) =>
      noContent(customerEtag(await editCustomer(tx, context, present, body, customValues))),
  }),
  ...(Object.keys(pauses) as (keyof typeof pauses)[]).map((change) =>
    writeOperation({
      id: `${change}Customer`,
      method: 'PUT',
      path: `/v1/customers/{customerID}/${change}`,
      tag,
      summary: pauses[change],
      success: { status: 204 },
      record: (tx, _context, { params }) => lockedCustomer(tx, pathId(params, 'customerID', unknownCustomer)),
      write: async (tx, context, _input, customer: Customer) => {
        await changePause(tx, context, customer, change, deps.onReturn)
        return noContent()
      },
    }),
  ),
]
