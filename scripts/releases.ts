import { createHash } from 'node:crypto'

/** Releases: each is a heading of CHANGELOG.md and a row of db/releases.json, which names its migrations with their SHA-256. None of these ever changes. */

export interface ReleasedMigration {
  name: string
  sha256: string
}

export interface Release {
  version: string
  /** The day on which it was released. */
  day: string
  /** Those that it has and the releases before it have not, in their order. */
  migrations: ReleasedMigration[]
  /** The newest migration that a program must know to work on its schema. */
  least: number
  /** For the rolling migrations and the program of the next release. */
  next: NextRelease
}

/** Preparations for the next release, which runs beside the one that makes them; heads of migrations name them. */
export interface NextRelease {
  /** Words, forms and functions that it reads or calls in a way that the next may write or replace. */
  uses: string[]
  /** Tables, columns as table.column, and functions that it no longer needs. */
  drops: string[]
}

const NEXT = /^-- next may (use|drop): (.+)$/gm

/** Returns what the heads of migrations prepare for the next release: "-- next may use: a, b" and "-- next may drop: table.column". */
export function preparedBy(texts: readonly string[]): NextRelease {
  const next: NextRelease = { uses: [], drops: [] }
  for (const [, verb, names = ''] of texts.flatMap((text) => [...text.matchAll(NEXT)]))
    next[verb === 'use' ? 'uses' : 'drops'].push(...names.split(',').map((name) => name.trim()))
  return next
}

/** Everything that releases are held against. */
export interface Released {
  changelog: string
  /** Texts of the migrations by their names. */
  migrations: Readonly<Record<string, string>>
  /** Names of the files in test/upgrades. */
  upgrades: readonly string[]
}

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/
const DAY = /^\d{4}-\d\d-\d\d$/

export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Returns the heading that a release has in the changelog. */
export const headingOf = ({ version, day }: Pick<Release, 'version' | 'day'>): string => `## ${version} (${day})`

/** Returns the headings of releases in a changelog, from the newest down; what is not released yet has none of a day. */
export const headingsIn = (changelog: string): string[] =>
  changelog.match(/^## \d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)$/gm) ?? []

/** Returns the migrations that no release has yet, in their order. */
export function unreleased(releases: readonly Release[], migrations: Released['migrations']): ReleasedMigration[] {
  const has = new Set(releases.flatMap((one) => one.migrations.map(({ name }) => name)))
  return Object.entries(migrations)
    .filter(([name]) => !has.has(name))
    .map(([name, text]) => ({ name, sha256: sha256Of(text) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns what stands against releases, a sentence each: nothing of what was released may be another now. */
export function problemsOf(releases: readonly Release[], { changelog, migrations, upgrades }: Released): string[] {
  const problems: string[] = []
  for (const [index, { version, day, migrations: own }] of releases.entries()) {
    if (!VERSION.test(version) || !DAY.test(day)) problems.push(`${version} of ${day} is no version of a day.`)
    const before = releases[index - 1]
    if (before && !(isAbove(version, before.version) && day >= before.day))
      problems.push(`${version} of ${day} is not behind ${before.version} of ${before.day}.`)
    for (const { name, sha256 } of own) {
      const text = migrations[name]
      if (text === undefined) problems.push(`The migration ${name} of ${version} is gone.`)
      else if (sha256Of(text) !== sha256) problems.push(`The migration ${name} of ${version} was changed.`)
    }
    for (const file of [`${version}.sql.gz`, `${version}.json.gz`, `${version}.program.tgz`])
      if (!upgrades.includes(file)) problems.push(`test/upgrades has no ${file}, from which ${version} is upgraded.`)
  }
  for (const { version, least, migrations: own } of releases)
    if (least < 1 || least > Number(own.at(-1)?.name.slice(0, 4) ?? least))
      problems.push(`The least of ${version}, ${least}, is not a migration that it has.`)
  const should = releases.map(headingOf).toReversed()
  if (JSON.stringify(headingsIn(changelog)) !== JSON.stringify(should))
    problems.push(`The headings of CHANGELOG.md are not ${should.join(', ') || 'without a day'}.`)
  const last = releases.flatMap((one) => one.migrations).at(-1)?.name ?? ''
  for (const { name } of unreleased(releases, migrations))
    if (name < last) problems.push(`The migration ${name} would run before ${last}, which was released.`)
  return problems
}

function isAbove(version: string, before: string): boolean {
  const [one, other] = [version, before].map((text) => text.split('.').map(Number)) as [number[], number[]]
  const place = one.findIndex((part, index) => part !== other[index])
  return place >= 0 && (one[place] as number) > (other[place] as number)
}
