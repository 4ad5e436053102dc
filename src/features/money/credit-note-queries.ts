import type { CreditLine } from '../../engine/subscription/credits.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { column, sql } from '../../platform/database/sql.ts'

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

/** Lists the lines of a note of the service, with the kinds of the charges they give back. */
export const listCreditLines = (db: Queryable, account: AccountId, noteId: Id) =>
  db.rows<CreditLine>(sql`
    select l.charge_id as "chargeId", c.kind, l.name, l.period_from as "from", l.period_until as "until", l.whole_from as "wholeFrom",
           l.whole_until as "wholeUntil", l.price, l.credited_before_minor as "creditedBeforeMinor", l.most_minor as "mostMinor",
           l.net_minor as "netMinor"
      from credit_note_lines l join charges c on c.account_id = ${account} and c.charge_id = l.charge_id
     where l.account_id = ${account} and l.credit_note_id = ${noteId}
     order by l.line`)

/** Lists those of some negative adjustments that are credit notes; the others are bad debts. */
export const listCreditNotesAmong = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<{ id: Id }>(sql`
    select negative_adjustment_id as "id" from negative_adjustments
     where account_id = ${account} and kind = 'credit_note' and negative_adjustment_id = any(${`{${ids.join(',')}}`}::bigint[])
     order by negative_adjustment_id`)

/** Lists the numbers of the credit notes that the service made for an invoice. */
export const listNotesFor = async (db: Queryable, account: AccountId, invoiceId: InvoiceId): Promise<string[]> =>
  (
    await db.rows<{ number: string }>(sql`
      select ref as "number" from negative_adjustments where account_id = ${account} and invoice_id = ${invoiceId}
       order by negative_adjustment_id`)
  ).map(({ number }) => number)
