import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { TaxCategory } from '../../kernel/tax.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type BulkColumns, bulkParts, type BulkValues } from '../../platform/database/bulk.ts'
import { bigints, deduplicated } from '../../platform/database/columns.ts'
import { column, ofQuery, sql } from '../../platform/database/sql.ts'
import { assigned, collected, type CollectedFields } from './draft-queries.ts'
import { EDITABLE, PLAIN_FIELD_NAMES, type GivenFields, PLAIN_COLUMNS } from './fields.ts'
import type { InvoiceRow } from './types.ts'

/** The writing side of issuing, one statement a table, for one invoice as for ten thousand. */

export const INVOICE_COLUMNS: BulkColumns<InvoiceRow> = {
  id: ['invoice_id', 'bigint'],
  customerId: ['customer_id', 'bigint'],
  subscriptionId: ['subscription_id', 'bigint'],
  recurringInvoiceId: ['recurring_invoice_id', 'bigint'],
  totalMinor: ['total_minor', 'bigint'],
  customerVersion: ['customer_version', 'integer'],
  customerCountryId: ['customer_country_id', 'bigint'],
  customerStateId: ['customer_state_id', 'bigint'],
  customerVatNumber: ['customer_vat_number', 'text'],
  currency: ['currency', 'text'],
  invoiceDate: ['invoice_date', 'date'],
  dueDate: ['due_date', 'date'],
  supplyDate: ['supply_date', 'date'],
  source: ['source', 'text'],
  reference: ['reference', 'text'],
  gatewayId: ['gateway_id', 'bigint'],
  paymentMethodId: ['payment_method_id', 'bigint'],
  isMethodRequested: ['is_method_requested', 'boolean'],
  isCollectionHold: ['is_collection_hold', 'boolean'],
  nextTryDate: ['next_try_date', 'date'],
  ...PLAIN_COLUMNS,
}

/** Columns in which most invoices of a billing run are alike; texts that a caller wrote for an invoice are its own. */
const OF_MANY: readonly (keyof InvoiceRow)[] = [
  'customerVersion',
  'currency',
  'invoiceDate',
  'dueDate',
  'source',
  'gatewayId',
  'isMethodRequested',
  'isCollectionHold',
  'nextTryDate',
]
const OF_CALLERS: BulkValues<InvoiceRow> = { repeated: OF_MANY }
const OF_RULES: BulkValues<InvoiceRow> = {
  repeated: [...OF_MANY, ...PLAIN_FIELD_NAMES],
  absent: ['recurringInvoiceId', 'reference'],
}

/** Columns that stay as they begin for invoices without gateway, method and hold, as those paid in cash are. */
const OF_COLLECTED: readonly (keyof InvoiceRow)[] = [
  'gatewayId',
  'paymentMethodId',
  'isMethodRequested',
  'isCollectionHold',
  'nextTryDate',
]

const isCollected = (row: InvoiceRow): boolean =>
  row.gatewayId !== null || row.paymentMethodId !== null || row.isCollectionHold || row.nextTryDate !== null

/** Facts that all of some invoices may be without. */
const OF_SOME: readonly (keyof InvoiceRow)[] = [
  'customerCountryId',
  'customerStateId',
  'customerVatNumber',
  'supplyDate',
]

/** Returns what is known about the values of some invoices, so that little of them travels. */
function knownOf(invoices: readonly InvoiceRow[]): BulkValues<InvoiceRow> {
  const known = invoices[0] !== undefined && invoices[0].subscriptionId !== null ? OF_RULES : OF_CALLERS
  const absent = OF_SOME.filter((name) => invoices.every((invoice) => invoice[name] == null))
  if (invoices.some(isCollected)) return { ...known, absent: [...(known.absent ?? []), ...absent] }
  const repeated = known.repeated.filter((name) => !OF_COLLECTED.includes(name))
  return { repeated, absent: [...(known.absent ?? []), ...OF_COLLECTED, ...absent] }
}

/** Numbered facts of a line stand only where the rules planned it. */
export interface ChargeRow {
  invoiceId: InvoiceId | null
  recurringInvoiceId: Id | null
  displayOrder: number
  kind: string
  name: string | null
  description: string | null
  quantity: string
  unitPrice: string
  netMinor: bigint
  grossMinor: bigint
  subscriptionId: Id | null
  stretch: number | null
  itemId: Id | null
  part: number | null
  bracketIndex: number
  from: IsoDate | null
  until: IsoDate | null
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  price: string
  /** JSON text. */
  brackets: string | null
}

export const CHARGE_COLUMNS: BulkColumns<ChargeRow> = {
  invoiceId: ['invoice_id', 'bigint'],
  quantity: ['quantity', 'numeric'],
  netMinor: ['net_minor', 'bigint'],
  grossMinor: ['gross_minor', 'bigint'],
  subscriptionId: ['subscription_id', 'bigint'],
  recurringInvoiceId: ['recurring_invoice_id', 'bigint'],
  displayOrder: ['display_order', 'smallint'],
  kind: ['kind', 'text'],
  name: ['name', 'text'],
  description: ['description', 'text'],
  unitPrice: ['unit_price', 'numeric'],
  price: ['price', 'numeric'],
  stretch: ['stretch', 'integer'],
  itemId: ['item_id', 'bigint'],
  part: ['part', 'smallint'],
  bracketIndex: ['bracket_index', 'smallint'],
  from: ['period_from', 'date'],
  until: ['period_until', 'date'],
  wholeFrom: ['whole_from', 'date'],
  wholeUntil: ['whole_until', 'date'],
  brackets: ['brackets', 'jsonb'],
}

