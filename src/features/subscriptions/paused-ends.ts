import { endOf } from '../../engine/subscription/subscription.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { SubscriptionId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { lockedSubscription } from './actions.ts'
import { applyPlans, type BillingPlan, planContext, planPausedEnd } from './bill.ts'
import { stateOf } from './state.ts'

/**
 * Ends of subscriptions whose customers are suspended or archived. The run does not bill them, but the end comes on its day: its event,
 * and the credits of a cancellation at renewal. They are few, so each has a transaction of its own.
 */

/** Ends one that should have ended by a day; undefined when it did, moved its end, or its customer is billed again. */
export async function endPaused(
  tx: Transaction,
  context: IssueContext,
  id: SubscriptionId,
  day: IsoDate,
): Promise<BillingPlan | undefined> {
  const s = await lockedSubscription(tx, id)
  const end = endOf(stateOf(s))
  if (s.pausedOn === null || s.isEndRecorded || end === null || end > day) return undefined
  const plan = planPausedEnd(s, await planContext(tx, context, [s]))
  await applyPlans(tx, context, [plan])
  return plan
}
