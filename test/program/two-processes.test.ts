import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { CONNECTIONS_BESIDE_POOL } from '../../src/platform/database/open-database.ts'
import { LONG_CONNECTIONS } from '../../src/platform/long/kinds.ts'
import { serveForeignShop } from './foreign-shop.ts'
import { runProgram, serve, type Serving, startProgram } from './program.ts'

/** Two `serve` and a `work` on one database: what is held there, and what each process holds for itself. */

const POOL = 4
/** How soon what one process has changed counts in the others, also where a notification was lost; with the patience of a loaded machine. */
const SOON = { timeout: 10_000, interval: 50 }

test('two processes share keys, exclusions, locks and what they know of accounts, and each has its own rates, places and connections', async () => {
  const shop = await serveForeignShop({ DATABASE_POOL: String(POOL), RATE_LIMIT_PER_MINUTE: '10000' })
  const { env, first: one, authorization, rows, connect, untilFigure } = shop
  const named = (name: string) => ({ ...env, DATABASE_URL: `${env.DATABASE_URL}&application_name=${name}` })
  const two = await serve(named('two'), ['--no-worker'])
  const work = startProgram(['work', '--json'], named('work'))
  await work.says(/working/)

  const send = async (
    { address }: Pick<Serving, 'address'>,
    method: string,
    path: string,
    { body, key, as = authorization }: { body?: unknown; key?: string; as?: string } = {},
  ) => {
    const headers: Record<string, string> = { authorization: as, 'content-type': 'application/json' }
    if (key !== undefined) headers['idempotency-key'] = key
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(address + path, { method, headers, ...sent })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const command = async (...words: string[]) => {
    const { out, err } = await runProgram([...words, '--json'], env)
    expect(err).toBe('')
    return JSON.parse(out)
  }

  // The same key at both at once: one works, the other is told so, and later it answers the same.
  const wall = await connect()
  await wall.query('begin')
  await wall.query('lock customers in exclusive mode')
  const wish = { key: 'the-same', body: { Name: 'Ann', LastName: 'Gables' } }
  const working = send(one, 'POST', '/v1/customers', wish)
  await untilFigure(
    `select count(*) from pg_locks where relation = 'perennial.customers'::regclass and not granted`,
    (n) => n > 0,
  )
  const told = await send(two, 'POST', '/v1/customers', wish)
  expect([told.status, told.body.Errors[0].Code]).toEqual([409, 'idempotency_key_in_use'])
  await wall.query('rollback')
  const made = await working
  expect(made.status).toBe(201)
  const replayed = await send(two, 'POST', '/v1/customers', wish)
  expect([replayed.status, replayed.body, replayed.headers.get('idempotency-replayed')]).toEqual([
    201,
    made.body,
    'true',
  ])

  // Groups of both meet at the locks of one customer: each payment counts once.
  const { customerID } = made.body
  const pay = (at: Serving, n: number) =>
    send(at, 'POST', '/v1/payments', {
      key: `pay-${n}`,
      body: { customerID, Amount: 1, CurrencyCode: 'USD', Date: '2026-01-15', Method: 'cash', Allocations: [] },
    })
  const paid = await Promise.all(Array.from({ length: 48 }, (_, n) => pay(n % 2 === 0 ? one : two, n)))
  expect(new Set(paid.map(({ status, body }) => (status === 201 ? 201 : body)))).toEqual(new Set([201]))
  const sums = await rows('select count(*)::int as n, count(distinct payment_id)::int as ids from payments')
  expect(sums).toEqual([{ n: 48, ids: 48 }])

  // Rates are counted by each process: what one has answered takes nothing of the other's.
  const remaining = async (at: Serving) =>
    Number((await send(at, 'GET', '/v1/account')).headers.get('ratelimit-remaining'))
  const before = await remaining(two)
  for (let n = 0; n < 5; n += 1) await remaining(one)
  expect(await remaining(two)).toBe(before - 1)

  // Keys and facts of the account are remembered by each process, and forgotten in all.
  const other = await command('key', 'create', '--name', 'second')
  const as = `Basic ${Buffer.from(`${one.account}:${other.ApiKey}`).toString('base64')}`
  for (const at of [one, two]) expect((await send(at, 'GET', '/v1/account', { as })).status).toBe(200)
  await command('key', 'revoke', String(other.ApiKeyID))
  for (const at of [one, two])
    await expect.poll(async () => (await send(at, 'GET', '/v1/account', { as })).status, SOON).toBe(401)

  // Long work that excludes another of its account does so from any process, and all see whose it is.
  await wall.query('begin')
  await wall.query('lock billing_runs in exclusive mode')
  const clock = (await send(one, 'GET', '/v1/clock')).body
  const move = { body: { ...clock, Now: '2027-06-01T00:00:00Z' } }
  const moving = send(one, 'PUT', '/v1/clock', move)
  await expect
    .poll(async () => (await command('running')).Running, SOON)
    .toMatchObject([{ Kind: 'clock', Process: `${hostname()}:${one.child.pid}` }])
  const refused = await send(two, 'PUT', '/v1/clock', move)
  expect([refused.status, refused.body.Errors[0].Message]).toEqual([409, expect.stringMatching(/It has (run|waited)/)])

  // Each opens as many connections as doctor adds up: the first, in which all kinds of work wait, those of all kinds.
  const second = await command('account', 'create', '--test')
  const ofSecond = `Basic ${Buffer.from(`${second.AccountID}:${second.ApiKey}`).toString('base64')}`
  const neighbour = (await send(one, 'POST', '/v1/customers', { as: ofSecond, body: wish.body })).body.customerID
  await wall.query('lock customers in access exclusive mode')
  const asked = [
    { as: authorization, id: customerID },
    { as: ofSecond, id: neighbour },
  ].flatMap(({ as: whose, id }) =>
    Array.from({ length: 20 }, (_, n) => [
      send(one, 'POST', '/v1/customers', { as: whose, body: { Name: `N${n}`, LastName: 'Wall' } }),
      send(one, 'GET', `/v1/customers/${id}/balances`, { as: whose }),
      send(one, 'GET', `/v1/customers/${id}`, { as: whose }),
    ]).flat(),
  )
  const opened = async () =>
    Object.fromEntries(
      (
        await rows(
          `select case when application_name like 'perennial%' then 'one' else application_name end as name, count(*)::int as n
             from pg_stat_activity where application_name like 'perennial%' or application_name in ('two', 'work') group by 1`,
        )
      ).map(({ name, n }) => [name, n]),
    )
  const { serve: ofServe, work: ofWork } = CONNECTIONS_BESIDE_POOL
  // All but those of long work, of which just the one that moves the clock is there.
  await expect.poll(async () => (await opened())['one'], SOON).toBeGreaterThan(POOL + ofServe - LONG_CONNECTIONS)
  const there = await opened()
  expect(there['one']).toBeLessThanOrEqual(POOL + ofServe)
  expect(there['two']).toBeLessThanOrEqual(POOL + ofServe)
  expect(there['work']).toBeLessThanOrEqual(POOL + ofWork)
  await wall.query('rollback')
  await Promise.all([...asked, moving])
  const findings: { About: string; Says: string }[] = await command('doctor')
  const sum = 2 * (POOL + ofServe) + POOL + ofWork
  expect(findings.filter(({ About }) => About === 'processes').map(({ Says }) => Says)).toEqual([
    expect.stringContaining(`up to ${sum} connections of the`),
  ])
})
