import { addDays, type IsoDate, later, partsOf, type TermType } from '../kernel/calendar.ts'
import { type Cycle, nextRenewalOnOrAfter, type Period, periodContaining } from './subscription/period.ts'

/**
 * Days on which a recurring invoice is made. Its lines are the caller's, so only dates are planned: every period that begins before its end is
 * invoiced in full, none is ever cut. A cursor holds how far it has been invoiced, as for subscriptions.
 */

export interface RecurringTerms {
  cycle: Cycle
  /** Periods that begin on this day or later are not invoiced: EndDate, or the day of a cancellation. */
  endDate: IsoDate | null
  /** Days that a renewal is invoiced before it starts. */
  leadDays: number
}

export interface RecurringCursor {
  /** Start of the next period not yet invoiced. */
  nextFrom: IsoDate
  /** Start of the newest invoiced one; null before any. */
  lastFrom: IsoDate | null
}

export interface PlannedPeriod {
  period: Period
  scheduledOn: IsoDate
  /** The scheduled day, or today when that has passed. */
  invoiceDate: IsoDate
  /** Payment terms count from here: the later of the invoice date and the first day of the period. */
  dueFrom: IsoDate
}

/** Returns the start of the next period to be invoiced; null when nothing will follow. */
export const nextRecurringRenewal = ({ endDate }: RecurringTerms, { nextFrom }: RecurringCursor): IsoDate | null =>
  endDate === null || nextFrom < endDate ? nextFrom : null

/**
 * Returns the day on which the next invoice falls due (it may have passed); null when nothing will follow. Rule: lead days move renewals
 * only, and never before the newest invoiced period starts; the first invoice comes on its own day.
 */
export function nextRecurringInvoice(terms: RecurringTerms, cursor: RecurringCursor): IsoDate | null {
  const from = nextRecurringRenewal(terms, cursor)
  if (from === null || cursor.lastFrom === null || terms.leadDays === 0) return from
  return later(addDays(from, -terms.leadDays), cursor.lastFrom)
}

/** Returns the next invoice with its own date, whenever it comes; undefined when nothing will follow. */
export function planNextRecurring(
  terms: RecurringTerms,
  cursor: RecurringCursor,
  today: IsoDate,
): PlannedPeriod | undefined {
  const scheduledOn = nextRecurringInvoice(terms, cursor)
  if (scheduledOn === null) return undefined
  const { until } = periodContaining(terms.cycle, cursor.nextFrom)
  const invoiceDate = later(scheduledOn, today)
  return {
    period: { from: cursor.nextFrom, until },
    scheduledOn,
    invoiceDate,
    dueFrom: later(invoiceDate, cursor.nextFrom),
  }
}

/**
 * Plans everything due on or before a day, oldest first, one invoice a period, and the cursor behind it. Invoices are dated today at the
 * earliest.
 */
export function planRecurringDue(
  terms: RecurringTerms,
  cursor: RecurringCursor,
  dueBy: IsoDate,
  today: IsoDate = dueBy,
): { periods: PlannedPeriod[]; cursor: RecurringCursor } {
  const planned = (next: PlannedPeriod) => next.scheduledOn <= dueBy
  return planWhile(terms, cursor, today, planned)
}

/** Returns how many periods are due on or before a day, counted no further than one beyond `stopAt`. */
export function countRecurringDue(
  terms: RecurringTerms,
  cursor: RecurringCursor,
  today: IsoDate,
  stopAt: number,
): number {
  let count = 0
  planWhile(terms, cursor, today, (next) => {
    const isDue = next.scheduledOn <= today && count <= stopAt
    if (isDue) count += 1
    return isDue
  })
  return count
}

/**
 * Plans everything due on or before a day, oldest first, through times in which the customer was not billed: periods that began before one are
 * invoiced, those that begin in it are dropped. `until` is the day of the return.
 */
export function planRecurringThroughGaps(
  terms: RecurringTerms,
  given: RecurringCursor,
  gaps: readonly { from: IsoDate; until: IsoDate }[],
  dueBy: IsoDate,
  today: IsoDate,
): { periods: PlannedPeriod[]; cursor: RecurringCursor } {
  const periods: PlannedPeriod[] = []
  let cursor = given
  for (const { from, until } of gaps) {
    if (from > dueBy) break
    const isBefore = ({ period, scheduledOn }: PlannedPeriod) => period.from < from && scheduledOn <= dueBy
    const before = planWhile(terms, cursor, today, isBefore)
    periods.push(...before.periods)
    if (until > dueBy) return { periods, cursor: before.cursor }
    cursor = resumeRecurring(terms, before.cursor, until)
  }
  const due = planRecurringDue(terms, cursor, dueBy, today)
  return { periods: [...periods, ...due.periods], cursor: due.cursor }
}

/**
 * Goes on after a time that is not billed, at the first renewal of its own on or after a day. Rule: periods that begin in between are
 * dropped whole, those of a suspended customer as those of a cancelled recurring invoice that is started again.
 */
export const resumeRecurring = (terms: RecurringTerms, cursor: RecurringCursor, on: IsoDate): RecurringCursor =>
  cursor.nextFrom >= on ? cursor : { ...cursor, nextFrom: nextRenewalOnOrAfter(terms.cycle, on) }

/**
 * Returns the cycle after a change of Term or TermType. Rule: it counts from the next renewal; terms in months keep the day of the month
 * that was wanted before (after 31 January, changed on 28 February to three months: 31 May).
 */
export const changedCycle = (cycle: Cycle, nextRenewal: IsoDate, to: { term: number; termType: TermType }): Cycle => ({
  anchor: nextRenewal,
  dayOfMonth: cycle.termType === 'months' && to.termType === 'months' ? cycle.dayOfMonth : partsOf(nextRenewal).day,
  ...to,
})

function planWhile(
  terms: RecurringTerms,
  cursor: RecurringCursor,
  today: IsoDate,
  isWanted: (next: PlannedPeriod) => boolean,
): { periods: PlannedPeriod[]; cursor: RecurringCursor } {
  const periods: PlannedPeriod[] = []
  let reached = cursor
  for (;;) {
    const next = planNextRecurring(terms, reached, today)
    if (next === undefined || !isWanted(next)) return { periods, cursor: reached }
    periods.push(next)
    reached = { nextFrom: next.period.until, lastFrom: next.period.from }
  }
}

export type RecurringStatus = 'Cancelled' | 'Expired' | 'Future' | 'Active'

/** Rule: Cancelled, else Expired, else Future (today before StartDate), else Active. */
export function recurringStatus(facts: {
  today: IsoDate
  startDate: IsoDate
  endDate: IsoDate | null
  cancelledOn: IsoDate | null
}): RecurringStatus {
  if (facts.cancelledOn !== null) return 'Cancelled'
  if (facts.endDate !== null && facts.endDate <= facts.today) return 'Expired'
  return facts.today < facts.startDate ? 'Future' : 'Active'
}
