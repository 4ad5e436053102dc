import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assertInTime } from './in-time.ts'

test('a first case that takes longer than there is time is tried to its end, and no other', async () => {
  let ended = 0
  const property = fc.asyncProperty(fc.nat(), async () => {
    await pause(50)
    ended += 1
  })
  await assertInTime(property, { numRuns: 100, limitMs: 20 })
  expect(ended).toBe(1)
})

test('a case that fails fails the property, and is made smaller', async () => {
  const property = fc.asyncProperty(fc.nat(), async (n) => n < 1000)
  await expect(assertInTime(property, { limitMs: 60_000 })).rejects.toThrow('Counterexample: [1000]')
  await expect(assertInTime(property, { limitMs: 0, seed: 1, examples: [[1234]] })).rejects.toThrow('[1234]')
})
