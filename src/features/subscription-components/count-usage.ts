import { type ComponentState, type CycleUsage, isMetered, versionFor } from '../../engine/subscription/components.ts'
import { usageFrom } from '../../engine/subscription/component-cycles.ts'
import { exactPrice } from '../../engine/subscription/pricing.ts'
import { firstPeriodFrom } from '../../engine/subscription/renewal.ts'
import { endOf, type SubscriptionState } from '../../engine/subscription/subscription.ts'
import { absenceOn, cycleOfUsage, withReport, withUsage } from '../../engine/subscription/usage.ts'
import { assert } from '../../kernel/assert.ts'
import { type Instant, type IsoDate, later } from '../../kernel/calendar.ts'
import { add, type Decimal, equals, ZERO } from '../../kernel/decimal.ts'
import { conflict, Fault, invalid } from '../../kernel/fault.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { ComponentId, CustomerId, Id, SubscriptionId } from '../../kernel/ids.ts'
import { isAmountInBounds, roundToMinor } from '../../kernel/money.ts'
import { midnightOf } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { sendEvents } from '../events/queries.ts'
import { listStoredComponents } from './queries.ts'
import { type CountedCycleRow, listUsageCycles, sendUsageCycles } from './cycle-queries.ts'
import type { OpeningUsage } from './resolve.ts'
import {
  deleteOpening,
  drawManyUsageIds,
  sendManyUsage,
  sendUsage,
  type KnownKey,
  moveOpening,
  type OpeningReport,
  type UsageEntry,
} from './usage-queries.ts'
import { RecordedUsageOut, reportToWire } from './wire.ts'

/** Counting reports of usage: for which cycle each counts, and what it makes of that cycle's total. */

/** A report of usage with the facts of its body. */
export interface UsageReport {
  subscriptionId: SubscriptionId
  componentId: ComponentId
  units: Decimal
  isSet: boolean
  /** Null: the present day. */
  day: IsoDate | null
  /** The moment of the day that it is dated; null: midnight. */
  at: Instant | null
  key: string | null
  memo: string | null
  /** The path of the entry in the body; empty for a body that is one entry. */
  field: string
  /** Of a report that stands for several: the different units that they have. */
  eachUnits?: Iterable<Decimal>
}

/** A subscription whose usage is counted. */
export interface CountedSubscription {
  subscription: { id: SubscriptionId; customerId: CustomerId; isEndRecorded: boolean; cancelledAt: Instant | null }
  state: SubscriptionState
  components: Map<ComponentId, ComponentState>
}

export const fieldIn = ({ field }: Pick<UsageReport, 'field'>, name: string): string =>
  field === '' ? name : `${field}.${name}`

type UsedKey = Pick<KnownKey, 'subscriptionId' | 'componentId' | 'units' | 'isSet' | 'day'>

/** Keys that were used, in the database or earlier in the same request. */
export class UsedKeys {
  // By the text alone: callers' keys hardly ever meet, and no longer text need be made of ten thousand of them.
  readonly #used = new Map<string, UsedKey | UsedKey[]>()

  constructor(known: readonly KnownKey[]) {
    for (const one of known) this.#add(one.key, one)
  }

  #add(key: string, one: UsedKey): void {
    const same = this.#used.get(key)
    if (same === undefined) this.#used.set(key, one)
    else if (Array.isArray(same)) same.push(one)
    else this.#used.set(key, [same, one])
  }

  #find(key: string, of: UsageReport): UsedKey | undefined {
    const same = this.#used.get(key)
    if (same === undefined) return undefined
    const isOf = (one: UsedKey) => one.subscriptionId === of.subscriptionId && one.componentId === of.componentId
    return Array.isArray(same) ? same.find(isOf) : isOf(same) ? same : undefined
  }

  /**
   * Returns whether a report repeats one that is known. Rule: with other values that is refused (409). Its day may be left out, then any
   * fits.
   */
  isRepeated(report: UsageReport, today: IsoDate): boolean {
    const { key, subscriptionId, componentId, units, isSet } = report
    if (key === null) return false
    const known = this.#find(key, report)
    if (!known) {
      this.#add(key, { subscriptionId, componentId, units, isSet, day: report.day ?? today })
      return false
    }
    const isSame =
      equals(known.units, report.units) && known.isSet === report.isSet && (report.day ?? known.day) === known.day
    if (isSame) return true
    throw conflict(
      'usage_key_reused',
      `UsageKey ${JSON.stringify(report.key)} was used for component ${report.componentId} of subscription ${report.subscriptionId} with other values.`,
      fieldIn(report, 'UsageKey'),
    )
  }
}

