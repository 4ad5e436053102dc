import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { CONNECTIONS_BESIDE_POOL } from '../../src/platform/database/open-database.ts'
import { LONG_CONNECTIONS } from '../../src/platform/long/kinds.ts'
import { serveForeignShop } from './foreign-shop.ts'
import { call, isReplayed, keyed, runProgram, serve, type Serving, startProgram } from './program.ts'

/** Two `serve` and a `work` on one database: what is held there, and what each process holds for itself. */

const POOL = 4
/** How soon what one process has changed counts in the others, also where a notification was lost; with the patience of a loaded machine. */
const SOON = { timeout: 10_000, interval: 50 }

test('two processes share keys, exclusions, locks and what they know of accounts, and each has its own rates, places and connections', async () => {
  const shop = await serveForeignShop({ DATABASE_POOL: String(POOL), RATE_LIMIT_PER_MINUTE: '10000' })
  const { env, first: one, rows, connect, untilFigure } = shop
  // The connections of each process are found by its login.
  await rows('create role two login superuser')
  await rows('create role work login superuser')
  const as = (login: string) => ({ ...env, DATABASE_URL: env.DATABASE_URL.replace('billing', login) })
  const two = await serve(as('two'), ['--no-worker'])
  const work = startProgram(['work', '--json'], as('work'))
  await work.says(/working/)

  const command = async (...words: string[]) => {
    const { out, err } = await runProgram([...words, '--json'], env)
    expect(err).toBe('')
    return JSON.parse(out)
  }

  // The same key at both at once: one works, the other is told so, and later it answers the same.
  const wall = await connect()
  await wall.query('begin')
  await wall.query('lock customers in exclusive mode')
  const customer = { Name: 'Ann', LastName: 'Gables' }
  const working = call(one, one, '/v1/customers', customer, keyed('the-same'))
  await untilFigure(
    `select count(*) from pg_locks where relation = 'perennial.customers'::regclass and not granted`,
    (n) => n > 0,
  )
  const told = await call(two, one, '/v1/customers', customer, keyed('the-same'))
  expect([told.status, told.body.Errors[0].Code]).toEqual([409, 'idempotency_key_in_use'])
  await wall.query('rollback')
  const made = await working
  expect(made.status).toBe(201)
  const replayed = await call(two, one, '/v1/customers', customer, keyed('the-same'))
  expect([replayed.status, replayed.body, isReplayed(replayed)]).toEqual([201, made.body, true])

  // Groups of both meet at the locks of one customer: each payment counts once.
  const { customerID } = made.body
  const pay = (at: Serving, n: number) =>
    call(
      at,
      one,
      '/v1/payments',
      { customerID, Amount: 1, CurrencyCode: 'USD', Date: '2026-01-15', Method: 'cash', Allocations: [] },
      keyed(`pay-${n}`),
    )
  const paid = await Promise.all(Array.from({ length: 48 }, (_, n) => pay(n % 2 === 0 ? one : two, n)))
  expect(new Set(paid.map(({ status, body }) => (status === 201 ? 201 : body)))).toEqual(new Set([201]))
  const sums = await rows('select count(*)::int as n, count(distinct payment_id)::int as ids from payments')
  expect(sums).toEqual([{ n: 48, ids: 48 }])

  // Rates are counted by each process: what one has answered takes nothing of the other's.
  const remaining = async (at: Serving) =>
    Number((await call(at, one, '/v1/account')).headers.get('ratelimit-remaining'))
  const before = await remaining(two)
  for (let n = 0; n < 5; n += 1) await remaining(one)
  expect(await remaining(two)).toBe(before - 1)

  // Keys and facts of the account are remembered by each process, and forgotten in all.
  const other = await command('key', 'create', '--name', 'second')
  const by = { account: one.account, key: other.ApiKey }
  for (const at of [one, two]) expect((await call(at, by, '/v1/account')).status).toBe(200)
  await command('key', 'revoke', String(other.ApiKeyID))
  for (const at of [one, two]) await expect.poll(async () => (await call(at, by, '/v1/account')).status, SOON).toBe(401)

  // Long work that excludes another of its account does so from any process, and all see whose it is.
  await wall.query('begin')
  await wall.query('lock billing_runs in exclusive mode')
  const clock = (await call(one, one, '/v1/clock')).body
  const move = { ...clock, Now: '2027-06-01T00:00:00Z' }
  const moving = call(one, one, '/v1/clock', move, { method: 'PUT' })
  await expect
    .poll(async () => (await command('running')).Running, SOON)
    .toMatchObject([{ Kind: 'clock', Process: `${hostname()}:${one.child.pid}` }])
  const refused = await call(two, one, '/v1/clock', move, { method: 'PUT' })
  expect([refused.status, refused.body.Errors[0].Message]).toEqual([409, expect.stringMatching(/It has (run|waited)/)])

  // Each opens as many connections as doctor adds up: the first, in which all kinds of work wait, those of all kinds.
  const second = await command('account', 'create', '--test')
  const ofSecond = { account: second.AccountID, key: second.ApiKey }
  const neighbour = (await call(one, ofSecond, '/v1/customers', customer)).body.customerID
  await wall.query('lock customers in access exclusive mode')
  const asked = [
    { whose: one, id: customerID },
    { whose: ofSecond, id: neighbour },
  ].flatMap(({ whose, id }) =>
    Array.from({ length: 20 }, (_, n) => [
      call(one, whose, '/v1/customers', { Name: `N${n}`, LastName: 'Wall' }),
      call(one, whose, `/v1/customers/${id}/balances`),
      call(one, whose, `/v1/customers/${id}`),
    ]).flat(),
  )
  const opened = async () =>
    Object.fromEntries(
      (
        await rows(
          `select usename as login, count(*)::int as n from pg_stat_activity where application_name like 'perennial%' group by 1`,
        )
      ).map(({ login, n }) => [login, n]),
    )
  const { serve: ofServe, work: ofWork } = CONNECTIONS_BESIDE_POOL
  // All but those of long work, of which just the one that moves the clock is there.
  await expect.poll(async () => (await opened())['billing'], SOON).toBeGreaterThan(POOL + ofServe - LONG_CONNECTIONS)
  const there = await opened()
  expect(there['billing']).toBeLessThanOrEqual(POOL + ofServe)
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
