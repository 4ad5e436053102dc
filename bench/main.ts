import { parseArgs } from 'node:util'
import { benchBackup } from './backup.ts'
import { benchBesideRun } from './beside-run.ts'
import { benchBillingRun } from './billing-run.ts'
import { benchCollect } from './collect.ts'
import { benchCredit } from './credit.ts'
import { benchDeepPage } from './deep-page.ts'
import { benchSearch } from './search.ts'
import { benchSince } from './since.ts'
import { benchFailover } from './failover.ts'
import { benchHistory } from './history.ts'
import { benchIgnoredNames } from './ignored-names.ts'
import { benchInvoice } from './invoice.ts'
import { benchInvoiceList } from './invoice-list.ts'
import { benchKills } from './kills.ts'
import { benchMachines } from './machines.ts'
import { benchMail } from './mail.ts'
import { benchMailKill } from './mail-kill.ts'
import { benchRunBesideMail } from './mail-run.ts'
import { benchMoneyKill } from './money-kill.ts'
import { benchMandates } from './mandates.ts'
import { benchNeighbours } from './neighbours.ts'
import { benchNight } from './night.ts'
import { benchOutward } from './outward.ts'
import { benchPage } from './page.ts'
import { benchPayments } from './payments.ts'
import { benchPdf } from './pdf.ts'
import { benchRead } from './read.ts'
import { benchExports } from './exports.ts'
import { benchLongOperations } from './long-operations.ts'
import { benchReports } from './reports.ts'
import { benchResultFiles } from './result-files.ts'
import { benchSeed } from './seed.ts'
import { benchSepa } from './sepa.ts'
import { benchSoak } from './soak.ts'
import { benchStart } from './start.ts'
import { benchStatements } from './statements.ts'
import { benchUsage } from './usage.ts'
import { benchVerify } from './verify.ts'
import { benchWebhooks } from './webhooks.ts'
import { benchWorkers } from './workers.ts'
import { benchWrite } from './write.ts'

/** npm run bench -- <name> [count | part] [--times n] [--components] [--shapes n] [--months n] [--smoke]; docs/performance.md says what each measures. */

const MILLION = 1_000_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    smoke: { type: 'boolean', default: false },
    components: { type: 'boolean', default: false },
    shapes: { type: 'string' },
    months: { type: 'string' },
    times: { type: 'string' },
  },
})
const [name, given] = positionals
const isSmoke = values.smoke
const times = Number(values.times ?? (isSmoke ? 1 : 5))
const shapes = values.shapes === undefined ? {} : { shapes: Number(values.shapes) }
const countOr = (ofSmoke: number) => Number(given ?? (isSmoke ? ofSmoke : MILLION))
const nightCounts = () => (given ? [Number(given)] : isSmoke ? [100] : [1_000, 10_000])

const programs: Record<string, () => Promise<void>> = {
  start: () => benchStart({ times, isSmoke }),
  read: () => benchRead({ times, isSmoke }),
  search: () => benchSearch({ count: countOr(2_000), times, isSmoke }),
  since: () => benchSince({ count: countOr(20_000), times, isSmoke }),
  'deep-page': () => benchDeepPage({ count: countOr(10_000), times, isSmoke }),
  usage: () => benchUsage({ times, isSmoke, ...(given ? { part: given } : {}) }),
  write: () => benchWrite({ times, isSmoke }),
  invoice: () => benchInvoice({ times, isSmoke }),
  'invoice-list': () => benchInvoiceList({ times, isSmoke }),
  statements: () => benchStatements({ count: Number(given ?? (isSmoke ? 500 : 10_000)), times, isSmoke }),
  collect: () => benchCollect({ count: Number(given ?? (isSmoke ? 200 : 10_000)), isSmoke }),
  reports: () => benchReports({ count: countOr(1_000), times, isSmoke }),
  backup: () => benchBackup({ count: Number(given ?? (isSmoke ? 500 : 300_000)), times: Math.min(times, 3), isSmoke }),
  exports: () => benchExports({ count: Number(given ?? (isSmoke ? 1_000 : 100_000)), times, isSmoke }),
  'long-operations': () => benchLongOperations({ count: Number(given ?? (isSmoke ? 1_000 : 100_000)), times, isSmoke }),
  credit: () => benchCredit({ times: Math.min(times, 3), isSmoke }),
  'ignored-names': () => benchIgnoredNames({ times, isSmoke }),
  mail: () => (given === 'run' ? benchRunBesideMail : benchMail)({ times: Math.min(times, 3), isSmoke }),
  'mail-kill': () => benchMailKill({ times: Number(given ?? (isSmoke ? 2 : 50)) }),
  webhooks: () => benchWebhooks({ times, isSmoke }),
  'result-files': () => benchResultFiles({ times: Math.min(times, 3), isSmoke }),
  outward: () => benchOutward({ times, isSmoke }),
  page: () => benchPage({ times, isSmoke }),
  payments: () => benchPayments({ times, isSmoke }),
  pdf: () => benchPdf({ times, isSmoke }),
  mandates: () => benchMandates({ times: Math.min(times, 3), isSmoke }),
  neighbours: () => benchNeighbours({ isSmoke, ...(given ? { only: given } : {}) }),
  night: () => benchNight({ counts: nightCounts(), times: Math.min(times, 3), isSmoke }),
  sepa: () => benchSepa({ times, isSmoke }),
  machines: () =>
    benchMachines({
      part: given ?? (isSmoke ? '0' : '10'),
      times: Number(values.times ?? (isSmoke ? 1 : 100)),
      isSmoke,
    }),
  failover: () => benchFailover({ times, isSmoke }),
  soak: () => benchSoak({ minutes: Number(given ?? (isSmoke ? 0.2 : 20)), isSmoke }),
  kills: () => benchKills({ times: Number(given ?? (isSmoke ? 2 : 30)), isSmoke }),
  'money-kill': () => benchMoneyKill({ times: Number(given ?? (isSmoke ? 1 : 50)) }),
  seed: () => benchSeed({ count: Number(given ?? (isSmoke ? 3 : 200)), times, isSmoke }),
  workers: () => benchWorkers({ count: countOr(500), times, isSmoke }),
  'billing-run': () => billingRun(),
  'beside-run': () => benchBesideRun({ count: Number(given ?? (isSmoke ? 400 : 200_000)), times, isSmoke }),
  verify: () => benchVerify({ count: Number(given ?? (isSmoke ? 600 : 300_000)), times, isSmoke }),
}

/** With months of history as many subscriptions as that history is long for are enough. */
function billingRun(): Promise<void> {
  const wish = { times, isSmoke, hasComponents: values.components, ...shapes }
  if (values.months === undefined) return benchBillingRun({ ...wish, count: countOr(500) })
  const count = Number(given ?? (isSmoke ? 300 : 20_000))
  return benchHistory({ ...wish, count, months: Number(values.months) })
}

const program = programs[name ?? '']
if (program) await program()
else {
  process.stderr.write(`Usage: npm run bench -- ${Object.keys(programs).join('|')} [count] [--times n] [--smoke]\n`)
  process.exitCode = 2
}
