import { addDays, earlier, type IsoDate, later } from '../../kernel/calendar.ts'
import { add, type Decimal } from '../../kernel/decimal.ts'
import { conflict } from '../../kernel/fault.ts'
import { usageFrom } from './component-cycles.ts'
import type { TimeAway, ComponentState, CycleUsage } from './components.ts'
import { type Period, periodContaining } from './period.ts'
import { firstPeriodFrom } from './renewal.ts'
import { endOf, type SubscriptionState } from './subscription.ts'

/** Which cycle a report of usage counts for, and what it makes of the cycle's total. */

/**
 * Returns the cycle that a day's usage counts for; null before charging begins (the trial: kept, shown and priced 0). A day before the
 * component was added counts for its first cycle, one before it was left out for the cycle of then. Of the day of the end it is the cycle that the end
 * cuts. The first day names the cycle.
 */
export function cycleOfUsage(component: ComponentState, state: SubscriptionState, day: IsoDate): Period | null {
  if (day < firstPeriodFrom(state)) return null
  const countedFrom = component.absences?.find(({ from }) => day < from)?.countedFrom ?? component.chargesFrom
  const counted = later(day, countedFrom)
  const whole = periodContaining(component.cycle, counted)
  const from = later(whole.from, countedFrom)
  const end = endOf(state)
  // Never empty, as a cycle that begins on the day of the end is not.
  const isCut = end !== null && end >= counted
  return { from, until: isCut ? earlier(whole.until, later(end, addDays(from, 1))) : whole.until }
}

/** Finds the days of absence among which a day is; undefined where the component was there. */
export const absenceOn = ({ absences }: Pick<ComponentState, 'absences'>, day: IsoDate): TimeAway | undefined =>
  absences?.find(({ from, until }) => from <= day && day < until)

/** Adds to a total, or sets it. Refused (409) below 0. The sum of reports that add does not depend on their order. */
export function nextTotal(total: Decimal, units: Decimal, isSet: boolean): Decimal {
  const next = isSet ? units : add(total, units)
  if (next.coefficient < 0n) throw conflict('usage_below_zero', 'Usage of a cycle cannot fall below 0.', 'NumUnits')
  return next
}

/** Returns a cycle with one more report; refused (409) where its total would fall below 0. */
export const withReport = (
  known: CycleUsage,
  cycle: Pick<Period, 'until'>,
  report: { units: Decimal; isSet: boolean },
): CycleUsage => ({
  ...known,
  until: cycle.until,
  total: nextTotal(known.total, report.units, report.isSet),
})

/** Returns the component with one more report. Where the cycle is invoiced already, the difference follows with the next invoice. */
export const reportUsage = (
  component: ComponentState,
  cycle: Period,
  report: { units: Decimal; isSet: boolean },
): ComponentState => withUsage(component, withReport(usageFrom(component, cycle.from), cycle, report))

export const withUsage = (component: ComponentState, cycle: CycleUsage): ComponentState => ({
  ...component,
  usage: [...component.usage.filter(({ from }) => from !== cycle.from), cycle],
})
