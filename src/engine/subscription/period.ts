import { addDays, addMonths, dayNumberOf, type IsoDate, partsOf, type TermType } from '../../kernel/calendar.ts'

/**
 * How renewals repeat. Renewal k is the anchor plus k terms, for negative k too, always counted from the anchor: adding a month
 * to 28 February again and again would forget that the wanted day was the 31st.
 */
export interface Cycle {
  /** The first day of the first full-priced period: renewal 0. */
  anchor: IsoDate
  /**
   * The wanted day of the month (1–31) of terms in months. It differs from the anchor's own day only where the anchor's month is
   * too short for it: after 31 January, changed on 28 February to three months, it stays 31 and 31 May follows. Unused for days.
   */
  dayOfMonth: number
  /** Length of a period in months or days, a whole number from 1. */
  term: number
  termType: TermType
}

/** Half-open: `from` is covered, `until` is the first day that is not. */
export interface Period {
  from: IsoDate
  until: IsoDate
}

/** Makes a cycle that wants the day of the month on which it is anchored. */
export const cycleFrom = (anchor: IsoDate, term: number, termType: TermType): Cycle => ({
  anchor,
  dayOfMonth: partsOf(anchor).day,
  term,
  termType,
})

/** Returns the k-th renewal; 0 is the anchor, negative ones lie before it. */
export function renewalOf(cycle: Cycle, k: number): IsoDate {
  if (k === 0) return cycle.anchor
  return cycle.termType === 'days'
    ? addDays(cycle.anchor, k * cycle.term)
    : addMonths(cycle.anchor, k * cycle.term, cycle.dayOfMonth)
}

/** Returns the whole period that holds a day, and its number counted from the anchor. */
export function periodContaining(cycle: Cycle, date: IsoDate): Period & { index: number } {
  if (cycle.termType === 'days') {
    const index = Math.floor((dayNumberOf(date) - dayNumberOf(cycle.anchor)) / cycle.term)
    return { from: renewalOf(cycle, index), until: renewalOf(cycle, index + 1), index }
  }
  const index = Math.floor((monthNumberOf(date) - monthNumberOf(cycle.anchor)) / cycle.term)
  const from = renewalOf(cycle, index)
  // The estimate lands in the month of the date or an earlier one, so it can only be too late, by one, within that month.
  if (from > date) return { from: renewalOf(cycle, index - 1), until: from, index: index - 1 }
  return { from, until: renewalOf(cycle, index + 1), index }
}

/** Returns the date itself when it is a renewal, else the next one. */
export function nextRenewalOnOrAfter(cycle: Cycle, date: IsoDate): IsoDate {
  const period = periodContaining(cycle, date)
  return period.from === date ? date : period.until
}

/** Months since year 0: what is compared before days matter. */
function monthNumberOf(date: IsoDate): number {
  const { year, month } = partsOf(date)
  return year * 12 + month - 1
}
