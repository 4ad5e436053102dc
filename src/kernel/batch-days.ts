import { addBankDays, type BankCalendar, isBankDay } from './bank-days.ts'
import type { Instant, IsoDate } from './calendar.ts'
import { instantOf, instantOfLocal } from './zone.ts'

/** The days by which a gateway takes batches: on which it debits, and until when it has to have a batch. */
export interface BatchDays {
  calendar: BankCalendar
  /** Bank days before the day of the debit on which an invoice enters its batch. */
  leadDays: number
  /** Bank days before the day of the debit on which the gateway has to have the batch. */
  submitDays: number
  /** Until when on that day: hh:mm in the account's zone. */
  cutOff: string
}

const MINUTE_MS = 60_000

/** Returns the last instant at which a batch that debits on `actionDate` can be submitted: the cut-off, `submitDays` bank days before. */
export function lastMoment({ calendar, submitDays, cutOff }: BatchDays, actionDate: IsoDate, zone: string): Instant {
  const [hours = 0, minutes = 0] = cutOff.split(':').map(Number)
  const day = addBankDays(calendar, actionDate, -submitDays)
  return instantOf(instantOfLocal(day, (hours * 60 + minutes) * MINUTE_MS, zone))
}

/** Returns whether a gateway debits on a day. */
export const isActionDay = ({ calendar }: BatchDays, date: IsoDate): boolean => isBankDay(calendar, date)
