import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { makeLog } from '../log.ts'
import { RequestTimes } from '../request-times.ts'
import { SlowRequests } from './slow-requests.ts'

const lines: string[] = []
const log = makeLog('info', [], { write: (line) => void lines.push(line) })
const shown = () => lines.splice(0).map((line) => JSON.parse(line))

describe('of slow requests', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const counted: string[] = []
  const slow = new SlowRequests({ log, metrics: { slowRequest: (name) => void counted.push(name) }, slowMs: 1_000 })
  const times = new RequestTimes(() => 0)
  const request = { id: 'a', caller: null, times, routeOptions: { config: {} } } as unknown as Parameters<
    typeof slow.answered
  >[1]

  test('ten in a second are lines, then they are counted; one that is faster is neither', () => {
    for (let n = 0; n < 23; n += 1) slow.answered('listThings', request, { elapsedTime: 1_000 + n, statusCode: 200 })
    slow.answered('listThings', request, { elapsedTime: 999, statusCode: 200 })
    expect(counted).toHaveLength(23)
    expect(shown().map(({ msg, ms }) => [msg, ms])).toEqual(Array.from({ length: 10 }, (_, n) => ['slow', 1_000 + n]))
    vi.advanceTimersByTime(1_000)
    expect(shown()).toEqual([expect.objectContaining({ msg: 'further slow requests', requests: 13 })])
    slow.answered('listThings', request, { elapsedTime: 2_000, statusCode: 200 })
    vi.advanceTimersByTime(5_000)
    expect(shown().map(({ msg }) => msg)).toEqual(['slow'])
  })
})

test('of what waits for a place and for the database at once each moment counts once', async () => {
  let now = 0
  const times = new RequestTimes(() => now)
  const entered = times.waits()
  now = 5
  entered()
  entered()
  let answer = () => {}
  const first = times.asks(new Promise<void>((resolve) => (answer = resolve)))
  const second = times.asks(Promise.resolve('rows'))
  now = 7
  await second
  now = 15
  answer()
  await first
  expect([times.placeMs, times.databaseMs]).toEqual([5, 10])
})

test('a write and reads tell who asked, and how long they waited for a place and for the database', async () => {
  const service = await startTestService({ log, slowRequestMs: 1 })
  const client = await service.newAccount()
  lines.splice(0)
  const made = await client.post('/v1/customers', { Name: 'Ann', LastName: 'Gables' })
  await client.get('/v1/customers')
  await client.get(`/v1/customers/${made.body.customerID}`)
  const slow = shown().filter(({ msg }) => msg === 'slow')
  // A read of less than a millisecond is not slow; no write is as fast.
  expect(slow.length).toBeGreaterThan(0)
  for (const line of slow) {
    expect(line).toMatchObject({ requestId: expect.any(String), account: Number(client.id), key: expect.any(Number) })
    expect(line.operation).toMatch(/ustomer/)
    expect(line.databaseMs).toBeGreaterThan(0)
    expect(line.placeMs + line.databaseMs).toBeLessThanOrEqual(line.ms + 1)
  }
  const counts = (await service.anonymous.get('/metrics')).text.match(/^perennial_slow_requests_total\{.*$/gm)
  expect(counts).toContainEqual(
    expect.stringMatching(/^perennial_slow_requests_total\{operation="\w*[cC]ustomer\w*"\} \d$/),
  )
})
