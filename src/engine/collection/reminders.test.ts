import { expect, test } from 'vitest'
import type { IsoDate } from '../../kernel/calendar.ts'
import { datesOfPass, dayOfReminder, isReminderDue } from './reminders.ts'
import { DEFAULT_RULES, type ReminderKind } from './rules.ts'

const reminderOf = (kind: ReminderKind) => {
  const found = DEFAULT_RULES.reminders.find((reminder) => reminder.kind === kind)!
  return { ...found, isActive: true }
}

test.each<[ReminderKind, about: IsoDate, on: IsoDate]>([
  ['upcoming_renewal', '2027-02-01', '2027-01-25'],
  ['card_expiring', '2027-02-28', '2027-01-29'],
  ['card_expiring', '2028-02-29', '2028-01-30'],
  ['trial_expiring', '2027-01-15', '2027-01-12'],
  ['end_near', '2027-03-04', '2027-02-25'],
  ['payment_due', '2027-01-31', '2027-01-28'],
])('%s about %s goes out on %s by the rules of the start', (kind, about, on) => {
  expect(dayOfReminder(reminderOf(kind), about)).toBe(on)
  expect(isReminderDue(reminderOf(kind), { about, sentOn: null, today: on })).toBe(true)
})

test.each<[text: string, daysBefore: number, today: IsoDate, sentOn: IsoDate | null, isDue: boolean]>([
  ['the day before it', 3, '2027-01-27', null, false],
  ['its day', 3, '2027-01-28', null, true],
  ['a later day, where it could not go out before', 3, '2027-01-30', null, true],
  ['the date itself', 3, '2027-01-31', null, true],
  ['a day after the date', 3, '2027-02-01', null, false],
  ['no day before: the date itself', 0, '2027-01-31', null, true],
  ['no day before: the day before the date', 0, '2027-01-30', null, false],
  ['90 days before', 90, '2026-11-02', null, true],
  ['sent on the day of the reminder', 3, '2027-01-28', '2027-01-28', true],
  ['sent after the day of the reminder', 3, '2027-01-29', '2027-01-29', false],
])('a reminder about 31 January: %s', (_, daysBefore, today, sentOn, isDue) => {
  const reminder = { kind: 'payment_due', daysBefore, isActive: true } as const
  expect(isReminderDue(reminder, { about: '2027-01-31', sentOn, today })).toBe(isDue)
  expect(isReminderDue({ ...reminder, isActive: false }, { about: '2027-01-31', sentOn, today })).toBe(false)
})

test('a pass looks at the dates from its day on, as many days ahead as the reminder goes out before', () => {
  expect(datesOfPass({ daysBefore: 7 }, '2027-01-28')).toEqual({ from: '2027-01-28', until: '2027-02-04' })
  expect(datesOfPass({ daysBefore: 0 }, '2027-01-28')).toEqual({ from: '2027-01-28', until: '2027-01-28' })
})
