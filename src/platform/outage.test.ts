import pino from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { unavailable } from './database/failures.ts'
import { Outage, type OutageDeps } from './outage.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function outageOf(deps: Partial<OutageDeps> = {}) {
  const lines: Record<string, unknown>[] = []
  const log = pino(
    { level: 'trace', base: null, timestamp: false },
    { write: (line) => void lines.push(JSON.parse(line)) },
  )
  return { lines, outage: new Outage({ log, counted: 'requests', away: { met: () => {} }, ...deps }) }
}

const gone = () => unavailable(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
const GONE = { level: 50, reason: 'connect ECONNREFUSED', code: 'ECONNREFUSED', msg: 'the database cannot be reached' }

test('ten thousand requests of an outage are one line, one a minute with how many there were, and one at its end; no stack in any', async () => {
  let isBack = false
  const { lines, outage } = outageOf({ answersSince: () => isBack })
  for (let n = 0; n < 10_000; n += 1) outage.met(gone())
  expect(lines).toEqual([GONE])
  await vi.advanceTimersByTimeAsync(60_500)
  for (let n = 0; n < 5; n += 1) outage.met(gone())
  await vi.advanceTimersByTimeAsync(60_000)
  expect(lines.slice(1)).toEqual([
    { level: 40, seconds: 60, requests: 10_000, msg: 'the database still cannot be reached' },
    { level: 40, seconds: 120, requests: 10_005, msg: 'the database still cannot be reached' },
  ])
  isBack = true
  await vi.advanceTimersByTimeAsync(1_500)
  expect(lines.slice(3)).toEqual([
    { level: 30, seconds: 121, requests: 10_005, msg: 'the database can be reached again' },
  ])
  await vi.advanceTimersByTimeAsync(600_000)
  expect(lines).toHaveLength(4)
  outage.met(gone())
  expect(lines.slice(4)).toEqual([GONE])
  outage.stop()
})

test('only an answer that is younger than the first failure ends it; what began before it does not', async () => {
  let answeredAtMs = performance.now()
  const { lines, outage } = outageOf({ answersSince: (momentMs) => answeredAtMs > momentMs })
  await vi.advanceTimersByTimeAsync(10)
  outage.met(gone())
  outage.isOver(answeredAtMs)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(lines).toEqual([GONE])
  answeredAtMs = performance.now()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lines.slice(1)).toMatchObject([{ msg: 'the database can be reached again' }])
  outage.stop()
})

test('a worker of a cluster that is away is no outage: it goes to whoever knows the workers, and so does a new outage, until the process stops', () => {
  const met: unknown[] = []
  const { lines, outage } = outageOf({ away: { met: (failure) => void met.push(failure) } })
  const ofWorker = unavailable(Object.assign(new Error('refused'), { severity: 'ERROR', code: '08006' }))
  outage.met(ofWorker)
  expect([lines, met]).toEqual([[], [ofWorker]])
  for (let n = 0; n < 5; n += 1) outage.met(gone())
  expect([lines, met]).toEqual([[GONE], [ofWorker, undefined]])
  outage.stop()
  outage.met(ofWorker)
  expect(met).toHaveLength(2)
})

test('a process that stops writes nothing of what ends with it', async () => {
  const { lines, outage } = outageOf({ answersSince: () => true })
  outage.met(gone())
  outage.stop()
  outage.met(gone())
  await vi.advanceTimersByTimeAsync(120_000)
  expect(lines).toEqual([GONE])
})
