import { type IsoDate } from '../../kernel/calendar.ts'
import type { PlannedCharge } from './charges.ts'
import { inAdvanceCharges, meteredCharges } from './component-charges.ts'
import { canShare, hasNextCycle, meteredDueOn, nextCycle, usageFrom } from './component-cycles.ts'
import { type ComponentState, isMetered, type SubscriptionFacts } from './components.ts'
import { beginsBefore, planStep } from './renewal.ts'
import { afterRenewalChange, endOf, type SubscriptionState, termsOf } from './subscription.ts'
import { withUsage } from './usage.ts'

/** Collecting what is due of package and components, and which of it shares an invoice. */

/** Item that falls due, with the facts that decide which invoice it shares. */
export interface DueItem {
  scheduledOn: IsoDate
  /** Start of a period invoiced ahead, which has an invoice of its own; null otherwise. */
  ahead: IsoDate | null
  charges: PlannedCharge[]
}

/** State of collecting due items. */
export interface Collecting {
  state: SubscriptionState
  components: ComponentState[]
  items: DueItem[]
  today: IsoDate
  /** Only what begins, or ends, before this day: the first half of a return after a gap. */
  before: IsoDate | null
  /** Metered cycles that ended on this day or later wait for the day of return; null without a gap. */
  gapFrom: IsoDate | null
}

export const startCollecting = ({ state, components }: SubscriptionFacts, today: IsoDate): Collecting => ({
  state,
  components: [...components],
  items: [],
  today,
  before: null,
  gapFrom: null,
})

/** Moves the cursors over everything due and keeps what it brings. */
export function collectDue(collecting: Collecting): void {
  const periods = collectPeriods(collecting)
  collecting.components = collecting.components.map((component) =>
    isMetered(component) ? collectMetered(collecting, component) : collectCycles(collecting, component, periods),
  )
}

/** Collects the package. Returns the items of its periods by their first day. */
function collectPeriods(collecting: Collecting): Map<IsoDate, DueItem> {
  const periods = new Map<IsoDate, DueItem>()
  for (;;) {
    const { state, today, before } = collecting
    const changed = takesEffect(state) ? afterRenewalChange(state) : state
    const terms = termsOf(changed)
    if (before !== null && !beginsBefore(terms, state.cursor, before)) return periods
    const step = planStep(terms, state.cursor, today)
    if (step === undefined) return periods
    const { scheduledOn, charges } = step.invoice
    const isPeriod = step.cursor.nextFrom !== state.cursor.nextFrom
    const from = state.cursor.nextFrom
    const item: DueItem = { scheduledOn, ahead: isPeriod && scheduledOn < from ? from : null, charges }
    if (isPeriod) periods.set(from, item)
    collecting.items.push(item)
    // A change at renewal takes effect with the invoice of that renewal, not with fees that come before it.
    collecting.state = { ...(isPeriod ? changed : state), cursor: step.cursor }
  }
}

const takesEffect = ({ pending, cursor }: SubscriptionState): boolean =>
  pending !== null && pending.kind !== 'cancellation' && cursor.nextFrom >= pending.on

/** Collects a component charged in advance, cycle by cycle. */
function collectCycles(
  collecting: Collecting,
  given: ComponentState,
  periods: ReadonlyMap<IsoDate, DueItem>,
): ComponentState {
  const { state, today, before } = collecting
  const end = endOf(state)
  const invoiced = [...given.invoiced]
  const component = { ...given }
  while (hasNextCycle(component, end)) {
    const { nextFrom } = component
    if (before !== null && nextFrom >= before) break
    const shared = sharedItem(component, periods.get(nextFrom))
    if ((shared?.scheduledOn ?? nextFrom) > today) break
    const { piece, whole } = nextCycle(component, end, state.isProRata)
    const charges = inAdvanceCharges(component, end, state.isProRata, state.digits)
    if (shared) shared.charges.push(...charges)
    else collecting.items.push({ scheduledOn: nextFrom, ahead: null, charges })
    const { quantity } = component
    invoiced.push({ from: piece.from, wholeFrom: whole.from, wholeUntil: whole.until, highest: quantity, nextPart: 1 })
    component.nextFrom = piece.until
    component.lastFrom = piece.from
  }
  // Nothing can rise any more in a cycle that is over.
  component.invoiced = invoiced.filter(({ wholeUntil }) => wholeUntil > today)
  return component
}

/**
 * Returns the renewal that a cycle begins with, when it can share its invoice: one invoiced ahead is shared only by what was there already
 * on the day of that invoice.
 */
const sharedItem = (component: ComponentState, item: DueItem | undefined): DueItem | undefined =>
  item !== undefined && canShare(component, item.scheduledOn) ? item : undefined

/** Collects a metered component: every cycle on the day it ends. */
function collectMetered(collecting: Collecting, given: ComponentState): ComponentState {
  const { state, today, before, gapFrom } = collecting
  const end = endOf(state)
  let component = given
  while (hasNextCycle(component, end)) {
    const { piece } = nextCycle(component, end, state.isProRata)
    const endsOn = meteredDueOn(piece, end)
    if (endsOn > today || (before !== null && endsOn >= before)) break
    const scheduledOn = gapFrom !== null && endsOn >= gapFrom ? today : endsOn
    const charges = meteredCharges(component, piece, state.digits)
    collecting.items.push({ scheduledOn, ahead: null, charges })
    const known = usageFrom(component, piece.from)
    const invoiced = { ...known, until: piece.until, invoiced: known.total }
    component = { ...withUsage(component, invoiced), nextFrom: piece.until, lastFrom: piece.from }
  }
  return component
}

/** Groups due items: a group per scheduled day, and behind it one for each period that is invoiced ahead on that day. */
export function groupsOf(items: readonly DueItem[]): DueItem[] {
  const groups = new Map<string, DueItem>()
  for (const { scheduledOn, ahead, charges } of items) {
    const key = `${scheduledOn}/${ahead ?? ''}`
    const found = groups.get(key)
    if (found) found.charges.push(...charges)
    else groups.set(key, { scheduledOn, ahead, charges: [...charges] })
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}
