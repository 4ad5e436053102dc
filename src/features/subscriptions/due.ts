import type { IsoDate } from '../../kernel/calendar.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type DueContext, dueKind } from '../billing-run/due-kind.ts'
import { applyPlans, planContext, planPausedEnd, planSubscription } from './bill.ts'
import { CHARGED_ONCE } from './change.ts'
import { billShared } from './stamp.ts'
import type { BillableSubscription } from './queries.ts'
import { dueSubscriptions, sweepCycles } from './cycles.ts'
import { listDueForPlanning, listDueSubscriptions, pausedEnds } from './due-queries.ts'

const ONE_BY_ONE = {
  ...dueSubscriptions,
  closeDay: sweepCycles,
  recordType: 'subscription',
  idField: 'subscriptionID',
  onceConstraint: CHARGED_ONCE,
  listDue: listDueSubscriptions,
  listForecast: listDueForPlanning,
  planner: async (
    db: Queryable,
    context: Pick<DueContext, 'account' | 'moment'>,
    records: readonly BillableSubscription[],
  ) => {
    const plans = await planContext(db, context, records)
    return (s: BillableSubscription, day?: IsoDate) => planSubscription(s, plans, day)
  },
  apply: applyPlans,
}

/** The due kind of subscriptions that have something to bill on a day. */
export const subscriptionsDue = dueKind({ ...ONE_BY_ONE, billAlike: billShared })

/** The same, with each subscription planned and written on its own: what the other has to be equal to. */
export const subscriptionsDueOneByOne = dueKind(ONE_BY_ONE)

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
