import { expect, test } from 'vitest'
import { createTestDatabase, openTestDatabase } from '../../../test/support/app.ts'
import { bigintList, bigints, dates, deduplicated, texts } from './columns.ts'
import { column, sql } from './sql.ts'

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

test('texts arrive as they were sent, whatever signs stand in them', async () => {
  const rows = ['', 'a "quoted", {braced} \\ one', 'ü€😀\n', 'NULL', null, 'x'.repeat(100_000)].map((value) => ({
    value,
  }))
  const found = await db.unscoped.rows(sql`select value from unnest(${texts(rows, 'value')}::text[]) as value`)
  expect(found).toEqual(rows)
})

test('no rows make an empty array', async () => {
  const none: { id: bigint; day: string }[] = []
  const [counted] = await db.unscoped.rows<{ n: number }>(sql`
    select (cardinality(${bigints(none, 'id')}::bigint[]) + cardinality(${dates(none, 'day')}::date[]))::int as "n"`)
  expect(counted?.n).toBe(0)
})

test('rows arrive as they were sent, in their order, however many shapes they have', async () => {
  for (const shapes of [1, 3, 64, 65, 1000]) {
    const rows = Array.from({ length: 1000 }, (_, index) => ({
      id: BigInt(index),
      name: index % shapes === 1 ? null : `name ${index % shapes}`,
      day: index % shapes === 2 ? null : '2027-02-01',
    }))
    const found: unknown[] = []
    for (const part of deduplicated(rows, ['name', 'day'])) {
      expect(part.distinct.length).toBeLessThanOrEqual(64)
      expect(part.offset).toBe(found.length)
      found.push(
        ...(await db.unscoped.rows(sql`
          select r.id, (${column(part.distinct, 'name')}::text[])[r.shape] as "name", (${dates(part.distinct, 'day')}::date[])[r.shape]::text as "day"
            from unnest(${bigintList(part.rows.map(({ id }) => id))}::bigint[], ${part.positions}::integer[]) as r(id, shape)`)),
      )
    }
    expect(found).toEqual(rows)
  }
})

test('a value that is missing and the text that says so are two shapes', () => {
  const [part] = deduplicated([{ name: null }, { name: 'null' }, { name: '' }, { name: null }], ['name'])
  expect(part?.distinct.map(({ name }) => name)).toEqual([null, 'null', ''])
})

test('no rows are no statement', () => {
  expect(deduplicated([], [])).toEqual([])
})
