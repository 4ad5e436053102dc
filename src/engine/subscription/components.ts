import { type IsoDate, later } from '../../kernel/calendar.ts'
import { compare, type Decimal, ZERO } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import { type Cycle, cycleFrom, periodContaining } from './period.ts'
import { type Bracket, exactPrice, type Scheme } from './pricing.ts'
import { firstPeriodFrom } from './renewal.ts'
import { endOf, type SubscriptionState } from './subscription.ts'

/**
 * A component on a subscription, in cycles of its own. Quantities are charged before a cycle, usage after it. Everything that planning
 * needs is in the state, and each operation answers the next state, so whoever keeps the state keeps the whole history that matters.
 */

export type ComponentType = 'quantity' | 'metered' | 'opt-in'

export interface PricedVersion {
  versionId: Id
  /** It counts for cycles that begin on this day or later; null for the first one. */
  from: IsoDate | null
  scheme: Scheme
  list: readonly Bracket[]
}

/** Days on which a component was away: it was left out on the first, and added again on `until`. */
export interface TimeAway {
  from: IsoDate
  until: IsoDate
  /** First day that was counted before it was left out. */
  countedFrom: IsoDate
}

/** A cycle charged in advance (or owed as a rise from 0) that is not over. */
export interface InvoicedCycle {
  /** First day charged. */
  from: IsoDate
  wholeFrom: IsoDate
  wholeUntil: IsoDate
  /** Highest quantity charged or owed for it. */
  highest: Decimal
  /** Number of the next rise. */
  nextPart: number
}

/** A rise that waits for the next invoice. It is charged up to the end of its cycle, or to the end of the subscription as then known. */
export interface OwedRise {
  /** First day charged; the first of the cycle without pro rata. */
  from: IsoDate
  /** First charged day of the cycle that it belongs to: the version follows from it. */
  cycleFrom: IsoDate
  wholeFrom: IsoDate
  wholeUntil: IsoDate
  quantity: Decimal
  before: Decimal
  part: number
  /** First day not charged, where a cancellation for pro rata cut it while it waited; absent: the end of its cycle, or of the subscription. */
  cutOn?: IsoDate
}

/** Usage of one cycle. Only cycles not invoiced, or with a total that differs from what was invoiced, need to be in the state. */
export interface CycleUsage {
  /** First counted day; with the component it names the cycle. */
  from: IsoDate
  /** First day of the next one: the cycle was, or will be, invoiced on it. */
  until: IsoDate
  total: Decimal
  /** The total that was invoiced; null before. */
  invoiced: Decimal | null
  /** Number of the next late line. */
  nextPart: number
  /** Priced 0, whenever it is reported: the running cycle of a cancellation with full credit. */
  isFree: boolean
  /** Set when an invoice of the cycle was cancelled or a line of it credited: the amount that invoices which stand charged for the cycle, less credits. */
  standingMinor?: bigint | null
  /** … and what was charged on cancelled ones: never charged again, and nothing of it is given back. */
  cancelledMinor?: bigint | null
}

export interface ComponentState {
  componentId: Id
  name: string
  type: ComponentType
  /** Oldest first, at least one. */
  versions: readonly PricedVersion[]
  cycle: Cycle
  /** The stretch of the subscription in which charging began; a change of package or term keeps it. */
  stretch: number
  /** The number set last; 0 after it was left out; unused for metered ones. */
  quantity: Decimal
  /** First day that is charged or counted. */
  chargesFrom: IsoDate
  /** Day on which it was left out; null while it is on the subscription. */
  leftOutOn: IsoDate | null
  /** Oldest first; absent: it was there without a break. */
  absences?: readonly TimeAway[]
  /** Start of the next cycle (or piece of one) not yet invoiced. */
  nextFrom: IsoDate
  /** Start of the newest invoiced one; null before any. */
  lastFrom: IsoDate | null
  invoiced: readonly InvoicedCycle[]
  owed: readonly OwedRise[]
  usage: readonly CycleUsage[]
}

/** A subscription with its components: what plans take and answer. */
export interface SubscriptionFacts {
  state: SubscriptionState
  components: readonly ComponentState[]
}

