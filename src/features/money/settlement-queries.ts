import type { TaxAmount } from '../../engine/money/postings.ts'
import type { SettlingTax } from '../../engine/money/settle.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { groupBy } from '../../kernel/grouping.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, type Fragment, fragment, sql } from '../../platform/database/sql.ts'

/** Settlements of credit notes, and what they leave to be settled of invoices. */

/** A settled tax: what the settlement takes back of it, what was settled of it before, and the day of its entry. */
export interface SettledTax extends TaxAmount {
  /** Null for an old settlement. */
  settledBeforeMinor: bigint | null
  dated: IsoDate
}

export interface Settlement {
  id: Id
  customerId: CustomerId
  noteId: Id
  invoiceId: InvoiceId
  basis: 'amount' | 'given_back'
  amountMinor: bigint
  /** Gross settled for the invoice before; null for an old one. */
  settledBeforeMinor: bigint | null
  /** From before there were settlements. */
  isOld: boolean
  oldAllocationId: Id | null
  dated: IsoDate
  taxes: readonly SettledTax[]
}

async function listWhere(db: Queryable, account: AccountId, condition: Fragment): Promise<Settlement[]> {
  const [rows, taxes] = await Promise.all([
    db.rows<Omit<Settlement, 'taxes'>>(sql`
      select s.settlement_id as "id", s.customer_id as "customerId", s.negative_adjustment_id as "noteId", s.invoice_id as "invoiceId", s.basis,
             s.gross_minor as "amountMinor", s.settled_before_minor as "settledBeforeMinor", s.is_old as "isOld",
             s.old_allocation_id as "oldAllocationId", s.dated
        from settlements s where s.account_id = ${account} and ${condition} order by s.settlement_id`),
    db.rows<SettledTax & { id: Id }>(sql`
      select t.settlement_id as "id", t.name, t.rate, t.tax_number as "taxNumber", t.amount_minor as "amountMinor",
             t.settled_before_minor as "settledBeforeMinor", t.dated
        from settlements s join settlement_taxes t on t.account_id = ${account} and t.settlement_id = s.settlement_id
       where s.account_id = ${account} and ${condition} order by t.settlement_id, t.line`),
  ])
  const byId = groupBy(taxes, ({ id }) => id)
  return rows.map((row) => ({ ...row, taxes: byId.get(row.id) ?? [] }))
}

/** Lists the settlements of credit notes, oldest first. */
export const listSettlementsOfNotes = (db: Queryable, account: AccountId, noteIds: readonly Id[]) =>
  listWhere(db, account, fragment`s.negative_adjustment_id = any(${arrayLiteral(noteIds)}::bigint[])`)

/** Lists the settlements of an invoice, oldest first. */
export const listSettlementsOfInvoice = (db: Queryable, account: AccountId, invoiceId: InvoiceId) =>
  listWhere(db, account, fragment`s.invoice_id = ${invoiceId}`)

/** Lists settlements by their identifiers. */
export const listSettlements = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  listWhere(db, account, fragment`s.settlement_id = any(${arrayLiteral(ids)}::bigint[])`)

/** Lists the old settlements whose entries stand under allocations. */
export const listSettlementsUnder = (db: Queryable, account: AccountId, allocationIds: readonly Id[]) =>
  listWhere(db, account, fragment`s.old_allocation_id = any(${arrayLiteral(allocationIds)}::bigint[])`)