interface CountedCycle {
  from: IsoDate
  until: IsoDate
  isFree: boolean
}

/** Returns the cycle of a day. Rule: usage of the trial is kept, shown and priced 0. */
function cycleFor(component: ComponentState, state: SubscriptionState, day: IsoDate): CountedCycle {
  const cycle = cycleOfUsage(component, state, day)
  if (cycle) return { ...cycle, isFree: false }
  return { from: state.startDate, until: firstPeriodFrom(state), isFree: true }
}

/** Returns the component that a report names; refused (409) where the subscription does not have it on that day. */
export function componentOf({ components }: CountedSubscription, report: UsageReport, day: IsoDate): ComponentState {
  const component = components.get(report.componentId)
  const isThere = component && (component.leftOutOn === null || (isMetered(component) && day < component.leftOutOn))
  const absence = component && isMetered(component) ? absenceOn(component, day) : undefined
  if (isThere && absence)
    throw conflict(
      'component_not_attached',
      `Subscription ${report.subscriptionId} did not have component ${report.componentId} on ${day}: it was left out on ${absence.from} and added again on ${absence.until}.`,
      fieldIn(report, 'Date'),
    )
  if (isThere) return component
  throw conflict(
    'component_not_attached',
    `Subscription ${report.subscriptionId} does not have component ${report.componentId}.`,
    fieldIn(report, 'componentID'),
  )
}

/**
 * Returns the day that a report counts for. Rule: a subscription that ended takes only what is dated before its end; where a cancellation ended it at once, that
 * is its instant.
 */
export function dayOf(
  { state, subscription: { cancelledAt } }: CountedSubscription,
  report: UsageReport,
  { account, moment: { today } }: Pick<RequestContext, 'account' | 'moment'>,
): IsoDate {
  const day = report.day ?? today
  const end = endOf(state)
  if (end === null || end > today || (report.day !== null && day < end)) return day
  const isAtOnce = cancelledAt !== null && state.cancelledOn === end
  const at = report.at ?? midnightOf(day, account.timeZone)
  if (isAtOnce && report.day === end && Date.parse(at) < Date.parse(cancelledAt)) return day
  const until = isAtOnce
    ? `at ${cancelledAt}: only usage dated before that moment`
    : `on ${end}: only usage dated before that day`
  throw conflict(
    'subscription_ended',
    `Subscription ${report.subscriptionId} ended ${until} is taken.`,
    fieldIn(report, 'Date'),
  )
}

/** Refuses usage (409) of a subscription to come; a set number may change before its start. */
export function checkBegun({ state }: CountedSubscription, report: UsageReport, day: IsoDate): void {
  if (day >= state.startDate) return
  throw conflict(
    'subscription_not_begun',
    `Subscription ${report.subscriptionId} begins on ${state.startDate}: there is no usage before that day.`,
    fieldIn(report, 'Date'),
  )
}

/** Loads the cycles that reports count for and that are invoiced already: billing does not look at those any more. */
export async function loadLateCycles(
  tx: Transaction,
  counted: ReadonlyMap<SubscriptionId, CountedSubscription>,
  reports: readonly UsageReport[],
  today: IsoDate,
): Promise<void> {
  const wanted = new Map<string, { subscriptionId: SubscriptionId; componentId: ComponentId; from: IsoDate }>()
  const looked = new Map<ComponentState, IsoDate>()
  for (const report of reports) {
    const { subscriptionId, componentId } = report
    const day = report.day ?? today
    const one = counted.get(subscriptionId)
    const component = one?.components.get(componentId)
    if (!one || !component || !isMetered(component) || looked.get(component) === day) continue
    looked.set(component, day)
    const { from } = cycleFor(component, one.state, day)
    if (from >= component.nextFrom || component.usage.some((cycle) => cycle.from === from)) continue
    wanted.set(`${subscriptionId}/${componentId}/${from}`, { subscriptionId, componentId, from })
  }
  if (wanted.size === 0) return
  for (const { subscriptionId, componentId, ...cycle } of await listUsageCycles(tx, tx.account, [...wanted.values()])) {
    const { components } = counted.get(subscriptionId)!
    components.set(componentId, withUsage(components.get(componentId)!, cycle))
  }
}

