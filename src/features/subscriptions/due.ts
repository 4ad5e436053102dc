import { dueKind } from '../billing-run/due-kind.ts'
import { applyPlans, planContext, planPausedEnd, planSubscription } from './bill.ts'
import { CHARGED_ONCE } from './failing.ts'
import { dueSubscriptions, listDueForPlanning, listDueSubscriptions, pausedEnds } from './due-queries.ts'

/** The due kind of subscriptions that have something to bill on a day. */
export const subscriptionsDue = dueKind({
  ...dueSubscriptions,
  recordType: 'subscription',
  idField: 'subscriptionID',
  onceConstraint: CHARGED_ONCE,
  listDue: listDueSubscriptions,
  listForecast: listDueForPlanning,
  planner: async (db, context, records) => {
    const plans = await planContext(db, context, records)
    return (s, day) => planSubscription(s, plans, day)
  },
  apply: applyPlans,
})

/**
 * The due kind of subscriptions that end while their customer is suspended or archived. They are not billed, but they end on their day: the
 * event is recorded and the credits of a cancellation at renewal are made.
 */
export const pausedEndsDue = dueKind({
  ...pausedEnds,
  recordType: 'subscription',
  idField: 'subscriptionID',
  isOfPaused: true,
  planner: async (db, context, records) => {
    const plans = await planContext(db, context, records)
    return (s) => planPausedEnd(s, plans)
  },
  apply: applyPlans,
})
