import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { insertCurrency } from '../../features/currencies/queries.ts'
import type { Transaction } from './database.ts'
import { APP_ROLE } from './roles.ts'
import type { Engine } from './scoped-query.ts'
import { fragment, sql } from './sql.ts'
import { clientConfig, openDatabase } from './open-database.ts'

/** The two walls between accounts, where they are built: statements that name their account, and row security. */

const service = await startTestService()
const accounts = (await Promise.all(
  ['AUD', 'BRL', 'CAD', 'CHF', 'CZK', 'DKK', 'GBP', 'HUF'].map((currency) => service.newAccount({ currency })),
)) as [TestClient, TestClient, ...TestClient[]]

/** Databases with a single connection for everybody, scoped as each engine is: whatever leaks, leaks here. What Citus is told works on one server too. */
const narrowOf = (engine: Engine) =>
  openDatabase(service.connection, { role: APP_ROLE, poolSize: 1, lanes: 1, reads: 1, engine })
const narrow = narrowOf('plain')
const wrapped = narrowOf('citus')
const each = [
  ['plain', narrow],
  ['citus', wrapped],
] as const
afterAll(() => Promise.all([narrow.close(), wrapped.close()]))

// No condition on the account: only row security holds.
const unconditioned = () => sql`select account_id as "account" from accounts`

describe.each(each)('row security alone, %s', (_engine, narrow) => {
  test('statements without a condition see only their account, thousands interleaved on one connection, errors between', async () => {
    const results = await Promise.all(
      Array.from({ length: 4000 }, async (_, turn) => {
        const { id } = accounts[(turn * 7) % accounts.length] as TestClient
        const reader = turn % 2 === 0 ? narrow.lookup(id) : narrow.reader(id)
        if (turn % 50 === 0) {
          const broken = reader.rows(sql`select account_id / (account_id - account_id) from accounts`)
          return broken.then(
            () => 'no error',
            () => 'right',
          )
        }
        const rows = await reader.rows<{ account: bigint }>(unconditioned())
        return rows.length === 1 && rows[0]?.account === id ? 'right' : 'wrong'
      }),
    )
    expect(results.filter((result) => result !== 'right')).toEqual([])
  })

  test('transactions of several accounts on one connection see only their own', async () => {
    const seen = await Promise.all(
      accounts.map(({ id }) => narrow.transaction(id, (tx) => tx.rows<{ account: bigint }>(unconditioned()))),
    )
    expect(seen.map((rows) => rows.map(({ account }) => account))).toEqual(accounts.map(({ id }) => [id]))
  })

  test('a statement that says no account fails, before and after scoped ones on the same connection', async () => {
    await expect(narrow.unscoped.rows(unconditioned())).rejects.toThrow()
    const [first] = accounts
    await narrow.reader(first.id).rows(unconditioned())
    await expect(narrow.unscoped.rows(unconditioned())).rejects.toThrow()
    await narrow.transaction(first.id, (tx) => tx.rows(unconditioned()))
    await expect(narrow.unscoped.rows(unconditioned())).rejects.toThrow()
  })

  test('nothing can be written into, or taken from, another account', async () => {
    const [mine, other] = accounts
    await expect(narrow.transaction(mine.id, (tx) => insertCurrency(tx, other.id, 'EUR'))).rejects.toMatchObject({
      code: '42501',
    })
    await expect(
      narrow.transaction(mine.id, (tx) => tx.rows(sql`update account_currencies set account_id = ${other.id}`)),
    ).rejects.toMatchObject({ code: '42501' })
    expect(
      await narrow.transaction(mine.id, (tx) =>
        tx.rows(sql`delete from account_currencies where account_id = ${other.id} returning 1`),
      ),
    ).toEqual([])
    expect(
      await narrow.transaction(mine.id, (tx) =>
        tx.rows(sql`update customers set name = 'x' where account_id = ${other.id} returning 1`),
      ),
    ).toEqual([])
  })
})

describe('conditions alone', () => {
  test('under a login that row security does not bind, a statement with its condition still sees only its account', async () => {
    const owner = openDatabase(service.connection, { role: undefined, poolSize: 1, lanes: 1, reads: 1 })
    const [mine] = accounts
    const everything = await owner.reader(mine.id).rows(unconditioned())
    expect(everything.length).toBeGreaterThanOrEqual(accounts.length)
    const found = await owner
      .reader(mine.id)
      .rows(sql`select currency from account_currencies where account_id = ${mine.id}`)
    expect(found).toEqual([{ currency: 'AUD' }])
    await owner.close()
  })
})

