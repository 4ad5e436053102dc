import { expect, test } from 'vitest'
import { rejectsMethod } from './classes.ts'
import { type Attempt, DEFAULT_RULES, problemOfAttempts } from './rules.ts'

const attempts = (...days: number[]): Attempt[] => days.map((daysAfterDue) => ({ daysAfterDue, action: 'warning' }))

test('attempts begin on the due date, ascend, and are 1 to 20', () => {
  expect(problemOfAttempts(DEFAULT_RULES.attempts)).toBeNull()
  expect(problemOfAttempts([])).toMatchObject({ index: null })
  expect(problemOfAttempts(attempts(...Array.from({ length: 21 }, (_, day) => day)))).toMatchObject({ index: null })
  expect(problemOfAttempts(attempts(1, 2))).toMatchObject({ index: 0 })
  expect(problemOfAttempts(attempts(0, 3, 3))).toMatchObject({ index: 2 })
  expect(problemOfAttempts(attempts(0, 5, 3))).toMatchObject({ index: 2 })
})

test('only what says that an account takes no debit rejects it', () => {
  expect(rejectsMethod('account_closed')).toBe(true)
  expect(rejectsMethod('insufficient_funds')).toBe(false)
})
