import { sendChanged } from '../events/queries.ts'
import type { SettlingTax } from '../../engine/money/settle.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { TaxCategory } from '../../kernel/tax.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { TAX_CATEGORY } from '../invoices/queries.ts'
import { sendCredited } from '../invoices/state-queries.ts'
import type { SettledTax, Settlement } from './types.ts'

/** Settlements of credit notes and reliefs of bad debts, and what they leave to be settled of invoices. */

const frozenCategory = (account: AccountId) => fragment`
  (select ${TAX_CATEGORY} from invoice_taxes i
    where i.account_id = ${account} and i.invoice_id = s.invoice_id and i.name = t.name and i.rate = t.rate
    order by i.tax_number is distinct from t.tax_number, i.invoice_tax_id limit 1)`

async function listWhere(db: Queryable, account: AccountId, condition: Fragment): Promise<Settlement[]> {
  const [rows, taxes] = await Promise.all([
    db.rows<Omit<Settlement, 'taxes'>>(sql`
      select s.settlement_id as "id", s.customer_id as "customerId", s.negative_adjustment_id as "noteId", s.invoice_id as "invoiceId",
             (select i.number from invoices i where i.account_id = ${account} and i.invoice_id = s.invoice_id) as "invoiceNumber", s.basis,
             s.gross_minor as "amountMinor", s.settled_before_minor as "settledBeforeMinor", s.is_old as "isOld",
             s.old_allocation_id as "oldAllocationId", s.dated, s.ended_on as "endedOn"
        from settlements s where s.account_id = ${account} and ${condition} order by s.settlement_id`),
    db.rows<SettledTax & { id: Id }>(sql`
      select t.settlement_id as "id", t.name, t.rate, t.tax_number as "taxNumber", t.amount_minor as "amountMinor",
             t.settled_before_minor as "settledBeforeMinor", t.dated, ${frozenCategory(account)} as "category"
        from settlements s join settlement_taxes t on t.account_id = ${account} and t.settlement_id = s.settlement_id
       where s.account_id = ${account} and ${condition} order by t.settlement_id, t.line`),
  ])
  const byId = groupBy(taxes, ({ id }) => id)
  return rows.map((row) => ({ ...row, taxes: byId.get(row.id) ?? [] }))
}

/** Lists the settlements of credit notes and bad debts that stand, oldest first. */
export const listSettlementsOfNotes = (db: Queryable, account: AccountId, noteIds: readonly Id[]) =>
  listWhere(
    db,
    account,
    fragment`s.negative_adjustment_id = any(${arrayLiteral(noteIds)}::bigint[]) and s.ended_on is null`,
  )

/** Lists the settlements of an invoice that stand, oldest first. */
export const listSettlementsOfInvoice = (db: Queryable, account: AccountId, invoiceId: InvoiceId) =>
  listWhere(db, account, fragment`s.invoice_id = ${invoiceId} and s.ended_on is null`)

/** Invoice with what credit notes and reliefs have settled of it, in minor units. */
export interface InvoiceToSettle {
  invoiceId: InvoiceId
  number: bigint | null
  dated: IsoDate
  totalMinor: bigint
  settledMinor: bigint
  /** Total less what credit notes settle and bad debt allocated to it. */
  leftMinor: bigint
  taxes: (SettlingTax & { category: TaxCategory | null })[]
}

/** Lists what of invoices is settled and left, with each frozen tax. Rule: what can be credited is the Total less what all notes settle and bad debt. */
export async function listToSettle(
  db: Queryable,
  account: AccountId,
  invoiceIds: readonly InvoiceId[],
): Promise<InvoiceToSettle[]> {
  if (invoiceIds.length === 0) return []
  const ids = arrayLiteral(invoiceIds)
  const [rows, taxes] = await Promise.all([
    db.rows<Omit<InvoiceToSettle, 'taxes'>>(sql`
      select i.invoice_id as "invoiceId", i.number, i.invoice_date as "dated", i.total_minor as "totalMinor",
             coalesce((select sum(s.gross_minor) from settlements s
                 where s.account_id = ${account} and s.invoice_id = i.invoice_id and s.ended_on is null), 0)::bigint as "settledMinor",
             i.total_minor - i.credited_minor - i.written_off_minor as "leftMinor"
        from invoices i
       where i.account_id = ${account} and i.invoice_id = any(${ids}::bigint[]) order by i.invoice_id`),
    // Each settlement's taxes are looked up by their key: whatever PostgreSQL takes the tables to hold, an invoice of many notes costs no more than its notes.
    db.rows<InvoiceToSettle['taxes'][number] & { invoiceId: InvoiceId }>(sql`
      with settled as materialized (
        select s.invoice_id, x.name, x.rate, x.place, sum(x.amount_minor) as amount
          from settlements s
          cross join lateral (
            select name, rate, amount_minor, row_number() over (partition by name, rate order by line) as place from settlement_taxes
             where account_id = ${account} and settlement_id = s.settlement_id) x
         where s.account_id = ${account} and s.invoice_id = any(${ids}::bigint[]) and s.ended_on is null
         group by s.invoice_id, x.name, x.rate, x.place)
      select t.invoice_id as "invoiceId", t.name, t.rate, t.tax_number as "taxNumber", t.amount_minor as "amountMinor",
             coalesce(b.amount, 0)::bigint as "settledMinor", t.frozen_category as "category"
        from (select *, ${TAX_CATEGORY} as frozen_category, row_number() over (partition by invoice_id, name, rate order by invoice_tax_id) as place
                from invoice_taxes where account_id = ${account} and invoice_id = any(${ids}::bigint[])) t
        left join settled b on b.invoice_id = t.invoice_id and b.name = t.name and b.rate = t.rate and b.place = t.place
       order by t.invoice_id, t.invoice_tax_id`),
  ])
  const byInvoice = groupBy(taxes, ({ invoiceId }) => invoiceId)
  return rows.map((row) => ({ ...row, taxes: byInvoice.get(row.invoiceId) ?? [] }))
}

