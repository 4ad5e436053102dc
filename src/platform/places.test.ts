import { expect, test, vi } from 'vitest'
import { conflict } from '../kernel/fault.ts'
import { Places } from './places.ts'

/** Work whose end the test decides, and the order in which it was begun. */
function gatedWork() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const work = (name: string) => () => {
    begun.push(name)
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
  }
  /** Ends a piece that was begun, or is about to be. */
  const end = async (name: string) => {
    await new Promise(setImmediate)
    ends.get(name)?.()
    await new Promise(setImmediate)
  }
  return { begun, work, end }
}

test('only so much runs at a time, and owners take turns whatever each of them asks for', async () => {
  const places = new Places({ running: 2, waiting: 10, perOwner: 10 })
  const { begun, work, end } = gatedWork()
  for (const name of ['a1', 'a2', 'a3', 'a4']) void places.run(1n, work(name))
  void places.run(2n, work('b1'))
  void places.run(3n, work('c1'))
  await new Promise(setImmediate)
  expect(begun).toEqual(['a1', 'a2'])
  await end('a1')
  await end('a2')
  await end('a3')
  await end('b1')
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4'])
})

test('an owner has no more than its part, running and waiting together, and is refused at once in its own words', async () => {
  const places = new Places({ running: 1, waiting: 10, perOwner: 1 })
  const { begun, work, end } = gatedWork()
  const first = places.run(1n, work('a1'))
  const waiting = places.run(2n, work('b1'))
  const refusal = () => conflict('only_one', 'Only one.')
  await expect(places.run(1n, work('a2'), refusal)).rejects.toMatchObject({ kind: 'conflict' })
  await expect(places.run(2n, work('b2'), refusal)).rejects.toMatchObject({ kind: 'conflict' })
  await end('a1')
  await end('b1')
  expect(await Promise.all([first, waiting])).toEqual(['a1', 'b1'])
  void places.run(1n, work('a3'))
  await new Promise(setImmediate)
  expect(begun).toEqual(['a1', 'b1', 'a3'])
})

test('when enough waits, more is refused with 503 and a time to come back; what fails gives its place on', async () => {
  const places = new Places({ running: 1, waiting: 1, perOwner: 10 })
  const { work, end } = gatedWork()
  let fail = () => {}
  const failing = places.run(1n, () => new Promise((_, reject) => (fail = () => reject(new Error('no')))))
  const waiting = places.run(2n, work('b1'))
  await new Promise(setImmediate)
  await expect(places.run(3n, work('c1'))).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 2 })
  fail()
  await expect(failing).rejects.toThrow('no')
  await end('b1')
  expect(await waiting).toBe('b1')
  const last = places.run(3n, work('c2'))
  await end('c2')
  expect(await last).toBe('c2')
})

test('an owner that has its part of the places waits, while another has the next ones', async () => {
  const places = new Places({ running: 3, runningOfOwner: 2 })
  const { begun, work, end } = gatedWork()
  for (const name of ['a1', 'a2', 'a3', 'a4']) void places.run(1n, work(name))
  void places.run(2n, work('b1'))
  void places.run(2n, work('b2'))
  await new Promise(setImmediate)
  expect(begun).toEqual(['a1', 'a2', 'b1'])
  expect(places.waiting).toBe(3)
  await end('b1')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2'])
  await end('a1')
  await end('a2')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2', 'a3', 'a4'])
})

test('who waits too long is refused with 503, and who is gone waits no longer; neither has a place afterwards', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const places = new Places({ running: 1, patienceMs: 20_000 })
  const leave = await places.take(1n)
  const gone = new AbortController()
  const late = expect(places.take(1n)).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 2 })
  const hungUp = expect(places.take(2n, { signal: gone.signal })).rejects.toThrow('gone')
  gone.abort(new Error('gone'))
  await hungUp
  vi.advanceTimersByTime(20_000)
  await late
  expect(places.waiting).toBe(0)
  await expect(places.take(2n, { signal: gone.signal })).rejects.toThrow('gone')
  leave()
  leave()
  const again = await places.take(3n)
  const next = places.take(4n)
  expect(places.waiting).toBe(1)
  again()
  await next
  vi.useRealTimers()
})