export interface ComponentOffer {
  componentId: Id
  name: string
  type: ComponentType
  term: number
  termType: Cycle['termType']
  version: Omit<PricedVersion, 'from'>
  quantity: Decimal
}

export const isMetered = ({ type }: Pick<ComponentState, 'type'>): boolean => type === 'metered'

/** Returns the version that prices the cycle whose first charged day is given. */
export function versionFor({ versions }: Pick<ComponentState, 'versions'>, cycleStart: IsoDate): PricedVersion {
  let found = versions[0]!
  for (const version of versions) if (version.from !== null && version.from <= cycleStart) found = version
  return found
}

/** Makes a component that is there when charging begins: its first cycle joins the first period of the package. */
export function componentAtStart(state: SubscriptionState, offer: ComponentOffer): ComponentState {
  const { componentId, name, type, term, termType, version, quantity } = offer
  const from = firstPeriodFrom(state)
  return {
    componentId,
    name,
    type,
    versions: [{ ...version, from: null }],
    cycle: cycleFrom(state.componentAnchor, term, termType),
    stretch: state.stretch,
    quantity,
    chargesFrom: from,
    leftOutOn: null,
    nextFrom: from,
    lastFrom: null,
    invoiced: [],
    owed: [],
    usage: [],
  }
}

/**
 * Makes a component that joins a running subscription. Rule: that is a rise from 0 of the cycle that holds today; before charging begins it
 * simply is there from the start. Where nothing was billed since a day (`unbilledSince`) and the package's running period is not invoiced, nothing of the cycle is
 * owed: it is charged on the return as any other.
 */
export function attachComponent(
  state: SubscriptionState,
  offer: ComponentOffer,
  today: IsoDate,
  unbilledSince: IsoDate | null = null,
): ComponentState {
  const started = componentAtStart(state, offer)
  if (today < started.chargesFrom) return started
  if (isMetered(started)) return { ...started, chargesFrom: today, nextFrom: today }
  if (unbilledSince !== null) {
    const from = later(periodContaining(started.cycle, today).from, later(unbilledSince, started.chargesFrom))
    return { ...started, chargesFrom: from, nextFrom: from }
  }
  return setQuantity(openCycle({ ...started, quantity: ZERO }, state, today), offer.quantity, state, today)
}

/** Returns the cycle that holds today, with nothing charged yet. */
function openCycle(component: ComponentState, state: SubscriptionState, today: IsoDate): ComponentState {
  const whole = periodContaining(component.cycle, today)
  const from = state.isProRata ? today : whole.from
  const cycle = { from, wholeFrom: whole.from, wholeUntil: whole.until, highest: ZERO, nextPart: 1 }
  return { ...component, chargesFrom: today, nextFrom: whole.until, lastFrom: from, invoiced: [cycle] }
}

/**
 * Sets another quantity of a component charged in advance. Rule: a rise owes at once, a fall counts from the next cycle not yet invoiced.
 */
export function setQuantity(
  component: ComponentState,
  quantity: Decimal,
  state: Pick<SubscriptionState, 'isProRata' | 'endDate' | 'cancelledOn' | 'pending'>,
  today: IsoDate,
): ComponentState {
  const owed: OwedRise[] = []
  const invoiced = component.invoiced.map((cycle): InvoicedCycle => {
    const rise = riseOf(component, cycle, quantity, state, today)
    if (rise === undefined) return cycle
    owed.push(rise)
    return { ...cycle, highest: quantity, nextPart: cycle.nextPart + 1 }
  })
  return { ...component, quantity, invoiced, owed: [...component.owed, ...owed] }
}

/**
 * Returns the amount that a rise owes for one invoiced cycle: price(new) − price(highest charged or owed), never below 0; a quantity that costs no more
 * than what is charged owes nothing and does not become the highest.
 */
