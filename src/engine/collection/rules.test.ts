import { expect, test } from 'vitest'
import { rejectsMethod } from './classes.ts'
import { type Attempt, DEFAULT_RULES, isReminderDue, problemOfAttempts } from './rules.ts'

const attempts = (...days: number[]): Attempt[] => days.map((daysAfterDue) => ({ daysAfterDue, action: 'warning' }))

test('attempts begin on the due date, ascend, and are 1 to 20', () => {
  expect(problemOfAttempts(DEFAULT_RULES.attempts)).toBeNull()
  expect(problemOfAttempts([])).toMatchObject({ index: null })
  expect(problemOfAttempts(attempts(...Array.from({ length: 21 }, (_, day) => day)))).toMatchObject({ index: null })
  expect(problemOfAttempts(attempts(1, 2))).toMatchObject({ index: 0 })
  expect(problemOfAttempts(attempts(0, 3, 3))).toMatchObject({ index: 2 })
  expect(problemOfAttempts(attempts(0, 5, 3))).toMatchObject({ index: 2 })
})

test('a reminder goes out on its day, or later until the date it is about', () => {
  const reminder = { kind: 'payment_due', daysBefore: 3, isActive: true } as const
  const isDue = (today: string, knownSince = '2027-01-01') =>
    isReminderDue(reminder, { about: '2027-01-31', knownSince, today })
  expect(['2027-01-27', '2027-01-28', '2027-01-31', '2027-02-01'].map((day) => isDue(day))).toEqual([
    false,
    true,
    true,
    false,
  ])
  expect(isDue('2027-01-30', '2027-01-29'), 'issued after the day of the reminder').toBe(false)
  expect(isDue('2027-01-28', '2027-01-28')).toBe(true)
  const off = { ...reminder, isActive: false }
  expect(isReminderDue(off, { about: '2027-01-31', knownSince: '2027-01-01', today: '2027-01-28' })).toBe(false)
})

test('only what says that an account takes no debit rejects it', () => {
  expect(rejectsMethod('account_closed')).toBe(true)
  expect(rejectsMethod('insufficient_funds')).toBe(false)
})
