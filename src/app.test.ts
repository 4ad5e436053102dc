import { afterEach, expect, test, vi } from 'vitest'
import { LONG_OPERATIONS } from './app.ts'
import { Places } from './platform/places.ts'

afterEach(() => vi.useRealTimers())

test('a long operation whose turn does not come in time is refused (503), so that its caller is not left without an answer', async () => {
  vi.useFakeTimers()
  const places = new Places(LONG_OPERATIONS)
  for (const account of [1n, 2n]) await places.take(account)
  const outcome = places.take(3n).then(
    () => 'taken',
    (error: unknown) => error,
  )
  expect(places.waiting).toBe(1)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(places.waiting).toBe(0)
  expect(await outcome).toMatchObject({ kind: 'unavailable', problems: [{ code: 'too_busy' }], retryAfterSeconds: 2 })
})
