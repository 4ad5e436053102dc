import { assert } from '../../kernel/assert.ts'
import { addDays, daysBetween, earlier, type IsoDate, later } from '../../kernel/calendar.ts'
import { feeCharges, packageCharge, type PackageTerms, type PlannedCharge } from './charges.ts'
import { type Cycle, type Period, periodContaining } from './period.ts'

/**
 * Renewals of a subscription as functions of facts: the charges it owes and their days. A cursor holds how far it has been invoiced; planning moves the cursor,
 * so planning again from the moved cursor never plans the same period twice.
 */

export interface SubscriptionTerms extends PackageTerms {
  startDate: IsoDate
  /** First day that is paid for after the trial; null without one. */
  trialEndDate: IsoDate | null
  cycle: Cycle
  /** First day not covered: the earliest of EndDate and a pending or effective cancellation. */
  endDate: IsoDate | null
  /** Whether a period that the end cuts is charged by the day; in full otherwise. */
  isProRata: boolean
  /** Days that a renewal is invoiced before it starts. */
  leadDays: number
}

export interface Cursor {
  /** Scheduled day of the set-up and trial fees not yet charged; null when charged or none. */
  feesOn: IsoDate | null
  /** Start of the next period (or piece of one) not yet invoiced. */
  nextFrom: IsoDate
  /** Start of the newest invoiced one; null before any. */
  lastFrom: IsoDate | null
}

export interface PlannedInvoice {
  scheduledOn: IsoDate
  /** The scheduled day, or today when that has passed. */
  invoiceDate: IsoDate
  /** Payment terms count from here: the later of the invoice date and the first day of its earliest in-advance period. */
  dueFrom: IsoDate
  /** Charges that round to zero are here too: they count as billed, although no line is written for them. */
  charges: PlannedCharge[]
}

/** Rule: where the running period is longer than this, a returning customer is charged for the rest of it. */
export const MONTH_DAYS_MAX = 31

/** Returns the start of the first period that is charged: the end of the trial, or the start. */
export const firstPeriodFrom = (terms: Pick<SubscriptionTerms, 'trialEndDate' | 'startDate'>): IsoDate =>
  terms.trialEndDate ?? terms.startDate

/** Returns the cursor of a subscription that is added or started again: nothing is invoiced yet. */
export function firstCursor(terms: SubscriptionTerms): Cursor {
  const hasFees = terms.setupFeeMinor > 0n || (terms.trialEndDate !== null && terms.trialFeeMinor > 0n)
  return { feesOn: hasFees ? terms.startDate : null, nextFrom: firstPeriodFrom(terms), lastFrom: null }
}

/** Returns the day on which the next invoice falls due (it may have passed); null when nothing will follow. */
export function nextInvoiceDate(terms: SubscriptionTerms, cursor: Cursor): IsoDate | null {
  const feesOn = feesDueOn(terms, cursor)
  const periodOn = hasNextPeriod(terms, cursor) ? periodDueOn(terms, cursor) : null
  if (feesOn === null || periodOn === null) return feesOn ?? periodOn
  return feesOn < periodOn ? feesOn : periodOn
}

/**
 * Returns the start of the next period to be invoiced; null when nothing will follow. The day of a pending cancellation is the caller's to
 * show.
 */
export const nextRenewDate = (terms: SubscriptionTerms, cursor: Cursor): IsoDate | null =>
  hasNextPeriod(terms, cursor) ? cursor.nextFrom : null

/** Returns how many periods are due on or before today, counted no further than one beyond `stopAt`: a cheap check of a bound. */
export function countDuePeriods(terms: SubscriptionTerms, cursor: Cursor, today: IsoDate, stopAt: number): number {
  let count = 0
  let reached: Cursor = { ...cursor, feesOn: null }
  while (count <= stopAt && hasNextPeriod(terms, reached) && periodDueOn(terms, reached) <= today) {
    const { piece } = nextPiece(terms, reached)
    reached = { feesOn: null, nextFrom: piece.until, lastFrom: piece.from }
    count += 1
  }
  return count
}

/** Returns whether fees or a period that begin before a day are not yet invoiced. */
export function beginsBefore(terms: SubscriptionTerms, cursor: Cursor, gapFrom: IsoDate): boolean {
  const feesOn = feesDueOn(terms, cursor)
  return (feesOn !== null && feesOn < gapFrom) || (hasNextPeriod(terms, cursor) && cursor.nextFrom < gapFrom)
}

/**
 * Goes on after a time in which the customer was suspended or archived, [gapFrom, returnsOn). Rule: periods that begin in the gap are
 * dropped; billing goes on at the first renewal on or after the return, or, where the running period is longer than 31 days, with
 * the rest of it by the day; fees not yet charged come on the day of return.
 *
 * Periods that began before the gap are planned first (`planReturn`); one left over is a bug of the caller.
 */
