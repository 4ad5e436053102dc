import { bundled, run } from './measure/children.ts'
import { type BenchServer, startServer } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { inCopy, measureRun } from './measure/run.ts'
import { type Floor as FloorName, floorNamed, FLOORS, seedFloor } from './seed-floor.ts'
import { RENEWS_ON, seed } from './seed-run.ts'

/**
 * Renews subscriptions (one package charge, one tax) into issued invoices, beside two floors: COPY of as many rows into slim reference
 * tables and one UPDATE, and COPY of one row an invoice with three indexes and two UPDATEs in place. All are restored from templates before
 * every round.
 */

/** Of the floor, by CPU-seconds. */
const RUN_OF_FLOOR = 0.7
const SHAPES_OF_FLOOR = 0.55
const COMPONENTS_OF_FLOOR = 0.3
const RUN_OF_SLIM = 0.22
const LOG_BYTES = 1_300
const DISK_BYTES = 550
/** The package, the seats, and a line for each of the two tiers that the calls reach. */
const LINES_WITH_COMPONENTS = 4
const MEMORY_MB = 200
const GROWTH = 1.3
const SMALL = 10_000

interface Floor {
  seconds: number
  cpu: number
}

interface Round {
  runSeconds: number
  runNode: number
  runDatabase: number
  peakMb: number
  rowsPerInvoice: number
  bytesPerInvoice: number
  walPerInvoice: number
  floor: Floor
  slim: Floor
}

interface Options {
  count: number
  times: number
  isSmoke: boolean
  /** With seats charged in advance and calls by tiers on every subscription. */
  hasComponents: boolean
  /** So many prices, and half of the customers with a card, mail or VAT number. */
  shapes?: number
}

const linesOf = ({ hasComponents }: Options): number => (hasComponents ? LINES_WITH_COMPONENTS : 1)

interface Programs {
  subject: string
  floors: Record<FloorName, string>
}

async function workFloor(server: BenchServer, programs: Programs, floor: FloorName, options: Options) {
  const { count } = options
  const said = await inCopy(server, floorNamed(floor, count), async (connection) => ({
    ...(await run<Floor>(programs.floors[floor], { connection, count, lines: linesOf(options) }).said),
  }))
  return { seconds: said.seconds, cpu: said.cpu + said.database }
}

async function round(server: BenchServer, programs: Programs, options: Options): Promise<Round> {
  const { count } = options
  const subject = await measureRun(server, programs.subject, { template: `seeded_${count}`, count, until: RENEWS_ON })
  return {
    runSeconds: subject.seconds,
    runNode: subject.cpu,
    runDatabase: subject.database,
    peakMb: subject.peakMb,
    rowsPerInvoice: subject.rows / count,
    bytesPerInvoice: subject.bytes / count,
    walPerInvoice: subject.wal / count,
    floor: await workFloor(server, programs, 'billing-run', options),
    slim: await workFloor(server, programs, 'slim', options),
  }
}

async function rounds(server: BenchServer, programs: Programs, options: Options): Promise<Round[]> {
  const { count, times } = options
  await seed(server, `seeded_${count}`, options)
  for (const floor of FLOORS) await seedFloor(server, floor, count)
  const found: Round[] = []
  for (let turn = 0; turn < times; turn += 1) {
    const one = await round(server, programs, options)
    const { runSeconds, runNode, runDatabase, floor, slim } = one
    tell(
      `  ${count.toLocaleString('en')}, round ${turn + 1}: ${runSeconds.toFixed(2)} s, CPU ${runNode.toFixed(2)} + ${runDatabase.toFixed(2)} s; floor ${floor.seconds.toFixed(2)} s, CPU ${floor.cpu.toFixed(2)} s; slim floor CPU ${slim.cpu.toFixed(2)} s`,
    )
    found.push(one)
  }
  return found
}

const runCpu = ({ runNode, runDatabase }: Round): number => runNode + runDatabase
const floorCpu = ({ floor }: Round): number => floor.cpu
const slimCpu = ({ slim }: Round): number => slim.cpu