/** Invoice with what credit notes have settled of it, in minor units. */
export interface InvoiceToSettle {
  invoiceId: InvoiceId
  dated: IsoDate
  totalMinor: bigint
  settledMinor: bigint
  /** Total less what is settled and bad debt allocated to it. */
  leftMinor: bigint
  taxes: SettlingTax[]
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
    db.rows<Omit<InvoiceToSettle, 'taxes' | 'leftMinor'> & { badDebtMinor: bigint }>(sql`
      select i.invoice_id as "invoiceId", i.invoice_date as "dated", i.total_minor as "totalMinor",
             coalesce((select sum(s.gross_minor) from settlements s
               where s.account_id = ${account} and s.invoice_id = i.invoice_id), 0)::bigint as "settledMinor",
             coalesce((select sum(l.amount_minor) from allocations l
                 join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = l.given_id
                where l.account_id = ${account} and l.owed_kind = 'invoice' and l.owed_id = i.invoice_id
                  and l.given_kind = 'negative_adjustment' and l.ended_on is null and n.kind = 'bad_debt'), 0)::bigint as "badDebtMinor"
        from invoices i where i.account_id = ${account} and i.invoice_id = any(${ids}::bigint[]) order by i.invoice_id`),
    db.rows<SettlingTax & { invoiceId: InvoiceId }>(sql`
      select t.invoice_id as "invoiceId", t.name, t.rate, t.tax_number as "taxNumber", t.amount_minor as "amountMinor",
             coalesce(b.amount, 0)::bigint as "settledMinor"
        from (select *, row_number() over (partition by invoice_id, name, rate order by invoice_tax_id) as place
                from invoice_taxes where account_id = ${account} and invoice_id = any(${ids}::bigint[])) t
        left join (
          select s.invoice_id, x.name, x.rate, x.place, sum(x.amount_minor) as amount
            from settlements s
            join (select y.*, row_number() over (partition by y.settlement_id, y.name, y.rate order by y.line) as place
                    from settlement_taxes y join settlements z on z.account_id = ${account} and z.settlement_id = y.settlement_id
                   where y.account_id = ${account} and z.invoice_id = any(${ids}::bigint[])) x
              on x.settlement_id = s.settlement_id
           where s.account_id = ${account} and s.invoice_id = any(${ids}::bigint[])
           group by s.invoice_id, x.name, x.rate, x.place) b
          on b.invoice_id = t.invoice_id and b.name = t.name and b.rate = t.rate and b.place = t.place
       order by t.invoice_id, t.invoice_tax_id`),
  ])
  const byInvoice = groupBy(taxes, ({ invoiceId }) => invoiceId)
  return rows.map(({ badDebtMinor, ...row }) => ({
    ...row,
    leftMinor: row.totalMinor - row.settledMinor - badDebtMinor,
    taxes: byInvoice.get(row.invoiceId) ?? [],
  }))
}

/** Draws identifiers of settlements ahead, so that entries can name them before they are written. */
export const drawSettlementIds = async (tx: Transaction, count: number): Promise<Id[]> =>
  count === 0
    ? []
    : (
        await tx.rows<{ id: Id }>(
          sql`select nextval('settlements_settlement_id_seq') as "id" from generate_series(1, ${count})`,
        )
      ).map(({ id }) => id)

/** Writes new settlements under identifiers drawn ahead, without waiting. */
export function sendSettlements(tx: Transaction, rows: readonly Settlement[]): void {
  if (rows.length === 0) return
  tx.send(sql`
    insert into settlements (account_id, settlement_id, customer_id, negative_adjustment_id, invoice_id, basis, gross_minor, settled_before_minor, dated)
    select ${tx.account}, * from unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'customerId')}::bigint[],
      ${bigints(rows, 'noteId')}::bigint[], ${bigints(rows, 'invoiceId')}::bigint[], ${column(rows, 'basis')}::text[],
      ${bigints(rows, 'amountMinor')}::bigint[], ${bigints(rows, 'settledBeforeMinor')}::bigint[], ${dates(rows, 'dated')}::date[])`)
  const taxes = rows.flatMap(({ id, taxes: of }) => of.map((tax, place) => ({ ...tax, id, line: place + 1 })))
  tx.send(sql`
    insert into settlement_taxes (account_id, settlement_id, line, name, rate, tax_number, amount_minor, settled_before_minor, dated)
    select ${tx.account}, * from unnest(${bigints(taxes, 'id')}::bigint[], ${column(taxes, 'line')}::smallint[], ${column(taxes, 'name')}::text[],
      ${arrayLiteral(taxes.map(({ rate }) => decimalText(rate)))}::numeric[], ${column(taxes, 'taxNumber')}::text[], ${bigints(taxes, 'amountMinor')}::bigint[],
      ${bigints(taxes, 'settledBeforeMinor')}::bigint[], ${dates(taxes, 'dated')}::date[])`)
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

/** Removes settlements with their taxes. */
export function sendSettlementDeletes(tx: Transaction, rows: readonly Settlement[]): void {
  if (rows.length === 0) return
  tx.send(
    sql`delete from settlements where account_id = ${tx.account} and settlement_id = any(${arrayLiteral(rows.map(({ id }) => id))}::bigint[])`,
  )
}
