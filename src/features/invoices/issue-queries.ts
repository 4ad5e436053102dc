import type { Instant } from '../../kernel/calendar.ts'
import type { TaxRule } from '../../engine/tax.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { bigintList, bigints, dates, shaped } from '../../platform/database/columns.ts'
import { column, sql } from '../../platform/database/sql.ts'

/** The writing side of issuing, one statement a table, for one invoice as for ten thousand. */

export interface InvoiceRow {
  customerId: Id
  subscriptionId: Id | null
  poNumber: string | null
  currency: string
  invoiceDate: string
  dueDate: string
  collectionMethod: string
  totalMinor: bigint
  customerVersion: number
}

export interface ChargeRow {
  invoiceId: InvoiceId | null
  displayOrder: number
  kind: string
  name: string
  quantity: string
  unitPrice: string
  netMinor: bigint
  grossMinor: bigint
  subscriptionId: Id
  stretch: number
  itemId: Id
  part: number
  bracketIndex: number
  from: string | null
  until: string | null
  wholeFrom: string | null
  wholeUntil: string | null
  price: string
  /** JSON text. */
  brackets: string | null
}

export interface TaxRow {
  invoiceId: InvoiceId
  name: string
  rate: string
  taxNumber: string | null
  baseMinor: bigint
  amountMinor: bigint
  /** A PostgreSQL array, null for an invoice of one line. */
  shares: string | null
}

/** All tax rules of the account, for the engine to match with the places of customers. */
export const listTaxRules = async (db: Queryable, account: AccountId): Promise<TaxRule[]> =>
  (
    await db.rows<
      Omit<TaxRule, 'countryId' | 'countryStateId'> & { countryId: bigint | null; countryStateId: bigint | null }
    >(sql`
      select s.tax_setting_id as "settingId", s.name as "settingName", r.rate, r.country_id as "countryId", r.country_state_id as "countryStateId",
             r.tax_number as "taxNumber"
        from tax_settings s join tax_rules r on r.account_id = ${account} and r.tax_setting_id = s.tax_setting_id
       where s.account_id = ${account} order by s.tax_setting_id, r.tax_rule_id`)
  ).map((rule) => ({
    ...rule,
    countryId: rule.countryId === null ? null : Number(rule.countryId),
    countryStateId: rule.countryStateId === null ? null : Number(rule.countryStateId),
  }))

/** Draws identifiers ahead, so that lines can name their invoice before either is written. */
export const drawInvoiceIds = async (tx: Transaction, count: number): Promise<InvoiceId[]> =>
  (
    await tx.rows<{ id: InvoiceId }>(
      sql`select nextval('invoices_invoice_id_seq') as "id" from generate_series(1, ${count})`,
    )
  ).map(({ id }) => id)

/** Invoices get the identifiers given and consecutive numbers, both in the order of the rows. */
export async function insertInvoices(
  tx: Transaction,
  invoices: readonly InvoiceRow[],
  common: { ids: readonly InvoiceId[]; firstNumber: bigint; issuedAt: Instant; accountVersion: number },
): Promise<void> {
  for (const { rows, shapes: s, places, offset } of shaped(invoices, INVOICE_SHAPE)) {
    const ids = common.ids.slice(offset, offset + rows.length)
    await tx.rows(sql`
      insert into invoices (account_id, invoice_id, customer_id, subscription_id, number, po_number, currency, invoice_date, due_date, last_updated,
        issued_at, source, collection_method, total_minor, account_version, customer_version)
      select ${tx.account}, r.id, r.customer, r.subscription, ${common.firstNumber + BigInt(offset)}::bigint + r.place - 1,
             (${column(s, 'poNumber')}::text[])[r.shape], (${column(s, 'currency')}::text[])[r.shape],
             (${dates(s, 'invoiceDate')}::date[])[r.shape], (${dates(s, 'dueDate')}::date[])[r.shape],
             ${common.issuedAt}::timestamptz, ${common.issuedAt}::timestamptz, 'Auto', (${column(s, 'collectionMethod')}::text[])[r.shape], r.total,
             ${common.accountVersion}::integer, (${column(s, 'customerVersion')}::integer[])[r.shape]
        from unnest(${bigintList(ids)}::bigint[], ${bigints(rows, 'customerId')}::bigint[], ${bigints(rows, 'subscriptionId')}::bigint[],
          ${bigints(rows, 'totalMinor')}::bigint[], ${places}::integer[]) with ordinality as r(id, customer, subscription, total, shape, place)`)
  }
}

const INVOICE_SHAPE = ['poNumber', 'currency', 'invoiceDate', 'dueDate', 'collectionMethod', 'customerVersion'] as const

