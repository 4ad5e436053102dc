import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { problemsOf, type Release, type Released, sha256Of, unreleased } from '../scripts/releases.ts'

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
  expect(unreleased(releases, released.migrations).length + releases.flatMap((one) => one.migrations).length).toBe(
    names.length,
  )
})

describe('a release is refused', () => {
  const MIGRATIONS = { '0001_a.sql': 'a', '0002_b.sql': 'b', '0003_c.sql': 'c' }
  const migration = (name: keyof typeof MIGRATIONS) => ({ name, sha256: sha256Of(MIGRATIONS[name]) })
  const FIRST: Release = { version: '0.1.0', day: '2027-01-31', migrations: [migration('0001_a.sql')] }
  const SECOND: Release = { version: '0.10.0', day: '2027-02-28', migrations: [migration('0002_b.sql')] }
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
    ['a word for a version', [{ ...FIRST, version: 'next' }], {}, 'next of 2027-01-31 is no version of a day.'],
  ])('for %s', (_, made, changes, problem) => {
    expect(problemsOf(made, { ...GOOD, ...changes })).toContain(problem)
  })
})
