import { addDays, earliest, type IsoDate, later } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { type DueStatements, dueStatements, nextOfBoth } from '../../platform/database/due.ts'
import { lockCustomers } from '../customers/queries.ts'
import {
  countDueInCycle,
  dayOfMonth,
  endCycles,
  getCycles,
  isAnyInCycle,
  keepSweptOn,
  listCustomersInCycle,
  listLeftInCycle,
} from './state-queries.ts'

/** Who is due, in cycle or not, and what a run does behind each day so that nobody is left in a cycle (decision 40). */

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
    const [some, others] = [await byDay.listCustomers(db, account, due), await listCustomersInCycle(db, account, due)]
    return nextOfBoth(some, others, due.limit)
  },
  findAfter: async (db, account, day, until) => {
    const found = await byDay.findAfter(db, account, day, until)
    return earliest(found, await findInCycleAfter(db, account, day, found ?? until))
  },
  count: async (db, account, until) =>
    (await byDay.count(db, account, until)) + (await countDueInCycle(db, account, until)),
}

/** Finds the first day after another, up to a last one, on which a subscription in cycle of a customer that is not paused is due. */
async function findInCycleAfter(
  db: Queryable,
  account: AccountId,
  after: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> {
  const { swept, days } = await getCycles(db, account)
  if (swept === null || days === '') return null
  const known = new Set(days.split(',').map(Number))
  for (let day = addDays(later(after, swept), 1); day <= until; day = addDays(day, 1))
    if (known.has(dayOfMonth(day)) && (await isAnyInCycle(db, account, day))) return day
  return null
}

/** Customers a transaction. */
const SWEPT_AT_ONCE = 1000

/** Takes subscriptions that are due in cycle up to a day out of it, behind the pass of a run that bills that day: paused, failed or held ones. */
export async function sweepCycles(db: Database, account: AccountId, day: IsoDate): Promise<void> {
  const reader = db.reader(account)
  let after: CustomerId = 0n
  for (;;) {
    const ids = await listLeftInCycle(reader, account, { day, after, limit: SWEPT_AT_ONCE })
    const last = ids.at(-1)
    if (last === undefined) break
    after = last
    await db.transaction(account, async (tx) => {
      await lockCustomers(tx, ids, true)
      await endCycles(tx, ids, day)
    })
  }
  await db.transaction(account, (tx) => keepSweptOn(tx, day))
}