interface Tally {
  counted: CountedSubscription
  component: ComponentState
  /** The cycle of the report before: neighbours mostly count for the same day. */
  day: IsoDate
  cycle: CountedCycle
  cycles: Map<IsoDate, CycleUsage>
}

/** Totals of the cycles that reports change: summed here, and written to their components once however many reports there are. */
export class UsageTallies {
  readonly #tallies = new Map<ComponentState, Tally>()

  #tallyOf(counted: CountedSubscription, componentId: ComponentId, day: IsoDate): Tally {
    const component = counted.components.get(componentId)
    assert(component, `component ${componentId} was found`)
    let tally = this.#tallies.get(component)
    if (!tally) {
      tally = { counted, component, day, cycle: cycleFor(component, counted.state, day), cycles: new Map() }
      this.#tallies.set(component, tally)
    } else if (tally.day !== day) {
      tally.day = day
      tally.cycle = cycleFor(component, counted.state, day)
    }
    return tally
  }

  /** Counts one report of a metered component, and answers the entry to keep. */
  count(counted: CountedSubscription, report: UsageReport, day: IsoDate): UsageEntry {
    const { componentId, subscriptionId, units, isSet, key, memo } = report
    const { component, cycle, cycles } = this.#tallyOf(counted, componentId, day)
    const { from } = cycle
    if (!cycle.isFree)
      for (const one of report.eachUnits ?? [units]) checkBound(counted, component, { ...report, units: one }, from)
    const before = cycles.get(from) ?? usageFrom(component, from)
    const after = reported(before, cycle, report)
    cycles.set(from, cycle.isFree ? { ...after, isFree: true } : after)
    const part = before.invoiced === null ? 0 : before.nextPart
    return { subscriptionId, componentId, units, isSet, day, key, memo, cycleFrom: from, part }
  }

  /** Gives components their new totals, and answers the cycles to write. */
  settle(): CountedCycleRow[] {
    const rows: CountedCycleRow[] = []
    for (const { counted, component, cycles } of this.#tallies.values()) {
      const { componentId } = component
      let next = component
      for (const cycle of cycles.values()) {
        next = withUsage(next, cycle)
        const { from, until, total, invoiced, nextPart, isFree } = cycle
        // Field by field: an object that is copied and then added to is slow in V8.
        rows.push({
          subscriptionId: counted.subscription.id,
          componentId,
          from,
          until,
          total,
          invoiced,
          nextPart,
          isFree,
          isStored: component.usage.some((known) => known.from === from),
        })
      }
      counted.components.set(componentId, next)
    }
    this.#tallies.clear()
    return rows
  }
}

/** Refuses a report (400) that on its own reaches the bound of amounts in the price of its cycle: no invoice could ever hold it. */
function checkBound({ state }: CountedSubscription, component: ComponentState, report: UsageReport, from: IsoDate) {
  if (report.units.coefficient <= 0n) return
  const { scheme, list } = versionFor(component, from)
  const minor = roundToMinor(exactPrice(scheme, list, report.units), state.digits)
  if (isAmountInBounds(minor, state.digits)) return
  const field = fieldIn(report, 'NumUnits')
  throw invalid('amount_too_large', `The price of ${field} reaches 1,000,000,000,000.`, field)
}

function reported(before: CycleUsage, cycle: CountedCycle, report: UsageReport): CycleUsage {
  try {
    return withReport(before, cycle, report)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    throw new Fault(
      error.kind,
      error.problems.map((problem) => ({ ...problem, field: fieldIn(report, 'NumUnits') })),
    )
  }
}

