import { addDays, type IsoDate, later } from '../../kernel/calendar.ts'
import type { PlannedCharge } from './charges.ts'
import { countDueCycles } from './component-cycles.ts'
import type { SubscriptionFacts } from './components.ts'
import { collectDue, type Collecting, groupsOf, startCollecting } from './collect-due.ts'
import {
  isDeferredDue,
  deferredCharges,
  hasDeferred,
  nextCostOn,
  type PlanOptions,
  withoutDeferred,
} from './deferred.ts'
import { byLine, datesOf, splitNegative } from './line-order.ts'
import { countDuePeriods, type PlannedInvoice } from './renewal.ts'
import { endOf, type SubscriptionState, termsOf } from './subscription.ts'

/**
 * Everything that is due on a subscription, package and components together. Rule: one invoice per subscription and day, with the
 * package charge and whatever component charges fall on that day; a period invoiced ahead has its own.
 */

export interface SubscriptionPlan extends SubscriptionFacts {
  invoices: PlannedInvoice[]
  /**
   * Negative lines of invoices that would have been negative. Each becomes credit notes for the charges of its cycle
   * (`creditCharges` of −netMinor) and is kept as a charge without an invoice, so that it counts as billed.
   */
  credited: PlannedCharge[]
  /** Returns how the subscription ended on or before today; a cancellation at renewal gives back the credits of `givenBackAtEnd`. */
  ended: 'cancelled' | 'expired' | null
}

/** Plans everything due on or before today, oldest first, and the state behind it. Planning again from there plans nothing. */
export function planSubscriptionDue(
  facts: SubscriptionFacts,
  today: IsoDate,
  options: PlanOptions = {},
): SubscriptionPlan {
  const collecting = startCollecting(facts, today)
  collectDue(collecting)
  return composeInvoices(collecting, options)
}

/** Adds what waits for the next invoice, and makes the invoices. */
export function composeInvoices(collecting: Collecting, options: PlanOptions): SubscriptionPlan {
  const { items, today } = collecting
  const { state, ended } = withEnd(collecting.state, today)
  const facts = { state, components: collecting.components }
  const groups = groupsOf(items)
  let { components } = facts
  // What an end has left nothing of makes no line, and waits no longer either.
  if (components.some(hasDeferred) && (groups.length > 0 || options.extrasNow || isDeferredDue(facts, today))) {
    const extras = deferredCharges(facts, options)
    if (groups[0]) groups[0].charges.push(...extras)
    else if (extras.length > 0) groups.push({ scheduledOn: today, ahead: null, charges: extras })
    components = components.map(withoutDeferred)
  }
  const invoices: PlannedInvoice[] = []
  const credited: PlannedCharge[] = []
  for (const { scheduledOn, charges } of groups) {
    const { kept, negative } = splitNegative(charges.toSorted(byLine))
    credited.push(...negative)
    if (kept.length > 0) invoices.push({ scheduledOn, ...datesOf(scheduledOn, today, kept), charges: kept })
  }
  return { state, components, invoices, credited, ended }
}

/** Returns the state after an end that today has reached. Of EndDate and a cancellation the earlier ends it; on a tie the cancellation. */
export function withEnd(
  state: SubscriptionState,
  today: IsoDate,
): { state: SubscriptionState; ended: SubscriptionPlan['ended'] } {
  const end = endOf(state)
  if (end === null || end > today) return { state, ended: null }
  if (state.cancelledOn !== null) return { state, ended: 'cancelled' }
  const isCancelled = state.pending?.kind === 'cancellation' && state.pending.on === end
  if (!isCancelled) return { state: state.pending === null ? state : { ...state, pending: null }, ended: 'expired' }
  return { state: { ...state, endDate: end, cancelledOn: end, pending: null }, ended: 'cancelled' }
}

/** Returns whether more periods of the package, or cycles of one component, are due today than a request may bill at once. */
export function isMoreDueThan({ state, components }: SubscriptionFacts, today: IsoDate, most: number): boolean {
  const terms = termsOf(state)
  if (countDuePeriods(terms, state.cursor, today, most) > most) return true
  return components.some((component) => countDueCycles(component, terms, today, most) > most)
}

/** Invoices of 0 are not made, so a preview looks for the next one that is: also parts of a period, and late usage, may come to 0. */
const EMPTY_INVOICES_MAX = 24

/** Returns the next invoice that is made, with its own date, whenever it comes; undefined when none will follow. */
export function planNextInvoice(facts: SubscriptionFacts, today: IsoDate): PlannedInvoice | undefined {
  let reached = facts
  let on = today
  for (let tries = 0; tries < EMPTY_INVOICES_MAX; tries += 1) {
    const next = nextCostOn(reached, on)
    if (next === null) return undefined
    on = later(next, on)
    const plan = planSubscriptionDue(reached, on)
    const made = plan.invoices.find(({ charges }) => charges.some(({ netMinor }) => netMinor !== 0n))
    if (made) return made
    reached = plan
    on = addDays(on, plan.invoices.length === 0 && plan.credited.length === 0 ? 1 : 0)
  }
  return undefined
}
