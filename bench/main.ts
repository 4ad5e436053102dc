import { parseArgs } from 'node:util'

/** npm run bench -- <name> [count | part] [--times n] [--components] [--shapes n] [--months n] [--count n] [--smoke]; docs/performance.md says what each measures. */

const MILLION = 1_000_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    smoke: { type: 'boolean', default: false },
    components: { type: 'boolean', default: false },
    shapes: { type: 'string' },
    months: { type: 'string' },
    count: { type: 'string' },
    times: { type: 'string' },
  },
})
const [name, given] = positionals
const isSmoke = values.smoke
const times = Number(values.times ?? (isSmoke ? 1 : 5))
const shapes = values.shapes === undefined ? {} : { shapes: Number(values.shapes) }
const countOr = (ofSmoke: number) => Number(given ?? (isSmoke ? ofSmoke : MILLION))
const nightCounts = () => (given ? [Number(given)] : isSmoke ? [100] : [1_000, 10_000])

/** Each loads what it needs alone: all of them are most of the service. */
const programs: Record<string, () => Promise<void>> = {
  start: async () => (await import('./start.ts')).benchStart({ times, isSmoke }),
  read: async () => (await import('./read.ts')).benchRead({ times, isSmoke }),
  search: async () => (await import('./search.ts')).benchSearch({ count: countOr(2_000), times, isSmoke }),
  since: async () => (await import('./since.ts')).benchSince({ count: countOr(20_000), times, isSmoke }),
  'deep-page': async () => (await import('./deep-page.ts')).benchDeepPage({ count: countOr(10_000), times, isSmoke }),
  usage: async () => (await import('./usage.ts')).benchUsage({ times, isSmoke, ...(given ? { part: given } : {}) }),
  write: async () => (await import('./write.ts')).benchWrite({ times, isSmoke }),
  invoice: async () => (await import('./invoice.ts')).benchInvoice({ times, isSmoke }),
  'invoice-list': async () => (await import('./invoice-list.ts')).benchInvoiceList({ times, isSmoke }),
  statements: async () =>
    (await import('./statements.ts')).benchStatements({
      count: Number(given ?? (isSmoke ? 500 : 10_000)),
      times,
      isSmoke,
    }),
  collect: async () =>
    (await import('./collect.ts')).benchCollect({ count: Number(given ?? (isSmoke ? 200 : 10_000)), isSmoke }),
  stripe: async () =>
    (await import('./stripe.ts')).benchStripe({ count: Number(given ?? (isSmoke ? 50 : 10_000)), isSmoke }),
  reports: async () => (await import('./reports.ts')).benchReports({ count: countOr(1_000), times, isSmoke }),
  backup: async () =>
    (await import('./backup.ts')).benchBackup({
      count: Number(given ?? (isSmoke ? 500 : 300_000)),
      times: Math.min(times, 3),
      isSmoke,
    }),
  exports: async () =>
    (await import('./exports.ts')).benchExports({
      count: Number(given ?? (isSmoke ? 1_000 : 100_000)),
      times,
      isSmoke,
    }),
  'long-operations': async () =>
    (await import('./long-operations.ts')).benchLongOperations({
      count: Number(given ?? (isSmoke ? 1_000 : 100_000)),
      times,
      isSmoke,
    }),
  credit: async () => (await import('./credit.ts')).benchCredit({ times: Math.min(times, 3), isSmoke }),
  'ignored-names': async () => (await import('./ignored-names.ts')).benchIgnoredNames({ times, isSmoke }),
  mail: async () =>
    given === 'run'
      ? (await import('./mail-run.ts')).benchRunBesideMail({ times: Math.min(times, 3), isSmoke })
      : (await import('./mail.ts')).benchMail({ times: Math.min(times, 3), isSmoke }),
  'mail-kill': async () =>
    (await import('./mail-kill.ts')).benchMailKill({ times: Number(given ?? (isSmoke ? 2 : 50)) }),
  webhooks: async () => (await import('./webhooks.ts')).benchWebhooks({ times, isSmoke }),
  'result-files': async () =>
    (await import('./result-files.ts')).benchResultFiles({ times: Math.min(times, 3), isSmoke }),
  outward: async () => (await import('./outward.ts')).benchOutward({ times, isSmoke }),
  page: async () => (await import('./page.ts')).benchPage({ times, isSmoke }),
  payments: async () => (await import('./payments.ts')).benchPayments({ times, isSmoke }),
  pdf: async () => (await import('./pdf.ts')).benchPdf({ times, isSmoke }),
  mandates: async () => (await import('./mandates.ts')).benchMandates({ times: Math.min(times, 3), isSmoke }),
  neighbours: async () =>
    (await import('./neighbours.ts')).benchNeighbours({ isSmoke, ...(given ? { only: given } : {}) }),
  night: async () =>
    (await import('./night.ts')).benchNight({ counts: nightCounts(), times: Math.min(times, 3), isSmoke }),
  citus: async () =>
    (await import('./citus.ts')).benchCitus({
      part: given,
      count: Number(values.count ?? (isSmoke ? 200 : 100_000)),
      months: Number(values.months ?? (isSmoke ? 1 : 10)),
      times: Math.min(times, 3),
      isSmoke,
    }),
  ach: async () => (await import('./ach.ts')).benchAch({ times, isSmoke }),
  sepa: async () => (await import('./sepa.ts')).benchSepa({ times, isSmoke }),
  machines: async () =>
    (await import('./machines.ts')).benchMachines({
      part: given ?? (isSmoke ? '0' : '10'),
      times: Number(values.times ?? (isSmoke ? 1 : 100)),
      isSmoke,
    }),
  failover: async () => (await import('./failover.ts')).benchFailover({ times, isSmoke }),
  soak: async () => (await import('./soak.ts')).benchSoak({ minutes: Number(given ?? (isSmoke ? 0.2 : 20)), isSmoke }),
  kills: async () => (await import('./kills.ts')).benchKills({ times: Number(given ?? (isSmoke ? 2 : 30)), isSmoke }),
  'money-kill': async () =>
    (await import('./money-kill.ts')).benchMoneyKill({ times: Number(given ?? (isSmoke ? 1 : 50)) }),
  seed: async () =>
    (await import('./seed.ts')).benchSeed({ count: Number(given ?? (isSmoke ? 3 : 200)), times, isSmoke }),
  workers: async () => (await import('./workers.ts')).benchWorkers({ count: countOr(500), times, isSmoke }),
  'billing-run': billingRun,
  'beside-run': async () =>
    (await import('./beside-run.ts')).benchBesideRun({
      count: Number(given ?? (isSmoke ? 400 : 200_000)),
      times,
      isSmoke,
    }),
  verify: async () =>
    (await import('./verify.ts')).benchVerify({ count: Number(given ?? (isSmoke ? 600 : 300_000)), times, isSmoke }),
}

/** With months of history as many subscriptions as that history is long for are enough. */
async function billingRun(): Promise<void> {
  const wish = { times, isSmoke, hasComponents: values.components, ...shapes }
  if (values.months === undefined)
    return (await import('./billing-run.ts')).benchBillingRun({ ...wish, count: countOr(500) })
  const count = Number(given ?? (isSmoke ? 300 : 20_000))
  return (await import('./history.ts')).benchHistory({ ...wish, count, months: Number(values.months) })
}

const program = programs[name ?? '']
if (program) await program()
else {
  process.stderr.write(`Usage: npm run bench -- ${Object.keys(programs).join('|')} [count] [--times n] [--smoke]\n`)
  process.exitCode = 2
}
