// Runs everything that must hold: the checks, then all tests. Usage: node scripts/test.js [vitest filters]; with filters only those tests.
// The last lines name what did not run and why; the very last says "N passed, N failed". With CI set, a test that "needs" a program
// must run; one that the machine itself cannot do (no right to mount a disk, no second user) is only named.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const CHECKS = ['types', 'lint', 'format:check', 'unused', 'generated:check']

const filters = process.argv.slice(2)
const isCi = Boolean(process.env.CI)
const passed = []
const failed = []
const notRun = []

const run = (command, args) => spawnSync(command, args, { stdio: 'inherit' }).status === 0

for (const check of filters.length > 0 ? [] : CHECKS) {
  console.log(`\n— ${check}`)
  ;(run('npm', ['run', '--silent', check]) ? passed : failed).push(`check ${check}`)
}

const folder = mkdtempSync(join(tmpdir(), 'perennial-tests-'))
const results = join(folder, 'results.json')
const isFine = run('npx', [
  '--no-install',
  'vitest',
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${results}`,
  ...filters,
])
readResults()
rmSync(folder, { recursive: true, force: true })

function readResults() {
  let files = []
  try {
    files = JSON.parse(readFileSync(results, 'utf8')).testResults
  } catch {
    failed.push('the tests could not be started')
    return
  }
  for (const { name, status, assertionResults } of files) {
    const file = relative(process.cwd(), name)
    // A file that cannot even be read has no tests to count.
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed')) failed.push(file)
    for (const test of assertionResults) {
      const title = `${file}: ${test.fullName}`
      if (test.status === 'passed') passed.push(title)
      else if (test.status === 'failed') failed.push(title)
      else notRun.push(title)
    }
  }
  if (!isFine && failed.length === 0) failed.push('vitest ended with an error of its own, see above')
}

const missed = isCi ? notRun.filter((title) => title.includes('(needs ')) : []
console.log()
for (const title of failed) console.log(`failed: ${title}`)
for (const title of notRun) console.log(`not run: ${title}${missed.includes(title) ? ' – has to, with CI set' : ''}`)
console.log(`${passed.length} passed, ${failed.length + missed.length} failed`)
process.exit(failed.length + missed.length > 0 ? 1 : 0)