/** Stores reports and the cycles that they changed, as `keepUsage` does. */
export type KeepUsage = typeof keepUsage

/**
 * Stores the reports of one request and the cycles that they changed, and records an event for each subscription. With identifiers drawn ahead nothing is
 * waited for.
 */
export async function keepUsage(
  tx: Transaction,
  context: RequestContext,
  entries: readonly UsageEntry[],
  tallies: UsageTallies,
  customerOf: (id: SubscriptionId) => Id,
  drawn?: readonly Id[],
): Promise<void> {
  if (entries.length === 0) return
  const { now } = context.moment
  const ids = drawn ?? (await drawManyUsageIds(tx, entries.length))
  if (drawn) sendUsage(tx, entries, drawn, now)
  else sendManyUsage(tx, entries, ids, now)
  sendUsageCycles(tx, tallies.settle())
  const stored = entries.map((entry, index) => ({ ...entry, id: ids[index] as Id }))
  sendEvents(
    tx,
    [...groupBy(stored, ({ subscriptionId }) => subscriptionId)].map(([id, reports]) => ({
      type: 'usage.recorded' as const,
      recordId: id,
      customerId: customerOf(id),
      happenedAt: now,
      actor: context.actor,
      reason: null,
      record: RecordedUsageOut.write({ subscriptionID: id, Usage: reports.map(reportToWire) }),
    })),
  )
}

/**
 * Returns the components of a subscription that had not begun, with the usage that they opened with in the cycle that is now their first.
 */
export function withOpeningKept(
  components: readonly ComponentState[],
  before: readonly ComponentState[],
  state: SubscriptionState,
): ComponentState[] {
  return components.map((component) => {
    const open = before.find(({ componentId }) => componentId === component.componentId)?.usage ?? []
    const total = open.filter(({ invoiced }) => invoiced === null).reduce((sum, cycle) => add(sum, cycle.total), ZERO)
    if (total.coefficient === 0n) return component
    const cycle = cycleFor(component, state, state.startDate)
    return withUsage(component, { ...usageFrom(component, cycle.from), ...cycle, total })
  })
}

/** Keeps the reports of opening usage with it: it moves with the start of its subscription, or is dropped with its component. */
export async function keepOpening(
  tx: Transaction,
  id: SubscriptionId,
  { before, after }: { before: readonly ComponentState[]; after: readonly ComponentState[] },
  startDate: IsoDate,
): Promise<void> {
  const moved: (OpeningReport & { cycleFrom: IsoDate; day: IsoDate })[] = []
  const dropped: OpeningReport[] = []
  for (const { componentId, usage, leftOutOn } of after) {
    const open = usage.find(({ invoiced }) => invoiced === null)
    const known = before.find((component) => component.componentId === componentId)?.usage ?? []
    for (const { invoiced, from } of known) {
      if (invoiced !== null || from === open?.from) continue
      if (open) moved.push({ componentId, from, cycleFrom: open.from, day: startDate })
      else if (leftOutOn !== null) dropped.push({ componentId, from })
    }
  }
  if (moved.length > 0) await moveOpening(tx, id, moved)
  if (dropped.length > 0) await deleteOpening(tx, id, dropped)
}

/** Counts the numbers of metered components as their opening usage. Rule: a metered component's number is usage when it is added. */
export async function recordOpening(
  tx: Transaction,
  context: RequestContext,
  { subscription, state }: Pick<CountedSubscription, 'subscription' | 'state'>,
  opening: readonly OpeningUsage[],
): Promise<void> {
  const { id, customerId } = subscription
  const stored = (await listStoredComponents(tx, tx.account, [id])).get(id) ?? []
  const components = new Map(stored.map((one) => [one.state.componentId, one.state]))
  const day = later(context.moment.today, state.startDate)
  const tallies = new UsageTallies()
  const entries = opening.map(({ componentId, units, memo }) =>
    tallies.count(
      { subscription, state, components },
      { subscriptionId: id, componentId, units, isSet: false, day, at: null, key: null, memo, field: '' },
      day,
    ),
  )
  await keepUsage(tx, context, entries, tallies, () => customerId)
}
