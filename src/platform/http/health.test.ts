import { connect } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { createTestDatabase, openTestDatabase, startTestService } from '../../../test/support/app.ts'
import { makeMetrics } from '../metrics.ts'
import { within } from '../within.ts'

const service = await startTestService()

test('a database that is away makes the service not ready and takes its figures from /metrics, which is answered all the same', async () => {
  const connection = await createTestDatabase()
  const db = openTestDatabase(connection)
  let isAway = false
  const metrics = makeMetrics({
    db,
    readFigures: async () => {
      if (isAway) throw new Error('away')
      return [{ name: 'runs', label: 'working', value: 3 }]
    },
    clock: () => 0,
    version: '1',
  })
  expect(await metrics.text()).toMatch(/^perennial_runs\{state="working"\} 3$/m)
  isAway = true
  // Kept for a moment, whatever became of the database.
  expect(await metrics.text()).toMatch(/^perennial_runs\{state="working"\} 3$/m)
  const fresh = makeMetrics({
    db,
    readFigures: async () => Promise.reject(new Error('away')),
    clock: () => 0,
    version: '1',
  })
  const text = await fresh.text()
  expect(text).toMatch(/^perennial_database_up 0$/m)
  expect(text).not.toMatch(/^perennial_(runs|due_records|accounts_to_schedule|outbox)/m)
  expect(text).toMatch(/^perennial_database_connections\{state="used"\} \d+$/m)
  await db.close()
})

test('figures that a database does not answer are asked for once, however often /metrics is', async () => {
  const db = openTestDatabase(await createTestDatabase())
  let asked = 0
  let answer: (figures: { name: string; label: string; value: number }[]) => void = () => {}
  let nowMs = 0
  const metrics = makeMetrics({
    db,
    readFigures: () => {
      asked += 1
      return new Promise((resolve) => (answer = resolve))
    },
    clock: () => nowMs,
    version: '1',
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  for (let times = 0; times < 3; times += 1) {
    const text = metrics.text()
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await text).toMatch(/^perennial_database_up 0$/m)
    nowMs += 15_000
  }
  vi.useRealTimers()
  expect(asked).toBe(1)
  answer([{ name: 'runs', label: 'working', value: 3 }])
  expect(await metrics.text()).toMatch(/^perennial_runs\{state="working"\} 3$/m)
  await db.close()
})

test('every name that /metrics tells is documented, and no label takes values that callers choose', async () => {
  const client = await service.newAccount()
  for (let n = 0; n < 50; n += 1) await client.get(`/v1/strange${n}/x${n}?y=${n}`)
  await client.get('/v1/customers/4711')
  const { text, headers } = await service.anonymous.get('/metrics')
  expect(headers['cache-control']).toBe('no-store')
  expect(text).toContain('perennial_requests_total{operation="unknown",status="404"} 50')
  expect(text).toContain('perennial_requests_total{operation="getCustomer",status="404"} 1')
  expect(text).not.toMatch(/strange|4711|account_?id/i)
  const { readFileSync } = await import('node:fs')
  const documented = readFileSync(new URL('../../../docs/operate/metrics.md', import.meta.url), 'utf8')
  const names = [...text.matchAll(/^# HELP (\S+)/gm)].map(([, name = '']) => name)
  expect(names.filter((name) => !documented.includes(`\`${name}`))).toEqual([])
  expect(names.length).toBeGreaterThan(15)
})

test('a service that is stopping says so to whoever still asks whether it is ready', async () => {
  const stopping = await startTestService()
  await stopping.app.server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = stopping.app.server.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const taken = once(stopping.app.server.server, 'connection')
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
  // Half a request keeps the connection from being idle.
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n')
  await Promise.race([taken, once(socket, 'data')])
  while (!answer.includes('alive')) await once(socket, 'data')
  const closed = stopping.app.server.close()
  socket.write('\r\n')
  await once(socket, 'close')
  await closed
  expect(answer).toMatch(/HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 503 [\s\S]*The service is stopping/)
})

test('a question that is not answered in time is answered by nothing', async () => {
  expect(await within(1, new Promise(() => {}))).toBeUndefined()
  expect(await within(1000, Promise.reject(new Error('away')))).toBeUndefined()
  expect(await within(1000, Promise.resolve(1))).toBe(1)
})
