import type { Instant } from '../../kernel/calendar.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { drawIds, idsOfRanges } from '../../platform/database/draw-ids.ts'
import { joined, shapeRelation } from '../../platform/database/bulk.ts'
import { type ArrayParameter, isOneValue, keyOf, type OneValue } from '../../platform/database/columns.ts'
import { type Fragment, fragment, namesOf, ofQuery, sql } from '../../platform/database/sql.ts'
import type { StampedRecords } from '../../platform/database/stamped.ts'
import { CHARGE_COLUMNS, type ChargeRow, INVOICE_COLUMNS } from './issue-queries.ts'
import type { OfShape } from './template-line-queries.ts'
import type { InvoiceRow } from './types.ts'

/** The writing side of issuing by templates: what invoices of a template share travels once, and each takes it by the position of its template. */

/** Invoices as columns: identifiers as bigint[], positions as integer[]. */
export interface StampedInvoices extends StampedRecords {
  subscriptionIds: ArrayParameter
  /** Positions of what is alike in their rows, as integer[]; null where there is one for all. Those of StampedRecords are the positions of their templates. */
  heads: ArrayParameter | null
  /** bigint[] */
  totals: ArrayParameter | OneValue
  /** integer[] */
  customerVersions: ArrayParameter | OneValue
  /** text[]; null where no customer has one. */
  vatNumbers: ArrayParameter | null
  /** Purchase order numbers, as text[]; null where no invoice has one. */
  poNumbers: ArrayParameter | null
  /** boolean[]: they count as sent by mail when they are issued; null where none does. */
  areSent: ArrayParameter | null
  /** Templates that keep the lines and taxes of each, with its first identifiers; null where these are rows. */
  kept: { shapeIds: ArrayParameter | OneValue; firstChargeIds: ArrayParameter; firstTaxIds: ArrayParameter }
  /** Details of collection of each; null where no invoice of them is collected. */
  collected: { gatewayIds: ArrayParameter; methodIds: ArrayParameter; nextTryDates: ArrayParameter } | null
}

const { id: _id, customerId: _customer, subscriptionId: _subscription, ...OF_INVOICES } = INVOICE_COLUMNS
const {
  gatewayId: _gateway,
  paymentMethodId: _method,
  nextTryDate: _next,
  totalMinor: _total,
  customerVersion: _version,
  customerVatNumber: _number,
  recurringInvoiceId: _recurring,
  reference: _reference,
  poNumber: _order,
  ...HEAD_COLUMNS
} = OF_INVOICES
const HEAD_NAMES = Object.keys(HEAD_COLUMNS) as (keyof typeof HEAD_COLUMNS)[]

/** Returns all that the row of an invoice has in common with others, as one text. */
export const headOf = (invoice: InvoiceRow): string => keyOf(invoice, HEAD_NAMES)

const { invoiceId: _charged, subscriptionId: _billed, ...SHARED_BY_CHARGES } = CHARGE_COLUMNS

/** Draws identifiers ahead, in rising order. */
export async function drawManyInvoiceIds(tx: Transaction, count: number): Promise<InvoiceId[]> {
  const [drawn = []] = await drawIds(tx, [{ sequence: 'invoices_invoice_id_seq', count }])
  return idsOfRanges(drawn)
}

/** Writes charges that stand on no invoice: they belong to the subscription alone. */
export async function insertTemplateZeroCharges(
  tx: Transaction,
  { subscriptionIds, positions }: StampedInvoices,
  charges: readonly OfShape<ChargeRow>[],
): Promise<void> {
  if (charges.length === 0) return
  const { names, values, source } = shapeRelation(charges, SHARED_BY_CHARGES)
  await tx.rows(
    ofQuery(sql`
    insert into charge_rows (account_id, subscription_id, ${names})
    select ${tx.account}, r.subscription, ${values}
      from unnest(${subscriptionIds}::bigint[], ${positions}::integer[]) with ordinality as r(subscription, shape, place)
      join ${source} on s.shape = r.shape
     order by r.place, s.line`),
  )
}

/** Writes invoices with consecutive numbers in the order of the records. Nothing depends on where their rows lie, so they are not sorted. */
export function insertBulkInvoices(
  tx: Transaction,
  rows: StampedInvoices,
  heads: readonly OfShape<InvoiceRow>[],
  { firstNumber, at, accountVersion }: { firstNumber: bigint; at: Instant; accountVersion: number },
) {
  const { names, values, source } = shapeRelation(heads, HEAD_COLUMNS)
  const own = ownColumns(rows, at)
  const ofHead = rows.heads === null ? fragment`cross join ${source}` : fragment`join ${source} on s.shape = r.head`
  return tx.rows(
    ofQuery(sql`
    insert into invoices (account_id, number, last_updated, issued_at, account_version, ${names}, ${own.names})
    select ${tx.account}, ${firstNumber}::bigint + r.place - 1, ${at}::timestamptz, ${at}::timestamptz, ${accountVersion}::integer, ${values}, ${own.values}
      from unnest(${own.arrays}) with ordinality as r(${own.arrayNames}, place) ${ofHead}`),
  )
}

/** Column of invoices: its name, its values, their type, and what is written where these are not. */
type OwnColumn = [name: string, values: ArrayParameter | OneValue, type: string, value?: Fragment]

/** Returns the columns that each invoice has of its own: their names, their values in rows `r`, the arrays that these come from, and the names of these. */
function ownColumns({ ids, customerIds, subscriptionIds, kept, collected, ...rows }: StampedInvoices, at: Instant) {
  const columns: OwnColumn[] = [
    ['invoice_id', ids, 'bigint'],
    ['customer_id', customerIds, 'bigint'],
    ['subscription_id', subscriptionIds, 'bigint'],
    ['template_id', kept.shapeIds, 'bigint'],
    ['first_charge_id', kept.firstChargeIds, 'bigint'],
    ['first_tax_id', kept.firstTaxIds, 'bigint'],
    ['total_minor', rows.totals, 'bigint'],
    ['customer_version', rows.customerVersions, 'integer'],
  ]
  if (rows.vatNumbers !== null) columns.push(['customer_vat_number', rows.vatNumbers, 'text'])
  if (rows.poNumbers !== null) columns.push(['po_number', rows.poNumbers, 'text'])
  if (rows.areSent !== null)
    columns.push(['date_sent', rows.areSent, 'boolean', fragment`case when r.date_sent then ${at}::timestamptz end`])
  if (collected !== null)
    columns.push(
      ['gateway_id', collected.gatewayIds, 'bigint'],
      ['payment_method_id', collected.methodIds, 'bigint'],
      ['next_try_date', collected.nextTryDates, 'date'],
    )
  const arrays = columns.flatMap(([name, values, type]) => (isOneValue(values) ? [] : [{ name, values, type }]))
  const all = rows.heads === null ? arrays : [...arrays, { name: 'head', values: rows.heads, type: 'integer' }]
  return {
    names: namesOf(columns.map(([name]) => name).join(', ')),
    values: joined(columns.map(valueOf)),
    arrays: joined(all.map(({ values, type }) => fragment`${values}::${namesOf(type)}[]`)),
    arrayNames: namesOf(all.map(({ name }) => name).join(', ')),
  }
}

const valueOf = ([name, values, type, value]: OwnColumn): Fragment =>
  isOneValue(values) ? fragment`${values.all}::${namesOf(type)}` : (value ?? namesOf(`r.${name}`))
