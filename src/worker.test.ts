import pino from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Admission } from './platform/database/admission.ts'
import { AwayNodes } from './platform/database/away-nodes.ts'
import type { Database } from './platform/database/database.ts'
import { unavailable } from './platform/database/failures.ts'
import type { Duty } from './platform/duty.ts'
import { startWorker } from './worker.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A database of which only its notifications are used. */
function notifying() {
  const hearing = new Map<string, () => void>()
  const listen = async (channel: string, heard: () => void) => {
    hearing.set(channel, heard)
    return async () => void hearing.delete(channel)
  }
  const clocks = { clockOffsetMs: 0 }
  const admission = new Admission()
  const away = new AwayNodes({ list: async () => [] })
  const db = { listen, watched: async () => {}, readiness: () => clocks, admission, away } as unknown as Database
  return { db, notify: (channel: string) => hearing.get(channel)?.(), hearing, clocks, admission }
}

const started = (duties: Duty[], { db } = notifying(), log = pino({ level: 'silent' })) =>
  startWorker({ db, log, realClock: () => 0 }, duties)

const forever = new Promise<void>(() => {})

test('a long duty delays no other', async () => {
  let rounds = 0
  await started([
    { name: 'long', everyMs: 1000, run: () => forever },
    { name: 'quick', everyMs: 1000, run: async () => void (rounds += 1) },
  ])
  await vi.advanceTimersByTimeAsync(3500)
  expect(rounds).toBe(4)
})

test('no duty begins before the watch has compared the clocks', async () => {
  const bell = notifying()
  let rounds = 0
  let answer = () => {}
  const watched = new Promise<void>((resolve) => (answer = resolve))
  const starting = started([{ name: 'quick', everyMs: 1000, run: async () => void (rounds += 1) }], {
    ...bell,
    db: { ...bell.db, watched: () => watched },
  })
  await vi.advanceTimersByTimeAsync(3_000)
  expect(rounds).toBe(0)
  bell.clocks.clockOffsetMs = 86_400_000
  answer()
  await starting
  await vi.advanceTimersByTimeAsync(3_000)
  expect(rounds).toBe(0)
})

test('no duty begins while the clocks of machine and database are more than a minute apart', async () => {
  const bell = notifying()
  let rounds = 0
  await started([{ name: 'quick', everyMs: 1000, run: async () => void (rounds += 1) }], bell)
  await vi.advanceTimersByTimeAsync(500)
  bell.clocks.clockOffsetMs = -60_001
  await vi.advanceTimersByTimeAsync(5_000)
  expect(rounds).toBe(1)
  bell.clocks.clockOffsetMs = -59_000
  await vi.advanceTimersByTimeAsync(1_000)
  expect(rounds).toBe(2)
})

test('a round of a duty whose rounds overlap does not wait for the one before; they are bounded, and stopping waits for all of them', async () => {
  const bell = notifying()
  const releases: (() => void)[] = []
  const run = () => new Promise<void>((resolve) => releases.push(resolve))
  const worker = await started([{ name: 'overlapping', everyMs: 1000, wakesOn: 'called', overlaps: true, run }], bell)
  await vi.advanceTimersByTimeAsync(0)
  expect(releases).toHaveLength(1)
  bell.notify('called')
  await vi.advanceTimersByTimeAsync(0)
  expect(releases).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(releases).toHaveLength(8)
  let hasStopped = false
  const stopped = worker.stop().then(() => (hasStopped = true))
  for (const release of releases.slice(1)) release()
  await vi.advanceTimersByTimeAsync(0)
  expect(hasStopped).toBe(false)
  releases[0]?.()
  await stopped
  expect(releases).toHaveLength(8)
})

test('a duty that fails is tried again at its next round', async () => {
  let rounds = 0
  const failing = async () => {
    rounds += 1
    throw new Error('no')
  }
  const worker = await started([{ name: 'failing', everyMs: 1000, run: failing }])
  await vi.advanceTimersByTimeAsync(2500)
  expect(rounds).toBe(3)
  await worker.stop()
})

