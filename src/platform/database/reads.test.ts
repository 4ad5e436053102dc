import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import { clientConfig, openDatabase } from './open-database.ts'
import { TooManyRows } from './failures.ts'
import { LOOKUP_ROWS_MAX } from './lanes.ts'
import { sql } from './sql.ts'

/** Reads of callers: whole, bounded, and ended when nobody waits for them. */

const connection = await createTestDatabase()
const db = openDatabase(connection, { role: undefined, poolSize: 2, lanes: 1, reads: 2 })
/** Writes, holds locks and looks at what runs. */
const other = new pg.Client(clientConfig(connection, undefined))
const [MINE, THEIRS] = [1n, 2n]
const LOCK = 77

beforeAll(async () => {
  await other.connect()
  await other.query('create table perennial.toggled (state text not null)')
  await other.query(`insert into perennial.toggled values ('before')`)
})
afterAll(async () => {
  await db.close()
  await other.end()
})

const state = () => sql`select state from perennial.toggled`
const toggle = (to: string) => other.query(`update perennial.toggled set state = $1`, [to])
const waitForLock = () => sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)::text as "got"`

/** Waits until just so many sessions wait for the lock. */
async function untilWaiting(sessions: number): Promise<void> {
  const waiting = `select count(*)::int as n from pg_locks
    where locktype = 'advisory' and objid = ${LOCK} and not granted and database = (select oid from pg_database where datname = current_database())`
  for (;;) if ((await other.query<{ n: number }>(waiting)).rows[0]?.n === sessions) return
}

/** Runs `work` while a lock is held that statements can wait for. */
async function whileLocked<T>(work: () => Promise<T>): Promise<T> {
  await other.query(`select pg_advisory_lock(${LOCK})`)
  return work().finally(() => other.query(`select pg_advisory_unlock(${LOCK})`))
}

describe('one moment is shown', () => {
  test('by a look-up, whose statements are one exchange, while a writer commits between two of them', async () => {
    await toggle('before')
    const lookup = db.lookup(MINE)
    const found = await whileLocked(async () => {
      const answers = [lookup.rows(state()), lookup.rows(waitForLock()), lookup.rows(state())]
      await untilWaiting(1)
      await toggle('after')
      return answers
    }).then((answers) => Promise.all(answers))
    expect([found[0], found[2]]).toEqual([[{ state: 'before' }], [{ state: 'before' }]])
    expect(await db.lookup(MINE).rows(state())).toEqual([{ state: 'after' }])
  })

  test('by a snapshot, also to statements that are sent later', async () => {
    await toggle('before')
    const snapshot = db.snapshot(MINE)
    expect(await snapshot.rows(state())).toEqual([{ state: 'before' }])
    await toggle('after')
    expect(await Promise.all([snapshot.rows(state()), snapshot.rows(state())])).toEqual([
      [{ state: 'before' }],
      [{ state: 'before' }],
    ])
    snapshot.end()
    const next = db.snapshot(MINE)
    expect(await next.rows(state())).toEqual([{ state: 'after' }])
    next.end()
  })

  test('by nothing that could need a second exchange: a look-up that asks later is an error', async () => {
    const lookup = db.lookup(MINE)
    await lookup.rows(state())
    await expect(lookup.rows(state())).rejects.toThrow('at once')
  })

  test('to whoever reads: a read cannot write', async () => {
    const write = sql`update perennial.toggled set state = 'written'`
    const snapshot = db.snapshot(MINE)
    await expect(snapshot.rows(write)).rejects.toMatchObject({ code: '25006' })
    snapshot.end()
    await expect(db.lookup(MINE).rows(write)).rejects.toMatchObject({ code: '25006' })
  })
})

test('one statement of a look-up that fails fails the look-up and leaves its lane to others', async () => {
  const lookup = db.lookup(MINE)
  const failing = [
    lookup.rows(state()),
    lookup.rows(sql`select 1 / 0 as "n"`),
    lookup.rows(sql`select 'new' as "text"`),
  ]
  const others = [1, 2].map((n) => db.lookup(THEIRS).rows(sql`select ${n}::int as "n"`))
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
  expect(await Promise.all(others)).toEqual([[{ n: 1 }], [{ n: 2 }]])
  expect(await db.lookup(MINE).rows(sql`select 'new' as "text"`)).toEqual([{ text: 'new' }])
})

test.each([
  ['record', 50],
  ['page', 25],
] as const)(
  'look-ups (%s) of one account wait for each other, and those of another for few of them',
  async (size, few) => {
    const ended: string[] = []
    const { stuck, other } = await whileLocked(async () => {
      const many = Array.from({ length: 200 }, () => db.lookup(MINE, size).rows(waitForLock()))
      await untilWaiting(1)
      return {
        stuck: many.map((one) => one.then(() => ended.push('mine'))),
        other: db
          .lookup(THEIRS)
          .rows(state())
          .then(() => ended.push('theirs')),
      }
    })
    await Promise.all([...stuck, other])
    expect([ended.length, ended.indexOf('theirs') < few]).toEqual([201, true])
  },
)

test('many rows are handed on in turns of the event loop of their own while several accounts read', async () => {
  const many = (count: number) => sql`select n from generate_series(1, ${count}::int) as n`
  let turn = 0
  let counting = setImmediate(function count() {
    turn += 1
    counting = setImmediate(count)
  })
  const turnsOf = (reads: Promise<unknown>[]) => Promise.all(reads.map((read) => read.then(() => turn)))
  await db.lookup(THEIRS).rows(many(1))
  const pages = [100, 101, 102].map((count) => db.lookup(MINE, 'page').rows(many(count)))
  expect(new Set(await turnsOf(pages)).size).toBe(3)
  await db.lookup(THEIRS).rows(many(1))
  const snapshot = db.snapshot(MINE)
  expect(new Set(await turnsOf([100, 101, 102].map((count) => snapshot.rows(many(count))))).size).toBe(3)
  snapshot.end()
  clearImmediate(counting)
})

describe('a look-up of many rows', () => {
  const numbers = (count: number) => sql`select n from generate_series(1, ${count}::int) as n`

  test('is refused where one of its statements has more than it may, and leaves its lane to others', async () => {
    for (let round = 0; round < 2; round += 1) {
      const lookup = db.lookup(MINE)
      const asked = [lookup.rows(state()), lookup.rows(numbers(LOOKUP_ROWS_MAX + 1)), lookup.rows(numbers(2))]
      const other = db.lookup(THEIRS).rows(numbers(3))
      for (const result of await Promise.allSettled(asked))
        expect(result).toMatchObject({ status: 'rejected', reason: expect.any(TooManyRows) })
      expect(await other).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    }
  })

  test('is answered whole up to the bound, in each of its statements', async () => {
    const lookup = db.lookup(MINE)
    const counts = [LOOKUP_ROWS_MAX, LOOKUP_ROWS_MAX - 1, 1, 0]
    const found = await Promise.all(counts.map((count) => lookup.rows(numbers(count))))
    expect(found.map(({ length }) => length)).toEqual(counts)
  })
})

describe('a snapshot that is tried as a short one', () => {
  const numbers = (count: number) => sql`select n from generate_series(1, ${count}::int) as n`

  test('refuses a statement of more rows than it may have, except in portions, and gives its connection back', async () => {
    for (const [count, isRefused] of [
      [5, false],
      [6, true],
    ] as const) {
      const snapshot = db.snapshot(MINE, undefined, 5)
      for await (const portion of snapshot.portions(numbers(count), 100)) expect(portion).toHaveLength(count)
      const rows = snapshot.rows(numbers(count))
      if (isRefused) await expect(rows).rejects.toBeInstanceOf(TooManyRows)
      else expect(await rows).toHaveLength(count)
      snapshot.end()
    }
    const next = db.snapshot(MINE)
    expect(await next.rows(numbers(2000))).toHaveLength(2000)
    next.end()
  })
})

describe('rows in portions', () => {
  const numbers = (from: number) => sql`select n from generate_series(${from}::int, 10) as n`

  test('are all of them in their order, from one moment, beside other statements of the snapshot', async () => {
    const snapshot = db.snapshot(MINE)
    const portions: number[][] = []
    for await (const rows of snapshot.portions<{ n: number }>(numbers(1), 4)) {
      portions.push(rows.map(({ n }) => n))
      await snapshot.rows(state())
    }
    for await (const rows of snapshot.portions<{ n: number }>(numbers(3), 8)) portions.push(rows.map(({ n }) => n))
    for await (const rows of snapshot.portions<{ n: number }>(numbers(11), 8)) portions.push(rows.map(({ n }) => n))
    snapshot.end()
    expect(portions).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7, 8],
      [9, 10],
      [3, 4, 5, 6, 7, 8, 9, 10],
    ])
  })
})

describe('a read whose caller is gone', () => {
  const gone = () => Object.assign(new Error('gone'), { kind: 'unavailable' })

  test('is cancelled, and its connection is lent again, quiet, to whoever waits', async () => {
    await whileLocked(async () => {
      for (let round = 0; round < 20; round += 1) {
        const callers = [new AbortController(), new AbortController()]
        // Accounts of their own: both connections are taken.
        const stuck = callers.map(({ signal }, n) => {
          const snapshot = db.snapshot(BigInt(n + 1), signal)
          return snapshot.rows(waitForLock()).finally(() => snapshot.end())
        })
        await untilWaiting(2)
        const next = db.snapshot(3n)
        const answer = Promise.all([1, 2, 3].map((n) => next.rows(sql`select ${n}::int as "n"`)))
        for (const caller of callers) caller.abort(gone())
        for (const result of await Promise.allSettled(stuck))
          expect(result).toMatchObject({ reason: { message: 'gone' } })
        expect(await answer).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]])
        next.end()
      }
      await untilWaiting(0)
    })
  })

  test('gives up its place in the queue at once', async () => {
    await whileLocked(async () => {
      const held = db.snapshot(MINE)
      const waiting = held.rows(waitForLock())
      await untilWaiting(1)
      const caller = new AbortController()
      // The share of the account is taken, so this one has no connection yet.
      const queued = db.snapshot(MINE, caller.signal)
      const refused = expect(queued.rows(state())).rejects.toThrow('gone')
      caller.abort(gone())
      await refused
      queued.end()
      expect(db.poolState().waiting).toBe(0)
      return { held, waiting }
    }).then(async ({ held, waiting }) => {
      await waiting
      held.end()
    })
  })
})

test('an account that holds its share waits, and another is read meanwhile', async () => {
  const order: string[] = []
  await whileLocked(async () => {
    const held = db.snapshot(MINE)
    const stuck = held.rows(waitForLock())
    await untilWaiting(1)
    const queued = Array.from({ length: 5 }, async () => {
      const snapshot = db.snapshot(MINE)
      await snapshot.rows(state())
      order.push('mine')
      snapshot.end()
    })
    const theirs = db.snapshot(THEIRS)
    await theirs.rows(state())
    order.push('theirs')
    theirs.end()
    return { held, stuck, queued }
  }).then(async ({ held, stuck, queued }) => {
    await stuck
    held.end()
    await Promise.all(queued)
  })
  expect(order).toEqual(['theirs', ...Array(5).fill('mine')])
})

describe('the time limit', () => {
  const limitOf = async (from: Pick<typeof db, 'snapshot' | 'lookup'>) => {
    const shown = () => sql`select current_setting('statement_timeout') as "limit"`
    const snapshot = from.snapshot(MINE)
    const found = await Promise.all([snapshot.rows(shown()), from.lookup(MINE).rows(shown())])
    snapshot.end()
    return found.flat()
  }

  test('of a read is 15 seconds, and an operator’s stricter one wins', async () => {
    expect(await limitOf(db)).toEqual([{ limit: '15s' }, { limit: '15s' }])
    for (const [given, counts] of [
      ['3s', '3s'],
      ['1h', '15s'],
    ]) {
      await other.query(`alter database ${connection.database} set statement_timeout = '${given}'`)
      const strict = openDatabase(connection, { role: undefined, poolSize: 1 })
      expect(await limitOf(strict)).toEqual([{ limit: counts }, { limit: counts }])
      await strict.close()
    }
    await other.query(`alter database ${connection.database} reset statement_timeout`)
  })

  test('ends a read with 503 too_expensive, and the next one on its connection is answered', async () => {
    await other.query(`alter database ${connection.database} set statement_timeout = '50ms'`)
    const strict = openDatabase(connection, { role: undefined, poolSize: 1, lanes: 1, reads: 1 })
    await whileLocked(async () => {
      const snapshot = strict.snapshot(MINE)
      const refused = { kind: 'unavailable', problems: [{ code: 'too_expensive' }] }
      await expect(snapshot.rows(waitForLock())).rejects.toMatchObject(refused)
      snapshot.end()
      await expect(strict.lookup(MINE).rows(waitForLock())).rejects.toMatchObject(refused)
    })
    const snapshot = strict.snapshot(THEIRS)
    expect(await snapshot.rows(sql`select 1 as "n"`)).toEqual([{ n: 1 }])
    snapshot.end()
    expect(await strict.lookup(THEIRS).rows(sql`select 1 as "n"`)).toEqual([{ n: 1 }])
    await strict.close()
    await other.query(`alter database ${connection.database} reset statement_timeout`)
  })

  test('of an answer as a whole breaks off what is read piece by piece, however short its statements, and lets its connection go', async () => {
    const brief = openDatabase(connection, { role: undefined, poolSize: 1, lanes: 1, reads: 1, snapshotMs: 50 })
    const snapshot = brief.snapshot(MINE)
    const endless = sql`select generate_series(1, 1000000000) as "n"`
    let pieces = 0
    const reading = (async () => {
      for await (const rows of snapshot.portions(endless, 10)) pieces += rows.length / 10
    })()
    await expect(reading).rejects.toMatchObject({ kind: 'unavailable', problems: [{ code: 'too_expensive' }] })
    expect(pieces).toBeGreaterThan(0)
    snapshot.end()
    const next = brief.snapshot(THEIRS)
    expect(await next.rows(sql`select 1 as "n"`)).toEqual([{ n: 1 }])
    next.end()
    await brief.close()
  })

  test('of work and writes is a bound that no read’s limit cuts short', async () => {
    const shown = () => sql`select current_setting('statement_timeout') as "limit"`
    expect(await db.reader(MINE).rows(shown())).toEqual([{ limit: '30min' }])
    expect(await db.transaction(MINE, (tx) => tx.rows(shown()), { statementMs: 300_000 })).toEqual([{ limit: '5min' }])
    expect(await db.transaction(MINE, (tx) => tx.rows(shown()))).toEqual([{ limit: '30min' }])
  })
})
