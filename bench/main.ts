import { parseArgs } from 'node:util'
import { benchBillingRun } from './billing-run.ts'

/** npm run bench -- <name> [count] [--times n] [--smoke] */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { smoke: { type: 'boolean', default: false }, times: { type: 'string' } },
})
const [name, count] = positionals
const isSmoke = values.smoke
const times = Number(values.times ?? (isSmoke ? 1 : 5))

const programs: Record<string, () => Promise<void>> = {
  'billing-run': () => benchBillingRun({ count: Number(count ?? (isSmoke ? 500 : 1_000_000)), times, isSmoke }),
}

const program = programs[name ?? '']
if (!program) {
  process.stderr.write(`Usage: npm run bench -- ${Object.keys(programs).join('|')} [count] [--times n] [--smoke]\n`)
  process.exit(2)
}
await program()
