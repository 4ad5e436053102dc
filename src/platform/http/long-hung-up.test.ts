import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { once } from 'node:events'
import pg from 'pg'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { probeServer } from '../../../test/support/probe.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Transaction } from '../database/database.ts'
import { clientConfig } from '../database/open-database.ts'
import { sql } from '../database/sql.ts'
import { longOperation } from './operation.ts'

/** Callers of long operations who hang up, at several moments. */

const service = await startTestService()
const { db } = service
const { id: account } = await service.newAccount({ mode: 'live', clockAt: null })
const other = new pg.Client(clientConfig(service.connection, undefined))
await other.connect()
const LOCK = 92

const about = { method: 'POST' as const, tag: 'Test', summary: 'Test', success: { status: 201 } }
const refusal = () => new Fault('busy', [{ code: 'one_at_a_time', message: 'One at a time.', field: null }], 1)

/** Work of the operation after its first write; changed by each test. */
let next = async (_tx: Transaction): Promise<unknown> => undefined
let ended = 0

const write = (tx: Transaction) =>
  tx.rows(sql`insert into leases (account_id, name, holder, leased_until) values (${account}, 'written', gen_random_uuid(), now())
    on conflict (account_id, name) do nothing`)
const written = async () =>
  (await db.reader(account).rows(sql`select 1 from leases where account_id = ${account} and name = 'written'`)).length
const leases = async () =>
  (await db.reader(account).rows(sql`select name from leases where account_id = ${account} and name <> 'written'`))
    .length

const made = longOperation({
  ...about,
  id: 'made',
  path: '/v1/made',
  longKind: 'export',
  endsWithCaller: true,
  refusal,
  run: async (_context, _input, { gone }) => {
    try {
      await db.transaction(
        account,
        async (tx) => {
          await write(tx)
          await next(tx)
        },
        gone ? { signal: gone } : {},
      )
      return { status: 201, body: '{}' }
    } finally {
      ended += 1
    }
  },
})
const moved = longOperation({
  ...about,
  id: 'moved',
  path: '/v1/moved',
  longKind: 'clock',
  refusal,
  run: async (_context, _input, { gone }) => {
    await db.transaction(account, async (tx) => {
      await write(tx)
      await next(tx)
    })
    expect(gone?.aborted).toBe(false)
    ended += 1
    return { status: 201, body: '{"Moved":true}' }
  },
})
const { server, client } = probeServer(db, account, [made, moved])
await server.listen({ host: '127.0.0.1', port: 0 })
const { port } = server.server.address() as AddressInfo
afterAll(async () => {
  await server.close()
  await other.end()
})