function riseOf(
  component: ComponentState,
  cycle: InvoicedCycle,
  quantity: Decimal,
  state: Pick<SubscriptionState, 'isProRata' | 'endDate' | 'cancelledOn' | 'pending'>,
  today: IsoDate,
): OwedRise | undefined {
  const end = endOf(state)
  const from = state.isProRata ? later(today, cycle.from) : cycle.from
  if (today >= cycle.wholeUntil || (end !== null && later(from, today) >= end)) return undefined
  if (compare(quantity, cycle.highest) <= 0) return undefined
  const { scheme, list } = versionFor(component, cycle.from)
  if (compare(exactPrice(scheme, list, quantity), exactPrice(scheme, list, cycle.highest)) <= 0) return undefined
  const { wholeFrom, wholeUntil, highest, nextPart } = cycle
  return { from, cycleFrom: cycle.from, wholeFrom, wholeUntil, quantity, before: highest, part: nextPart }
}

/**
 * Leaves a component out. Rules: that is a fall to 0, and usage so far is invoiced at the end of its cycle; before the start of the
 * subscription the usage that it opened with is dropped with it, late usage of an earlier life is not.
 */
export const leaveOut = (
  component: ComponentState,
  state: Pick<SubscriptionState, 'startDate'>,
  today: IsoDate,
): ComponentState => ({
  ...component,
  quantity: ZERO,
  leftOutOn: today,
  usage: today < state.startDate ? component.usage.filter(isLate) : component.usage,
})

/**
 * Brings back a component that was left out. While the cycle in which it left is charged or counted it goes on, so that nothing is charged
 * twice; after it, it joins as a new one does.
 */
export function reattachComponent(
  left: ComponentState,
  state: SubscriptionState,
  offer: ComponentOffer,
  today: IsoDate,
  unbilledSince: IsoDate | null = null,
): ComponentState {
  const leftOn = left.leftOutOn ?? today
  const absence = { from: leftOn, until: today, countedFrom: left.chargesFrom }
  const absences = [...(left.absences ?? []), absence]
  const isOpen = isMetered(left) ? left.nextFrom <= leftOn : left.nextFrom > today
  if (!isOpen) {
    const joined = attachComponent(state, offer, later(today, left.chargesFrom), unbilledSince)
    return { ...joined, owed: [...left.owed, ...joined.owed], usage: left.usage, absences }
  }
  const back = changeVersion({ ...left, leftOutOn: null, absences }, offer.version, today)
  return isMetered(back) ? back : setQuantity(back, offer.quantity, state, today)
}

/** Rule: another version counts from the component's next cycle; the cycle that is invoiced or running keeps its prices. */
export function changeVersion(
  component: ComponentState,
  version: Omit<PricedVersion, 'from'>,
  today: IsoDate,
): ComponentState {
  const { nextFrom, cycle, versions } = component
  if (versions.at(-1)!.versionId === version.versionId) return component
  const isRunning = isMetered(component) && nextFrom <= today
  const from = isRunning ? periodContaining(cycle, today).until : nextFrom
  const earlierOnes = versions.filter((known) => known.from === null || known.from < from)
  return { ...component, versions: [...earlierOnes, { ...version, from }] }
}

/**
 * Returns the component when its subscription starts anew: after a reactivation, another start date, or a replaced future package. Rule: it
 * keeps version and quantity, and counts from the anchor of that start. Late usage of what was invoiced before stays to be invoiced.
 */
export function restartComponent(component: ComponentState, state: SubscriptionState): ComponentState {
  const from = firstPeriodFrom(state)
  const { term, termType } = component.cycle
  return {
    ...component,
    ...(component.absences ? { absences: [] } : {}),
    cycle: cycleFrom(state.componentAnchor, term, termType),
    stretch: state.stretch,
    chargesFrom: from,
    nextFrom: from,
    lastFrom: null,
    invoiced: [],
    owed: [],
    usage: component.usage.filter(isLate),
  }
}

export const isLate = ({ total, invoiced }: CycleUsage): boolean => invoiced !== null && compare(total, invoiced) !== 0

/** Cursors after extensions: what was charged by the day up to there is not charged again. */
export const chargedUntil = (
  components: readonly ComponentState[],
  reached: readonly { componentId: Id; until: IsoDate }[],
): ComponentState[] =>
  components.map((component) => {
    const days = reached.filter(({ componentId }) => componentId === component.componentId).map(({ until }) => until)
    return { ...component, nextFrom: days.reduce(later, component.nextFrom) }
  })
