import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import { runRows } from './row-query.ts'
import { asCount, sql, type Statement } from './sql.ts'
import { clientConfig, openDatabase } from './open-database.ts'
import { SCOPES } from './scoped-query.ts'
import { answerTo } from './watch.ts'

const connection = await createTestDatabase()
const db = openDatabase(connection, { role: undefined, poolSize: 1, lanes: 1 })
afterAll(() => db.close())

const both = (run: (rows: typeof db.unscoped.rows) => Promise<unknown>) =>
  Promise.all([run(db.lookup(1n).rows), db.transaction(1n, (tx) => run(tx.rows))])

test('rows have their columns in order with values read by type, the same at every execution', async () => {
  const statement = (day: string) =>
    sql`select 7::bigint as "id", null::text as "nothing", 'it''s "so"' as "text, with: signs", true as "flag", ${day}::date as "day", 1.50 as "price"`
  for (const day of ['2027-01-31', '2028-02-29', '2000-01-01']) {
    const row = {
      id: 7n,
      nothing: null,
      'text, with: signs': 'it\'s "so"',
      flag: true,
      day,
      price: { coefficient: 15n, scale: 1 },
    }
    await both(async (rows) => expect(await rows(statement(day))).toEqual([row]))
  }
})

test('a statement that fails leaves the next ones on its connection as they are', async () => {
  const part = (by: number) => sql`select 100 / ${by}::int as "part"`
  const results = await Promise.allSettled([1, 0, 2, 0, 5].map((by) => db.lookup(1n).rows<{ part: number }>(part(by))))
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value[0]?.part : 'refused'))).toEqual([
    100,
    'refused',
    50,
    'refused',
    20,
  ])
})

test('a statement without a result answers how many rows it changed where that is asked for', async () => {
  await db.transaction(1n, (tx) => tx.rows(sql`create table perennial.changed (n int)`))
  const count = async (statement: Statement) => {
    const inTransaction = await db.transaction(1n, (tx) => tx.count(asCount(statement)))
    const gathered = await db.transaction(1n, (tx) => tx.part().count(asCount(statement)), {
      gathered: { lockMs: 50 },
    })
    return [inTransaction, gathered]
  }
  expect(await count(sql`insert into perennial.changed select generate_series(1, 12)`)).toEqual([12, 12])
  expect(await count(sql`update perennial.changed set n = n + 100 where n between 3 and 5`)).toEqual([6, 0])
  expect(await count(sql`delete from perennial.changed where n > 100`)).toEqual([6, 0])
  expect(await db.transaction(1n, (tx) => tx.rows(sql`update perennial.changed set n = n`))).toEqual([])
})

test('a value that cannot be read fails its statement alone', async () => {
  const client = new pg.Client(clientConfig(connection, undefined))
  await client.connect()
  const rows = (text: string, name: string) => runRows(client, { text, name, values: [] })
  const [first, second] = await Promise.allSettled([
    rows(`select 'NaN'::numeric as "price"`, 'unreadable'),
    rows(`select 1 as "one"`, 'readable'),
  ])
  await client.end()
  expect(first.status).toBe('rejected')
  expect(second).toEqual({ status: 'fulfilled', value: [{ one: 1 }] })
})

test('what is sent without waiting is done before what follows, and takes the transaction with it when it fails', async () => {
  await db.transaction(1n, (tx) => tx.rows(sql`create table perennial.sent (n int primary key)`))
  const add = (n: number) => sql`insert into perennial.sent values (${n})`
  const count = sql`select count(*)::int as "n" from perennial.sent`
  const counted = await db.transaction(1n, async (tx) => {
    tx.send(add(1))
    tx.send(add(2))
    return tx.rows(count)
  })
  expect(counted).toEqual([{ n: 2 }])
  await expect(
    db.transaction(1n, async (tx) => {
      await tx.rows(add(3))
      tx.send(add(1))
    }),
  ).rejects.toMatchObject({ code: '23505' })
  await expect(
    db.transaction(1n, async (tx) => {
      tx.send(add(1))
      await tx.rows(count)
    }),
  ).rejects.toMatchObject({ code: '23505' })
  expect(await db.transaction(1n, (tx) => tx.rows(count))).toEqual([{ n: 2 }])
})

test('a question of the watch that failed is over before the next one is sent: the driver warns of statements behind others', async () => {
  const warnings: Error[] = []
  const hear = (warning: Error) => void warnings.push(warning)
  process.on('warning', hear)
  const client = new pg.Client(clientConfig(connection, undefined))
  await client.connect()
  const scopes = { ...SCOPES.plain, wrapsReads: true }
  const failing = [sql`select 1 / 0 as "n"`]
  for (let n = 0; n < 3; n += 1) await expect(answerTo(client, scopes, failing)).rejects.toThrow('division by zero')
  expect(await answerTo(client, scopes, [sql`select 1 as "n"`])).toEqual({ n: 1 })
  await client.end()
  process.off('warning', hear)
  expect(warnings).toEqual([])
})
