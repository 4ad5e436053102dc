import { dueKind } from '../billing-run/due-kind.ts'
import { applyPlans, planContext, planPausedEnd, planSubscription } from './bill.ts'
import { dueSubscriptions, listDueForPlanning, listDueSubscriptions, pausedEnds } from './due-queries.ts'

/** Subscriptions with something to bill on a day. */
export const subscriptionsDue = dueKind({
  ...dueSubscriptions,
  recordType: 'subscription',
  onceConstraint: 'charges_once',
  listDue: listDueSubscriptions,
  listForecast: listDueForPlanning,
  planner: async (db, context, records) => {
    const plans = await planContext(db, context, records)
    return (s, day) => planSubscription(s, plans, day)
  },
  apply: applyPlans,
})

/**
 * Ends of subscriptions whose customers are suspended or archived. Nothing of them is billed, but the end comes on its day: its event, and
 * the credits of a cancellation at renewal.
 */
export const pausedEndsDue = dueKind({
  ...pausedEnds,
  recordType: 'subscription',
  isOfPaused: true,
  planner: async (db, context, records) => {
    const plans = await planContext(db, context, records)
    return (s) => planPausedEnd(s, plans)
  },
  apply: applyPlans,
})
