import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { makePlaces, type WantedPlace } from './rate.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const place = (fields: Partial<WantedPlace> = {}): WantedPlace => ({
  gateway: '1/1',
  perSecond: 5,
  isFirst: false,
  signal: new AbortController().signal,
  ...fields,
})

/** Takes places and notes which of them came, in their order. */
function taking(perSecond = 5) {
  const take = makePlaces(() => perSecond, { clock: () => performance.now() })
  const came: string[] = []
  const wants = (name: string, fields: Partial<WantedPlace> = {}) =>
    void take(place(fields)).then((hasPlace) => came.push(hasPlace ? name : `no ${name}`))
  return { came, wants }
}

test('a second has the places of a second, however many want one, and each gateway its own', async () => {
  const { came, wants } = taking()
  for (let one = 0; one < 20; one += 1) wants('a')
  wants('b', { gateway: '1/2' })
  await vi.advanceTimersByTimeAsync(0)
  expect(came.filter((name) => name === 'a')).toHaveLength(5)
  expect(came).toContain('b')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(came.filter((name) => name === 'a')).toHaveLength(10)
  await vi.advanceTimersByTimeAsync(60_000)
  for (let one = 0; one < 20; one += 1) wants('later')
  await vi.advanceTimersByTimeAsync(0)
  expect(came.filter((name) => name === 'later')).toHaveLength(5)
})

test('those with the customer present go first, the others in their order', async () => {
  const { came, wants } = taking(1)
  wants('taken')
  wants('first')
  wants('second')
  wants('customer', { isFirst: true })
  await vi.advanceTimersByTimeAsync(3_000)
  expect(came).toEqual(['taken', 'customer', 'first', 'second'])
})

test('where none comes within 20 seconds there is none, and whoever leaves takes none', async () => {
  const { came, wants } = taking(1)
  const leaving = new AbortController()
  for (let one = 0; one < 25; one += 1) wants('one')
  wants('left', { signal: leaving.signal })
  await vi.advanceTimersByTimeAsync(10)
  leaving.abort()
  await vi.advanceTimersByTimeAsync(19_989)
  expect(came.filter((name) => name === 'one')).toHaveLength(20)
  await vi.advanceTimersByTimeAsync(1)
  expect(came.filter((name) => name === 'no one').length).toBeGreaterThanOrEqual(4)
  expect(came).toHaveLength(26)
  expect(came).toContain('no left')
  wants('gone', { signal: AbortSignal.abort() })
  await vi.advanceTimersByTimeAsync(0)
  expect(came.at(-1)).toBe('no gone')
})

test('a share below one call a second is one', async () => {
  const { came, wants } = taking(0.1)
  wants('a')
  wants('b')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(came).toEqual(['a', 'b'])
})
