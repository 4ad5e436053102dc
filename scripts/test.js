// Runs everything that must hold, in stages: the checks, then tests, dear ones last. A stage with a failure ends the run. Usage: node scripts/test.js
// [vitest filters]; with filters only those tests.
// The last lines name what did not run and why; the very last says "N passed, N failed". With CI set, a test that "needs" a program
// must run, and so must the other versions of PostgreSQL and Node; one that the machine itself cannot do (no right to mount a disk, no
// second user) is only named.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

/** Every statement is prepared against the schema, the walls stand, upgrades and what talks to the server work, and whole lives end with the same books. */
const ON_EACH_POSTGRES = [
  'src/platform/database/',
  'src/features/verification/verify.test',
  'test/api/statements.test',
  'test/api/tenancy.test',
  'test/upgrades/',
  'test/journeys/recurring-lives',
  'test/journeys/whole-lives',
]
const OLDEST_POSTGRES = 15
/**
 * The oldest has besides these what a version may plan, lock or sort otherwise: kept plans, lists and what they find, all random histories, a year, banks and
 * callers at once, and tests whose text is about one of these words. What callers are answered is made by Node.
 */
const ON_OLDEST_POSTGRES = {
  files:
    /^src\/platform\/database\/|^test\/api\/(distributed|finding|kept-plans|lists|references)|^test\/journeys\/.*(lives|model|and-payments|give-way|verified|at-once|first-year|bank-files|mandate-to|updated)/,
  words: /for update|advisory|\blease|migrat|\bpg_/i,
  // They find on 15 what they find on the newest, and take as long as all the rest.
  except:
    /^(src\/features\/subscriptions\/stamp|test\/api\/(hostile|declared|examples|recorded-examples|whole-reads|representation|pages))\.test/,
}
// The statements of random histories are the same in each; what a version does otherwise shows in the first.
const FEWER_HISTORIES = {
  ...Object.fromEntries(['MONEY', 'NOTES', 'COLLECTION', 'LINES'].map((name) => [`${name}_RUNS`, '3'])),
  LIVES: '4',
  KEPT_RUNS: '1',
}
const SLOWEST = 12
const CHECKS = ['types', 'lint', 'format:check', 'unused', 'generated:check']

const filters = process.argv.slice(2)
const isCi = Boolean(process.env.CI)
const passed = []
const failed = []
const notRun = []

/** Lines that end the run: what each stage took. */
const stages = []
/** Stages that were left out because one before them failed. */
const notReached = []

/** From cheap to dear; each runs when all before it are green. */
const STAGES = [
  ['checks', runChecks],
  ['fast and rules', () => runTests({ stage: 'fast', words: ['--project', 'fast', '--project', 'rules'] })],
  ['database', () => runTests({ stage: 'database', words: ['--project', 'database'] })],
  ['embedded', () => runTests({ stage: 'embedded', words: ['--project', 'embedded'] })],
  ['Citus', () => runTests({ stage: 'cluster', words: ['--project', 'cluster'] })],
  ['other PostgreSQL and Node', runOnOthers],
]

const run = (command, args, env = process.env) => spawnSync(command, args, { stdio: 'inherit', env })

const folder = mkdtempSync(join(tmpdir(), 'perennial-tests-'))
if (filters.length > 0) await timed('tests', () => runTests({ words: filters }))
else
  for (const [stage, work] of STAGES) {
    // What comes later would only hide what is red, and cost minutes.
    if (failed.length > 0 || missed().length > 0) notReached.push(stage)
    else await timed(stage, work)
  }
rmSync(folder, { recursive: true, force: true })

/** Between the ends less is run: of Node 22 the tests beside their sources. Simulators of gateways are no part of the product. */
async function runOnOthers() {
  for (const major of [15, 16, 17])
    await runElsewhere(
      `PostgreSQL ${major}`,
      `test/postgres-versions/node_modules/postgres-${major}/native/bin/postgres`,
      {
        words: ['--project', 'database', ...filesForOlderPostgres(major)],
        env: { TEST_POSTGRES: String(major), ...FEWER_HISTORIES },
      },
    )
  for (const [major, further] of [
    [22, ['src/']],
    [24, ['--project', 'rules']],
  ]) {
    const node = `test/node-versions/node_modules/node-${major}/bin/node`
    const words = ['--project', 'fast', '--exclude', 'test/simulators/**', ...further]
    await runElsewhere(`Node ${major}`, node, { node, words })
  }
}

