import { afterAll, expect, test } from 'vitest'
import { createTestDatabase, openTestDatabase } from '../../../test/support/app.ts'
import { probeServer } from '../../../test/support/probe.ts'
import type { Queryable } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { Places } from '../places.ts'
import { lookupOperation, readOperation } from './operation.ts'

/** Reads that are tried as short ones, and turn out to be long. */

const db = openTestDatabase(await createTestDatabase())
afterAll(() => db.close())

const tries: string[] = []
const about = { method: 'GET' as const, tag: 'Test', summary: 'Test', success: { status: 200 } }
const rowsOf = (way: string) => async (reading: Queryable, _context: object, input: { params: object }) => {
  const { count } = input.params as { count: string }
  tries.push(`${way} ${count}`)
  const rows = await reading.rows(sql`select n from generate_series(1, ${count}::int) as n`)
  return { status: 200, body: `${rows.length}` }
}
const operations = [
  lookupOperation({
    ...about,
    id: 'looked',
    path: '/v1/looked/{count}',
    read: rowsOf('look'),
    readLong: rowsOf('long'),
  }),
  readOperation({ ...about, id: 'read', path: '/v1/read/{count}', read: rowsOf('read'), readLong: rowsOf('long') }),
]
const places = new Places({ running: Infinity, perOwner: 1 })
const { client } = probeServer(db, 1n, operations, { expensiveAnswers: places })

test.each(['look', 'read'])('a %s of many rows is an expensive answer, and is not tried again', async (way) => {
  const path = way === 'look' ? '/v1/looked' : '/v1/read'
  tries.length = 0
  for (const count of [1000, 1001, 1001, 1000]) expect((await client.get(`${path}/${count}`)).body).toBe(count)
  expect(tries).toEqual([`${way} 1000`, `${way} 1001`, 'long 1001', 'long 1001', `${way} 1000`])
  const leave = await places.take(1n)
  tries.length = 0
  const refused = await client.get(`${path}/1001`)
  expect([refused.status, refused.body.Errors[0].Code, tries]).toEqual([429, 'too_many_reads', []])
  leave()
})
