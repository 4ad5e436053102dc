import { expect, test } from 'vitest'
import { readMigrations } from './migrations.ts'
import { statementsOf } from './script.ts'

test('a script ends its statements at semicolons, and at none within comments, quotes and bodies', () => {
  expect(
    statementsOf(`-- first; not an end
      select 'it''s; one', "a;b"; create function f() returns void language plpgsql as $$ begin perform 1; end $$;
      /* ; */ do $x$ begin execute $$ select 1; $$; end $x$`),
  ).toEqual([
    `select 'it''s; one', "a;b"`,
    'create function f() returns void language plpgsql as $$ begin perform 1; end $$',
    'do $x$ begin execute $$ select 1; $$; end $x$',
  ])
})

test('each statement of a migration begins with a command', async () => {
  const migrations = await readMigrations(new URL('../../../db/migrations', import.meta.url).pathname)
  const words = migrations.flatMap(({ text }) => statementsOf(text).map((one) => /^\w+/.exec(one)?.[0].toLowerCase()))
  expect(words.length).toBeGreaterThan(500)
  const commands = 'alter comment create delete do drop grant insert revoke select update'.split(' ')
  expect(words.filter((word) => !commands.includes(word ?? ''))).toEqual([])
})
