import { expect, test } from 'vitest'
import { createTestDatabase, openTestDatabase } from '../../../test/support/app.ts'
import { bigints, dates } from './columns.ts'
import { sql } from './sql.ts'

const db = openTestDatabase(await createTestDatabase())

test('identifiers and amounts arrive as they were sent, whatever their size and sign', async () => {
  const rows = [0n, 1n, -1n, 2n ** 62n, -(2n ** 63n), 2n ** 63n - 1n, null].map((value) => ({ value }))
  const found = await db.unscoped.rows(sql`select value from unnest(${bigints(rows, 'value')}::bigint[]) as value`)
  expect(found).toEqual(rows)
})

test('days arrive as they were sent, before and after 1970 and 2000', async () => {
  const rows = [
    '1900-01-01',
    '1970-01-01',
    '1999-12-31',
    '2000-01-01',
    '2000-02-29',
    null,
    null,
    '2999-12-31',
    '2999-12-31',
  ].map((value) => ({ value }))
  const found = await db.unscoped.rows(sql`select value from unnest(${dates(rows, 'value')}::date[]) as value`)
  expect(found).toEqual(rows)
})

test('no rows make an empty array', async () => {
  const none: { id: bigint; day: string }[] = []
  const [counted] = await db.unscoped.rows<{ n: number }>(sql`
    select (cardinality(${bigints(none, 'id')}::bigint[]) + cardinality(${dates(none, 'day')}::date[]))::int as "n"`)
  expect(counted?.n).toBe(0)
})
