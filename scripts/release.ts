/**
 * Notes a release: gives the heading of what is not released yet its day, and db/releases.json its row. Usage: npm run release -- 2027-01-31
 * The version is that of package.json. Nothing is written while something stands against it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leastOf } from '../src/platform/database/schema-numbers.ts'
import { headingOf, preparedBy, problemsOf, type Release, type Released, unreleased } from './releases.ts'
import { rollingProblems } from './rolling-migrations.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const [day = ''] = process.argv.slice(2)
const { version } = JSON.parse(read('package.json')) as { version: string }
const names = readdirSync(join(root, 'db/migrations'))
const migrations = Object.fromEntries(names.map((name) => [name, read(`db/migrations/${name}`)]))
const before = JSON.parse(read('db/releases.json')) as Release[]
const fresh = unreleased(before, migrations)
const release: Release = {
  version,
  day,
  migrations: fresh,
  least: Math.max(...Object.entries(migrations).map(([name, text]) => leastOf(Number(name.slice(0, 4)), text))),
  next: preparedBy(fresh.map(({ name }) => migrations[name] ?? '')),
}
const changelog = read('CHANGELOG.md').replace(`## ${version} (not released)`, headingOf(release))
const released: Released = { changelog, migrations, upgrades: readdirSync(join(root, 'test/upgrades')) }
const problems = [...problemsOf([...before, release], released), ...rollingProblems(before, migrations)]
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
else {
  writeFileSync(join(root, 'CHANGELOG.md'), changelog)
  writeFileSync(join(root, 'db/releases.json'), `${JSON.stringify([...before, release], null, 2)}\n`)
}
