import { afterEach, describe, expect, test, vi } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { Fault } from '../../kernel/fault.ts'
import { sql } from '../database/sql.ts'
import { Places } from '../places.ts'
import { ASKED_KINDS, type AskedKind, LONG_BOUNDS, tooManyOf } from './kinds.ts'
import { LongOperations } from './long-operations.ts'
import { whilePresent } from './presence.ts'
import { listLongFigures, listLongOperations } from './queries.ts'

/** Long operations of several accounts in two processes, which share nothing but the database. */

const service = await startTestService()
const { db } = service
const processes = [new LongOperations({ db, longDb: db }), new LongOperations({ db, longDb: db })] as const
afterEach(() => vi.useRealTimers())

const refusal = () => new Fault('busy', [{ code: 'one_at_a_time', message: 'One at a time.', field: null }], 1)
const live = async () => (await service.newAccount({ mode: 'live', clockAt: null })).id

/** Begins an operation that ends when the test ends it. */
function begin(
  kind: AskedKind,
  account: bigint,
  { of = processes[0], isTest = false, gone }: { of?: LongOperations; isTest?: boolean; gone?: AbortSignal } = {},
) {
  let end = () => {}
  let isRunning = false
  let settle = { resolve: () => {}, reject: (_error: unknown) => {} }
  const running = new Promise<void>((resolve, reject) => (settle = { resolve, reject }))
  const done = of.run({ kind, account, isTest, refusal, gone }, async (about) => {
    isRunning = true
    settle.resolve()
    about.isAbout('7')
    about.progress(3, 8)
    await new Promise<void>((resolve) => (end = resolve))
    return 'done'
  })
  done.catch((error: unknown) => settle.reject(error))
  running.catch(() => {})
  return {
    running,
    isRunning: () => isRunning,
    done,
    end: () => {
      end()
      return done
    },
  }
}

const mine = async (accounts: readonly bigint[]) =>
  (await listLongOperations(db.unscoped)).filter(({ account }) => account !== null && accounts.includes(account))

async function untilWaiting(account: bigint): Promise<void> {
  await vi.waitFor(async () => expect((await mine([account])).map(({ state }) => state)).toEqual(['waiting']), 10_000)
}

describe('places', () => {
  test('of a kind wait for nothing of another kind: with all exports taken, files are read and clocks are moved at once', async () => {
    const accounts = await Promise.all(Array.from({ length: 4 }, live))
    const [one, two, three, four] = accounts as [bigint, bigint, bigint, bigint]
    const exports = [begin('export', one), begin('export', two)]
    await Promise.all(exports.map(({ running }) => running))
    const late = begin('export', three)
    await untilWaiting(three)
    const others = [begin('bank_file', one), begin('bank_file', four), begin('clock', one), begin('clock', four)]
    await Promise.all(others.map(({ running }) => running))
    expect(late.isRunning()).toBe(false)
    for (const operation of [...others, ...exports]) await operation.end()
    await late.running
    expect(await late.end()).toBe('done')
    expect(await mine(accounts)).toEqual([])
  })

  test.each(['export', 'bank_file'] as const)(
    'of test accounts are one, whatever they ask for, and leave the other to a live account: %s',
    async (kind) => {
      const [one, two, three] = await Promise.all([live(), live(), live()])
      const first = begin(kind, one, { isTest: true })
      await first.running
      const second = begin(kind, two, { isTest: true })
      await untilWaiting(two)
      const ofLive = begin(kind, three)
      await ofLive.running
      expect(second.isRunning()).toBe(false)
      await ofLive.end()
      await new Promise(setImmediate)
      expect(second.isRunning()).toBe(false)
      await first.end()
      await second.running
      await second.end()
    },
  )

  test('of clocks are two, which test accounts alone take', async () => {
    const [one, two] = await Promise.all([live(), live()])
    const both = [begin('clock', one, { isTest: true }), begin('clock', two, { isTest: true })]
    await Promise.all(both.map(({ running }) => running))
    for (const operation of both) await operation.end()
  })

  test.each(ASKED_KINDS)(
    'are waited for by fifty, each for 20 seconds; the refusal names the kind: %s',
    async (kind) => {
      vi.useFakeTimers()
      const places = new Places(LONG_BOUNDS[kind], tooManyOf(kind))
      for (const account of [1n, 2n]) await places.take(account)
      const outcome = (account: bigint) => places.take(account).catch((error: unknown) => error)
      const waiting = Array.from({ length: 50 }, (_, place) => outcome(BigInt(place + 3)))
      const busy = { kind: 'unavailable', problems: [{ code: 'too_busy', field: null }], retryAfterSeconds: 2 }
      const words = { clock: 'clock moves', export: 'exports', bank_file: 'bank files' }[kind]
      const beyond = await outcome(60n)
      expect(beyond).toMatchObject(busy)
      expect((beyond as Fault).message).toContain(`Too many ${words} `)
      await vi.advanceTimersByTimeAsync(19_999)
      expect(places.waiting).toBe(50)
      await vi.advanceTimersByTimeAsync(1)
      expect(places.waiting).toBe(0)
      for (const refused of await Promise.all(waiting)) expect(refused).toMatchObject(busy)
    },
  )
})

