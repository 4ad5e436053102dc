import { expect, test } from 'vitest'
import { ROOT, startProcess } from './program.ts'

/** The benchmarks run; what they measure on a busy machine in a second says nothing, so nothing is judged here. */

const PROGRAMS = [
  'start',
  'read',
  'deep-page',
  'write',
  'usage',
  'payments',
  'invoice-list',
  'statements',
  'pdf',
  'neighbours',
  'billing-run',
  'seed',
]

test.each(PROGRAMS)('the benchmark %s runs to its end in its small form', async (name) => {
  const { code, err, out } = await startProcess(
    process.execPath,
    ['--import', 'tsx', `${ROOT}/bench/main.ts`, name, '--smoke'],
    {},
  ).ended
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/not judged: |pgbench is missing/)
})