/** Sends a request over a connection of its own, which the test cuts. */
function ask(path: string, key: string) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nIdempotency-Key: ${key}\r\nContent-Length: 0\r\n\r\n`)
  return { hangUp: () => socket.destroy(), answered: once(socket, 'data') }
}

const waitingForLock = async () => {
  const { rows } = await other.query<{ n: number }>(
    `select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = ${LOCK} and not granted
        and database = (select oid from pg_database where datname = current_database())`,
  )
  return rows[0]?.n ?? 0
}

const inTwoSeconds = { timeout: 2_000, interval: 20 }

/** Expects that nothing of the operation is left or runs, two seconds after its caller has gone, and that it may be asked for again under its key. */
async function expectNothingLeft(key: string): Promise<void> {
  await vi.waitFor(async () => expect(await leases()).toBe(0), inTwoSeconds)
  expect(await written()).toBe(0)
  next = async () => undefined
  const again = await client.post('/v1/made', undefined, { 'idempotency-key': key })
  expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, undefined])
  expect(await written()).toBe(1)
  await db.transaction(account, (tx) => tx.rows(sql`delete from leases where account_id = ${account}`))
}

describe('an operation that ends with its caller', () => {
  test('leaves nothing where its statement waits: that is cancelled, and the key and the place are free', async () => {
    await other.query(`select pg_advisory_lock(${LOCK})`)
    next = (tx) => tx.rows(sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)::text as "got"`)
    const { hangUp } = ask('/v1/made', 'waits')
    await vi.waitFor(async () => expect(await waitingForLock()).toBe(1), 10_000)
    hangUp()
    await vi.waitFor(async () => expect(await waitingForLock()).toBe(0), inTwoSeconds)
    await expectNothingLeft('waits')
    await other.query(`select pg_advisory_unlock(${LOCK})`)
  })

  test.each([
    ['a statement', (tx: Transaction) => tx.rows(sql`select pg_sleep(60)::text as "slept"`)],
    ['statements that nobody waits for', async (tx: Transaction) => tx.send(sql`select pg_sleep(60)::text as "slept"`)],
    [
      'portions',
      async (tx: Transaction) => {
        for await (const _ of tx.portions(sql`select pg_sleep(1)::text as "slept" from generate_series(1, 60)`, 1));
      },
    ],
    ['a savepoint', (tx: Transaction) => tx.savepoint(() => tx.rows(sql`select pg_sleep(60)::text as "slept"`))],
  ])('sends nothing more between two statements: %s', async (name, more) => {
    let isBegun = () => {}
    let goOn = () => {}
    const begun = new Promise<void>((resolve) => (isBegun = resolve))
    const gone = new Promise<void>((resolve) => (goOn = resolve))
    next = async (tx) => {
      isBegun()
      await gone
      return more(tx)
    }
    const closed = once(server.server, 'connection').then(([socket]) => once(socket, 'close'))
    const { hangUp } = ask('/v1/made', name.replaceAll(' ', '-'))
    await begun
    hangUp()
    await closed
    goOn()
    await expectNothingLeft(name.replaceAll(' ', '-'))
  })

  test('ends a statement that was begun at the moment of the hang-up, and the next borrower of the connection meets nothing of it', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      next = async (tx) => {
        for (let n = 0; n < 1000; n += 1) await tx.rows(sql`select pg_sleep(0.01)::text as "slept"`)
      }
      const { hangUp } = ask('/v1/made', `turn-${turn}`)
      await vi.waitFor(async () => expect(await leases()).toBeGreaterThan(1), 10_000)
      hangUp()
      await vi.waitFor(async () => expect(await leases()).toBe(0), inTwoSeconds)
      const reads = Array.from({ length: 20 }, () => db.reader(account).rows(sql`select 1 as "one"`))
      expect((await Promise.all(reads)).flat()).toHaveLength(20)
    }
    expect(await written()).toBe(0)
  })

  test('ends with 503 when the service begins maintenance, and is done when it is sent again afterwards', async () => {
    await other.query(`select pg_advisory_lock(${LOCK})`)
    next = (tx) => tx.rows(sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)::text as "got"`)
    const answer = client.post('/v1/made', undefined, { 'idempotency-key': 'in maintenance' })
    await vi.waitFor(async () => expect(await waitingForLock()).toBe(1), 10_000)
    db.admission.learn({ least: 1, maintenanceSeconds: 60 })
    const { status, body } = await answer
    expect([status, body.Errors[0].Code]).toEqual([503, 'maintenance'])
    await other.query(`select pg_advisory_unlock(${LOCK})`)
    db.admission.learn({ least: 1, maintenanceSeconds: null })
    await expectNothingLeft('in maintenance')
  })

  test('is done, and kept under its key, where the caller hangs up after the commit', async () => {
    next = async () => undefined
    const { hangUp, answered } = ask('/v1/made', 'late')
    await answered
    hangUp()
    const again = await client.post('/v1/made', undefined, { 'idempotency-key': 'late' })
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, 'true'])
    await db.transaction(account, (tx) => tx.rows(sql`delete from leases where account_id = ${account}`))
  })
})

test('a clock move goes on to its end, and its answer is kept', async () => {
  await other.query(`select pg_advisory_lock(${LOCK})`)
  next = (tx) => tx.rows(sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)::text as "got"`)
  const before = ended
  const closed = once(server.server, 'connection').then(([socket]) => once(socket, 'close'))
  const { hangUp } = ask('/v1/moved', 'clock')
  await vi.waitFor(async () => expect(await waitingForLock()).toBe(1), 10_000)
  hangUp()
  await closed
  expect(await waitingForLock()).toBe(1)
  await other.query(`select pg_advisory_unlock(${LOCK})`)
  await vi.waitFor(async () => expect([ended, await leases()]).toEqual([before + 1, 0]), 10_000)
  expect(await written()).toBe(1)
  const again = await client.post('/v1/moved', undefined, { 'idempotency-key': 'clock' })
  expect([again.body, again.headers['idempotency-replayed']]).toEqual([{ Moved: true }, 'true'])
})