const FACTS_OF_LINES = [
  'kind',
  'stretch',
  'itemId',
  'part',
  'bracketIndex',
  'from',
  'until',
  'wholeFrom',
  'wholeUntil',
  'brackets',
] as const
const LINES_OF_CALLERS: BulkValues<ChargeRow> = { repeated: FACTS_OF_LINES }
const LINES_OF_RULES: BulkValues<ChargeRow> = {
  repeated: [...FACTS_OF_LINES, 'displayOrder', 'name', 'unitPrice', 'price'],
  absent: ['recurringInvoiceId', 'description'],
}

export interface TaxRow {
  invoiceId: InvoiceId
  name: string
  rate: string
  taxNumber: string | null
  /** Null for one that a caller wrote. */
  ruleId: Id | null
  /** Null for S, which every rate above 0 is. */
  category: TaxCategory | null
  reasonCode: string | null
  /** JSON text. */
  reason: string | null
  baseMinor: bigint
  amountMinor: bigint
  /** A PostgreSQL array, null for an invoice of one line. */
  shares: string | null
}

/** Draws identifiers ahead, so that lines can name their invoice before either is written. */
export const drawInvoiceIds = (tx: Transaction, count: number): Promise<InvoiceId[]> =>
  tx.values<InvoiceId>(sql`select nextval('invoices_invoice_id_seq') as "id" from generate_series(1, ${count})`)

/** Writes invoices with consecutive numbers in the order of the rows; drafts where there is no first number. */
export async function insertInvoices(
  tx: Transaction,
  invoices: readonly InvoiceRow[],
  common: { firstNumber: bigint | null; at: Instant; accountVersion: number },
): Promise<void> {
  const { firstNumber, at } = common
  for (const { names, values, source, offset } of bulkParts(invoices, INVOICE_COLUMNS, knownOf(invoices)))
    await tx.rows(
      ofQuery(sql`
      insert into invoices (account_id, number, last_updated, issued_at, account_version, ${names})
      select ${tx.account}, ${firstNumber === null ? null : firstNumber + BigInt(offset)}::bigint + r.place - 1, ${at}::timestamptz,
             ${firstNumber === null ? null : at}::timestamptz, ${common.accountVersion}::integer, ${values}
        from ${source}`),
    )
}

export async function insertCharges(tx: Transaction, charges: readonly ChargeRow[]): Promise<void> {
  const known = charges[0]?.kind === 'manual' ? LINES_OF_CALLERS : LINES_OF_RULES
  for (const { names, values, source } of bulkParts(charges, CHARGE_COLUMNS, known))
    await tx.rows(
      ofQuery(sql`insert into charge_rows (account_id, ${names}) select ${tx.account}, ${values} from ${source}`),
    )
}

export async function insertInvoiceTaxes(tx: Transaction, taxes: readonly TaxRow[]): Promise<void> {
  for (const { rows, distinct: s, positions } of deduplicated(taxes, TAX_SHAPE)) {
    await tx.rows(
      ofQuery(sql`
      insert into invoice_tax_rows (account_id, invoice_id, name, rate, tax_number, tax_rule_id, category, reason_code, reason, base_minor,
        amount_minor, shares)
      select ${tx.account}, r.invoice, (${column(s, 'name')}::text[])[r.shape], (${column(s, 'rate')}::numeric[])[r.shape],
             (${column(s, 'taxNumber')}::text[])[r.shape], (${bigints(s, 'ruleId')}::bigint[])[r.shape],
             (${column(s, 'category')}::text[])[r.shape], (${column(s, 'reasonCode')}::text[])[r.shape],
             (${column(s, 'reason')}::jsonb[])[r.shape], r.base, r.amount, r.shares::bigint[]
        from unnest(${bigints(rows, 'invoiceId')}::bigint[], ${bigints(rows, 'baseMinor')}::bigint[], ${bigints(rows, 'amountMinor')}::bigint[],
          ${column(rows, 'shares')}::text[], ${positions}::integer[]) as r(invoice, base, amount, shares, shape)`),
    )
  }
}

export const TAX_COLUMNS: BulkColumns<TaxRow> = {
  invoiceId: ['invoice_id', 'bigint'],
  name: ['name', 'text'],
  rate: ['rate', 'numeric'],
  taxNumber: ['tax_number', 'text'],
  ruleId: ['tax_rule_id', 'bigint'],
  category: ['category', 'text'],
  reasonCode: ['reason_code', 'text'],
  reason: ['reason', 'jsonb'],
  baseMinor: ['base_minor', 'bigint'],
  amountMinor: ['amount_minor', 'bigint'],
  shares: ['shares', 'bigint[]'],
}

const TAX_SHAPE = ['name', 'rate', 'taxNumber', 'ruleId', 'category', 'reasonCode', 'reason'] as const

/** Replaces the fields of an issued invoice that can still change. */
export const updateEditable = (tx: Transaction, id: InvoiceId, to: GivenFields & CollectedFields, at: Instant) =>
  tx.rows(sql`
    update invoices set ${assigned(EDITABLE, to)}, ${collected(to)}, last_updated = ${at}
     where account_id = ${tx.account} and invoice_id = ${id}`)

export const updateCancelled = (tx: Transaction, id: InvoiceId, on: IsoDate, at: Instant) =>
  tx.rows(sql`
    update invoices set cancelled_at = ${at}, cancelled_on = ${on}, last_updated = ${at}, next_try_date = null where account_id = ${tx.account} and invoice_id = ${id}`)
