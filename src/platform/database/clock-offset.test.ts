import { expect, test } from 'vitest'
import { ClockOffset, sentenceOfClocks } from './clock-offset.ts'

test('the shortest of the last five exchanges tells how far the clocks are apart', () => {
  const clocks = new ClockOffset()
  expect(clocks.ms).toBe(0)
  clocks.note({ sentMs: 1_000, answeredMs: 1_010, databaseMs: 4_005 })
  expect(clocks.ms).toBe(3_000)
  // An answer that was under way for long tells little.
  clocks.note({ sentMs: 2_000, answeredMs: 4_000, databaseMs: 6_900 })
  expect(clocks.ms).toBe(3_000)
  for (let n = 0; n < 4; n += 1) clocks.note({ sentMs: 5_000, answeredMs: 5_100, databaseMs: 5_050 })
  expect(clocks.ms).toBe(0)
  clocks.forget()
  expect(clocks.ms).toBe(0)
})

test('the sentence names both instants, whichever clock is behind', () => {
  const now = Date.UTC(2027, 0, 1)
  expect(sentenceOfClocks(-3_600_500, now)).toBe(
    'the clocks of this machine (2027-01-01T00:00:00.000Z) and of the database server (2026-12-31T22:59:59.500Z) are 3600.5 s apart',
  )
})
