import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { preparedBy, problemsOf, type Release, type Released, sha256Of, unreleased } from '../scripts/releases.ts'
import { rollingProblems } from '../scripts/rolling-migrations.ts'

/** Nothing that was released changes any more: versions, days, and the migrations with their texts. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const releases = JSON.parse(read('db/releases.json')) as Release[]
const names = readdirSync(join(ROOT, 'db/migrations'))

test('releases are as they were made', () => {
  const released: Released = {
    changelog: read('CHANGELOG.md'),
    migrations: Object.fromEntries(names.map((name) => [name, read(`db/migrations/${name}`)])),
    upgrades: readdirSync(join(ROOT, 'test/upgrades')),
  }
  expect(problemsOf(releases, released)).toEqual([])
  expect(rollingProblems(releases, released.migrations)).toEqual([])
  expect(unreleased(releases, released.migrations).length + releases.flatMap((one) => one.migrations).length).toBe(
    names.length,
  )
})

describe('a release is refused', () => {
  const MIGRATIONS = { '0001_a.sql': 'a', '0002_b.sql': 'b', '0003_c.sql': 'c' }
  const migration = (name: keyof typeof MIGRATIONS) => ({ name, sha256: sha256Of(MIGRATIONS[name]) })
  const next = { uses: [], drops: [] }
  const FIRST: Release = { version: '0.1.0', day: '2027-01-31', migrations: [migration('0001_a.sql')], least: 1, next }
  const SECOND: Release = {
    version: '0.10.0',
    day: '2027-02-28',
    migrations: [migration('0002_b.sql')],
    least: 2,
    next,
  }
  const GOOD: Released = {
    changelog: '# Changelog\n\n## 0.11.0 (not released)\n\n## 0.10.0 (2027-02-28)\n\nb\n\n## 0.1.0 (2027-01-31)\n\na\n',
    migrations: MIGRATIONS,
    upgrades: ['0.1.0', '0.10.0'].flatMap((name) =>
      ['sql.gz', 'json.gz', 'program.tgz'].map((end) => `${name}.${end}`),
    ),
  }

  test('by nothing where all is as it was made', () => {
    expect(problemsOf([FIRST, SECOND], GOOD)).toEqual([])
    expect(unreleased([FIRST, SECOND], MIGRATIONS)).toEqual([migration('0003_c.sql')])
  })

  test.each<[string, Release[], Partial<Released>, string]>([
    [
      'a changed migration',
      [FIRST, SECOND],
      { migrations: { ...MIGRATIONS, '0001_a.sql': 'a ' } },
      'The migration 0001_a.sql of 0.1.0 was changed.',
    ],
    [
      'a migration that is gone',
      [FIRST, SECOND],
      { migrations: { '0001_a.sql': 'a' } },
      'The migration 0002_b.sql of 0.10.0 is gone.',
    ],
    [
      'a migration before it',
      [FIRST, SECOND],
      { migrations: { ...MIGRATIONS, '0001_b.sql': 'x' } },
      'The migration 0001_b.sql would run before 0002_b.sql, which was released.',
    ],
    [
      'another day in the changelog',
      [FIRST, SECOND],
      { changelog: GOOD.changelog.replace('-28', '-27') },
      'The headings of CHANGELOG.md are not ## 0.10.0 (2027-02-28), ## 0.1.0 (2027-01-31).',
    ],
    ['a heading without a row', [FIRST], {}, 'The headings of CHANGELOG.md are not ## 0.1.0 (2027-01-31).'],
    [
      'a missing dump',
      [FIRST, SECOND],
      { upgrades: GOOD.upgrades.slice(1) },
      'test/upgrades has no 0.1.0.sql.gz, from which 0.1.0 is upgraded.',
    ],
    ['an older version', [SECOND, FIRST], {}, '0.1.0 of 2027-01-31 is not behind 0.10.0 of 2027-02-28.'],
    [
      'a least that it has not',
      [FIRST, { ...SECOND, least: 3 }],
      {},
      'The least of 0.10.0, 3, is not a migration that it has.',
    ],
    ['a word for a version', [{ ...FIRST, version: 'next' }], {}, 'next of 2027-01-31 is no version of a day.'],
  ])('for %s', (_, made, changes, problem) => {
    expect(problemsOf(made, { ...GOOD, ...changes })).toContain(problem)
  })
})

describe('a rolling migration', () => {
  const BEFORE = `create table thing (n int); create function known() returns int language sql as $$ select 1; $$;`
  const release: Release = {
    version: '0.3.0',
    day: '2027-01-31',
    migrations: [{ name: '0007_before.sql', sha256: sha256Of(BEFORE) }],
    least: 7,
    next: { uses: ['known'], drops: ['thing.old', 'gone'] },
  }
  const judged = (text: string, head = '') =>
    rollingProblems([release], {
      '0007_before.sql': BEFORE,
      '0008_rolls.sql': `-- Adds.\n-- least: 7\n${head}${text};\n`,
    })

  test.each([
    'create table other (n int not null); create index other_n on other (n); alter table other add check (n > 0); insert into other values (1)',
    'create table other (n int); create policy account on other using (true)',
    'alter table thing add column more int, add list text[], add price numeric(20, 8), add at timestamp with time zone',
    `alter table thing add column unique_name text default 'unique', add check_at date`,
    `alter table thing add column more int not null default 0, add word text default 'none' not null`,
    'alter table thing add constraint thing_n_check check (n > 0) not valid; alter table thing validate constraint thing_n_check',
    'create index concurrently thing_n on thing (n)',
    `create function added() returns int language sql as $$ delete from thing; drop table thing; $$; revoke all on function added from public; grant execute on function added to perennial_app`,
    'create or replace function known() returns int language sql as $$ select 2; $$',
    `alter function known() set lock_timeout = '1s'`,
    'alter table thing drop column old; drop function gone',
    `comment on column thing.n is 'drop table thing'; set local lock_timeout = '1s'`,
  ])('may: %s', (text) => {
    expect(judged(text)).toEqual([])
  })

  test.each([
    'alter table thing drop column n',
    'drop table thing',
    'alter table thing rename n to m',
    'alter table thing rename to other',
    'alter table thing alter column n type bigint',
    'alter table thing alter column n set not null',
    'alter table thing add column more int not null',
    'alter table thing add column more uuid default gen_random_uuid()',
    'alter table thing add column more int references other',
    'alter table thing add column more int references other default 5',
    'alter table thing add column more int unique',
    'alter table thing add column more int unique default 1',
    'alter table thing add column more int primary key',
    'alter table thing add column more int check (more > 0) default 1',
    'alter table thing add column more bigserial',
    'alter table thing add column more serial',
    'alter table thing add more int generated always as identity',
    'alter table thing add constraint thing_n_check check (n > 0)',
    'create index thing_n on thing (n)',
    'create or replace function other() returns int language sql',
    `alter function other() set lock_timeout = '1s'`,
    'update thing set n = 1',
    'insert into thing values (1)',
    'do $$ begin drop table thing; end $$',
    'create trigger changes before update on thing execute function known()',
    'revoke select on thing from perennial_app',
  ])('may not: %s', (text) => {
    expect(judged(text)).toEqual([
      `0008_rolls.sql is to be rolling, and does more than add: ${text.replace(/\$\$.*\$\$/, "''")}`,
    ])
  })

  test('may replace functions that its head calls as before, and no other', () => {
    const text = 'create or replace function other() returns int language sql; do $$ begin end $$'
    expect(judged(text, '-- answers as before: other, do\n')).toEqual([])
    expect(judged(text, '-- answers as before: another\n')).toHaveLength(2)
  })

  test('may be anything beside one that is not, and names none that comes after it', () => {
    const migrations = { '0007_before.sql': BEFORE, '0008_rolls.sql': '-- least: 7\ndrop table thing;' }
    expect(rollingProblems([release], { ...migrations, '0009_changes.sql': 'drop table thing;' })).toEqual([])
    expect(rollingProblems([release], { ...migrations, '0008_rolls.sql': '-- least: 9\n' })).toEqual([
      '0008_rolls.sql names 9 as its least, which comes after it.',
    ])
  })

  test('is prepared by the heads of those of the release before', () => {
    const heads = [
      '-- Reads it.\n-- next may use: paused, known\n-- next may drop: thing.old\n',
      '-- next may drop: gone',
    ]
    expect(preparedBy(heads)).toEqual({ uses: ['paused', 'known'], drops: ['thing.old', 'gone'] })
  })
})
