import { addDays, daysBetween, earlier, earliest, type IsoDate, later } from '../../kernel/calendar.ts'
import type { PlannedCharge } from './charges.ts'
import { lateCharge, riseCharge } from './component-charges.ts'
import { canShare, hasNextCycle, meteredDueOn, nextCycle } from './component-cycles.ts'
import { type ComponentState, isLate, isMetered, type SubscriptionFacts } from './components.ts'
import { periodContaining } from './period.ts'
import { exactPrice } from './pricing.ts'
import { feesDueOn, hasNextPeriod, MONTH_DAYS_MAX, nextInvoiceDate as nextPackageDate } from './renewal.ts'
import { endOf, type SubscriptionState, termsOf } from './subscription.ts'

/** Charges that wait for the next invoice (owed rises and late usage), and the day on which it comes. */

export interface PlanOptions {
  /** Invoices owed rises and late usage today, whenever the next invoice comes: `When: now`, and every end. */
  extrasNow?: boolean
  /** Charges owed rises up to the end by the day also without pro rata: a cancellation `prorata`. */
  risesByDay?: boolean
}

export const hasDeferred = ({ owed, usage }: ComponentState): boolean => owed.length > 0 || usage.some(isLate)

/** Returns owed rises and late usage as lines. */
export function deferredCharges(
  { state, components }: SubscriptionFacts,
  { risesByDay }: PlanOptions,
): PlannedCharge[] {
  const cutOn = state.isProRata || risesByDay ? endOf(state) : null
  const charges: PlannedCharge[] = []
  for (const component of components) {
    for (const rise of component.owed) {
      const charge = riseCharge(component, rise, cutOn, state.digits)
      if (charge) charges.push(charge)
    }
    for (const cycle of component.usage) if (isLate(cycle)) charges.push(lateCharge(component, cycle, state.digits))
  }
  return charges
}

export const withoutDeferred = (component: ComponentState): ComponentState => ({
  ...component,
  owed: [],
  usage: component.usage.map((cycle) =>
    isLate(cycle) ? { ...cycle, invoiced: cycle.total, nextPart: cycle.nextPart + 1 } : cycle,
  ),
})

/** Rule: they come with the next invoice, or at the end; at once when that is more than 31 days away or nothing will follow. */
export function isDeferredDue(facts: SubscriptionFacts, today: IsoDate): boolean {
  const on = nextOpportunity(facts, today)
  return on === null || on <= today || daysBetween(today, on) > MONTH_DAYS_MAX
}

/** Returns the next day on which something is invoiced anyway; the end counts, because what is owed then is invoiced on it. */
function nextOpportunity(facts: SubscriptionFacts, today: IsoDate): IsoDate | null {
  const end = endOf(facts.state)
  return earliest(nextScheduled(facts), end !== null && end > today ? end : null)
}

/**
 * Returns the day on which the next scheduled charge falls due: fees, a period, a cycle; null when none will follow. With `isCostOnly` what
 * costs nothing by today's facts is passed over.
 */
function nextScheduled({ state, components }: SubscriptionFacts, isCostOnly = false): IsoDate | null {
  const terms = termsOf(state)
  const end = endOf(state)
  let next = isCostOnly && isFree(state) ? feesDueOn(terms, state.cursor) : nextPackageDate(terms, state.cursor)
  const periodOn = hasNextPeriod(terms, state.cursor) ? nextPackageDate(terms, { ...state.cursor, feesOn: null }) : null
  for (const component of components) {
    if (!hasNextCycle(component, end) || (isCostOnly && !canCost(component))) continue
    const { nextFrom } = component
    const renewalOn =
      nextFrom === state.cursor.nextFrom ? periodOn : isCostOnly ? laterRenewalOn(state, nextFrom) : null
    const sharesRenewal = renewalOn !== null && canShare(component, renewalOn)
    const on = isMetered(component)
      ? meteredDueOn(nextCycle(component, end, state.isProRata).piece, end)
      : sharesRenewal
        ? renewalOn
        : nextFrom
    next = earliest(next, on)
  }
  return next
}

/** Returns the day on which a renewal after the next one is invoiced, where a day begins one and lead days move it; null otherwise. */
function laterRenewalOn({ cycle, cursor, leadDays }: SubscriptionState, day: IsoDate): IsoDate | null {
  if (leadDays === 0 || day < cursor.nextFrom || periodContaining(cycle, day).from !== day) return null
  const before = periodContaining(cycle, addDays(day, -1)).from
  return later(addDays(day, -leadDays), later(before, cursor.nextFrom))
}

/** Returns whether no period of the package will cost anything: a pending change may bring another price. */
const isFree = ({ price, pending }: SubscriptionState): boolean =>
  price.coefficient === 0n && (pending === null || pending.kind === 'cancellation')

/** Returns whether a cycle of a component may cost something: by the number set, or by the usage that is not invoiced yet. */
const canCost = (component: ComponentState): boolean =>
  isMetered(component)
    ? component.usage.some(
        ({ total, invoiced, isFree: isGiven }) => invoiced === null && !isGiven && total.coefficient > 0n,
      )
    : component.versions.some(({ scheme, list }) => exactPrice(scheme, list, component.quantity).coefficient > 0n)

/**
 * Returns the day of the next invoice that may cost something; null when none will. What is free falls due earlier, maybe every day for
 * years.
 */
export const nextCostOn = (facts: SubscriptionFacts, today: IsoDate): IsoDate | null =>
  facts.components.some(hasDeferred) ? nextInvoiceOn(facts, today) : nextScheduled(facts, true)

/**
 * Returns the day on which the next invoice of any kind falls due (it may have passed); null only when none will follow. Owed rises and
 * late usage are due `today` when nothing else comes within 31 days.
 */
export function nextInvoiceOn(facts: SubscriptionFacts, today: IsoDate): IsoDate | null {
  const scheduled = nextScheduled(facts)
  if (!facts.components.some(hasDeferred)) return scheduled
  return isDeferredDue(facts, today) ? earlier(today, scheduled ?? today) : nextOpportunity(facts, today)
}
