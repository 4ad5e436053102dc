import { expect, test } from 'vitest'
import { KnownLong } from './known-long.ts'

test('a request is known for a minute after it was last found to be long', () => {
  let now = 0
  const known = new KnownLong(() => now)
  expect([known.isEmpty, known.has('one')]).toEqual([true, false])
  known.add('one')
  now = 30_000
  known.add('one')
  known.add('other')
  now = 89_999
  expect([known.isEmpty, known.has('one'), known.has('third')]).toEqual([false, true, false])
  now = 90_000
  expect([known.has('one'), known.has('other'), known.isEmpty]).toEqual([false, false, true])
})

test('the oldest are forgotten where there are too many', () => {
  const known = new KnownLong(() => 0)
  for (let request = 0; request <= 10_000; request += 1) known.add(`${request}`)
  expect([known.has('0'), known.has('1'), known.has('10000')]).toEqual([false, true, true])
})
