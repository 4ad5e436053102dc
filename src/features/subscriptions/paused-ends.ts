import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import { oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { lockedSubscription } from './actions.ts'
import { applyPlans, type BillingPlan, planContext, planPausedEnd } from './bill.ts'
import { endOf } from './facts.ts'

/**
 * Ends of subscriptions whose customers are suspended or archived. The run does not bill them, but the end comes on its day: its event,
 * and the credits of a cancellation at renewal. They are few, so each has a transaction of its own.
 */

// The index subscriptions_ending holds exactly this.
const ENDS_ON = fragment`least(s.end_date, case when s.pending_kind = 'cancellation' then s.pending_on end)`
const PAUSED_ENDING = fragment`
  subscriptions s join customers c on c.account_id = s.account_id and c.customer_id = s.customer_id and c.paused_on is not null
   where not s.is_end_recorded and (s.end_date is not null or s.pending_kind = 'cancellation')`

export interface PausedEnd {
  id: SubscriptionId
  customerId: CustomerId
  dueOn: IsoDate
}

/** The next ones that end on a day, in the order of their identifiers. */
export const listPausedEnds = (
  db: Queryable,
  account: AccountId,
  { day, after, limit }: { day: IsoDate; after: SubscriptionId; limit: number },
) =>
  db.rows<PausedEnd>(sql`
    select s.subscription_id as "id", s.customer_id as "customerId", ${ENDS_ON} as "dueOn" from ${PAUSED_ENDING}
       and s.account_id = ${account} and ${ENDS_ON} = ${day} and s.subscription_id > ${after}
     order by s.subscription_id limit ${limit}`)

/** The first day after another on which one ends. */
export const findPausedEndAfter = async (
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> =>
  (
    await oneRow<{ day: IsoDate | null }>(
      db,
      sql`select (select ${ENDS_ON} from ${PAUSED_ENDING}
                     and s.account_id = ${account} and ${ENDS_ON} > ${day} and ${ENDS_ON} <= ${until}
                   order by ${ENDS_ON} limit 1) as "day"`,
    )
  ).day

/** Ends one that should have ended by a day; undefined when it did, moved its end, or its customer is billed again. */
export async function endPaused(
  tx: Transaction,
  context: IssueContext,
  id: SubscriptionId,
  day: IsoDate,
): Promise<BillingPlan | undefined> {
  const s = await lockedSubscription(tx, id)
  const end = endOf(s)
  if (s.pausedOn === null || s.isEndRecorded || end === null || end > day) return undefined
  const plan = planPausedEnd(s, await planContext(tx, context, [s]))
  await applyPlans(tx, context, [plan])
  return plan
}