/** Says how long a stage took, then and again at the end. */
async function timed(stage, work) {
  const startedMs = performance.now()
  await work()
  const line = `${stage}: ${Math.round((performance.now() - startedMs) / 1000)} s`
  stages.push(line)
  console.log(`\n— ${line}`)
}

/** Runs all checks at once, since each has but one process, and prints what each said when it has ended. */
async function runChecks() {
  await Promise.all(
    CHECKS.map(async (check) => {
      const { status, text } = await outputOf('npm', ['run', '--silent', check])
      console.log(`\n— ${check}\n${text}`.trimEnd())
      ;(status === 0 ? passed : failed).push(`check ${check}`)
    }),
  )
}

function outputOf(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece) => (text += piece))
  return new Promise((resolve) => child.once('close', (status) => resolve({ status, text })))
}

/** The whole runs on the newest version alone: others run the tests of what a version can do otherwise, and between the ends fewer of these. */
function filesForOlderPostgres(major) {
  if (major !== OLDEST_POSTGRES) return ON_EACH_POSTGRES
  const { files, words, except } = ON_OLDEST_POSTGRES
  return ['src', 'test/api', 'test/journeys']
    .flatMap((parent) => readdirSync(parent, { recursive: true }).map((name) => join(parent, name)))
    .filter((file) => file.endsWith('.test.ts') && !/\.embedded\.|-in-browser\./.test(file))
    .filter((file) => !except.test(file) && (files.test(file) || words.test(readFileSync(file, 'utf8'))))
    .concat(ON_EACH_POSTGRES)
}

async function runElsewhere(where, program, { node, words, env }) {
  console.log(`\n— ${where}`)
  if (existsSync(program)) await timed(where, () => runTests({ where, node, words, env }))
  else notRun.push(`${where} (needs npm ci --prefix ${program.split('/node_modules')[0]})`)
}

function runTests({ where, stage = where ?? 'all', node = process.execPath, words, env = {} }) {
  const results = join(folder, `results-${stage}.json`)
  const errors = `${results}.errors`
  const reporters = [
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${results}`,
    '--reporter=./scripts/errors-outside-tests.js',
  ]
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...words]
  const failedBefore = failed.length
  const { status, signal } = run(node, vitest, { ...process.env, ...env, ERRORS_OUTSIDE_TESTS: errors })
  const prefix = where === undefined ? '' : `${where}: `
  const files = filesIn(results)
  if (files) takeResults(files, prefix)
  else failed.push(`${prefix}vitest gave no results and ended by ${signal ?? `exit ${status}`}`)
  readErrors(errors, prefix)
  if (status !== 0 && failed.length === failedBefore)
    failed.push(`${where ?? ''} vitest ended with an error of its own, see above`.trim())
}

/** Names what no test caught (a promise nobody waits for, a worker that died): the run fails by it, and it belongs to no test. */
function readErrors(errors, prefix) {
  if (!existsSync(errors)) return
  // What one test leaves behind when it fails can be the same error a hundred times: those above it would be out of sight.
  const times = new Map()
  for (const error of JSON.parse(readFileSync(errors, 'utf8'))) times.set(error, (times.get(error) ?? 0) + 1)
  for (const [error, n] of times) failed.push(`${prefix}outside of any test${n > 1 ? `, ${n} times` : ''}: ${error}`)
}

/** Returns what each file gave; undefined where Vitest was ended before that was written. */
function filesIn(results) {
  try {
    return JSON.parse(readFileSync(results, 'utf8')).testResults
  } catch {
    return undefined
  }
}

function takeResults(files, prefix) {
  const seconds = ({ startTime, endTime }) => Math.round((endTime - startTime) / 1000)
  const slowest = files.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, SLOWEST)
  console.log(
    `\n— longest: ${slowest.map((file) => `${relative(process.cwd(), file.name)} ${seconds(file)} s`).join(', ')}`,
  )
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

/** Returns what did not run although it has to. */
function missed() {
  return isCi ? notRun.filter((title) => title.includes('(needs ')) : []
}

console.log(`\ntook ${stages.join(' · ')}`)
for (const title of failed) console.log(`failed: ${title}`)
for (const stage of notReached) console.log(`not run: ${stage}, because a stage before it failed`)
for (const title of notRun) console.log(`not run: ${title}${missed().includes(title) ? ' – has to, with CI set' : ''}`)
console.log(`${passed.length} passed, ${failed.length + missed().length} failed`)
process.exit(failed.length + missed().length > 0 ? 1 : 0)
