import { expect, test } from 'vitest'
import { forgottenFinding } from './batches.ts'

test('forgotten batches are counted with their debits, and summed by currency', () => {
  const mend = expect.stringContaining('GET /v1/batches?isDayPassed=true')
  const one = { currency: 'EUR', batches: 1, lines: 1, totalMinor: '11500' }
  expect(forgottenFinding([one])).toEqual({
    about: 'batches',
    state: 'warn',
    text: '1 batch with 1 debit (115.00 EUR) was not submitted by the last moment',
    mend,
  })
  expect(forgottenFinding([one, { currency: 'JPY', batches: 2, lines: 30, totalMinor: '4000' }]).text).toBe(
    '3 batches with 31 debits (115.00 EUR, 4000 JPY) were not submitted by the last moment',
  )
})