function tellRounds(found: readonly Round[], options: Options, count = options.count): void {
  const each = (of: (one: Round) => number) => spread(found.map(of))
  const micros = (of: (one: Round) => number) => each((one) => (of(one) / count) * 1e6)
  const rate = (of: (one: Round) => number) => each((one) => count / of(one))
  tellTable(
    [`${count.toLocaleString('en')} invoices`, 'run', 'floor', 'slim floor'],
    [
      [
        'invoices a second',
        rate((one) => one.runSeconds),
        rate((one) => one.floor.seconds),
        rate((one) => one.slim.seconds),
      ],
      ['CPU-seconds', each(runCpu), each(floorCpu), each(slimCpu)],
      ['… of Node', each((one) => one.runNode), '', ''],
      ['… of PostgreSQL', each((one) => one.runDatabase), '', ''],
      ['CPU an invoice, µs', micros(runCpu), micros(floorCpu), micros(slimCpu)],
      ['peak memory of Node, MB', each((one) => one.peakMb), '', ''],
      ['rows inserted an invoice', each((one) => one.rowsPerInvoice), String(5 + linesOf(options)), '1'],
      ['bytes an invoice, tables and indexes', each((one) => one.bytesPerInvoice), '', ''],
      ['bytes an invoice, log', each((one) => one.walPerInvoice), '', ''],
    ],
  )
  for (const [name, cpu] of [
    ['the floor', floorCpu],
    ['the slim floor', slimCpu],
  ] as const)
    if (isNoisy(found.map(cpu))) tell(`noisy: ${name} itself moved more than twofold`)
}

function atLeast(goal: string, reached: number, least: number): Verdict {
  return { goal, reached: `${(reached * 100).toFixed(1)} %`, isMet: reached >= least }
}

const atMost = (goal: string, reached: number, most: number, unit: string, digits = 0): Verdict => ({
  goal,
  reached: `${reached.toLocaleString('en', { maximumFractionDigits: digits })} ${unit}`,
  isMet: reached <= most,
})

/** Goals of the shape that was measured: bytes and the slim floor are asked of the plain run alone. */
function judge(found: readonly Round[], options: Options): Verdict[] {
  const { hasComponents, shapes } = options
  const [what, ofFloor] = hasComponents
    ? [' with components', COMPONENTS_OF_FLOOR]
    : shapes === undefined
      ? ['', RUN_OF_FLOOR]
      : [` with ${shapes} prices, cards, mails and VAT numbers`, SHAPES_OF_FLOOR]
  const ofRun = (floor: (one: Round) => number) => median(ratioOf(found.map(floor), found.map(runCpu)))
  const middle = (of: (one: Round) => number) => median(found.map(of))
  const always = [
    atLeast(
      `the run${what} reaches ${Math.round(ofFloor * 100)} % of the floor in CPU-seconds`,
      ofRun(floorCpu),
      ofFloor,
    ),
    atMost(
      `memory of Node at most ${MEMORY_MB} MB`,
      middle((one) => one.peakMb),
      MEMORY_MB,
      'MB',
    ),
  ]
  if (what !== '') return always
  return [
    ...always,
    atLeast(
      `the run reaches ${Math.round(RUN_OF_SLIM * 100)} % of the slim floor in CPU-seconds`,
      ofRun(slimCpu),
      RUN_OF_SLIM,
    ),
    atMost(
      `log an invoice at most ${LOG_BYTES} bytes`,
      middle((one) => one.walPerInvoice),
      LOG_BYTES,
      'bytes',
    ),
    atMost(
      `disk an invoice at most ${DISK_BYTES} bytes`,
      middle((one) => one.bytesPerInvoice),
      DISK_BYTES,
      'bytes',
    ),
  ]
}

export async function benchBillingRun(options: Options): Promise<void> {
  const { count, isSmoke } = options
  const server = await startServer()
  try {
    await tellMachine(server.connectionTo('postgres'))
    const programs = {
      subject: await bundled('subject/billing-run.ts'),
      floors: { 'billing-run': await bundled('floor/billing-run.ts'), slim: await bundled('floor/slim.ts') },
    }
    const small = isSmoke ? undefined : await rounds(server, programs, { ...options, count: SMALL })
    const large = await rounds(server, programs, options)
    if (small) tellRounds(small, options, SMALL)
    tellRounds(large, options)
    const growth = small ? median(large.map(runCpu)) / count / (median(small.map(runCpu)) / SMALL) : 1
    const grown = atMost(`CPU an invoice at ${count} at most ${GROWTH} × that at ${SMALL}`, growth, GROWTH, '×', 2)
    tellVerdicts([...judge(large, options), grown], { isSmoke })
  } finally {
    await server.stop()
  }
}
