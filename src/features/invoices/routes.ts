import { introduced } from '../../platform/http/tags.ts'
import { pathParameter } from '../../platform/http/path-parameters.ts'
import { searchRecords } from '../finding/search.ts'
import { missing } from '../../kernel/fault.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Queryable, Snapshot } from '../../platform/database/database.ts'
import { pathId } from '../../platform/http/handle.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, lookupOperation, type PathParams, readOperation } from '../../platform/http/operation.ts'
import { checkDates } from '../../platform/http/query.ts'
import type { BodyOf } from '../../platform/wire/read.ts'
import { ofCustomerInPath } from '../customers/record.ts'
import { findBilledCustomer, listCustomersOfCurrency } from './by-customer-queries.ts'
import { type ManualDeps, manualInvoiceOperations } from './manual-routes.ts'
import { invoicePortions, lookUpLines } from './load-parts.ts'
import {
  countInvoices,
  findInvoiceByNumber,
  type Invoice,
  type InvoiceFilter,
  listInvoices,
  SEARCHED_INVOICES,
  listSpreads,
  COUNTED_INVOICES,
} from './queries.ts'
import { answerLongInvoice, invoiceKind } from './record.ts'
import { ExplanationOut, explanationToWire } from './explanation-wire.ts'
import { invoiceFilters, invoiceShape } from './wire.ts'

pathParameter('invoiceNum', 'The number of the invoice as it is printed.', { type: 'string' })

const tag = introduced(
  'Invoices',
  'Invoices made by the rules or by hand, with their lines, taxes and what is paid of them.',
)

const unknownNumber = (number: bigint | string) =>
  missing('invoice_unknown', `There is no invoice with the number ${number}.`, 'invoiceNum')

async function numbered(db: Queryable, { account }: RequestContext, params: PathParams): Promise<Invoice> {
  const number = pathId(params, 'invoiceNum', unknownNumber)
  const invoice = await findInvoiceByNumber(db, account.id, number)
  if (!invoice) throw unknownNumber(number)
  return invoice
}

async function filterOf(
  query: BodyOf<typeof invoiceFilters>,
  { account }: RequestContext,
  db: Queryable,
): Promise<InvoiceFilter> {
  checkDates(query, 'startDate', 'endDate')
  const currency = query.CurrencyCode
  const subscriptionId = query.subscriptionID
  const billed = subscriptionId == null ? null : await findBilledCustomer(db, account.id, subscriptionId)
  return {
    customerId: query.customerID ?? billed,
    subscriptionId,
    recurringInvoiceId: query.recurInvoiceID,
    status: query.status,
    startDate: query.startDate,
    endDate: query.endDate,
    currency,
    customersOfCurrency: currency == null ? null : await listCustomersOfCurrency(db, account.id, currency),
    reference: query.Reference,
    poNumber: query.poNumber,
    isWrittenOff: query.isWrittenOff,
    found: await searchRecords(db, account.id, query.q, SEARCHED_INVOICES),
  }
}

const list = {
  tag,
  out: invoiceShape,
  filters: invoiceFilters,
  filterOf,
  knowsUpdates: true as const,
  rows: listInvoices,
  count: countInvoices,
  pieces: (db: Snapshot, context: RequestContext, rows: Invoice[]) =>
    invoiceShape.list.bytePieces(
      invoicePortions(db, context.account.id, rows, context.moment.today),
      writingOf(context),
    ),
}

export const invoiceOperations = (deps: ManualDeps): Operation[] => [
  listOperation({
    ...list,
    id: 'listInvoices',
    path: '/v1/invoices',
    summary: 'List invoices',
    blocks: COUNTED_INVOICES,
  }),
  listOperation({
    ...list,
    id: 'listCustomerInvoices',
    path: '/v1/customers/{customerID}/invoices',
    summary: 'List the invoices of a customer',
    parent: ofCustomerInPath,
  }),
  invoiceKind.readOperation({ id: 'getInvoice', tag, summary: 'Read an invoice' }),
  readOperation({
    id: 'getInvoiceByNumber',
    path: '/v1/invoices/by_number/{invoiceNum}',
    tag,
    summary: 'Read an invoice by its number',
    success: { status: 200, schema: invoiceShape.schema, headers: ['ETag'] },
    read: async (db, context, { params }) => {
      const { id } = await numbered(db, context, params)
      return invoiceKind.answer(await invoiceKind.found(db, context, { invoiceID: id.toString() }), context)
    },
    readLong: async (db, context, { params }) => answerLongInvoice(db, context, await numbered(db, context, params)),
  }),
  lookupOperation({
    id: 'explainInvoice',
    path: '/v1/invoices/{invoiceID}/explanation',
    tag,
    summary: 'Explain every amount of an invoice from its facts',
    success: { status: 200, schema: ExplanationOut.schema },
    read: async (db, { account }, { params }) => {
      const id = invoiceKind.pathId(params)
      const [parts, spreads] = await Promise.all([lookUpLines(db, account.id, id), listSpreads(db, account.id, id)])
      if (!parts) throw invoiceKind.unknown(id)
      return { status: 200, body: ExplanationOut.write(explanationToWire(parts, spreads, account.timeZone)) }
    },
  }),
  ...manualInvoiceOperations(deps),
]