test('a notification begins the next round at once, also one that comes during a round, and so does a round that leaves more', async () => {
  const bell = notifying()
  let rounds = 0
  let release = () => {}
  const run = async () => {
    rounds += 1
    if (rounds === 2) await new Promise<void>((resolve) => (release = resolve))
    if (rounds === 3) return 'again' as const
  }
  const worker = await started([{ name: 'woken', everyMs: 60_000, wakesOn: 'called', run }], bell)
  await vi.advanceTimersByTimeAsync(0)
  expect(rounds).toBe(1)
  bell.notify('called')
  await vi.advanceTimersByTimeAsync(0)
  expect(rounds).toBe(2)
  bell.notify('called')
  release()
  await vi.advanceTimersByTimeAsync(0)
  expect(rounds).toBe(4)
  await worker.stop()
  expect(bell.hearing.size).toBe(0)
})

test('stopping ends a duty at its next step and waits for it', async () => {
  let steps = 0
  const run: Duty['run'] = async (_deps, goOn) => {
    for (;;) {
      goOn()
      steps += 1
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const worker = await started([{ name: 'stepping', everyMs: 1000, run }])
  await vi.advanceTimersByTimeAsync(250)
  const stopped = worker.stop().then(() => steps)
  await vi.advanceTimersByTimeAsync(100)
  expect(await stopped).toBe(3)
})

test('stopping waits no longer than its bound for a duty that does not end', async () => {
  const worker = await started([{ name: 'stuck', everyMs: 1000, run: () => forever }])
  let isStopped = false
  const stopping = worker.stop().then(() => (isStopped = true))
  await vi.advanceTimersByTimeAsync(20_000)
  expect(isStopped).toBe(false)
  await vi.advanceTimersByTimeAsync(10_000)
  await stopping
  expect(isStopped).toBe(true)
})

test('an outage of the database is one line for all duties, and so is its end', async () => {
  const lines: { level: number; msg: string; seconds?: number }[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  let isAway = true
  const run = async () => {
    if (isAway) throw unavailable()
  }
  const worker = await started(
    [1, 2, 3].map((no) => ({ name: `duty ${no}`, everyMs: 1000, run })),
    notifying(),
    log,
  )
  await vi.advanceTimersByTimeAsync(40_500)
  expect(lines).toMatchObject([{ level: 50, msg: expect.stringContaining('the database cannot be reached') }])
  isAway = false
  await vi.advanceTimersByTimeAsync(2000)
  expect(lines.slice(1)).toMatchObject([{ level: 30, msg: expect.stringContaining('again'), seconds: 41 }])
  isAway = true
  await vi.advanceTimersByTimeAsync(2000)
  expect(lines.slice(2)).toMatchObject([{ level: 50 }])
  await worker.stop()
})

test('in maintenance a duty stops at its next step, none begins, and the worker is at rest; afterwards they begin within a second, however seldom they look', async () => {
  const bell = notifying()
  let begun = 0
  let step = () => {}
  const run: Duty['run'] = async (_deps, goOn) => {
    begun += 1
    await new Promise<void>((resolve) => (step = resolve))
    goOn()
    begun += 100
  }
  const worker = await started([{ name: 'seldom', everyMs: 3_600_000, run }], bell)
  await vi.advanceTimersByTimeAsync(0)
  bell.admission.learn({ least: 1, maintenanceSeconds: 60 })
  expect([begun, worker.isAtRest()]).toEqual([1, false])
  step()
  await vi.advanceTimersByTimeAsync(30_000)
  expect([begun, worker.isAtRest()]).toEqual([1, true])
  bell.admission.learn({ least: 1, maintenanceSeconds: null })
  await vi.advanceTimersByTimeAsync(1_000)
  expect([begun, worker.isAtRest()]).toEqual([2, false])
})