describe.each(each)('one connection shared by pipelined statements, %s', (_engine, narrow) => {
  test('a statement that is new and sent many times at once is prepared once and answers everybody', async () => {
    const [mine] = accounts
    const text = fragment`and 'never sent before' = ${'never sent before'}`
    const rows = await Promise.all(
      Array.from({ length: 50 }, () =>
        narrow.lookup(mine.id).rows(sql`select mode from accounts where account_id = ${mine.id} ${text}`),
      ),
    )
    expect(rows.every((found) => found.length === 1)).toBe(true)
  })

  test('a statement that cannot be prepared fails alone', async () => {
    const [mine] = accounts
    const wrong = () =>
      narrow.lookup(mine.id).rows(sql`select no_such_column from accounts where account_id = ${mine.id}`)
    const right = () => narrow.lookup(mine.id).rows<{ account: bigint }>(unconditioned())
    const results = await Promise.allSettled([right(), wrong(), right(), wrong(), right()])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'])
  })

  test('a lane that dies is opened again', async () => {
    const [mine] = accounts
    await narrow.lookup(mine.id).rows(unconditioned())
    const admin = new pg.Client(clientConfig(service.connection, undefined))
    await admin.connect()
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    await admin.end()
    const attempts: string[] = []
    for (let tries = 0; tries < 50 && attempts.at(-1) !== 'answered'; tries += 1) {
      attempts.push(
        await narrow
          .lookup(mine.id)
          .rows(unconditioned())
          .then(
            () => 'answered',
            (error: { kind?: string }) => error.kind ?? 'surprise',
          ),
      )
    }
    expect(attempts.at(-1)).toBe('answered')
    expect(attempts).not.toContain('surprise')
  })
})

describe('a transaction', () => {
  test('whose failure was swallowed is not told as committed', async () => {
    const [mine] = accounts
    const careless = narrow.transaction(mine.id, async (tx) => {
      await insertCurrency(tx, mine.id, 'EUR')
      await tx.rows(sql`select 1 / 0`).catch(() => {})
    })
    await expect(careless).rejects.toThrow('not committed')
    expect(
      await narrow
        .reader(mine.id)
        .rows(sql`select 1 from account_currencies where account_id = ${mine.id} and currency = 'EUR'`),
    ).toEqual([])
  })

  test('runs what waits for the commit after it, and not at all when it fails', async () => {
    const [mine] = accounts
    const told: string[] = []
    await narrow.transaction(mine.id, async (tx) => tx.afterCommit(() => told.push('done')))
    await narrow
      .transaction(mine.id, async (tx) => {
        tx.afterCommit(() => told.push('never'))
        throw new Error('stop')
      })
      .catch(() => {})
    expect(told).toEqual(['done'])
  })

  test('keeps what came before a savepoint whose work failed, awaited or sent, and nothing of that work', async () => {
    const [mine] = accounts
    const told: string[] = []
    const failing = async (tx: Transaction, fail: () => Promise<unknown>): Promise<unknown> =>
      tx
        .savepoint(async () => {
          await insertCurrency(tx, mine.id, 'CHF')
          tx.afterCommit(() => told.push('never'))
          await fail()
        })
        .catch((error: { code?: string; message?: string }) => error.code ?? error.message)
    const found = await narrow.transaction(mine.id, async (tx) => {
      await insertCurrency(tx, mine.id, 'SEK')
      tx.afterCommit(() => told.push('before'))
      const codes = [
        await failing(tx, () => tx.rows(sql`select 1 / 0`)),
        await failing(tx, async () => tx.send(sql`select 1 / 0`)),
        await failing(tx, () => Promise.reject(new Error('stop'))),
      ]
      await tx.savepoint(() => insertCurrency(tx, mine.id, 'NOK'))
      return codes
    })
    expect([found, told]).toEqual([['22012', '22012', 'stop'], ['before']])
    const rows = await narrow
      .reader(mine.id)
      .rows<{ currency: string }>(
        sql`select currency from account_currencies where account_id = ${mine.id} and currency in ('CHF', 'NOK', 'SEK') order by currency`,
      )
    expect(rows.map(({ currency }) => currency)).toEqual(['NOK', 'SEK'])
  })

  test('is tried again after a dead-lock or serialisation failure, from its start', async () => {
    const [mine] = accounts
    let attempts = 0
    const result = await narrow.transaction(mine.id, async () => {
      attempts += 1
      if (attempts < 3) throw Object.assign(new Error('dead-lock'), { code: '40P01' })
      return attempts
    })
    expect(result).toBe(3)
    await expect(
      narrow.transaction(mine.id, async () => {
        throw Object.assign(new Error('never ends'), { code: '40001' })
      }),
    ).rejects.toMatchObject({ kind: 'unavailable' })
  })
})

test('a statement without an account is tried again after a dead-lock, too', async () => {
  const owner = new pg.Client(clientConfig(service.connection, undefined))
  await owner.connect()
  // A sequence keeps its number when what drew it is rolled back.
  await owner.query(`create sequence tries; grant usage on sequence tries to ${APP_ROLE};
    create function perennial.fails_twice() returns bigint language plpgsql as $$
    declare try bigint := nextval('perennial.tries');
    begin
      if try < 3 then raise exception 'dead-lock' using errcode = '40P01'; end if;
      return try;
    end $$`)
  await owner.end()
  expect(await narrow.unscoped.rows(sql`select perennial.fails_twice()::text as "try"`)).toEqual([{ try: '3' }])
})
