import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/app.ts'
import { arrayLiteral, column, fragment, NOTHING, sql } from './sql.ts'

const client = new pg.Client(await createTestDatabase())
await client.connect()
afterAll(() => client.end())

describe('statements', () => {
  test('every value is a parameter, never text', () => {
    const evil = "'; drop table customers; --"
    expect(sql`select ${evil}, ${1n}`).toMatchObject({ text: 'select $1, $2', values: [evil, 1n] })
  })

  test('fragments are put in as they stand, with their parameters in order, nested ones too', () => {
    const inner = fragment`b = ${2}`
    const outer = fragment`and (${inner} or c = ${3})`
    const statement = sql`select 1 where a = ${1} ${outer} ${NOTHING} and d = ${4}`
    expect(statement.text.replace(/\s+/g, ' ')).toBe('select 1 where a = $1 and (b = $2 or c = $3) and d = $4')
    expect(statement.values).toEqual([1, 2, 3, 4])
  })

  test('equal texts share a name, different ones do not, also from one template', () => {
    const find = (extra: typeof NOTHING, value: number) => sql`select ${value} ${extra}`
    expect(find(NOTHING, 1).name).toBe(find(NOTHING, 2).name)
    expect(find(fragment`limit 1`, 1).name).not.toBe(find(NOTHING, 1).name)
    expect(find(fragment`limit 1`, 1).text).toContain('limit 1')
  })
})

describe('array parameters', () => {
  test('every text comes back as it was, for one row as for many', async () => {
    const texts = fc.array(
      fc.option(
        fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\u0000', '')),
        { nil: null },
      ),
      { minLength: 1, maxLength: 20 },
    )
    await fc.assert(
      fc.asyncProperty(texts, async (values) => {
        for (const literal of [
          arrayLiteral(values),
          column(
            values.map((value) => ({ value })),
            'value',
          ),
        ]) {
          const { rows } = await client.query('select array_to_json($1::text[])::text as found', [literal])
          expect(JSON.parse(rows[0].found)).toEqual(values)
        }
      }),
      { numRuns: 60 },
    )
    const awkward = ['', 'null', 'NULL', '{}', ',', '"', '\\', ' ', '\n', 'a b', '\u00a0', '{a,b}', '\v']
    const { rows } = await client.query('select array_to_json($1::text[])::text as found', [arrayLiteral(awkward)])
    expect(JSON.parse(rows[0].found)).toEqual(awkward)
  })

  test('an empty column is an empty array', () => {
    expect(column([] as { a: string }[], 'a')).toBe('{}')
  })
})
