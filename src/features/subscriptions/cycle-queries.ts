import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type DueCustomers, nextOf } from '../../platform/database/due.ts'
import { listIds } from '../../platform/database/id-lists.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'

/**
 * Finding subscriptions that are due (decision 40). One is due on a day of its own, `due_on`, or in its cycle: then its row has `due_in_cycle_on`, and is found by the
 * day of the month, `cycle_day`, which a month later is the same one. Only runs put subscriptions in cycle, on days to come; whatever else writes a day
 * writes `due_on`. Behind each day of a run whom it did not bill leaves its cycle, so that nobody in cycle is due on a day that is over.
 */

/** The day on which subscription `b` is due. */
export const DUE_ON: Fragment = fragment`coalesce(b.due_on, b.due_in_cycle_on)`

export const dayOfMonth = (day: IsoDate): number => Number(day.slice(8))

/** Returns the assignments that make a subscription due on a day of its own, or on none. */
export const dueOnDay = (day: IsoDate | null): Fragment =>
  fragment`due_on = ${day}, due_in_cycle_on = null, cycle_day = null`

/**
 * Returns the conditions by which subscriptions `b` are due on a day: on its own, and in their cycle. Each is for a statement of its own, which PostgreSQL plans
 * well however little it knows of the tables; of both as one relation it knows too little.
 */
const dueWays = (day: IsoDate): readonly Fragment[] => [
  fragment`b.due_on = ${day}`,
  fragment`b.cycle_day = ${dayOfMonth(day)}::smallint and b.due_in_cycle_on = ${day}`,
]

/** Reads subscriptions that are due on a day, in one way and the other, by a statement that is made for each. */
export const inBothWays = async <Row>(day: IsoDate, read: (isDue: Fragment) => Promise<Row[]>): Promise<Row[]> =>
  (await Promise.all(dueWays(day).map(read))).flat()

/** Returns the condition that subscription `d` is in cycle and due up to a day. */
export const isDueInCycle = (account: AccountId, until: IsoDate): Fragment => fragment`
  d.account_id = ${account} and d.cycle_day = any(cycle_days(${account}, ${until}::date)) and d.due_in_cycle_on <= ${until}`

/** Lists the customers of the next subscriptions that are due in their cycle on a day, each as often as they have some, in identifier order. */
export const listCustomersInCycle = (db: Queryable, account: AccountId, due: DueCustomers): Promise<CustomerId[]> =>
  listIds(
    db,
    fragment`
    select d.customer_id as id from subscription_billing d
     where d.account_id = ${account} and d.cycle_day = ${dayOfMonth(due.day)}::smallint and d.due_in_cycle_on = ${due.day} and d.customer_id > ${due.after}
       and d.subscription_id not in (select f.record_id from billing_run_failures f
                                      where f.account_id = ${account} and f.billing_run_id = ${due.runId} and f.record_type = 'subscription')
     order by d.customer_id ${nextOf(due)}`,
  )

/** Counts subscriptions that are due in their cycle up to a day, of customers that are not paused. Few are paused, so nobody looks at the customer of each. */
export const countDueInCycle = (db: Queryable, account: AccountId, until: IsoDate): Promise<number> =>
  db.count(sql`
    select (select count(*) from subscription_billing d where ${isDueInCycle(account, until)})
         - (select count(*) from customers c join subscription_billing d on d.customer_id = c.customer_id
             where c.account_id = ${account} and c.paused_on is not null and ${isDueInCycle(account, until)}) as "n"`)

/**
 * Finds the day up to which nobody in cycle of an account is left, or where none is noted one before the first on which somebody is due, and the days of the
 * month of those in cycle, with commas between them.
 */
export const getCycles = (db: Queryable, account: AccountId) =>
  db.one<{ swept: IsoDate | null; days: string }>(sql`
    with recursive known as (
      (select cycle_day as day from subscription_billing where account_id = ${account} and cycle_day is not null order by account_id, cycle_day limit 1)
      union all
      select (select b.cycle_day from subscription_billing b where b.account_id = ${account} and b.cycle_day > known.day
               order by b.account_id, b.cycle_day limit 1) from known where known.day is not null)
    select coalesce((select swept_on from billing_cycles where account_id = ${account}),
                    (select min(due_in_cycle_on) - 1 from subscription_billing where account_id = ${account} and cycle_day is not null)) as "swept",
           (select coalesce(string_agg(day::text, ','), '') from known) as "days"`)

/** Returns whether a subscription of a customer that is not paused is due in its cycle on a day. */
export const isAnyInCycle = (db: Queryable, account: AccountId, day: IsoDate): Promise<boolean> =>
  db.value<boolean>(sql`
    select exists (
      select from subscription_billing d join customers c on c.account_id = ${account} and c.customer_id = d.customer_id
       where d.account_id = ${account} and d.cycle_day = ${dayOfMonth(day)}::smallint and d.due_in_cycle_on = ${day} and c.paused_on is null) as "is"`)

/** Returns the day up to which nobody in cycle of the account is left; null where nobody ever was. */
export const findSweptOn = (tx: Transaction): Promise<IsoDate | null> =>
  tx.value<IsoDate | null>(sql`
    select (select swept_on from billing_cycles where account_id = ${tx.account}) as "day"`)

/** Lists the next customers, in identifier order, of whom somebody is left in cycle on a day or before. */
export const listLeftInCycle = (
  db: Queryable,
  account: AccountId,
  { day, after, limit }: { day: IsoDate; after: CustomerId; limit: number },
): Promise<CustomerId[]> =>
  listIds(
    db,
    fragment`
    select d.customer_id as id from subscription_billing d where ${isDueInCycle(account, day)} and d.customer_id > ${after}
     group by d.customer_id order by d.customer_id limit ${limit}`,
  )

/** Takes subscriptions of locked customers that are due in their cycle up to a day out of it: each is due on the same day as before. */
export const endCycles = (tx: Transaction, customerIds: readonly CustomerId[], day: IsoDate) =>
  tx.rows(sql`
    update subscription_billing d set due_on = due_in_cycle_on, due_in_cycle_on = null, cycle_day = null
     where ${isDueInCycle(tx.account, day)} and d.customer_id = any(${arrayLiteral(customerIds)}::bigint[])`)

/** Notes the day up to which nobody in cycle is left, where anybody is in cycle. */
export const keepSweptOn = (tx: Transaction, day: IsoDate) =>
  tx.rows(sql`
    insert into billing_cycles (account_id, swept_on)
    select ${tx.account}, ${day} where exists (select from subscription_billing where account_id = ${tx.account} and cycle_day is not null)
    on conflict (account_id) do update set swept_on = greatest(billing_cycles.swept_on, excluded.swept_on)`)