export async function insertCharges(tx: Transaction, charges: readonly ChargeRow[]): Promise<void> {
  for (const { rows, shapes: s, places } of shaped(charges, CHARGE_SHAPE)) {
    await tx.rows(sql`
      insert into charges (account_id, invoice_id, display_order, kind, name, quantity, unit_price, net_minor, gross_minor, subscription_id, stretch,
        item_id, part, bracket_index, period_from, period_until, whole_from, whole_until, price, brackets)
      select ${tx.account}, r.invoice, (${column(s, 'displayOrder')}::smallint[])[r.shape], (${column(s, 'kind')}::text[])[r.shape],
             (${column(s, 'name')}::text[])[r.shape], r.quantity, (${column(s, 'unitPrice')}::numeric[])[r.shape], r.net, r.gross, r.subscription,
             (${column(s, 'stretch')}::integer[])[r.shape], (${bigints(s, 'itemId')}::bigint[])[r.shape], (${column(s, 'part')}::smallint[])[r.shape],
             (${column(s, 'bracketIndex')}::smallint[])[r.shape], (${dates(s, 'from')}::date[])[r.shape], (${dates(s, 'until')}::date[])[r.shape],
             (${dates(s, 'wholeFrom')}::date[])[r.shape], (${dates(s, 'wholeUntil')}::date[])[r.shape],
             (${column(s, 'price')}::numeric[])[r.shape], (${column(s, 'brackets')}::jsonb[])[r.shape]
        from unnest(${bigints(rows, 'invoiceId')}::bigint[], ${column(rows, 'quantity')}::numeric[], ${bigints(rows, 'netMinor')}::bigint[],
          ${bigints(rows, 'grossMinor')}::bigint[], ${bigints(rows, 'subscriptionId')}::bigint[], ${places}::integer[])
          as r(invoice, quantity, net, gross, subscription, shape)`)
  }
}

const CHARGE_SHAPE = [
  'displayOrder',
  'kind',
  'name',
  'unitPrice',
  'stretch',
  'itemId',
  'part',
  'bracketIndex',
  'from',
  'until',
  'wholeFrom',
  'wholeUntil',
  'price',
  'brackets',
] as const

export async function insertInvoiceTaxes(tx: Transaction, taxes: readonly TaxRow[]): Promise<void> {
  for (const { rows, shapes: s, places } of shaped(taxes, TAX_SHAPE)) {
    await tx.rows(sql`
      insert into invoice_taxes (account_id, invoice_id, name, rate, tax_number, base_minor, amount_minor, shares)
      select ${tx.account}, r.invoice, (${column(s, 'name')}::text[])[r.shape], (${column(s, 'rate')}::numeric[])[r.shape],
             (${column(s, 'taxNumber')}::text[])[r.shape], r.base, r.amount, r.shares::bigint[]
        from unnest(${bigints(rows, 'invoiceId')}::bigint[], ${bigints(rows, 'baseMinor')}::bigint[], ${bigints(rows, 'amountMinor')}::bigint[],
          ${column(rows, 'shares')}::text[], ${places}::integer[]) as r(invoice, base, amount, shares, shape)`)
  }
}

const TAX_SHAPE = ['name', 'rate', 'taxNumber'] as const

/** Periods billed at zero stand on no invoice; they go with the subscriptions of a customer that never owed anything. */
export const deleteZeroCharges = (tx: Transaction, account: AccountId, customerId: Id) =>
  tx.rows(sql`
    delete from charges c using subscriptions s
     where c.account_id = ${account} and s.account_id = ${account} and s.subscription_id = c.subscription_id and s.customer_id = ${customerId}
       and c.invoice_id is null`)

/** How much more, or less, is allocated to an invoice, by what it counts as. */
export interface AppliedDelta {
  id: InvoiceId
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
}

/** Moves the sums of what is allocated to invoices. */
export const sendApplied = (tx: Transaction, rows: readonly AppliedDelta[], at: Instant): void =>
  tx.send(sql`
    update invoices i
       set paid_minor = i.paid_minor + d.paid, pending_minor = i.pending_minor + d.pending, negative_minor = i.negative_minor + d.negative,
           last_updated = ${at}
      from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'paidMinor')}::bigint[], ${bigints(rows, 'pendingMinor')}::bigint[],
        ${bigints(rows, 'negativeMinor')}::bigint[]) as d(id, paid, pending, negative)
     where i.account_id = ${tx.account} and i.invoice_id = d.id`)

/** Marks days of charges as given back, with what came back for them. */
export const addCredited = (
  tx: Transaction,
  account: AccountId,
  columns: { chargeIds: string; days: string; amountsMinor: string },
) =>
  tx.rows(sql`
    update charges c set credited_minor = c.credited_minor + d.amount, credited_from = least(c.credited_from, d.day)
      from unnest(${columns.chargeIds}::bigint[], ${columns.days}::date[], ${columns.amountsMinor}::bigint[]) as d(charge, day, amount)
     where c.account_id = ${account} and c.charge_id = d.charge`)
