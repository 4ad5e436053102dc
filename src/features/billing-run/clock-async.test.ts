import { describe, expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { rowsOf, shop } from '../../../test/support/shop.ts'
import type { Database } from '../../platform/database/database.ts'
import { sql, type Statement } from '../../platform/database/sql.ts'
import { moveClock } from './clock.ts'
import { workRun } from './run.ts'
import { startClockProcess } from './run.testing.ts'

/** Moves of a test clock that go on in the background, and what their runs answer of them. */

const service = await startTestService()
const deps = { realClock: Date.now, order: ORDER_OF_DAY }

const ASYNC = { prefer: 'respond-async' }

/** Reads a run until it is done. */
async function doneRun(client: TestClient, path: string) {
  for (;;) {
    const { body } = await client.get(path)
    if (body.State === 'done') return body
  }
}

const runsOf = async (client: TestClient) =>
  (await client.get('/v1/billingruns')).body.filter(({ Cause }: any) => Cause === 'clock')

/** A database that calls a function before each statement of a transaction. */
const watched = (before: (statement: Statement) => Promise<void> | void): Database => ({
  ...service.db,
  transaction: (account, work, options) =>
    service.db.transaction(
      account,
      (tx) =>
        work({
          ...tx,
          rows: async (statement) => {
            await before(statement)
            return tx.rows(statement)
          },
        }),
      options,
    ),
})

describe('a move that the caller does not wait for', () => {
  test('is answered with its run, which answers what PUT would, and is kept under its key', async () => {
    const { client, add } = await shop(service)
    await add()
    const key = { ...ASYNC, 'idempotency-key': 'moved once' }
    const begun = await client.put('/v1/clock', { Now: '2027-03-01T12:00:00Z' }, key)
    const { billingRunID } = begun.body
    const path = `/v1/billingruns/${billingRunID}`
    expect([begun.status, begun.body, begun.headers['location'], begun.headers['preference-applied']]).toEqual([
      202,
      { billingRunID: expect.any(Number) },
      path,
      'respond-async',
    ])
    expect(await doneRun(client, path)).toMatchObject({
      billingRunID,
      Cause: 'clock',
      Until: '2027-03-01T00:00:00Z',
      Invoices: 2,
      Failure: null,
      Result: {
        Now: '2027-03-01T12:00:00.000Z',
        From: '2027-01-01T08:00:00.000Z',
        Days: 59,
        Invoices: 2,
        Renewals: 2,
        Expired: 0,
        Collected: 0,
        Declined: 0,
        Unknown: 0,
        Failed: [],
      },
    })
    expect(await rowsOf(client)).toHaveLength(3)
    const again = await client.put('/v1/clock', { Now: '2027-03-01T12:00:00Z' }, key)
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([202, { billingRunID }, 'true'])
    expect(await runsOf(client)).toHaveLength(1)
  })

  test('is answered as any other where nothing is to be done, and where it is refused', async () => {
    const { client } = await shop(service)
    const Now = '2027-01-01T08:00:00Z'
    const same = await client.put('/v1/clock', { Now }, ASYNC)
    expect([same.status, same.body.Days]).toEqual([200, 0])
    expect((await client.put('/v1/clock', { Now: '2026-12-31' }, ASYNC)).status).toBe(409)
    expect((await client.put('/v1/clock', { Now: 'later' }, ASYNC)).status).toBe(400)
  })
})

test('the clock shows how far it is moved, and by which run, while it is', async () => {
  const { client, add } = await shop(service)
  await add()
  let seen: unknown
  const db = watched(async ({ text }) => {
    if (seen === undefined && text.includes('update accounts set clock_at')) {
      seen = null
      seen = (await client.get('/v1/clock')).body
    }
  })
  const begun: bigint[] = []
  const wish = {
    account: client.id,
    to: '2027-02-01T00:00:00.000Z',
    actor: 'test',
    onBegun: (id: bigint) => begun.push(id),
  }
  await moveClock({ ...deps, db }, wish)
  expect(seen).toEqual({
    Now: '2027-01-01T08:00:00.000Z',
    Until: '2027-02-01T00:00:00.000Z',
    billingRunID: Number(begun[0]),
  })
  expect((await client.get('/v1/clock')).body).toEqual({ Now: wish.to, Until: null, billingRunID: null })
})

describe('a move that could not be finished', () => {
  const failureOf = async (client: TestClient) => {
    const [run] = await runsOf(client)
    const { Result, Failure } = (await client.get(`/v1/billingruns/${run.billingRunID}`)).body
    return { Result, Failure }
  }

  test('has the reason and the day reached in its run', async () => {
    const { client, add } = await shop(service)
    await add()
    let reached = ''
    const db = watched(({ text, values }) => {
      if (text.includes('update accounts set clock_at')) reached = String(values[0])
      if (reached.startsWith('2027-02-01') && text.includes('update billing_runs set done'))
        throw new Error('disk full')
    })
    const wish = { account: client.id, to: '2027-04-10T09:00:00.000Z', actor: 'test' }
    await expect(moveClock({ ...deps, db }, wish)).rejects.toMatchObject({ kind: 'broken' })
    const failure = {
      Code: 'clock_stopped',
      Message: expect.stringContaining('stands at 2027-02-01'),
      Reached: '2027-02-01T00:00:00Z',
    }
    expect(await failureOf(client)).toEqual({ Result: null, Failure: failure })
    expect((await client.get('/v1/clock')).body).toMatchObject({ Until: null, billingRunID: null })
  })

  test('and was cut off has that once another worker has ended its run', async () => {
    const { client, add } = await shop(service, { termType: 'days', price: 1 })
    await add()
    const to = '2027-02-10T00:00:00.000Z'
    const killed = startClockProcess({ connection: service.connection, account: client.id, to })
    expect(await killed.said('day 2027-01-03')).toBeDefined()
    killed.child.kill('SIGKILL')
    await killed.ended
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update billing_runs set leased_until = now() - interval '1 second' where account_id = ${client.id}`),
    )
    const [run] = await runsOf(client)
    const { Now } = (await client.get('/v1/clock')).body
    await workRun({ ...deps, db: service.db }, client.id, BigInt(run.billingRunID))
    const failure = {
      Code: 'clock_stopped',
      Message: expect.stringContaining('has ended'),
      Reached: `${Now.slice(0, 10)}T00:00:00Z`,
    }
    expect(await failureOf(client)).toEqual({ Result: null, Failure: failure })
  })
})
