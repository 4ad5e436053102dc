import { addDays, earlier, type IsoDate, later } from '../../kernel/calendar.ts'
import { ZERO } from '../../kernel/decimal.ts'
import { type ComponentState, type CycleUsage, isMetered } from './components.ts'
import { type Period, periodContaining } from './period.ts'

/** Which cycle of a component comes next, and when. */

/** Returns whether another cycle will be invoiced. */
export function hasNextCycle(component: ComponentState, end: IsoDate | null): boolean {
  const { nextFrom, leftOutOn } = component
  if (!isMetered(component)) return leftOutOn === null && (end === null || nextFrom < end)
  const stop = leftOutOn === null ? end : earlier(leftOutOn, end ?? leftOutOn)
  // Usage of the very day on which it stops is invoiced too.
  return (
    stop === null || nextFrom < stop || (nextFrom === stop && usageFrom(component, nextFrom).total.coefficient > 0n)
  )
}

/** Returns the next cycle not yet invoiced: the days that are charged or counted, and the whole cycle that they are cut from. */
export function nextCycle(
  component: ComponentState,
  end: IsoDate | null,
  isProRata: boolean,
): { piece: Period; whole: Period } {
  const { nextFrom, cycle } = component
  const whole = periodContaining(cycle, nextFrom)
  const isCut = end !== null && end < whole.until && (isProRata || isMetered(component))
  // Never empty: usage of the day on which a cycle begins and ends has that day.
  const until = isCut ? later(end, addDays(nextFrom, 1)) : whole.until
  return { piece: { from: nextFrom, until }, whole: { from: whole.from, until: whole.until } }
}

/** Returns the reported usage of a cycle, zero if none was reported. */
export const usageFrom = ({ usage }: Pick<ComponentState, 'usage'>, from: IsoDate): CycleUsage =>
  usage.find((cycle) => cycle.from === from) ?? {
    from,
    until: addDays(from, 1),
    total: ZERO,
    invoiced: null,
    nextPart: 1,
    isFree: false,
  }

/** Returns whether a component shares a renewal invoiced ahead: only if it was there already on the day of that invoice. */
export const canShare = ({ lastFrom, chargesFrom }: ComponentState, scheduledOn: IsoDate): boolean =>
  (lastFrom ?? chargesFrom) <= scheduledOn

/** Returns the day on which a cycle ends; usage of the very day of the end is invoiced on that day too. */
export const meteredDueOn = (piece: { from: IsoDate; until: IsoDate }, end: IsoDate | null): IsoDate =>
  end !== null && end < piece.until ? later(end, piece.from) : piece.until

/** Returns how many cycles are due on or before today, counted no further than one beyond `stopAt`: a cheap check of a bound. */
export function countDueCycles(
  component: ComponentState,
  terms: { endDate: IsoDate | null; isProRata: boolean },
  today: IsoDate,
  stopAt: number,
): number {
  let count = 0
  const reached = { ...component }
  while (count <= stopAt && hasNextCycle(reached, terms.endDate)) {
    const { piece } = nextCycle(reached, terms.endDate, terms.isProRata)
    if ((isMetered(component) ? meteredDueOn(piece, terms.endDate) : piece.from) > today) break
    reached.nextFrom = piece.until
    count += 1
  }
  return count
}
