// Runs everything that must hold: the checks, then all tests. Usage: node scripts/test.js [vitest filters]; with filters only those tests.
// The last lines name what did not run and why; the very last says "N passed, N failed". With CI set, a test that "needs" a program
// must run, and so must the other versions of PostgreSQL and Node; one that the machine itself cannot do (no right to mount a disk, no
// second user) is only named.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

const OLDEST_POSTGRES = 15
const BETWEEN_THE_ENDS = [
  'src/platform/database/',
  'src/features/billing-run/',
  'src/features/customer-removal/',
  'src/features/verification/',
  'test/journeys/collection-lives',
  'test/journeys/notes-and-payments',
  'test/journeys/recurring-lives',
  'test/journeys/whole-lives',
]
// The statements of random histories are the same in each; what a version does otherwise shows in the first.
const FEWER_HISTORIES = Object.fromEntries(
  ['MONEY', 'NOTES', 'COLLECTION', 'LINES'].map((name) => [`${name}_RUNS`, '3']),
)
const CHECKS = ['types', 'lint', 'format:check', 'unused', 'generated:check']

const filters = process.argv.slice(2)
const isCi = Boolean(process.env.CI)
const passed = []
const failed = []
const notRun = []

const run = (command, args, env = process.env) => spawnSync(command, args, { stdio: 'inherit', env }).status === 0

for (const check of filters.length > 0 ? [] : CHECKS) {
  console.log(`\n— ${check}`)
  ;(run('npm', ['run', '--silent', check]) ? passed : failed).push(`check ${check}`)
}

const folder = mkdtempSync(join(tmpdir(), 'perennial-tests-'))
runTests({ words: filters })
if (filters.length === 0) {
  for (const major of [15, 16, 17])
    runElsewhere(`PostgreSQL ${major}`, `test/postgres-versions/node_modules/postgres-${major}/native/bin/postgres`, {
      words: ['--project', 'database', ...filesForOlderPostgres(major)],
      env: { TEST_POSTGRES: String(major), ...FEWER_HISTORIES },
    })
  for (const major of [22, 24]) {
    const node = `test/node-versions/node_modules/node-${major}/bin/node`
    runElsewhere(`Node ${major}`, node, { node, words: ['--project', 'fast', '--project', 'rules'] })
  }
}
rmSync(folder, { recursive: true, force: true })

/**
 * The whole runs on the newest version; on the oldest what deletes, locks, seals or migrates, which is where versions differ. What works on both
 * ends works between them but for a fault of one version: there the lives of whole accounts and the check of their books are enough.
 */
function filesForOlderPostgres(major) {
  if (major !== OLDEST_POSTGRES) return BETWEEN_THE_ENDS
  const isWanted = /\.delete\(|delete from|for update|advisory|seal|settled|migrat|lease/i
  return ['src', 'test/api', 'test/journeys']
    .flatMap((parent) => readdirSync(parent, { recursive: true }).map((name) => join(parent, name)))
    .filter((file) => file.endsWith('.test.ts') && !/\.embedded\.|-in-browser\./.test(file))
    .filter((file) => isWanted.test(textWithTestFiles(file)))
}

/** Text of a test and of what it imports that is for tests only; the test server itself migrates for every test and does not count. */
function textWithTestFiles(file, seen = new Set()) {
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  const imported = [...text.matchAll(/from '(\.[^']+)'/g)]
    .map(([, name]) => join(dirname(file), name))
    .filter((name) => /\.testing\.ts$|^test\/(?!support\/(app|database-server)\.ts$)/.test(name) && !seen.has(name))
  return [text, ...imported.map((name) => textWithTestFiles(name, seen))].join('\n')
}

function runElsewhere(where, program, { node, words, env }) {
  console.log(`\n— ${where}`)
  if (existsSync(program)) runTests({ where, node, words, env })
  else notRun.push(`${where} (needs npm ci --prefix ${program.split('/node_modules')[0]})`)
}

function runTests({ where, node = process.execPath, words, env = {} }) {
  const results = join(folder, `results-${where ?? 'all'}.json`)
  const errors = `${results}.errors`
  const reporters = [
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${results}`,
    '--reporter=./scripts/errors-outside-tests.js',
  ]
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...words]
  const failedBefore = failed.length
  const isFine = run(node, vitest, { ...process.env, ...env, ERRORS_OUTSIDE_TESTS: errors })
  const prefix = where === undefined ? '' : `${where}: `
  readResults(results, prefix)
  readErrors(errors, prefix)
  if (!isFine && failed.length === failedBefore)
    failed.push(`${where ?? ''} vitest ended with an error of its own, see above`.trim())
}

/** Names what no test caught (a promise nobody waits for, a worker that died): the run fails by it, and it belongs to no test. */
function readErrors(errors, prefix) {
  if (!existsSync(errors)) return
  for (const error of JSON.parse(readFileSync(errors, 'utf8'))) failed.push(`${prefix}outside of any test: ${error}`)
}

function readResults(results, prefix) {
  let files = []
  try {
    files = JSON.parse(readFileSync(results, 'utf8')).testResults
  } catch {
    failed.push(`${prefix}the tests could not be started`)
    return
  }
  for (const { name, status, assertionResults } of files) {
    const file = prefix + relative(process.cwd(), name)
    // A file that cannot even be read has no tests to count.
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed')) failed.push(file)
    for (const test of assertionResults) {
      const title = `${file}: ${test.fullName}`
      if (test.status === 'passed') passed.push(title)
      else if (test.status === 'failed') failed.push(title)
      else notRun.push(title)
    }
  }
}

const missed = isCi ? notRun.filter((title) => title.includes('(needs ')) : []
console.log()
for (const title of failed) console.log(`failed: ${title}`)
for (const title of notRun) console.log(`not run: ${title}${missed.includes(title) ? ' – has to, with CI set' : ''}`)
console.log(`${passed.length} passed, ${failed.length + missed.length} failed`)
process.exit(failed.length + missed.length > 0 ? 1 : 0)