export function resumeAfterGap(terms: SubscriptionTerms, cursor: Cursor, gapFrom: IsoDate, returnsOn: IsoDate): Cursor {
  assert(
    !beginsBefore(terms, cursor, gapFrom),
    'what fell due before the gap is invoiced before the subscription goes on',
  )
  const feesOn = cursor.feesOn !== null && cursor.feesOn < returnsOn ? returnsOn : cursor.feesOn
  if (cursor.nextFrom >= returnsOn || !hasNextPeriod(terms, cursor)) return { ...cursor, feesOn }
  const running = periodContaining(terms.cycle, returnsOn)
  const isLong = daysBetween(running.from, running.until) > MONTH_DAYS_MAX
  const nextFrom = running.from === returnsOn || isLong ? returnsOn : running.until
  return { feesOn, nextFrom, lastFrom: cursor.lastFrom }
}

/** Returns whether another period will be charged. */
export const hasNextPeriod = (terms: SubscriptionTerms, cursor: Cursor): boolean =>
  terms.endDate === null || cursor.nextFrom < terms.endDate

/** Returns the day on which fees fall due. They are owed once the subscription has begun; one that was cancelled while future owes none. */
export const feesDueOn = (terms: SubscriptionTerms, cursor: Cursor): IsoDate | null =>
  terms.endDate !== null && terms.endDate <= terms.startDate ? null : cursor.feesOn

/**
 * Returns the day on which the next period is invoiced. Rule: lead days move renewals only, and never before the period before it starts;
 * the first period, and the rest of one after a gap, come on their own day.
 */
function periodDueOn(terms: SubscriptionTerms, { nextFrom, lastFrom }: Cursor): IsoDate {
  if (terms.leadDays === 0 || lastFrom === null || nextFrom === firstPeriodFrom(terms)) return nextFrom
  if (periodContaining(terms.cycle, nextFrom).from !== nextFrom) return nextFrom
  return later(addDays(nextFrom, -terms.leadDays), lastFrom)
}

/** Returns the next piece to be charged and the whole period that it is cut from. */
function nextPiece(terms: SubscriptionTerms, cursor: Cursor): { piece: Period; whole: Period } {
  const whole = periodContaining(terms.cycle, cursor.nextFrom)
  // Without pro rata an end cuts nothing off the charge: it is charged to the end of the period, and no rest is left to charge later.
  const cutOn = terms.isProRata && terms.endDate !== null ? earlier(terms.endDate, whole.until) : whole.until
  return { piece: { from: cursor.nextFrom, until: cutOn }, whole }
}

/** Returns the oldest invoice that is due on or before a day, and the cursor behind it. */
export function planStep(
  terms: SubscriptionTerms,
  cursor: Cursor,
  today: IsoDate,
): { invoice: PlannedInvoice; cursor: Cursor } | undefined {
  const feesOn = feesDueOn(terms, cursor)
  const periodOn = hasNextPeriod(terms, cursor) ? periodDueOn(terms, cursor) : null
  const feesCome = feesOn !== null && feesOn <= today && (periodOn === null || feesOn <= periodOn)
  // Rule: a period that is invoiced ahead has an invoice of its own, so fees join only a period that begins on their day.
  const periodComes = feesCome
    ? periodOn === feesOn && cursor.nextFrom === feesOn
    : periodOn !== null && periodOn <= today
  if (!feesCome && !periodComes) return undefined

  const charges = feesCome ? feeCharges(terms, terms.trialEndDate !== null) : []
  const scheduledOn = (feesCome ? feesOn : periodOn)!
  const reached: Cursor = { ...cursor, feesOn: feesCome ? null : cursor.feesOn }
  if (periodComes) {
    const { piece, whole } = nextPiece(terms, cursor)
    charges.push(packageCharge(terms, piece, whole))
    reached.nextFrom = piece.until
    reached.lastFrom = piece.from
  }
  return { invoice: { scheduledOn, ...datesOf(scheduledOn, today, charges), charges }, cursor: reached }
}

/** Returns the dates of an invoice. The package charge stands last, and fees have no period. */
function datesOf(
  scheduledOn: IsoDate,
  today: IsoDate,
  charges: readonly PlannedCharge[],
): { invoiceDate: IsoDate; dueFrom: IsoDate } {
  const invoiceDate = later(scheduledOn, today)
  const firstDay = charges.at(-1)?.from ?? null
  return { invoiceDate, dueFrom: firstDay === null ? invoiceDate : later(invoiceDate, firstDay) }
}
