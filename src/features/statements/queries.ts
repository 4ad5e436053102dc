import type { Movement } from '../../engine/statement.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import { oneRow, type Queryable } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'

/** What moved a customer's account, what is open of it on a day, and what it holds now. */

/** Every movement of a customer and currency. A correction is none: what is shown is what the documents say now. */
const movementsOf = (account: AccountId, customerId: CustomerId, currency: string) => fragment`(
  select invoice_date as dated, 'invoice' as type, invoice_id as id, number::text as number, false as is_pending, null::text as method,
         total_minor as debit, 0::bigint as credit
    from invoices where account_id = ${account} and customer_id = ${customerId} and currency = ${currency} and issued_at is not null and total_minor > 0
  union all
  select greatest(cancelled_on, invoice_date), 'invoice_cancelled', invoice_id, number::text, false, null, 0, total_minor
    from invoices where account_id = ${account} and customer_id = ${customerId} and currency = ${currency} and cancelled_on is not null and total_minor > 0
  union all
  select dated, 'payment', payment_id, ref, failed_on is null and origin <> 'recorded' and settled_on is null, method, 0, amount_minor
    from payments where account_id = ${account} and customer_id = ${customerId} and currency = ${currency}
  union all
  select failed_on, 'payment_failed', payment_id, ref, false, method, amount_minor, 0
    from payments where account_id = ${account} and customer_id = ${customerId} and currency = ${currency} and failed_on is not null
  union all
  select dated, kind, negative_adjustment_id, ref, false, null, 0, amount_minor
    from negative_adjustments where account_id = ${account} and customer_id = ${customerId} and currency = ${currency}
  union all
  select dated, kind, positive_adjustment_id, ref, false, null, amount_minor, 0
    from positive_adjustments where account_id = ${account} and customer_id = ${customerId} and currency = ${currency}) m`

export interface StatementSums {
  openingMinor: bigint
  laterMinor: bigint
}

/** What all movements before a period, and all after it, come to. */
export const sumAround = (
  db: Queryable,
  account: AccountId,
  customerId: CustomerId,
  currency: string,
  period: { from: IsoDate; to: IsoDate },
) =>
  oneRow<StatementSums>(
    db,
    sql`select coalesce(sum(debit - credit) filter (where dated < ${period.from}), 0)::bigint as "openingMinor",
               coalesce(sum(debit - credit) filter (where dated > ${period.to}), 0)::bigint as "laterMinor"
          from ${movementsOf(account, customerId, currency)}`,
  )

export const listMovements = (
  db: Queryable,
  account: AccountId,
  customerId: CustomerId,
  currency: string,
  period: { from: IsoDate; to: IsoDate },
) =>
  db.rows<Movement>(sql`
    select dated, type, id, number, is_pending as "isPending", method, debit as "debitMinor", credit as "creditMinor"
      from ${movementsOf(account, customerId, currency)} where dated between ${period.from} and ${period.to}`)

/** What was open of a customer and currency on a day, by due day: documents of that day and before, less what was allocated to them by then. */
export const listOpenOn = (db: Queryable, account: AccountId, customerId: CustomerId, currency: string, on: IsoDate) =>
  db.rows<{ dueDate: IsoDate; openMinor: bigint }>(sql`
    select due_date as "dueDate", sum(open)::bigint as "openMinor" from (
      select i.due_date, i.total_minor - coalesce((select sum(l.amount_minor) from allocations l
               where l.account_id = i.account_id and l.owed_kind = 'invoice' and l.owed_id = i.invoice_id and l.dated <= ${on}
                 and (l.ended_on is null or l.ended_on > ${on})), 0) as open
        from invoices i
       where i.account_id = ${account} and i.customer_id = ${customerId} and i.currency = ${currency} and i.issued_at is not null
         and i.invoice_date <= ${on} and (i.cancelled_on is null or greatest(i.cancelled_on, i.invoice_date) > ${on})
      union all
      select a.due_date, a.amount_minor - coalesce((select sum(l.amount_minor) from allocations l
               where l.account_id = a.account_id and l.owed_kind = 'positive_adjustment' and l.owed_id = a.positive_adjustment_id and l.dated <= ${on}
                 and (l.ended_on is null or l.ended_on > ${on})), 0)
        from positive_adjustments a
       where a.account_id = ${account} and a.customer_id = ${customerId} and a.currency = ${currency} and a.dated <= ${on}) o
     where open <> 0 group by due_date`)

/** Money given on a day or before, less what was allocated of it by then. */
export const sumUnallocatedOn = async (
  db: Queryable,
  account: AccountId,
  customerId: CustomerId,
  currency: string,
  on: IsoDate,
): Promise<bigint> =>
  (
    await oneRow<{ minor: bigint }>(
      db,
      sql`
      select coalesce(sum(amount - coalesce((select sum(l.amount_minor) from allocations l
               where l.account_id = ${account} and l.given_kind = g.kind and l.given_id = g.id and l.dated <= ${on}
                 and (l.ended_on is null or l.ended_on > ${on})), 0)), 0)::bigint as "minor"
        from (
          select 'payment' as kind, payment_id as id, amount_minor as amount from payments
           where account_id = ${account} and customer_id = ${customerId} and currency = ${currency} and dated <= ${on}
             and (failed_on is null or failed_on > ${on})
          union all
          select 'negative_adjustment', negative_adjustment_id, amount_minor from negative_adjustments
           where account_id = ${account} and customer_id = ${customerId} and currency = ${currency} and dated <= ${on}) g`,
    )
  ).minor

/** The currencies that a customer has movements in. */
export const listCurrenciesOf = (db: Queryable, account: AccountId, customerId: CustomerId) =>
  db.rows<{ currency: string; receivableMinor: bigint; unappliedMinor: bigint; clearingMinor: bigint }>(sql`
    select currency, receivable_minor as "receivableMinor", unapplied_minor as "unappliedMinor", clearing_minor as "clearingMinor"
      from customer_totals where account_id = ${account} and customer_id = ${customerId} order by currency`)

/** What is open now, whenever it is dated, by currency and due day. */
export const listOpenNow = (db: Queryable, account: AccountId, customerId: CustomerId) =>
  db.rows<{ currency: string; dueDate: IsoDate; openMinor: bigint }>(sql`
    select currency, due_date as "dueDate", sum(open)::bigint as "openMinor" from (
      select currency, due_date, total_minor - paid_minor - pending_minor - negative_minor as open from invoices
       where account_id = ${account} and customer_id = ${customerId} and issued_at is not null and cancelled_at is null
      union all
      select currency, due_date, amount_minor - paid_minor - pending_minor - negative_minor from positive_adjustments
       where account_id = ${account} and customer_id = ${customerId}) o
     where open <> 0 group by currency, due_date`)
