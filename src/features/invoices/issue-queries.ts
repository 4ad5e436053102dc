import type { Instant } from '../../kernel/calendar.ts'
import type { TaxRule } from '../../engine/tax.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import { arrayLiteral, column, sql } from '../../platform/database/sql.ts'

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
        from tax_settings s join tax_rules r on r.account_id = s.account_id and r.tax_setting_id = s.tax_setting_id
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
export const insertInvoices = (
  tx: Transaction,
  rows: readonly InvoiceRow[],
  common: { ids: readonly InvoiceId[]; firstNumber: bigint; issuedAt: Instant; accountVersion: number },
) =>
  tx.rows(sql`
    insert into invoices (account_id, invoice_id, customer_id, subscription_id, number, po_number, currency, invoice_date, due_date, last_updated,
      issued_at, source, collection_method, total_minor, account_version, customer_version)
    select ${tx.account}, r.id, r.customer, r.subscription, ${common.firstNumber}::bigint + r.place - 1, r.po_number, r.currency, r.invoice_date, r.due_date,
           ${common.issuedAt}::timestamptz, ${common.issuedAt}::timestamptz, 'Auto', r.collection_method, r.total, ${common.accountVersion}::integer,
           r.customer_version
      from unnest(${arrayLiteral(common.ids)}::bigint[], ${bigints(rows, 'customerId')}::bigint[],
        ${bigints(rows, 'subscriptionId')}::bigint[], ${column(rows, 'poNumber')}::text[], ${column(rows, 'currency')}::text[],
        ${dates(rows, 'invoiceDate')}::date[], ${dates(rows, 'dueDate')}::date[],
        ${column(rows, 'collectionMethod')}::text[], ${bigints(rows, 'totalMinor')}::bigint[],
        ${column(rows, 'customerVersion')}::integer[]) with ordinality
        as r(id, customer, subscription, po_number, currency, invoice_date, due_date, collection_method, total, customer_version, place)`)

export const insertCharges = (tx: Transaction, rows: readonly ChargeRow[]) =>
  tx.rows(sql`
    insert into charges (account_id, invoice_id, display_order, kind, name, quantity, unit_price, net_minor, gross_minor, subscription_id, stretch,
      item_id, part, bracket_index, period_from, period_until, whole_from, whole_until, price, brackets)
    select ${tx.account}, * from unnest(${bigints(rows, 'invoiceId')}::bigint[], ${column(rows, 'displayOrder')}::smallint[],
      ${column(rows, 'kind')}::text[], ${column(rows, 'name')}::text[], ${column(rows, 'quantity')}::numeric[],
      ${column(rows, 'unitPrice')}::numeric[], ${bigints(rows, 'netMinor')}::bigint[],
      ${bigints(rows, 'grossMinor')}::bigint[], ${bigints(rows, 'subscriptionId')}::bigint[],
      ${column(rows, 'stretch')}::integer[], ${bigints(rows, 'itemId')}::bigint[], ${column(rows, 'part')}::smallint[],
      ${column(rows, 'bracketIndex')}::smallint[], ${dates(rows, 'from')}::date[], ${dates(rows, 'until')}::date[],
      ${dates(rows, 'wholeFrom')}::date[], ${dates(rows, 'wholeUntil')}::date[],
      ${column(rows, 'price')}::numeric[], ${column(rows, 'brackets')}::jsonb[])`)

export const insertInvoiceTaxes = (tx: Transaction, rows: readonly TaxRow[]) =>
  tx.rows(sql`
    insert into invoice_taxes (account_id, invoice_id, name, rate, tax_number, base_minor, amount_minor, shares)
    select ${tx.account}, r.invoice, r.name, r.rate, r.tax_number, r.base, r.amount, r.shares::bigint[]
      from unnest(${bigints(rows, 'invoiceId')}::bigint[], ${column(rows, 'name')}::text[], ${column(rows, 'rate')}::numeric[],
        ${column(rows, 'taxNumber')}::text[], ${bigints(rows, 'baseMinor')}::bigint[],
        ${bigints(rows, 'amountMinor')}::bigint[], ${column(rows, 'shares')}::text[]) as r(invoice, name, rate, tax_number, base, amount, shares)`)

/** Periods billed at zero stand on no invoice; they go with the subscriptions of a customer that never owed anything. */
export const deleteZeroCharges = (tx: Transaction, account: AccountId, customerId: Id) =>
  tx.rows(sql`
    delete from charges c using subscriptions s
     where c.account_id = ${account} and s.account_id = c.account_id and s.subscription_id = c.subscription_id and s.customer_id = ${customerId}
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
