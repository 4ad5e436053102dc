import { test } from 'vitest'
import { roomyParent } from '../support/roomy-parent.ts'
import { ROOT, startProcess } from './program.ts'

/**
 * The benchmarks run; what they measure on a busy machine in a second says nothing, so no figure is judged here. Wrong answers, books that do
 * not verify and lost writes make soak and kills fail in the small form too.
 */

const PROGRAMS = [
  'start',
  'read',
  'deep-page',
  'search',
  'since',
  'write',
  'usage',
  'payments',
  'invoice-list',
  'ignored-names',
  'statements',
  'pdf',
  'mandates',
  'page',
  'neighbours',
  'outward',
  'webhooks',
  'mail',
  'mail run',
  'credit',
  'backup',
  'reports',
  'exports',
  'mail-kill',
  'collect',
  'sepa',
  'result-files',
  'soak',
  'kills',
  'billing-run',
  'billing-run --shapes 100',
  'billing-run --components',
  'billing-run --months 2',
  'beside-run',
  'verify',
  'workers',
  'seed',
]

test.concurrent.for(PROGRAMS)(
  'the benchmark %s runs to its end in its small form',
  async (name, { expect, onTestFinished }) => {
    const { code, err, out } = await startProcess(
      process.execPath,
      ['--import', 'tsx', `${ROOT}/bench/main.ts`, ...name.split(' '), '--smoke'],
      // A disk is part of what is measured, and nothing is measured here.
      { BENCH_FOLDER: roomyParent() },
      onTestFinished,
    ).ended
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(
      /not judged: |pgbench is missing|killed 2 times: \d+ acknowledged writes, 0 lost|killed 2 times while mail was sent: \d+ mails/,
    )
    // The key of a clock move that was killed is free again after half a minute, and its caller waits for that.
  },
)
