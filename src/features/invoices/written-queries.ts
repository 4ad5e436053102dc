import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { sendUncount } from '../../platform/database/housekeeping.ts'
import { column, type Fragment, fragment, namesOf, sql } from '../../platform/database/sql.ts'
import { EDITABLE, FIELD_NAMES, FIELDS, type PlainFields } from './fields.ts'

/** Statements of invoices whose lines a caller wrote: by hand, as a draft, or as a recurring invoice. */

export interface WrittenInvoiceRow extends PlainFields {
  id: InvoiceId
  customerId: CustomerId
  customerVersion: number
  recurringInvoiceId: Id | null
  reference: string | null
  currency: string
  invoiceDate: IsoDate
  dueDate: IsoDate
  source: 'Auto' | 'App'
  totalMinor: bigint
}

/** Writes invoices with consecutive numbers in the order of the rows; drafts where there is no first number. */
export const insertWrittenInvoices = (
  tx: Transaction,
  rows: readonly WrittenInvoiceRow[],
  common: { firstNumber: bigint | null; at: Instant; accountVersion: number },
) =>
  tx.rows(sql`
    insert into invoices (account_id, invoice_id, customer_id, recurring_invoice_id, number, reference, po_number, currency, invoice_date, due_date,
      last_updated, issued_at, source, collection_method, notes, terms, total_minor, account_version, customer_version)
    select ${tx.account}, r.id, r.customer, r.recurring, ${common.firstNumber}::bigint + r.place - 1, r.reference, r.po_number, r.currency,
           r.invoice_date, r.due_date, ${common.at}::timestamptz,
           case when ${common.firstNumber}::bigint is not null then ${common.at}::timestamptz end, r.source, r.collection_method, r.notes, r.terms,
           r.total, ${common.accountVersion}::integer, r.customer_version
      from unnest(${column(rows, 'id')}::bigint[], ${column(rows, 'customerId')}::bigint[], ${column(rows, 'recurringInvoiceId')}::bigint[],
        ${column(rows, 'reference')}::text[], ${column(rows, 'poNumber')}::text[], ${column(rows, 'currency')}::text[],
        ${column(rows, 'invoiceDate')}::date[], ${column(rows, 'dueDate')}::date[], ${column(rows, 'source')}::text[],
        ${column(rows, 'collectionMethod')}::text[], ${column(rows, 'notes')}::text[], ${column(rows, 'terms')}::text[],
        ${column(rows, 'totalMinor')}::bigint[], ${column(rows, 'customerVersion')}::integer[]) with ordinality
        as r(id, customer, recurring, reference, po_number, currency, invoice_date, due_date, source, collection_method, notes, terms, total,
             customer_version, place)`)

export interface WrittenChargeRow {
  invoiceId: InvoiceId
  recurringInvoiceId: Id | null
  displayOrder: number
  name: string | null
  description: string | null
  quantity: string
  unitPrice: string
  netMinor: bigint
  grossMinor: bigint
  from: IsoDate | null
  until: IsoDate | null
}

/** Lines as they were written; those of a recurring invoice know the period that they are for. */
export const insertWrittenCharges = (tx: Transaction, rows: readonly WrittenChargeRow[]) =>
  tx.rows(sql`
    insert into charges (account_id, invoice_id, recurring_invoice_id, display_order, kind, name, description, quantity, unit_price, price,
      net_minor, gross_minor, period_from, period_until, whole_from, whole_until)
    select ${tx.account}, r.invoice, r.recurring, r.display_order, 'manual', r.name, r.description, r.quantity, r.unit_price, r.unit_price,
           r.net, r.gross, r.period_from, r.period_until, r.period_from, r.period_until
      from unnest(${column(rows, 'invoiceId')}::bigint[], ${column(rows, 'recurringInvoiceId')}::bigint[],
        ${column(rows, 'displayOrder')}::smallint[], ${column(rows, 'name')}::text[], ${column(rows, 'description')}::text[],
        ${column(rows, 'quantity')}::numeric[], ${column(rows, 'unitPrice')}::numeric[], ${column(rows, 'netMinor')}::bigint[],
        ${column(rows, 'grossMinor')}::bigint[], ${column(rows, 'from')}::date[], ${column(rows, 'until')}::date[])
        as r(invoice, recurring, display_order, name, description, quantity, unit_price, net, gross, period_from, period_until)`)

/** What a draft remembers beside the invoice that it will be. */
export interface Draft {
  isInvoiceDateGiven: boolean
  isDueDateGiven: boolean
  hasOwnTaxes: boolean
}

export const replaceDraft = (tx: Transaction, id: InvoiceId, draft: Draft) =>
  tx.rows(sql`
    insert into invoice_drafts (account_id, invoice_id, is_invoice_date_given, is_due_date_given, has_own_taxes)
    values (${tx.account}, ${id}, ${draft.isInvoiceDateGiven}, ${draft.isDueDateGiven}, ${draft.hasOwnTaxes})
    on conflict (account_id, invoice_id) do update set is_invoice_date_given = excluded.is_invoice_date_given,
      is_due_date_given = excluded.is_due_date_given, has_own_taxes = excluded.has_own_taxes`)

