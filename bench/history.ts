import { bundled } from './measure/children.ts'
import { asOwner, type BenchServer, settle, startServer } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { measureRun, workRunIn } from './measure/run.ts'
import { monthAfter, moveClock, RENEWS_ON, seed, type SeedWish } from './seed-run.ts'

/**
 * A billing run with months of history behind it, beside the same run without: the history is what as many runs of the service have written,
 * one a month, over the moved clock of the account.
 */

const CPU_TIMES = 1.15
const LOG_TIMES = 2

interface Options extends SeedWish {
  months: number
  times: number
  isSmoke: boolean
}

type Run = Awaited<ReturnType<typeof measureRun>>

/** Bills month after month in a seeded database, and leaves its clock on the day of the month after. */
async function live(server: BenchServer, program: string, name: string, { count, months }: Options): Promise<void> {
  const connection = server.connectionTo(name)
  for (let month = 0; month < months; month += 1) {
    const until = monthAfter(month)
    await moveClock(connection, until)
    const { seconds } = await workRunIn(connection, program, { count, until })
    if (month % 6 === 0) tell(`  history, ${until}: ${seconds.toFixed(1)} s`)
  }
  await moveClock(connection, monthAfter(months))
  // What the server does on its own in the weeks between two runs.
  await asOwner(connection, (client) => client.query('vacuum (analyze)'))
  await settle(connection)
}

const cpuOf = ({ cpu, database }: Run): number => cpu + database
const logOf = ({ wal }: Run): number => wal

function tellRuns(options: Options, fresh: readonly Run[], aged: readonly Run[]): void {
  const { count, months } = options
  const row = (title: string, of: (one: Run) => number) => [title, spread(aged.map(of)), spread(fresh.map(of))]
  tellTable(
    [`${count.toLocaleString('en')} invoices`, `after ${months} months`, 'without history'],
    [
      row('invoices a second', ({ seconds }) => count / seconds),
      row('CPU an invoice, µs', (one) => (cpuOf(one) / count) * 1e6),
      row('… of Node', ({ cpu }) => (cpu / count) * 1e6),
      row('… of PostgreSQL', ({ database }) => (database / count) * 1e6),
      row('bytes an invoice, tables and indexes', ({ bytes }) => bytes / count),
      row('bytes an invoice, log', ({ wal }) => wal / count),
    ],
  )
  if (isNoisy(fresh.map(cpuOf))) tell('noisy: the run without history itself moved more than twofold')
}

export async function benchHistory(options: Options): Promise<void> {
  const { count, months, times, isSmoke } = options
  const server = await startServer()
  try {
    await tellMachine(server.connectionTo('postgres'))
    const program = await bundled('subject/billing-run.ts')
    await seed(server, 'fresh', options)
    await seed(server, 'aged', options)
    await live(server, program, 'aged', options)
    const [fresh, aged]: [Run[], Run[]] = [[], []]
    for (let turn = 0; turn < times; turn += 1) {
      fresh.push(await measureRun(server, program, { template: 'fresh', count, until: RENEWS_ON }))
      aged.push(await measureRun(server, program, { template: 'aged', count, until: monthAfter(months) }))
    }
    tellRuns(options, fresh, aged)
    const growth = (of: (one: Run) => number) => median(ratioOf(aged.map(of), fresh.map(of)))
    const verdict = (what: string, reached: number, most: number) => ({
      goal: `${what} of a run after ${months} months at most ${most} × that without history`,
      reached: `${reached.toFixed(2)} ×`,
      isMet: reached <= most,
    })
    tellVerdicts([verdict('CPU', growth(cpuOf), CPU_TIMES), verdict('log', growth(logOf), LOG_TIMES)], { isSmoke })
  } finally {
    await server.stop()
  }
}
