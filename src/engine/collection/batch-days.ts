import { addBankDays, bankDayOnOrAfter } from '../../kernel/bank-days.ts'
import { type BatchDays, lastMoment } from '../../kernel/batch-days.ts'
import { addDays, earliest, type Instant, type IsoDate, later } from '../../kernel/calendar.ts'

/**
 * The days of a gateway that collects in batches: when an invoice enters a batch, on which day that debits, until when it can be submitted,
 * and where it moves when nobody did. Lead and submit days are bank days of the gateway's calendar, notice days are calendar days.
 */

/** A batch that the service made moves so often, then it waits for a person. */
export const MOVES_MAX = 3

/** The moment at which days are counted, and the zone of its account. */
export interface CountedAt {
  now: Instant
  today: IsoDate
  timeZone: string
}

/** Returns whether the last moment of a day has passed. The moment itself is in time. */
export const isTooLate = (days: BatchDays, actionDate: IsoDate, { now, timeZone }: Omit<CountedAt, 'today'>): boolean =>
  now > lastMoment(days, actionDate, timeZone)

/** A wish for a debit. */
export interface WantedDebit {
  wantedOn: IsoDate
  /** Calendar days between the notice to the payer and the debit; null where none is owed. */
  noticeDays: number | null
}

/**
 * Returns the day on which an invoice is debited that enters a batch now. Rule: the first bank day from the wanted day on that is at least
 * LeadDays bank days away, as many days after the notice as are due, and can still be submitted.
 */
export function actionDateOf(days: BatchDays, { wantedOn, noticeDays }: WantedDebit, at: CountedAt): IsoDate {
  const ahead = later(addBankDays(days.calendar, at.today, days.leadDays), addDays(at.today, noticeDays ?? 0))
  const day = bankDayOnOrAfter(days.calendar, later(wantedOn, ahead))
  return isTooLate(days, day, at) ? nextOpenDay(days, day, at) : day
}

/** Returns the next bank day after another whose last moment is to come: where a batch moves that nobody has submitted. */
export function nextOpenDay(days: BatchDays, actionDate: IsoDate, at: Omit<CountedAt, 'today'>): IsoDate {
  let day = addBankDays(days.calendar, actionDate, 1)
  while (isTooLate(days, day, at)) day = addBankDays(days.calendar, day, 1)
  return day
}

/**
 * Returns the day on which an invoice enters a batch so that it is debited as soon as wanted. Rule: LeadDays before the debit, or as many
 * calendar days as the notice has to be ahead, whichever is earlier.
 */
export function entryDayOf(days: BatchDays, { wantedOn, noticeDays }: WantedDebit): IsoDate {
  const debit = bankDayOnOrAfter(days.calendar, wantedOn)
  const byLead = addBankDays(days.calendar, debit, -days.leadDays)
  return noticeDays === null ? byLead : (earliest(byLead, addDays(debit, -noticeDays)) ?? byLead)
}
