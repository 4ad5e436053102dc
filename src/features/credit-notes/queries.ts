import type { OpenInvoice } from '../../engine/credits.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { column, sql } from '../../platform/database/sql.ts'

export interface CreditableTax {
  invoiceId: InvoiceId
  name: string
  rate: Decimal
  leftMinor: bigint
}

/** The frozen taxes of invoices, each with what credit notes have not taken back of it. */
export const listCreditableTaxes = (db: Queryable, account: AccountId, invoiceIds: readonly InvoiceId[]) =>
  db.rows<CreditableTax>(sql`
    select t.invoice_id as "invoiceId", t.name, t.rate,
           t.amount_minor - coalesce((select sum(c.amount_minor) from credit_notes n
             join credit_note_taxes c on c.account_id = n.account_id and c.credit_note_id = n.credit_note_id
            where n.account_id = t.account_id and n.invoice_id = t.invoice_id and c.name = t.name and c.rate = t.rate), 0)::bigint as "leftMinor"
      from invoice_taxes t where t.account_id = ${account} and t.invoice_id = any(${`{${invoiceIds.join(',')}}`}::bigint[])
     order by t.invoice_id, t.invoice_tax_id`)

/** What of invoices no credit note has given back yet. */
export const listCreditable = (db: Queryable, account: AccountId, invoiceIds: readonly InvoiceId[]) =>
  db.rows<{ invoiceId: InvoiceId; leftMinor: bigint }>(sql`
    select i.invoice_id as "invoiceId", i.total_minor - coalesce((select sum(n.total_minor) from credit_notes n
             where n.account_id = i.account_id and n.invoice_id = i.invoice_id), 0)::bigint as "leftMinor"
      from invoices i where i.account_id = ${account} and i.invoice_id = any(${`{${invoiceIds.join(',')}}`}::bigint[])
     order by i.invoice_id`)

/** A customer's open invoices in a currency; the customer is locked. */
export const listOpenInvoices = (tx: Transaction, account: AccountId, customerId: CustomerId, currency: string) =>
  tx.rows<OpenInvoice>(sql`
    select invoice_id as "invoiceId", invoice_date as "invoiceDate",
           total_minor - negative_minor - paid_minor - pending_minor as "openMinor"
      from invoices
     where account_id = ${account} and customer_id = ${customerId} and currency = ${currency} and issued_at is not null and cancelled_at is null
       and total_minor - negative_minor - paid_minor - pending_minor > 0
     order by invoice_date, invoice_id`)

export const creditNumberExists = async (tx: Transaction, account: AccountId, numberKey: string): Promise<boolean> =>
  (await tx.rows(sql`select 1 from credit_notes where account_id = ${account} and number_key = ${numberKey}`)).length >
  0

export interface CreditNoteRow {
  customerId: CustomerId
  invoiceId: InvoiceId
  subscriptionId: Id | null
  number: string
  noteDate: IsoDate
  currency: string
  netMinor: bigint
  totalMinor: bigint
  appliedMinor: bigint
  memo: string
}

export const insertCreditNote = async (
  tx: Transaction,
  account: AccountId,
  note: CreditNoteRow,
  at: Instant,
): Promise<Id> =>
  (
    await oneRow<{ id: Id }>(
      tx,
      sql`insert into credit_notes (account_id, customer_id, invoice_id, subscription_id, number, note_date, currency, net_minor, total_minor,
            applied_minor, memo, created_at)
          values (${account}, ${note.customerId}, ${note.invoiceId}, ${note.subscriptionId}, ${note.number}, ${note.noteDate}, ${note.currency},
            ${note.netMinor}, ${note.totalMinor}, ${note.appliedMinor}, ${note.memo}, ${at})
          returning credit_note_id as "id"`,
    )
  ).id

export interface CreditLineRow {
  line: number
  chargeId: Id
  name: string
  from: IsoDate | null
  until: IsoDate | null
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  price: string
  creditedBeforeMinor: bigint
  mostMinor: bigint
  netMinor: bigint
}

export const insertCreditLines = (tx: Transaction, account: AccountId, noteId: Id, lines: readonly CreditLineRow[]) =>
  tx.rows(sql`
    insert into credit_note_lines (account_id, credit_note_id, line, charge_id, name, period_from, period_until, whole_from, whole_until, price,
      credited_before_minor, most_minor, net_minor)
    select ${account}, ${noteId}, * from unnest(${column(lines, 'line')}::smallint[], ${column(lines, 'chargeId')}::bigint[],
      ${column(lines, 'name')}::text[], ${column(lines, 'from')}::date[], ${column(lines, 'until')}::date[],
      ${column(lines, 'wholeFrom')}::date[], ${column(lines, 'wholeUntil')}::date[], ${column(lines, 'price')}::numeric[],
      ${column(lines, 'creditedBeforeMinor')}::bigint[], ${column(lines, 'mostMinor')}::bigint[], ${column(lines, 'netMinor')}::bigint[])`)

export interface CreditTaxRow {
  line: number
  name: string
  rate: string
  amountMinor: bigint
}

export const insertCreditTaxes = (tx: Transaction, account: AccountId, noteId: Id, taxes: readonly CreditTaxRow[]) =>
  tx.rows(sql`
    insert into credit_note_taxes (account_id, credit_note_id, line, name, rate, amount_minor)
    select ${account}, ${noteId}, * from unnest(${column(taxes, 'line')}::smallint[], ${column(taxes, 'name')}::text[],
      ${column(taxes, 'rate')}::numeric[], ${column(taxes, 'amountMinor')}::bigint[])`)

export interface AllocationRow {
  creditNoteId: Id
  invoiceId: InvoiceId
  appliedMinor: bigint
}

/** Allocations of credit notes to invoices, as the service makes them. */
export const insertCreditAllocations = (
  tx: Transaction,
  account: AccountId,
  customerId: CustomerId,
  rows: readonly AllocationRow[],
  at: Instant,
) =>
  tx.rows(sql`
    insert into allocations (account_id, customer_id, given_kind, given_id, owed_kind, owed_id, applied_minor, is_service_made, created_at)
    select ${account}, ${customerId}, 'negative_adjustment', r.note, 'invoice', r.invoice, r.applied, true, ${at}
      from unnest(${column(rows, 'creditNoteId')}::bigint[], ${column(rows, 'invoiceId')}::bigint[], ${column(rows, 'appliedMinor')}::bigint[])
        as r(note, invoice, applied)`)
