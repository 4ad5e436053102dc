import { expect, test } from 'vitest'
import { wantsForm } from './media.ts'

test.each([
  [undefined, false],
  ['*/*', false],
  ['application/json', false],
  ['text/csv', true],
  ['Text/CSV; charset=utf-8', true],
  ['text/csv, */*;q=0.1', true],
  ['application/json, text/csv', true],
  ['text/csv;q=0.1, application/json', false],
  ['application/json;q=0.2, text/csv;q=0.3', true],
  ['text/csv;q=0', false],
  ['text/csv;q=x', true],
])('Accept: %s asks for CSV: %s', (accept, isWanted) => {
  expect(wantsForm('csv', 'text/csv', { format: undefined, accept })).toBe(isWanted)
  expect(wantsForm('csv', 'text/csv', { format: 'csv', accept })).toBe(true)
  expect(wantsForm('csv', 'text/csv', { format: 'json', accept })).toBe(false)
})
