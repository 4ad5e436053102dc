import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readFile } from 'node:fs/promises'
import { build, type Plugin } from 'esbuild'
import { afterAll, beforeAll, inject, test } from 'vitest'
import { roomyParent } from '../support/roomy-parent.ts'
import { ROOT, startProcess } from './program.ts'

/**
 * The benchmarks run; what they measure on a busy machine in a second says nothing, so no figure is judged here. Wrong answers, books that do
 * not verify and lost writes make soak and kills fail in the small form too.
 */

const PROGRAMS = [
  'start',
  'read',
  'search',
  'write',
  'usage',
  'payments',
  'invoice',
  'pdf',
  'mandates',
  'page',
  'neighbours',
  'night',
  'failover',
  'outward',
  'webhooks',
  'mail',
  'backup',
  'reports',
  'exports',
  'long-operations',
  'collect',
  'sepa',
  'ach',
  'result-files',
  'soak',
  'kills',
  'billing-run',
  'billing-run --components',
  'verify',
  'seed',
]

/** Programs that go the same ways as one above, with more beside them: BENCH_ALL=1 runs them too. */
const FURTHER = [
  'machines',
  'citus',
  'mail run',
  'mail-kill',
  'billing-run --months 2',
  'billing-run --shapes 100',
  'beside-run',
  'stripe',
  'workers',
  'deep-page',
  'since',
  'invoice-list',
  'ignored-names',
  'statements',
  'credit',
]
const RUN = process.env['BENCH_ALL'] ? [...PROGRAMS, ...FURTHER] : PROGRAMS

/** Inside the project, where packages are found. */
const BUILT = join(ROOT, 'node_modules', '.cache', `perennial-bench-${process.pid}`)

/** Files that lie beside a program are found from where it stood. */
const places: Plugin = {
  name: 'places',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/(bench|test\/cluster)\/.*\.ts$/ }, async ({ path }) => ({
      loader: 'ts',
      contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    })),
}

// Translating the sources for each would take a good part of the time.
beforeAll(async () => {
  const how = { bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external' } as const
  await build({
    entryPoints: [join(ROOT, 'bench/main.ts')],
    outdir: BUILT,
    outExtension: { '.js': '.mjs' },
    splitting: true,
    ...how,
    plugins: [places],
  })
})
afterAll(() => rmSync(BUILT, { recursive: true, force: true }))

test.concurrent.for(RUN)(
  'the benchmark %s runs to its end in its small form',
  async (name, { expect, onTestFinished }) => {
    const { code, err, out } = await startProcess(
      process.execPath,
      [join(BUILT, 'main.mjs'), ...name.split(' '), '--smoke'],
      // Neither a disk nor a first start is measured here.
      { BENCH_FOLDER: roomyParent(), BENCH_FROM: inject('started').path, BENCH_KEY: inject('started').key },
      onTestFinished,
    ).ended
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(
      /not judged: |pgbench is missing|nothing is measured without Citus|killed 2 times: \d+ acknowledged writes, 0 lost|killed 2 times while mail was sent: \d+ mails/,
    )
    // The key of a clock move that was killed is free again after half a minute, and its caller waits for that.
  },
)
