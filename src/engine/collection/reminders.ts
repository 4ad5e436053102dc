import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import type { Reminder } from './rules.ts'

/** Reminders before a date, as functions of facts: on which days one may go out, and which dates a pass of a day has to look at. */

/** Facts about a document and a date of it. */
export interface ReminderFacts {
  /** The date that the reminder is about. */
  about: IsoDate
  /** The day on which the document was sent, which names the date; null where nothing was sent. */
  sentOn: IsoDate | null
  today: IsoDate
}

/** Returns the day on which a reminder is to go out. */
export const dayOfReminder = ({ daysBefore }: Pick<Reminder, 'daysBefore'>, about: IsoDate): IsoDate =>
  addDays(about, -daysBefore)

/** Returns the first and the last date of which a pass on a day may remind. */
export const datesOfPass = ({ daysBefore }: Pick<Reminder, 'daysBefore'>, today: IsoDate) => ({
  from: today,
  until: addDays(today, daysBefore),
})

/**
 * Returns whether a reminder goes out today. Rule: on its day, `daysBefore` the date it is about, and where it could not go out then, on a later
 * day until that date. A document that was sent after the reminder's day has itself reminded of the date.
 */
export function isReminderDue(reminder: Reminder, { about, sentOn, today }: ReminderFacts): boolean {
  const on = dayOfReminder(reminder, about)
  return reminder.isActive && on <= today && today <= about && (sentOn === null || sentOn <= on)
}
