import { missing } from '../../kernel/fault.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import { type Answer, type Operation, lookupOperation, readOperation } from '../../platform/http/operation.ts'
import { countList, listAnswer, pageStart, startOf } from '../../platform/http/paging.ts'
import { checkDates, pageOf } from '../../platform/http/query.ts'
import type { BodyOf } from '../../platform/wire/read.ts'
import type { Field } from '../../platform/wire/read.ts'
import { unknownCustomer } from '../customers/record.ts'
import { findCustomer } from '../customers/queries.ts'
import { unknownInvoice } from './manual.ts'
import { type ManualDeps, manualInvoiceOperations } from './manual-routes.ts'
import { invoicePortions, loadInvoiceParts, lookUpInvoiceParts, lookUpLines } from './load-parts.ts'
import {
  countInvoices,
  findInvoiceByNumber,
  type Invoice,
  type InvoiceFilter,
  listInvoices,
  listSpreads,
} from './queries.ts'
import {
  ExplanationOut,
  explanationToWire,
  invoiceEtag,
  InvoiceOut,
  type InvoiceParts,
  InvoiceQuery,
  InvoicesOut,
  invoiceToWire,
} from './wire.ts'

const tag = 'Invoices'

interface Deps extends ManualDeps {
  publicUrl: string | undefined
}

const unknownNumber = (number: bigint | string) =>
  missing('invoice_unknown', `There is no invoice with the number ${number}.`, 'invoiceNum')

type Query = typeof InvoiceQuery extends Field<infer Q> ? Q : BodyOf<never>

const filterOf = (query: Query): InvoiceFilter => ({
  customerId: query.customerID,
  subscriptionId: query.subscriptionID,
  recurringInvoiceId: query.recurInvoiceID,
  status: query.status,
  startDate: query.startDate,
  endDate: query.endDate,
})

async function answerList(
  db: Queryable,
  context: RequestContext,
  query: Query,
  filter: InvoiceFilter,
  url: string,
  publicUrl: string | undefined,
): Promise<Answer> {
  const { account, moment } = context
  checkDates(query, 'startDate', 'endDate')
  const page = pageOf(query)
  const isFiltered = Object.values(filter).some((value) => value != null)
  const start = isFiltered ? startOf(page) : await pageStart(db, account.id, 'invoices', page)
  const rows = await listInvoices(db, account.id, filter, start, page.size + 1, moment.today)
  const clock = { timeZone: account.timeZone, today: moment.today }
  async function* written(shown: readonly Invoice[]) {
    const portions = invoicePortions(db, account.id, shown, moment.today)
    for await (const parts of portions) yield parts.map((part) => invoiceToWire(part, clock))
  }
  const count = () =>
    isFiltered ? countInvoices(db, account.id, filter, moment.today) : countList(db, account.id, 'invoices')
  return listAnswer({ rows, page, url, count }, (shown) => InvoicesOut.pieces(written(shown)), publicUrl)
}

function answerOne({ account, moment }: RequestContext, parts: InvoiceParts): Answer {
  const body = InvoiceOut.write(invoiceToWire(parts, { timeZone: account.timeZone, today: moment.today }))
  return { status: 200, body, etag: invoiceEtag(parts) }
}

export const invoiceOperations = ({ publicUrl, ...deps }: Deps): Operation[] => [
  readOperation({
    id: 'listInvoices',
    method: 'GET',
    path: '/v1/invoices',
    tag,
    summary: 'List invoices',
    query: InvoiceQuery,
    success: { status: 200, schema: InvoicesOut.schema },
    read: (db, context, { query, url }) => answerList(db, context, query, filterOf(query), url, publicUrl),
  }),
  readOperation({
    id: 'listCustomerInvoices',
    method: 'GET',
    path: '/v1/customers/{customerID}/invoices',
    tag,
    summary: 'List the invoices of a customer',
    query: InvoiceQuery,
    success: { status: 200, schema: InvoicesOut.schema },
    read: async (db, context, { params, query, url }) => {
      const customerId = pathId(params, 'customerID', unknownCustomer)
      if (!(await findCustomer(db, context.account.id, customerId))) throw unknownCustomer(customerId)
      return answerList(db, context, query, { ...filterOf(query), customerId }, url, publicUrl)
    },
  }),
  lookupOperation({
    id: 'getInvoice',
    method: 'GET',
    path: '/v1/invoices/{invoiceID}',
    tag,
    summary: 'Read an invoice',
    success: { status: 200, schema: InvoiceOut.schema },
    read: async (db, context, { params }) => {
      const id = pathId(params, 'invoiceID', unknownInvoice)
      const parts = await lookUpInvoiceParts(db, context.account.id, id, context.moment.today)
      if (!parts) throw unknownInvoice(id)
      return answerOne(context, parts)
    },
  }),
  readOperation({
    id: 'getInvoiceByNumber',
    method: 'GET',
    path: '/v1/invoices/by_number/{invoiceNum}',
    tag,
    summary: 'Read an invoice by its number',
    success: { status: 200, schema: InvoiceOut.schema, headers: ['ETag'] },
    read: async (db, context, { params }) => {
      const number = pathId(params, 'invoiceNum', unknownNumber)
      const invoice = await findInvoiceByNumber(db, context.account.id, number)
      if (!invoice) throw unknownNumber(number)
      const [parts] = await loadInvoiceParts(db, context.account.id, [invoice], context.moment.today)
      return answerOne(context, parts!)
    },
  }),
  lookupOperation({
    id: 'explainInvoice',
    method: 'GET',
    path: '/v1/invoices/{invoiceID}/explanation',
    tag,
    summary: 'Explain every amount of an invoice from its facts',
    success: { status: 200, schema: ExplanationOut.schema },
    read: async (db, { account }, { params }) => {
      const id = pathId(params, 'invoiceID', unknownInvoice)
      const [parts, spreads] = await Promise.all([lookUpLines(db, account.id, id), listSpreads(db, account.id, id)])
      if (!parts) throw unknownInvoice(id)
      return { status: 200, body: ExplanationOut.write(explanationToWire(parts, spreads, account.timeZone)) }
    },
  }),
  ...manualInvoiceOperations(deps),
]