export const getDraft = (db: Queryable, account: AccountId, id: InvoiceId) =>
  oneRow<Draft>(
    db,
    sql`select is_invoice_date_given as "isInvoiceDateGiven", is_due_date_given as "isDueDateGiven", has_own_taxes as "hasOwnTaxes"
          from invoice_drafts where account_id = ${account} and invoice_id = ${id}`,
  )

/** Replaces what a draft says; its lines and taxes have statements of their own. */
export const updateDraft = (tx: Transaction, row: WrittenInvoiceRow, at: Instant, accountVersion: number) =>
  tx.rows(sql`
    update invoices set customer_id = ${row.customerId}, customer_version = ${row.customerVersion}, account_version = ${accountVersion},
      reference = ${row.reference}, currency = ${row.currency}, invoice_date = ${row.invoiceDate}, due_date = ${row.dueDate},
      ${assigned(FIELD_NAMES, row)}, total_minor = ${row.totalMinor}, last_updated = ${at}
     where account_id = ${tx.account} and invoice_id = ${row.id} and issued_at is null`)

/** Makes a draft the invoice with a number: what was provisional is frozen. */
export const updateIssued = (
  tx: Transaction,
  id: InvoiceId,
  to: {
    number: bigint
    invoiceDate: IsoDate
    dueDate: IsoDate
    totalMinor: bigint
    accountVersion: number
    customerVersion: number
  },
  at: Instant,
) =>
  tx.rows(sql`
    update invoices set number = ${to.number}, issued_at = ${at}, last_updated = ${at}, invoice_date = ${to.invoiceDate}, due_date = ${to.dueDate},
      total_minor = ${to.totalMinor}, account_version = ${to.accountVersion}, customer_version = ${to.customerVersion}
     where account_id = ${tx.account} and invoice_id = ${id} and issued_at is null`)

/** `column = value` of plain fields, for the SET of an update. */
const assigned = (names: readonly (keyof PlainFields)[], to: PlainFields): Fragment =>
  names
    .map((name) => fragment`${namesOf(FIELDS[name].column)} = ${to[name]}`)
    .reduce((all, one) => fragment`${all}, ${one}`)

/** Replaces the fields of an issued invoice that can still change. */
export const updateEditable = (tx: Transaction, id: InvoiceId, to: PlainFields, at: Instant) =>
  tx.rows(sql`
    update invoices set ${assigned(EDITABLE, to)}, last_updated = ${at}
     where account_id = ${tx.account} and invoice_id = ${id}`)

export const updateCancelled = (tx: Transaction, id: InvoiceId, on: IsoDate, at: Instant) =>
  tx.rows(sql`
    update invoices set cancelled_at = ${at}, cancelled_on = ${on}, last_updated = ${at}, next_try_date = null where account_id = ${tx.account} and invoice_id = ${id}`)

/** What the lines come to with their taxes, where the lines themselves stay. */
export const updateGross = (tx: Transaction, id: InvoiceId, grossMinor: readonly bigint[]) =>
  tx.rows(sql`
    update charges c set gross_minor = r.gross from unnest(${`{${grossMinor.join(',')}}`}::bigint[]) with ordinality as r(gross, place)
     where c.account_id = ${tx.account} and c.invoice_id = ${id} and c.display_order = r.place`)

export const deleteCharges = (tx: Transaction, id: InvoiceId) =>
  tx.rows(sql`delete from charges where account_id = ${tx.account} and invoice_id = ${id}`)

export const deleteInvoiceTaxes = (tx: Transaction, id: InvoiceId) =>
  tx.rows(sql`delete from invoice_taxes where account_id = ${tx.account} and invoice_id = ${id}`)

export const deleteDraft = (tx: Transaction, id: InvoiceId) =>
  tx.rows(sql`delete from invoice_drafts where account_id = ${tx.account} and invoice_id = ${id}`)

export async function deleteInvoice(tx: Transaction, id: InvoiceId): Promise<void> {
  const deleted = await tx.rows<{ id: InvoiceId }>(sql`
    delete from invoices where account_id = ${tx.account} and invoice_id = ${id} and issued_at is null returning invoice_id as "id"`)
  sendUncount(
    tx,
    'invoices',
    deleted.map((row) => row.id),
  )
}

export const listDraftIds = async (db: Queryable, account: AccountId, customerId: CustomerId): Promise<InvoiceId[]> =>
  (
    await db.rows<{ id: InvoiceId }>(
      sql`select invoice_id as "id" from invoices where account_id = ${account} and customer_id = ${customerId} and issued_at is null`,
    )
  ).map(({ id }) => id)

/** Periods of recurring invoices keep nothing behind once their customer goes; it never had an issued invoice. */
export async function deleteDraftWithLines(tx: Transaction, id: InvoiceId): Promise<void> {
  await deleteCharges(tx, id)
  await deleteInvoiceTaxes(tx, id)
  await deleteInvoice(tx, id)
}
