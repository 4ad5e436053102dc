import { daysBetween, type IsoDate } from '../../kernel/calendar.ts'
import { hasNextCycle } from './component-cycles.ts'
import { type ComponentState, isMetered, type SubscriptionFacts } from './components.ts'
import { collectDue, startCollecting } from './collect-due.ts'
import { periodContaining } from './period.ts'
import { composeInvoices, type SubscriptionPlan } from './plan-due.ts'
import { MONTH_DAYS_MAX, resumeAfterGap } from './renewal.ts'
import { afterRenewalChange, endOf, type SubscriptionState, termsOf } from './subscription.ts'

/**
 * Plans the day on which a customer that was suspended or archived since `gapFrom` is billed again. Rules: what began before the gap is
 * still owed; charges in advance of periods that begin in it are dropped, and each cycle goes on at its first renewal on or after the
 * return, or, where its period is longer than 31 days, with the rest of it by the day; metered cycles that ended in the gap and fees
 * not yet charged are invoiced together on the day of return.
 */
export function planReturn(facts: SubscriptionFacts, gapFrom: IsoDate, today: IsoDate): SubscriptionPlan {
  const collecting = startCollecting(facts, today)
  collecting.before = gapFrom
  collectDue(collecting)
  collecting.before = null
  collecting.gapFrom = gapFrom
  const state = changedInGap(collecting.state, today)
  const end = endOf(state)
  collecting.state = { ...state, cursor: resumeAfterGap(termsOf(state), state.cursor, gapFrom, today) }
  collecting.components = collecting.components.map((component) => resumeCycles(component, end, today))
  collectDue(collecting)
  return composeInvoices(collecting, {})
}

/** Rule: pending changes keep their dates. One whose day fell into the gap has taken effect, although nothing was invoiced on it. */
function changedInGap(state: SubscriptionState, today: IsoDate): SubscriptionState {
  const { pending } = state
  if (pending === null || pending.kind === 'cancellation' || pending.on > today) return state
  const end = endOf(state)
  return end !== null && end <= pending.on ? state : afterRenewalChange(state)
}

function resumeCycles(component: ComponentState, end: IsoDate | null, returnsOn: IsoDate): ComponentState {
  if (isMetered(component) || component.nextFrom >= returnsOn || !hasNextCycle(component, end)) return component
  const running = periodContaining(component.cycle, returnsOn)
  const isLong = daysBetween(running.from, running.until) > MONTH_DAYS_MAX
  return { ...component, nextFrom: running.from === returnsOn || isLong ? returnsOn : running.until }
}
