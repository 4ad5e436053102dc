// What is worth knowing after each small change: types, lint, and the tests of what differs from main, committed or not. Not a word about anything else:
// npm test is what must hold. The folders whose sources changed are tested, and each changed test; tests that start the program are left out.
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'

const run = (command, args) => spawnSync(command, args, { stdio: 'inherit' }).status === 0

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr.trim())
  return stdout.split('\n').filter((line) => line !== '')
}

/** Returns the words by which Vitest finds the tests of a changed file; none for what no test belongs to. */
function testsOf(path) {
  if (path.endsWith('.test.ts')) return [path]
  if (path.startsWith('src/')) return [`${dirname(path)}/`]
  if (path.startsWith('db/migrations/'))
    return ['src/platform/database/', 'test/api/statements.test.ts', 'test/api/tenancy.test.ts']
  return []
}

const [base] = git('merge-base', 'main', 'HEAD')
const changed = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
const tests = [...new Set(changed.flatMap(testsOf))].filter((path) => !/^test\/(program|clients)\//.test(path))
// It reads documents too.
if (changed.length > 0) tests.push('test/tidy.test.ts')

const isTyped = run('npm', ['run', '--silent', 'types'])
const isClean = run('npm', ['run', '--silent', 'lint'])
console.log(tests.length > 0 ? `tests: ${tests.join(' ')}` : 'nothing differs from main, so no test is run')
const projects = ['fast', 'rules', 'database'].flatMap((name) => ['--project', name])
const isGreen =
  tests.length === 0 ||
  run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--passWithNoTests', ...projects, ...tests])
process.exit(isTyped && isClean && isGreen ? 0 : 1)
