import type { CreditLine } from '../../engine/subscription/credits.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, sql } from '../../platform/database/sql.ts'
import { writtenOutCharges } from '../invoices/state-queries.ts'

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
      ${column(lines, 'creditedBeforeMinor')}::bigint[], ${column(lines, 'mostMinor')}::bigint[], ${column(lines, 'netMinor')}::bigint[]) returning 1`)

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
      ${column(taxes, 'rate')}::numeric[], ${column(taxes, 'amountMinor')}::bigint[]) returning 1`)

/** Lists the lines of a note of the service, with the kinds of the charges they give back, which are rows since they were given back. */
export const listCreditLines = (db: Queryable, account: AccountId, noteId: Id) =>
  db.rows<CreditLine>(sql`
    select l.charge_id as "chargeId", c.kind, l.name, l.period_from as "from", l.period_until as "until", l.whole_from as "wholeFrom",
           l.whole_until as "wholeUntil", l.price, l.credited_before_minor as "creditedBeforeMinor", l.most_minor as "mostMinor",
           l.net_minor as "netMinor"
      from credit_note_lines l join ${writtenOutCharges(account)} c on c.charge_id = l.charge_id
     where l.account_id = ${account} and l.credit_note_id = ${noteId}
     order by l.line`)

/** Lists the lines that credit notes give back, in their order. */
export const listLinesOfNotes = (db: Queryable, account: AccountId, noteIds: readonly Id[]) =>
  db.rows<{ noteId: Id; chargeId: Id; name: string; netMinor: bigint }>(sql`
    select credit_note_id as "noteId", charge_id as "chargeId", name, net_minor as "netMinor" from credit_note_lines
     where account_id = ${account} and credit_note_id = any(${arrayLiteral(noteIds)}::bigint[])
     order by credit_note_id, line`)

/** Counts what of each credit note is read for an answer, its allocations aside: settlements with their taxes, and lines. */
export const countCorrected = (db: Queryable, account: AccountId, noteIds: readonly Id[]) =>
  db.rows<{ id: Id; count: number }>(sql`
    select n.id, ((select count(*) from settlements s left join settlement_taxes t on t.account_id = ${account} and t.settlement_id = s.settlement_id
                    where s.account_id = ${account} and s.negative_adjustment_id = n.id)
                  + (select count(*) from credit_note_lines l where l.account_id = ${account} and l.credit_note_id = n.id))::int as "count"
      from unnest(${arrayLiteral(noteIds)}::bigint[]) as n(id) order by n.id`)

/** Lists those of some negative adjustments that are credit notes; the others are bad debts. */
export const listCreditNotesAmong = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<{ id: Id }>(sql`
    select negative_adjustment_id as "id" from negative_adjustments
     where account_id = ${account} and kind = 'credit_note' and negative_adjustment_id = any(${`{${ids.join(',')}}`}::bigint[])
     order by negative_adjustment_id`)

/** Lists the numbers of closed credit notes that are settled for an invoice. */
export const listClosedNotesFor = (db: Queryable, account: AccountId, invoiceId: InvoiceId): Promise<string[]> =>
  db.values<string>(sql`
    select n.ref as "number" from negative_adjustments n
     where n.account_id = ${account} and n.closed_at is not null and n.negative_adjustment_id in (
             select s.negative_adjustment_id from settlements s where s.account_id = ${account} and s.invoice_id = ${invoiceId} and s.ended_on is null)
     order by n.negative_adjustment_id`)