/** Draws identifiers of settlements ahead, so that entries can name them before they are written. */
export const drawSettlementIds = async (tx: Transaction, count: number): Promise<Id[]> =>
  count === 0
    ? []
    : await tx.values<Id>(
        sql`select nextval('settlements_settlement_id_seq') as "id" from generate_series(1, ${count})`,
      )

/** Adds what settlements credit of their invoices, or takes it away, to the sums that these keep, without waiting. A relief credits nothing. */
function countCredited(tx: Transaction, rows: readonly Settlement[], at: Instant, sign: 1n | -1n): void {
  const sums = new Map<InvoiceId, bigint>()
  for (const { basis, invoiceId, amountMinor } of rows)
    if (basis !== 'relief') sums.set(invoiceId, (sums.get(invoiceId) ?? 0n) + sign * amountMinor)
  const credited = [...sums].map(([id, amountMinor]) => ({ id, amountMinor }))
  if (credited.length > 0) sendCredited(tx, credited, at)
}

/** Writes new settlements under identifiers drawn ahead, without waiting. */
export function sendSettlements(tx: Transaction, rows: readonly Settlement[], at: Instant): void {
  if (rows.length === 0) return
  tx.send(sql`
    insert into settlements (account_id, settlement_id, customer_id, negative_adjustment_id, invoice_id, basis, gross_minor, settled_before_minor, dated)
    select ${tx.account}, * from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'customerId')}::bigint[],
      ${bigints(rows, 'noteId')}::bigint[], ${bigints(rows, 'invoiceId')}::bigint[], ${column(rows, 'basis')}::text[],
      ${bigints(rows, 'amountMinor')}::bigint[], ${bigints(rows, 'settledBeforeMinor')}::bigint[], ${dates(rows, 'dated')}::date[]) returning 1`)
  const taxes = rows.flatMap(({ id, taxes: of }) => of.map((tax, place) => ({ ...tax, id, line: place + 1 })))
  tx.send(sql`
    insert into settlement_taxes (account_id, settlement_id, line, name, rate, tax_number, amount_minor, settled_before_minor, dated)
    select ${tx.account}, * from unnest(${bigints(taxes, 'id')}::bigint[], ${column(taxes, 'line')}::smallint[], ${column(taxes, 'name')}::text[],
      ${arrayLiteral(taxes.map(({ rate }) => decimalText(rate)))}::numeric[], ${column(taxes, 'taxNumber')}::text[], ${bigints(taxes, 'amountMinor')}::bigint[],
      ${bigints(taxes, 'settledBeforeMinor')}::bigint[], ${dates(taxes, 'dated')}::date[]) returning 1`)
  countCredited(tx, rows, at, 1n)
}

/** Moves settlements, and the entries of all their taxes, to another day. */
export function sendSettlementDays(tx: Transaction, rows: readonly Settlement[]): void {
  if (rows.length === 0) return
  const moved = fragment`unnest(${bigints(rows, 'id')}::bigint[], ${dates(rows, 'dated')}::date[]) as d(id, dated)`
  tx.send(sql`
    update settlements s set dated = d.dated from ${moved} where s.account_id = ${tx.account} and s.settlement_id = d.id`)
  tx.send(sql`
    update settlement_taxes t set dated = d.dated from ${moved} where t.account_id = ${tx.account} and t.settlement_id = d.id`)
}

/** Ends settlements on a day, without waiting: they stay as history. */
export function sendSettlementEnds(tx: Transaction, rows: readonly Settlement[], day: IsoDate, at: Instant): void {
  if (rows.length === 0) return
  tx.send(sql`
    update settlements set ended_on = greatest(dated, ${day}::date)
     where account_id = ${tx.account} and settlement_id = any(${arrayLiteral(rows.map(({ id }) => id))}::bigint[])`)
  sendChanged(
    tx,
    'credit_note',
    rows.map(({ noteId }) => noteId),
  )
  countCredited(tx, rows, at, -1n)
}

/** Removes settlements with their taxes. */
export function sendSettlementDeletes(tx: Transaction, rows: readonly Settlement[], at: Instant): void {
  if (rows.length === 0) return
  tx.send(
    sql`delete from settlements where account_id = ${tx.account} and settlement_id = any(${arrayLiteral(rows.map(({ id }) => id))}::bigint[])`,
  )
  countCredited(tx, rows, at, -1n)
}
