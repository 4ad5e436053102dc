import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import { clientConfig, openDatabase } from './open-database.ts'
import { sql } from './sql.ts'

/** Writes of callers: those of one account leave connections for the others. */

const connection = await createTestDatabase()
const db = openDatabase(connection, { role: undefined, poolSize: 4 })
const other = new pg.Client(clientConfig(connection, undefined))
await other.connect()
const [MINE, THEIRS] = [1n, 2n]
const LOCK = 78
afterAll(async () => {
  await db.close()
  await other.end()
})

async function untilWaiting(sessions: number): Promise<void> {
  const waiting = `select count(*)::int as n from pg_locks
    where locktype = 'advisory' and objid = ${LOCK} and not granted and database = (select oid from pg_database where datname = current_database())`
  for (;;) if ((await other.query<{ n: number }>(waiting)).rows[0]?.n === sessions) return
}

test('an account whose writes all wait has three of four connections, and another writes at once', async () => {
  await other.query(`select pg_advisory_lock(${LOCK})`)
  const locked = sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)::text as "got"`
  const writes = Array.from({ length: 30 }, () => db.transaction(MINE, (tx) => tx.rows(locked), { isShared: true }))
  await untilWaiting(3)
  const one = await db.transaction(THEIRS, (tx) => tx.rows(sql`select 1 as "n"`), { isShared: true })
  expect(one).toEqual([{ n: 1 }])
  expect(db.poolState().waiting).toBe(27)
  await untilWaiting(3)
  await other.query(`select pg_advisory_unlock(${LOCK})`)
  expect(await Promise.all(writes)).toHaveLength(30)
  expect(db.poolState().waiting).toBe(0)
})