describe('a second one of an account', () => {
  test('is refused in every process, with what runs there; another kind is not', async () => {
    const account = await live()
    const first = begin('export', account)
    await first.running
    await db.transaction(account, (tx) =>
      tx.rows(sql`update leases set done = 3, total = 8 where account_id = ${account}`),
    )
    for (const of of processes) {
      const refused = await begin('export', account, { of }).done.catch((error: unknown) => error)
      expect(refused).toMatchObject({ kind: 'busy', problems: [{ code: 'one_at_a_time' }], retryAfterSeconds: 1 })
      expect((refused as Fault).message).toMatch(
        /^One at a time\. It has run since \d{4}-\d\d-\d\dT[\d:]{8}Z, 3 of 8 done\.$/,
      )
    }
    const file = begin('bank_file', account, { of: processes[1] })
    await file.running
    await file.end()
    await first.end()
    const next = begin('export', account, { of: processes[1] })
    await next.running
    await next.end()
  })

  test('is told where the first one only waits for its place', async () => {
    const [one, two, three] = await Promise.all([live(), live(), live()])
    const running = [begin('bank_file', one), begin('bank_file', two)]
    await Promise.all(running.map((operation) => operation.running))
    const waiting = begin('bank_file', three)
    await untilWaiting(three)
    const refused = await begin('bank_file', three, { of: processes[1] }).done.catch((error: Error) => error.message)
    expect(refused).toMatch(/^One at a time\. It has waited for its place since .+Z\.$/)
    for (const operation of running) await operation.end()
    await waiting.running
    await waiting.end()
  })

  test('begins once the first one’s process has died and its lease has lapsed, and a dead one is listed nowhere', async () => {
    const account = await live()
    const dead = begin('clock', account)
    await dead.running
    await db.transaction(account, (tx) =>
      tx.rows(
        sql`update leases set leased_until = clock_timestamp() - interval '1 second' where account_id = ${account}`,
      ),
    )
    expect(await mine([account])).toEqual([])
    const next = begin('clock', account, { of: processes[1] })
    await next.running
    expect(await mine([account])).toMatchObject([{ kind: 'clock', state: 'running' }])
    await dead.end()
    expect(await mine([account])).toMatchObject([{ kind: 'clock', state: 'running' }])
    await next.end()
  })
})

test('a caller who hangs up while it waits gives up its turn at once', async () => {
  const [one, two, three] = await Promise.all([live(), live(), live()])
  const running = [begin('export', one), begin('export', two)]
  await Promise.all(running.map((operation) => operation.running))
  const gone = new AbortController()
  const waiting = begin('export', three, { gone: gone.signal })
  await untilWaiting(three)
  gone.abort(new Error('gone'))
  await expect(waiting.done).rejects.toThrow('gone')
  expect(await mine([three])).toEqual([])
  for (const operation of running) await operation.end()
})

describe('what is listed', () => {
  test('are the operations of all processes with what they say of themselves, and the figures count them', async () => {
    const account = await live()
    const operation = begin('export', account)
    await operation.running
    const verified = whilePresent(
      db,
      account,
      { kind: 'verification' },
      async ({ progress }) => {
        progress(1, 2)
        await vi.waitFor(async () => expect(await mine([account])).toHaveLength(2), 10_000)
        const found = await mine([account])
        expect(found.map(({ kind, state }) => [kind, state])).toEqual([
          ['export', 'running'],
          ['verification', 'running'],
        ])
        for (const { process: name, seconds, begunAt } of found) {
          expect(name).toMatch(new RegExp(`:${process.pid}$`))
          expect(seconds).toBeGreaterThanOrEqual(0)
          expect(begunAt).toMatch(/^\d{4}-/)
        }
        const figures = await listLongFigures(db.unscoped)
        expect(figures).toContainEqual({ name: 'long_operations', label: 'export running', value: 1 })
        expect(figures).toContainEqual({ name: 'long_operations', label: 'verification running', value: 1 })
        expect(figures.map(({ name, label }) => `${name} ${label}`)).toContain('long_operation_seconds export')
      },
      0,
    )
    await verified
    await operation.end()
    expect(await mine([account])).toEqual([])
  })

  test('is a billing run once: waiting without a worker, running with it, and not beside the clock that it belongs to', async () => {
    const account = await live()
    const insert = (cause: string) =>
      db.transaction(account, (tx) =>
        tx.rows(sql`insert into billing_runs (account_id, cause, until_date, created_at, done, total)
          values (${account}, ${cause}, '2027-01-01', now(), 2, 5)`),
      )
    await insert('request')
    expect(await mine([account])).toMatchObject([{ kind: 'billing_run', state: 'waiting', done: 2n, total: 5n }])
    await insert('clock')
    const operation = begin('clock', account)
    await operation.running
    const found = await mine([account])
    expect(found.map(({ kind }) => kind)).toEqual(['clock', 'billing_run'])
    expect(found[0]?.about).not.toBe(found[1]?.about)
    await operation.end()
    expect((await mine([account])).map(({ kind }) => kind)).toEqual(['billing_run', 'billing_run'])
    await db.transaction(account, (tx) => tx.rows(sql`delete from billing_runs where account_id = ${account}`))
  })
})
