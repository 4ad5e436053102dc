import { addDays, earliest, type IsoDate, later } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import { countOf, type Database, oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { type DueDay, type DueStatements, dueStatements } from '../../platform/database/due.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { lockCustomers } from '../customers/queries.ts'

/**
 * Finding subscriptions that are due (decision 40). One is due on a day of its own, `due_on`, or in its cycle: then its row has `cycle_on`, and is found by the
 * day of the month, `cycle_day`, which a month later is the same one. Only runs put subscriptions in cycle, on days to come; whatever else writes a day
 * writes `due_on`. Behind each day of a run whom it did not bill leaves its cycle, so that nobody in cycle is due on a day that is over.
 */

/** The day on which subscription `b` is due. */
export const DUE_ON: Fragment = fragment`coalesce(b.due_on, b.cycle_on)`

export const dayOfMonth = (day: IsoDate): number => Number(day.slice(8))

/** Returns the assignments that make a subscription due on a day of its own, or on none. */
export const dueOnDay = (day: IsoDate | null): Fragment => fragment`due_on = ${day}, cycle_on = null, cycle_day = null`

/**
 * Returns the conditions by which subscriptions `b` are due on a day: by itself, and in their cycle. Each is for a statement of its own, which PostgreSQL plans
 * well however little it knows of the tables; of both as one relation it knows too little.
 */
const dueWays = (day: IsoDate): readonly Fragment[] => [
  fragment`b.due_on = ${day}`,
  fragment`b.cycle_day = ${dayOfMonth(day)}::smallint and b.cycle_on = ${day}`,
]

/** Reads subscriptions that are due on a day, in one way and the other, by a statement that is made for each. */
export const inBothWays = async <Row>(day: IsoDate, read: (isDue: Fragment) => Promise<Row[]>): Promise<Row[]> =>
  (await Promise.all(dueWays(day).map(read))).flat()

/** Returns the condition that subscription `d` is in cycle and due up to a day. */
export const isDueInCycle = (account: AccountId, until: IsoDate): Fragment => fragment`
  d.account_id = ${account} and d.cycle_day = any(cycle_days(${account}, ${until}::date)) and d.cycle_on <= ${until}`

const byDay = dueStatements({
  relation: 'subscription_billing',
  id: 'subscription_id',
  day: 'due_on',
  recordType: 'subscription',
})

/** Statements for subscriptions that are due, in cycle or not. */
export const dueSubscriptions: DueStatements = {
  table: { ...byDay.table, hasCycles: true },
  listCustomers: async (db, account, due) => {
    const [some, others] = [await byDay.listCustomers(db, account, due), await listInCycle(db, account, due)]
    if (some.length === 0 || others.length === 0) return [...some, ...others]
    return [...new Set([...some, ...others])].toSorted((a, b) => (a < b ? -1 : 1)).slice(0, due.limit)
  },
  findAfter: async (db, account, day, until) => {
    const found = await byDay.findAfter(db, account, day, until)
    return earliest(found, await findInCycleAfter(db, account, day, found ?? until))
  },
  count: async (db, account, until) => {
    const isDue = isDueInCycle(account, until)
    // Few are paused, so nobody looks at the customer of each.
    const inCycle = await countOf(
      db,
      sql`select (select count(*) from subscription_billing d where ${isDue})
               - (select count(*) from customers c join subscription_billing d on d.customer_id = c.customer_id
                   where c.account_id = ${account} and c.paused_on is not null and ${isDue}) as "n"`,
    )
    return inCycle + (await byDay.count(db, account, until))
  },
}

async function listInCycle(
  db: Queryable,
  account: AccountId,
  due: DueDay & { after: CustomerId; limit: number },
): Promise<CustomerId[]> {
  const rows = await db.rows<{ id: CustomerId }>(sql`
    select d.customer_id as "id" from subscription_billing d
     where d.account_id = ${account} and d.cycle_day = ${dayOfMonth(due.day)}::smallint and d.cycle_on = ${due.day} and d.customer_id > ${due.after}
       and d.subscription_id not in (select f.record_id from billing_run_failures f
                                      where f.account_id = ${account} and f.billing_run_id = ${due.runId} and f.record_type = 'subscription')
     group by d.customer_id order by d.customer_id limit ${due.limit}`)
  return rows.map(({ id }) => id)
}

/** Finds the first day after another, up to a last one, on which a subscription in cycle of a customer that is not paused is due. */
async function findInCycleAfter(
  db: Queryable,
  account: AccountId,
  after: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> {
  const { swept, days } = await oneRow<{ swept: IsoDate | null; days: string }>(
    db,
    sql`
    select coalesce((select swept_on from billing_cycles where account_id = ${account}),
                    (select min(cycle_on) - 1 from subscription_billing where account_id = ${account} and cycle_day is not null)) as "swept",
           array_to_string(array(select day from generate_series(1, 31) as day cross join lateral (
             select from subscription_billing where account_id = ${account} and cycle_day = day::smallint limit 1) as found), ',') as "days"`,
  )
  if (swept === null || days === '') return null
  const known = new Set(days.split(',').map(Number))
  for (let day = addDays(later(after, swept), 1); day <= until; day = addDays(day, 1))
    if (known.has(dayOfMonth(day)) && (await isAnyInCycle(db, account, day))) return day
  return null
}

const isAnyInCycle = async (db: Queryable, account: AccountId, day: IsoDate): Promise<boolean> =>
  (
    await oneRow<{ is: boolean }>(
      db,
      sql`select exists (
            select from subscription_billing d join customers c on c.account_id = ${account} and c.customer_id = d.customer_id
             where d.account_id = ${account} and d.cycle_day = ${dayOfMonth(day)}::smallint and d.cycle_on = ${day} and c.paused_on is null) as "is"`,
    )
  ).is

/** Returns the day up to which nobody in cycle of the account is left; null where nobody ever was. */
export const findSweptOn = async (tx: Transaction): Promise<IsoDate | null> =>
  (
    await oneRow<{ day: IsoDate | null }>(
      tx,
      sql`select (select swept_on from billing_cycles where account_id = ${tx.account}) as "day"`,
    )
  ).day

/** Customers a transaction. */
const SWEPT_AT_ONCE = 1000

/** Takes subscriptions that are due in cycle up to a day out of it, behind the pass of a run that bills that day: paused, failed or held ones. Each is due on the same day as before. */
export async function sweepCycles(db: Database, account: AccountId, day: IsoDate): Promise<void> {
  const reader = db.reader(account)
  let after: CustomerId = 0n
  for (;;) {
    const rows = await reader.rows<{ id: CustomerId }>(sql`
      select d.customer_id as "id" from subscription_billing d where ${isDueInCycle(account, day)} and d.customer_id > ${after}
       group by d.customer_id order by d.customer_id limit ${SWEPT_AT_ONCE}`)
    const ids = rows.map(({ id }) => id)
    const last = ids.at(-1)
    if (last === undefined) break
    after = last
    await db.transaction(account, async (tx) => {
      await lockCustomers(tx, ids, true)
      await tx.rows(sql`
        update subscription_billing d set due_on = cycle_on, cycle_on = null, cycle_day = null
         where ${isDueInCycle(account, day)} and d.customer_id = any(${arrayLiteral(ids)}::bigint[])`)
    })
  }
  await db.transaction(account, (tx) => keepSweptOn(tx, day))
}

const keepSweptOn = (tx: Transaction, day: IsoDate) =>
  tx.rows(sql`
    insert into billing_cycles (account_id, swept_on)
    select ${tx.account}, ${day} where exists (select from subscription_billing where account_id = ${tx.account} and cycle_day is not null)
    on conflict (account_id) do update set swept_on = greatest(billing_cycles.swept_on, excluded.swept_on)`)
