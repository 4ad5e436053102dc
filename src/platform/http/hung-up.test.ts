import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase, openTestDatabase } from '../../../test/support/app.ts'
import { probeServer } from '../../../test/support/probe.ts'
import { clientConfig } from '../database/open-database.ts'
import { sql } from '../database/sql.ts'
import { Places } from '../places.ts'
import { lookupOperation, readOperation } from './operation.ts'

/** Callers who ask for much and hang up, and the others meanwhile. */

const connection = await createTestDatabase()
const db = openTestDatabase(connection)
const other = new pg.Client(clientConfig(connection, undefined))
await other.connect()
const LOCK = 91

const about = { method: 'GET' as const, tag: 'Test', summary: 'Test', success: { status: 200 } }
const slow = {
  ...about,
  read: async (reading: Pick<typeof db.unscoped, 'rows'>) => {
    await reading.rows(sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)::text as "got"`)
    return { status: 200, body: '{"slow":true}' }
  },
}
const quick = async (reading: Pick<typeof db.unscoped, 'rows'>) => {
  const [row] = await reading.rows<{ text: string }>(sql`select 'quick' as "text"`)
  return { status: 200, body: JSON.stringify(row) }
}
const undrawn: (() => void)[] = []
const operations = [
  readOperation({
    ...about,
    id: 'document',
    path: '/v1/document',
    isExpensive: true,
    read: async () => ({
      status: 200,
      makeBody: async () => {
        await new Promise<void>((drawn) => undrawn.push(drawn))
        return Buffer.from('{"drawn":true}')
      },
    }),
  }),
  readOperation({ ...slow, id: 'report', path: '/v1/report', isExpensive: true }),
  readOperation({ ...slow, id: 'slowList', path: '/v1/slow' }),
  readOperation({ ...about, id: 'list', path: '/v1/list', read: quick }),
  lookupOperation({ ...about, id: 'record', path: '/v1/record', read: quick }),
]
const expensiveReads = new Places({ running: 4, waiting: 100 })
const expensiveAnswers = new Places({ running: Infinity, perOwner: 2 })
const [mine, theirs] = [1n, 2n].map((account) =>
  probeServer(db, account, operations, { expensiveReads, expensiveAnswers }),
)
const server = mine!.server
await server.listen({ host: '127.0.0.1', port: 0 })
const { port } = server.server.address() as AddressInfo
afterAll(async () => {
  await server.close()
  await db.close()
  await other.end()
})

/** A request over a connection of its own; `hangUp` ends it without waiting for the answer. */
function ask(path: string) {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  const ended = new Promise<string>((resolve) => {
    socket.on('data', (chunk) => (received += chunk.toString()))
    socket.on('close', () => resolve(received))
    socket.on('error', () => {})
  })
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  return { ended, hangUp: () => socket.destroy() }
}

async function untilWaiting(sessions: number): Promise<void> {
  const waiting = `select count(*)::int as n from pg_locks
    where locktype = 'advisory' and objid = ${LOCK} and not granted and database = (select oid from pg_database where datname = current_database())`
  for (;;) if ((await other.query<{ n: number }>(waiting)).rows[0]?.n === sessions) return
}

async function untilIdle(): Promise<void> {
  for (;;) {
    const { total, idle, waiting } = db.poolState()
    if (total === idle && waiting === 0) return
    await new Promise((go) => setImmediate(go))
  }
}

async function whileLocked(work: () => Promise<void>): Promise<void> {
  await other.query(`select pg_advisory_lock(${LOCK})`)
  await work().finally(() => other.query(`select pg_advisory_unlock(${LOCK})`))
}

describe('thirty reports of one account', () => {
  test('are two at a time, the others 429, and another account is answered meanwhile', async () => {
    await whileLocked(async () => {
      const asked = Array.from({ length: 30 }, () => ask('/v1/report'))
      const refused: string[] = []
      for (const { ended } of asked) void ended.then((answer) => refused.push(answer))
      await untilWaiting(2)
      for (const path of ['/v1/record', '/v1/list'])
        expect((await theirs!.client.get(path)).body).toEqual({ text: 'quick' })
      expect((await mine!.client.get('/v1/record')).body).toEqual({ text: 'quick' })
      const one = await mine!.client.get('/v1/report')
      expect([one.status, one.body.Errors[0].Code, one.headers['retry-after']]).toEqual([429, 'too_many_reads', '2'])
      while (refused.length < 28) await new Promise((go) => setImmediate(go))
      for (const { hangUp } of asked) hangUp()
      await untilWaiting(0)
      await untilIdle()
      expect(refused.filter((answer) => answer.startsWith('HTTP/1.1 429 '))).toHaveLength(28)
    })
    expect((await mine!.client.get('/v1/report')).body).toEqual({ slow: true })
  })
})

test('documents of an account that are being drawn keep its places, and nobody else waits to read', async () => {
  const drawing = Array.from({ length: 2 }, () => mine!.client.get('/v1/document'))
  while (undrawn.length < 2) await new Promise((go) => setImmediate(go))
  expect((await mine!.client.get('/v1/document')).body.Errors[0].Code).toBe('too_many_reads')
  const others = Array.from({ length: 2 }, () => theirs!.client.get('/v1/document'))
  while (undrawn.length < 4) await new Promise((go) => setImmediate(go))
  for (const drawn of undrawn) drawn()
  for (const { body } of await Promise.all([...drawing, ...others])) expect(body).toEqual({ drawn: true })
})

describe('a hundred slow reads of one account', () => {
  test('wait for its share of the connections, and are gone when their callers are', async () => {
    await whileLocked(async () => {
      const asked = Array.from({ length: 100 }, () => ask('/v1/slow'))
      await untilWaiting(4)
      for (const path of ['/v1/record', '/v1/list'])
        expect((await theirs!.client.get(path)).body).toEqual({ text: 'quick' })
      for (const { hangUp } of asked) hangUp()
      await untilWaiting(0)
      await untilIdle()
      // Its connections are quiet: nothing of what was cancelled reaches who borrows them next.
      const next = await Promise.all(Array.from({ length: 50 }, () => mine!.client.get('/v1/list')))
      expect(next.every(({ status }) => status === 200)).toBe(true)
    })
  })
})
