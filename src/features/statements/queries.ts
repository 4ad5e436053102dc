import { linesDayPassed } from '../batches/queries.ts'
import type { Movement } from '../../engine/money/statement.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Queryable, Snapshot } from '../../platform/database/database.ts'
import { PORTION_ROWS } from '../../platform/database/reads.ts'
import { type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { IS_UNSETTLED } from '../money/open-queries.ts'

/** Statements of SQL on the movements of a customer's account, its open debts on a day, and its balances now. */

/** Sums of a statement, beside its movements. */
export interface StatementSums {
  /** Sum of all movements before the period. */
  openingMinor: bigint
  /** Sum of all movements after the period. */
  laterMinor: bigint
  /** Of the movements of the period. */
  debitsMinor: bigint
  creditsMinor: bigint
  /** Open amounts on the period's last day, by due day: documents of that day and before, less what was allocated to them by then. */
  open: { dueDate: IsoDate; openMinor: bigint }[]
  /** Money given on that day or before, less what was allocated of it by then. */
  unallocatedMinor: bigint
  /** Lines of batches whose day has passed, of that day or before: what they were to pay is open. */
  pendingPassedMinor: bigint
}

interface Named {
  account: AccountId
  customerId: CustomerId
  currency: string
  /** When it is asked for: batches count as they are then. */
  now: Instant
}

// The documents of a customer and currency, each table read once.
const documentsOf = ({ account, customerId, currency, now }: Named): Fragment => {
  const theirs = fragment`account_id = ${account} and customer_id = ${customerId} and currency = ${currency}`
  return fragment`
  i as materialized (
    select invoice_id as id, number, invoice_date as dated, due_date, total_minor as amount,
           case when cancelled_on is not null then greatest(cancelled_on, invoice_date) end as until
      from invoices where ${theirs} and issued_at is not null),
  p as materialized (
    select payment_id as id, ref, dated, failed_on, failed_on is null and ${IS_UNSETTLED} as is_pending, method,
           amount_minor as amount, payment_id in (${linesDayPassed(account, now)}) as is_passed
      from payments where ${theirs}),
  d as materialized (
    select negative_adjustment_id as id, kind, ref, dated, amount_minor as amount from negative_adjustments where ${theirs}),
  r as materialized (
    select d.id, d.ref, greatest(b.dated, d.dated) as dated, b.amount_minor as amount
      from d join bad_debt_recoveries b on d.kind = 'bad_debt' and b.account_id = ${account} and b.negative_adjustment_id = d.id),
  n as materialized (
    select id, kind, ref, dated, amount + coalesce((select sum(r.amount) from r where r.id = d.id), 0)::bigint as amount from d),
  a as materialized (
    select positive_adjustment_id as id, kind, ref, dated, due_date, amount_minor as amount from positive_adjustments where ${theirs})`
}

// A correction is no movement: shown are the amounts that the documents have now, of a bad debt with what was recovered of it later. Of one document
// and day the lower rank stands first.
const MOVEMENTS = fragment`
  m as materialized (
    select dated, 'invoice' as type, 0 as rank, id, number::text as number, false as is_pending, null::text as method, amount as debit,
           0::bigint as credit
      from i where amount > 0
    union all
    select until, 'invoice_cancelled', 1, id, number::text, false, null, 0, amount from i where until is not null and amount > 0
    union all
    select dated, 'payment', 2, id, ref, is_pending, method, 0, amount from p
    union all
    select failed_on, 'payment_failed', 3, id, ref, false, method, amount, 0 from p where failed_on is not null
    union all
    select dated, kind, case kind when 'credit_note' then 4 else 5 end, id, ref, false, null, 0, amount from n
    union all
    select dated, 'bad_debt_recovered', 6, id, ref, false, null, amount, 0 from r
    union all
    select dated, kind, case kind when 'refund' then 7 when 'opening_balance' then 8 else 9 end, id, ref, false, null, amount, 0 from a)`

// What counts as owed and as given on a day, and what joins them then.
const standingOn = ({ account, customerId }: Named, on: IsoDate): Fragment => fragment`
  owed as materialized (
    select 'invoice' as kind, id, due_date, amount from i where dated <= ${on} and (until is null or until > ${on})
    union all
    select 'positive_adjustment', id, due_date, amount from a where dated <= ${on}),
  given as materialized (
    select 'payment' as kind, id, amount from p where dated <= ${on} and (failed_on is null or failed_on > ${on}) and not is_passed
    union all
    select 'negative_adjustment', id, amount - coalesce((select sum(r.amount) from r where r.id = n.id and r.dated <= ${on}), 0)::bigint
      from n where dated <= ${on}),
  l as materialized (
    select given_kind, given_id, owed_kind, owed_id, amount_minor as amount from allocations
     where account_id = ${account} and customer_id = ${customerId} and dated <= ${on} and (ended_on is null or ended_on > ${on})
       and not (given_kind = 'payment' and given_id in (select id from p where is_passed)))`

interface FactRow extends Omit<Movement, 'type'> {
  part: 'movement' | 'opening' | 'period' | 'later' | 'open' | 'unallocated' | 'passed'
  type: Movement['type']
}

/** Reads everything that a statement is made of, in one statement, so that its parts agree whatever is written meanwhile. */
const factsOf = (named: Named, { from, to }: { from: IsoDate; to: IsoDate }, limit: Fragment): Fragment => fragment`
    with ${documentsOf(named)}, ${MOVEMENTS}, ${standingOn(named, to)}
    (select 'movement' as "part", dated, type, id, number, is_pending as "isPending", method,
            debit as "debitMinor", credit as "creditMinor"
      from m where dated between ${from} and ${to} ${limit})
    union all
    select s.part, null, null, null, null, null, null, coalesce(s.debit, 0)::bigint, coalesce(s.credit, 0)::bigint
      from (select sum(debit - credit) filter (where dated < ${from}) as opening, sum(debit - credit) filter (where dated > ${to}) as later,
                   sum(debit) filter (where dated between ${from} and ${to}) as debits,
                   sum(credit) filter (where dated between ${from} and ${to}) as credits from m) t
     cross join lateral (values ('opening', opening, 0), ('period', debits, credits), ('later', later, 0)) s (part, debit, credit)
    union all
    select 'open', due_date, null, null, null, null, null, sum(amount)::bigint, 0 from (
      select due_date, amount from owed
      union all
      select owed.due_date, -l.amount from l join owed on owed.kind = l.owed_kind and owed.id = l.owed_id) o
     group by due_date having sum(amount) <> 0
    union all
    select 'unallocated', null, null, null, null, null, null,
           (coalesce((select sum(amount) from given), 0)
             - coalesce((select sum(l.amount) from l join given on given.kind = l.given_kind and given.id = l.given_id), 0))::bigint, 0
    union all
    select 'passed', null, null, null, null, null, null, coalesce(sum(amount), 0)::bigint, 0 from p where is_passed and dated <= ${to}`

function sumsOf(facts: readonly FactRow[]): StatementSums {
  const rowOf = (part: FactRow['part']) => facts.find((row) => row.part === part)
  const sumOf = (part: FactRow['part']) => rowOf(part)?.debitMinor ?? 0n
  return {
    openingMinor: sumOf('opening'),
    debitsMinor: sumOf('period'),
    creditsMinor: rowOf('period')?.creditMinor ?? 0n,
    laterMinor: sumOf('later'),
    open: facts.flatMap(({ part, dated, debitMinor }) =>
      part === 'open' ? [{ dueDate: dated, openMinor: debitMinor }] : [],
    ),
    unallocatedMinor: sumOf('unallocated'),
    pendingPassedMinor: sumOf('passed'),
  }
}

/** Reads all of a statement; of the movements, in no order, no more than `movementsMax`. */
export async function readStatement(
  db: Queryable,
  named: Named,
  period: { from: IsoDate; to: IsoDate },
  movementsMax?: number,
): Promise<StatementSums & { movements: Movement[] }> {
  const limit = movementsMax === undefined ? NOTHING : fragment`limit ${movementsMax}`
  const rows = await db.rows<FactRow>(sql`${factsOf(named, period, limit)}`)
  return { ...sumsOf(rows), movements: rows.filter(({ part }) => part === 'movement') }
}

/** Reads the movements of a statement in their order, a portion at a time. */
export const movementsInOrder = (db: Snapshot, named: Named, { from, to }: { from: IsoDate; to: IsoDate }) =>
  db.portions<Movement>(
    sql`
    with ${documentsOf(named)}, ${MOVEMENTS}
    select dated, type, id, number, is_pending as "isPending", method, debit as "debitMinor", credit as "creditMinor"
      from m where dated between ${from} and ${to} order by dated, id, rank`,
    PORTION_ROWS,
  )

/** Lists the currencies that a customer has movements in. */
export const listCurrenciesOf = (db: Queryable, account: AccountId, customerId: CustomerId) =>
  db.rows<{ currency: string }>(sql`
    select currency from customer_totals where account_id = ${account} and customer_id = ${customerId} order by currency`)

/** Lists what a customer owes and has given now, by currency. */
export const listTotalsOf = (db: Queryable, account: AccountId, customerId: CustomerId, now: Instant) =>
  db.rows<{
    currency: string
    receivableMinor: bigint
    unappliedMinor: bigint
    clearingMinor: bigint
    heldMinor: bigint
    pendingPassedMinor: bigint
    passedUnallocatedMinor: bigint
  }>(sql`
    select t.currency, t.receivable_minor as "receivableMinor", t.unapplied_minor as "unappliedMinor", t.clearing_minor as "clearingMinor",
           coalesce((select sum(p.held_minor) from payments p
             where p.account_id = ${account} and p.customer_id = ${customerId} and p.currency = t.currency and p.held_minor > 0
               and p.failed_on is null), 0)::bigint as "heldMinor",
           coalesce(d.amount, 0)::bigint as "pendingPassedMinor", coalesce(d.free, 0)::bigint as "passedUnallocatedMinor"
      from customer_totals t
      left join (select p.currency, sum(p.amount_minor) as amount, sum(p.amount_minor - p.applied_minor) as free from payments p
                  where p.account_id = ${account} and p.customer_id = ${customerId} and p.failed_on is null
                    and p.payment_id in (${linesDayPassed(account, now)}) group by p.currency) d on d.currency = t.currency
     where t. account_id = ${account} and t.customer_id = ${customerId} order by t.currency`)

/** Lists the amounts that are open now, whatever their date, by currency and due day; what lines of batches whose day has passed were to pay is open. */
export const listOpenNow = (db: Queryable, account: AccountId, customerId: CustomerId, now: Instant) =>
  db.rows<{ currency: string; dueDate: IsoDate; openMinor: bigint }>(sql`
    select currency, due_date as "dueDate", sum(open)::bigint as "openMinor" from (
      select currency, due_date, total_minor - paid_minor - pending_minor - negative_minor as open from invoices
       where account_id = ${account} and customer_id = ${customerId} and issued_at is not null and cancelled_at is null
      union all
      select currency, due_date, amount_minor - paid_minor - pending_minor - negative_minor from positive_adjustments
       where account_id = ${account} and customer_id = ${customerId}
      union all
      select d.currency, d.due_date, n.amount_minor from (${linesDayPassed(account, now)}) l
        join allocations n on n.account_id = ${account} and n.customer_id = ${customerId} and n.given_kind = 'payment' and n.given_id = l.payment_id
         and n.ended_on is null
        join (select 'invoice' as kind, invoice_id as id, currency, due_date from invoices where account_id = ${account} and customer_id = ${customerId}
              union all
              select 'positive_adjustment', positive_adjustment_id, currency, due_date from positive_adjustments
               where account_id = ${account} and customer_id = ${customerId}) d on d.kind = n.owed_kind and d.id = n.owed_id) o
     where open <> 0 group by currency, due_date`)
