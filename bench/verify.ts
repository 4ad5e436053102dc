import type pg from 'pg'
import { takeEventMark } from '../src/features/events/seal-queries.ts'
import { sealEvents } from '../src/features/events/seal.ts'
import { sumDays } from '../src/features/ledger/mark-queries.ts'
import type { Connection } from '../src/platform/database/database.ts'
import { bundled, run } from './measure/children.ts'
import { asOwner, type BenchServer, openAsService, settle, startServer } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { workRunIn } from './measure/run.ts'
import { monthAfter, moveClock, seed } from './seed-run.ts'

/**
 * Verification of a whole account: invoices that the service's own runs have issued in three months, everything computed again, beside COPY of
 * each table of the account into nothing, which is reading every row once.
 */

const MONTHS = 3
const MICROSECONDS = 30
const DATABASE = 'verified'

interface Sample {
  seconds: number
  node: number
  database: number
  peakMb: number
}

interface VerifySaid {
  invoices: number
  differences: number
  named: string[]
  seconds: number
  cpu: number
  peakMb: number
}

async function fill(server: BenchServer, customers: number): Promise<Connection> {
  const program = await bundled('subject/billing-run.ts')
  await seed(server, DATABASE, { count: customers, isNew: true })
  const connection = server.connectionTo(DATABASE)
  for (let month = 0; month < MONTHS; month += 1) {
    await moveClock(connection, monthAfter(month))
    await workRunIn(connection, program, { count: customers, until: monthAfter(month) })
  }
  await sumAllDays(connection)
  await sealAllEvents(connection)
  await asOwner(connection, (client) => client.query('vacuum (analyze)'))
  return connection
}

/** Sums the ledger by day as the service's duty does, so that its sums are verified with all else. */
async function sumAllDays(connection: Connection): Promise<void> {
  const db = openAsService(connection)
  // The first look notes what has been drawn, a later one finds that nobody draws any more.
  for (let idle = 0; idle < 2;) idle = (await sumDays(db.unscoped)) ? 0 : idle + 1
  await db.close()
}

/** Seals the events as nights do, so that they are hashed again with all else. */
async function sealAllEvents(connection: Connection): Promise<void> {
  const db = openAsService(connection)
  const below = await takeEventMark(db.unscoped)
  const seals = await sealEvents(db, 1n, { at: new Date().toISOString(), below, goOn: () => {} })
  if (seals === 0) throw new Error('no event was sealed')
  await db.close()
}

async function verifyWhole(
  server: BenchServer,
  connection: Connection,
  program: string,
  invoices: number,
): Promise<Sample> {
  const before = server.cpu()
  const child = run<VerifySaid>(program, { connection, account: 1 })
  const said = await child.said
  await child.ended
  await settle(connection)
  if (said.invoices !== invoices || said.differences !== 0)
    throw new Error(
      `${said.invoices} of ${invoices} invoices, ${said.differences} differences: ${said.named.join('; ')}`,
    )
  return { seconds: said.seconds, node: said.cpu, database: server.cpu() - before, peakMb: said.peakMb }
}

async function copyAll(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_stat_user_tables where schemaname = 'perennial' and n_live_tup > 0`,
  )
  for (const { name } of rows) await client.query(`copy perennial.${name} to '/dev/null'`)
}

async function readWhole(server: BenchServer, connection: Connection): Promise<Sample> {
  const before = server.cpu()
  const startedMs = performance.now()
  await asOwner(connection, copyAll)
  const seconds = (performance.now() - startedMs) / 1000
  await settle(connection)
  return { seconds, node: 0, database: server.cpu() - before, peakMb: 0 }
}

const cpuOf = ({ node, database }: Sample): number => node + database

export async function benchVerify(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const { times, isSmoke } = options
  const customers = Math.ceil(options.count / MONTHS)
  const invoices = customers * MONTHS
  const server = await startServer()
  try {
    await tellMachine(server.connectionTo('postgres'))
    const connection = await fill(server, customers)
    const program = await bundled('subject/verify.ts')
    const [subjects, floors]: [Sample[], Sample[]] = [[], []]
    for (let turn = 0; turn < times; turn += 1) {
      subjects.push(await verifyWhole(server, connection, program, invoices))
      floors.push(await readWhole(server, connection))
    }
    const micros = (samples: readonly Sample[], of: (one: Sample) => number) =>
      spread(samples.map((one) => (of(one) / invoices) * 1e6))
    const row = (title: string, of: (one: Sample) => number) => [title, micros(subjects, of), micros(floors, of)]
    tellTable(
      [`${invoices.toLocaleString('en')} invoices, µs each`, 'verification', 'COPY of each table'],
      [
        row('time', ({ seconds }) => seconds),
        row('CPU', cpuOf),
        row('… of Node', ({ node }) => node),
        row('… of PostgreSQL', ({ database }) => database),
      ],
    )
    tell(`peak memory of Node ${spread(subjects.map(({ peakMb }) => peakMb))} MB`)
    tell(`of the floor: ${(median(ratioOf(floors.map(cpuOf), subjects.map(cpuOf))) * 100).toFixed(1)} %`)
    if (isNoisy(floors.map(cpuOf))) tell('noisy: the floor itself moved more than twofold')
    const each = (median(subjects.map(cpuOf)) / invoices) * 1e6
    const goal = `full verification of an invoice within ${MICROSECONDS} µs of CPU`
    tellVerdicts([{ goal, reached: `${each.toFixed(1)} µs`, isMet: each <= MICROSECONDS }], { isSmoke })
  } finally {
    await server.stop()
  }
}
