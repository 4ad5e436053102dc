import type { IsoDate } from '../../kernel/calendar.ts'
import { collectDue, startCollecting } from './collect-due.ts'
import type { SubscriptionFacts } from './components.ts'
import { composeInvoices, planSubscriptionDue, type SubscriptionPlan } from './plan-due.ts'
import { planReturn } from './resume.ts'

/**
 * Times in which a customer was suspended or archived, and that billing has not got past: the return was not billed on its day, because the
 * subscription could not be billed. Billed later, it brings what it would have brought on the day of the return.
 */
export interface BillingGap {
  from: IsoDate
  /** The day of the return. */
  until: IsoDate
}

/** Plans everything due on or before a day, through gaps, oldest first. A day inside a gap brings only what began before it. */
export function planThroughGaps(
  facts: SubscriptionFacts,
  dueBy: IsoDate,
  gaps: readonly BillingGap[],
): SubscriptionPlan {
  let plan: SubscriptionPlan | undefined
  for (const { from, until } of gaps) {
    if (from > dueBy) break
    const reached: SubscriptionFacts = plan ?? facts
    if (until > dueBy) return joined(plan, planBeforeGap(reached, from, dueBy))
    plan = joined(plan, planReturn(reached, from, until))
  }
  return joined(plan, planSubscriptionDue(plan ?? facts, dueBy))
}

/** Plans what began before a gap, of what is due on or before a day inside it. */
function planBeforeGap(facts: SubscriptionFacts, gapFrom: IsoDate, dueBy: IsoDate): SubscriptionPlan {
  const collecting = startCollecting(facts, dueBy)
  collecting.before = gapFrom
  collectDue(collecting)
  return composeInvoices(collecting, {})
}

const joined = (before: SubscriptionPlan | undefined, plan: SubscriptionPlan): SubscriptionPlan =>
  before === undefined
    ? plan
    : {
        ...plan,
        invoices: [...before.invoices, ...plan.invoices],
        credited: [...before.credited, ...plan.credited],
      }
