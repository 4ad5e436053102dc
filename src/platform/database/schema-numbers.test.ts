import { expect, test } from 'vitest'
import { checkKnowsLeast, checkOthersKnow, leastOf, leastOfDatabase } from './schema-numbers.ts'

/** Which programs work on which schema. */

test.each([
  ['-- Adds a column.\n-- least: 6\n\nalter table a add b int;', 6],
  ['-- step by step\n-- least: 7\ncreate index concurrently i on a (b);', 7],
  ['-- Changes what a column means.\nupdate a set b = 1;', 9],
  ['update a set b = 1;\n-- least: 6\n', 9],
  ['', 9],
])('a migration names the least in its head, or is it: %j', (text, least) => {
  expect(leastOf(9, text)).toBe(least)
})

const row = (version: number, least: number | null, program: string | null = null) => ({
  version,
  name: `${version}.sql`,
  hash: '',
  least,
  program,
})

test('a program works on a newer database if it knows the highest least of its migrations, and is else told the version that does', () => {
  const rolled = [row(5, null), row(6, 6, '0.2.0'), row(7, 6, '0.3.0'), row(8, 6, '0.3.0')]
  expect(leastOfDatabase(rolled)).toBe(6)
  expect(() => checkKnowsLeast(rolled, 6)).not.toThrow()
  expect(() => checkKnowsLeast([...rolled, row(9, 8, '0.4.0')], 7)).toThrow(
    'The database needs a program that knows migration 8, and this version knows only 7: start version 0.3.0 or a newer one.',
  )
  expect(() => checkKnowsLeast([row(5, null)], 4)).toThrow(/start a version at least as new as/)
  expect(leastOfDatabase([])).toBe(0)
})

test('migrations run beside processes that know the least of all of them; others are named with host, process and version', () => {
  const live = (schema: number) => ({
    kind: 'serve',
    host: 'one',
    pid: schema,
    version: '0.2.0',
    schema,
    state: 'ready',
  })
  const lacking = [
    { name: '0007_a.sql', least: 6 },
    { name: '0008_b.sql', least: 7 },
  ]
  expect(() => checkOthersKnow(lacking, [live(7), live(8)])).not.toThrow()
  expect(() => checkOthersKnow(lacking, [live(7), live(6)])).toThrow(
    'The database needs 0008_b.sql, beside which these processes cannot run: serve 0.2.0 on one, process 6. Stop them, or run "perennial migrate --maintenance"; nothing was changed.',
  )
})
