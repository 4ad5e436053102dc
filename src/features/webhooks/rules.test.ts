import { describe, expect, test } from 'vitest'
import { instantOf } from '../../kernel/zone.ts'
import { endpointVerdictOf, isEventPattern, retryAfterMs, verdictOf } from './rules.ts'

const NOW = Date.parse('2027-01-01T12:00:00Z')
const answered = (status: number, retryAfter?: string) => ({ kind: 'answered', status, retryAfter }) as const
const waitOf = (tries: number, chance = 0) => {
  const { nextTryAt } = verdictOf(answered(500), tries, NOW, chance)
  return nextTryAt === null ? null : (Date.parse(nextTryAt) - NOW) / 1000
}

describe('a try', () => {
  test('is followed by waits that add up to 2 h 35 min 5 s for the first five tries: under three hours with all that chance adds', () => {
    const [least, most] = [0, 0.999_999].map((chance) =>
      [1, 2, 3, 4].reduce((sum, tries) => sum + waitOf(tries, chance)!, 0),
    )
    expect(least).toBe(9305)
    // And five calls of 15 seconds each.
    expect(most! + 5 * 15).toBeLessThan(3 * 3600)
    expect(most!).toBeGreaterThan(least!)
  })

  test.each([200, 201, 204, 299])('that got %i is delivered', (status) =>
    expect(verdictOf(answered(status), 1, NOW, 0)).toEqual({ state: 'delivered', status, nextTryAt: null }),
  )

  test.each([199, 301, 304, 400, 401, 404, 429, 500])('that got %i waits', (status) =>
    expect(verdictOf(answered(status), 1, NOW, 0)).toMatchObject({ state: 'waiting', status }),
  )

  test('is the last one after ten, and where the endpoint is gone', () => {
    expect([waitOf(9), waitOf(10)]).toEqual([86_400, null])
    expect(verdictOf(answered(410), 1, NOW, 0)).toEqual({ state: 'failed', status: 410, nextTryAt: null })
  })
})

test.each([
  [undefined, 0],
  ['', 0],
  ['7', 7],
  ['-7', 0],
  ['1.5', 0],
  ['99999999999999999999', 86_400],
  ['Fri, 01 Jan 2027 12:10:00 GMT', 600],
  ['Fri, 01 Jan 2027 11:00:00 GMT', 0],
  ['never', 0],
])('Retry-After %s is %i seconds', (text, seconds) => {
  const ms = retryAfterMs(text, NOW)
  expect(Math.max(0, ms) / 1000).toBe(seconds === 0 ? Math.max(0, ms) / 1000 : seconds)
  if (seconds === 0) expect(ms).toBe(0)
})

test('types of events are those there are, or all of a resource', () => {
  expect(['invoice.issued', 'invoice.*', 'credit_note.*'].every(isEventPattern)).toBe(true)
  expect(['*', 'invoice', 'invoice.', '*.issued', 'invoice.iss*', 'Invoice.*', ''].some(isEventPattern)).toBe(false)
})

describe('an endpoint', () => {
  const failed = { state: 'waiting', status: 500 } as const
  const taken = { state: 'delivered', status: 200 } as const
  const daysAgo = (days: number) => instantOf(NOW - days * 86_400_000)

  test('fails from its first failure until something is taken', () => {
    expect(endpointVerdictOf(null, [failed], NOW)).toEqual({ failingSince: instantOf(NOW), disabledFor: null })
    expect(endpointVerdictOf(daysAgo(3), [failed], NOW)).toEqual({ failingSince: daysAgo(3), disabledFor: null })
    expect(endpointVerdictOf(daysAgo(6), [failed, taken], NOW)).toEqual({ failingSince: null, disabledFor: null })
    expect(endpointVerdictOf(daysAgo(6), [], NOW)).toEqual({ failingSince: daysAgo(6), disabledFor: null })
  })

  test('is disabled after five days, and at once where it is gone', () => {
    expect(endpointVerdictOf(daysAgo(5), [failed], NOW).disabledFor).toBe('failing')
    expect(endpointVerdictOf(null, [taken, { state: 'failed', status: 410 }], NOW).disabledFor).toBe('gone')
  })
})
