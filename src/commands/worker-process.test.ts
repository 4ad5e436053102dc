import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startWorkerProcess } from './worker-process.ts'

/** How the worker of a service is started again; the rest is tested with the real program (test/program/worker-process.test.ts). */

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const ENDS = [process.execPath, '-e', 'process.exit(3)', '--'] as const

function started(command: readonly [string, ...string[]]) {
  const errors: { againInSeconds: number; code?: number; err?: { code: string } }[] = []
  const statuses: unknown[] = []
  const worker = startWorkerProcess({
    command,
    root: '/',
    log: { error: ((facts: object) => void errors.push(facts as never)) as never },
    onRunFinished: () => {},
    onGatewayCalled: () => {},
    onStatus: (status) => void statuses.push(status),
  })
  const ended = async (times: number) => {
    while (errors.length < times) await new Promise((resolve) => setImmediate(resolve))
  }
  return { worker, errors, statuses, ended }
}

test('one that ends is started again after a second, then after twice as long', async () => {
  const { worker, errors, statuses, ended } = started(ENDS)
  for (const [times, seconds] of [1, 2, 4].entries()) {
    await ended(times + 1)
    expect(errors[times]).toMatchObject({ code: 3, againInSeconds: seconds })
    await vi.advanceTimersByTimeAsync(seconds * 1000)
  }
  expect(statuses.slice(0, 3)).toEqual([undefined, undefined, undefined])
  await worker.stop()
})

test('one that has lived for a minute begins at a second anew', async () => {
  const { worker, errors, ended } = started(ENDS)
  await ended(1)
  await vi.advanceTimersByTimeAsync(1000)
  await vi.advanceTimersByTimeAsync(60_000)
  await ended(2)
  expect(errors.map(({ againInSeconds }) => againInSeconds)).toEqual([1, 1])
  await worker.stop()
})

test('one that cannot be started is tried again too', async () => {
  const { worker, errors, ended } = started(['/there/is/no/such/program'])
  await ended(1)
  await vi.advanceTimersByTimeAsync(1000)
  await ended(2)
  expect(errors.map(({ err, againInSeconds }) => [err?.code, againInSeconds])).toEqual([
    ['ENOENT', 1],
    ['ENOENT', 2],
  ])
  await worker.stop()
})
