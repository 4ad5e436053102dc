import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Connection } from '../src/platform/database/database.ts'
import {
  distributeAlone,
  distributeFunctions,
  dropLocalCopies,
  noteBegun,
  noteFinished,
  planDistribution,
} from '../src/platform/database/distribution.ts'
import { letLogIn, prepareRoles } from '../src/platform/database/roles.ts'
import { type Engine, SCOPES } from '../src/platform/database/scoped-query.ts'
import { DEFAULTS } from '../src/platform/postgres/settings.ts'
import {
  addCitus,
  type Cluster,
  missingForCluster,
  onNode,
  startCluster,
  stopCluster,
  urlOf,
} from '../test/cluster/servers.ts'
import { bundled } from './measure/children.ts'
import { asOwner, benchFolder, type BenchServer, settle } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { drive, httpGet } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { hasPgbench, pgbench } from './measure/pgbench.ts'
import { cpuOfTree, serverIn } from './measure/processes.ts'
import { workRunIn } from './measure/run.ts'
import { type Service, startService } from './measure/service.ts'
import { fill, live, type Spent, spentOn } from './night.ts'
import { nextPayment, PAYERS, seed as seedMoney } from './payments.ts'
import { monthAfter, moveClock, seed as seedRun } from './seed-run.ts'

/**
 * CPU of the coordinator and two workers of Citus beside that of one PostgreSQL server of the same programs and settings: a billing run, requests of 8 callers, nights of
 * accounts with nothing due, and `perennial distribute`. The floor is pgbench on both: begin, scope, select, commit.
 */

const CALLERS = 8
const ACCOUNTS = 2_000
const KEY = randomBytes(32).toString('hex')
const PROGRAM = fileURLToPath(new URL('../bin/perennial.js', import.meta.url))
const WORKERS = 2
/** As the embedded server is shipped, with what Citus needs. */
const SETTINGS = { ...DEFAULTS, max_connections: 150, wal_level: 'logical' }
/** Citus makes as many unless told otherwise. */
const SHARDS = 32

const RUN_MAX = 2
const READ_MAX = 9
const PAYMENT_MAX = 7
const NIGHT_MAX = 10
const EMPTY_SECONDS_MAX = 60
const FULL_SECONDS_MAX = 600

interface Options {
  /** A name of PARTS; left out: all. */
  part: string | undefined
  /** Subscriptions that each run bills. */
  count: number
  /** Runs before the database is distributed. */
  months: number
  times: number
  isSmoke: boolean
}

/** A server alone, or a cluster, that holds databases of its own. */
interface Side {
  engine: Engine
  cluster: Cluster
  server: BenchServer
}

const nodesOf = ({ coordinator, workers }: Cluster) => [coordinator, ...workers]

async function startSide(engine: Engine, shards: number): Promise<Side> {
  const { path: root, remove } = benchFolder()
  const cluster = await startCluster(
    engine === 'citus'
      ? { workers: WORKERS, settings: { ...SETTINGS, 'citus.shard_count': shards }, root }
      : { workers: 0, settings: { ...SETTINGS, shared_preload_libraries: '' }, root },
  )
  const pids = nodesOf(cluster).map((node) => serverIn(node.folder))
  const { port } = cluster.coordinator
  const server: BenchServer = {
    connectionTo: (database) => ({ host: '127.0.0.1', port, user: 'postgres', database }),
    cpu: () => pids.reduce((sum, pid) => sum + cpuOfTree(pid), 0),
    stop: async () => {
      await stopCluster(cluster)
      remove()
    },
  }
  return { engine, cluster, server }
}

/** Lets a database that lies on the coordinator alone lie on the workers, without a look at its books. */
async function spreadOut({ cluster, server }: Side, name: string): Promise<void> {
  await addWorkers(cluster, name)
  const connection = server.connectionTo(name)
  await asOwner(connection, async (client) => letLogIn(client, await prepareRoles(connection)))
  await asOwner(connection, async (client) => {
    await noteBegun(client)
    for (const table of await planDistribution(client)) await distributeAlone(client, table)
    await distributeFunctions(client)
    await dropLocalCopies(client, await planDistribution(client))
    await noteFinished(client)
  })
}

async function addWorkers(cluster: Cluster, name: string): Promise<void> {
  await Promise.all(cluster.workers.map((node) => onNode(node, 'postgres', `create database ${name}`)))
  await addCitus(cluster, name)
}

/** The same by the command, which verifies all books. */
async function distribute({ cluster, server }: Side, name: string): Promise<Spent> {
  await addWorkers(cluster, name)
  return spentOn(server, async () => {
    const child = spawn(process.execPath, [PROGRAM, 'distribute'], {
      env: { PATH: process.env['PATH'], DATABASE_URL: urlOf(cluster.coordinator, name), ENCRYPTION_KEY: KEY },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`perennial distribute ended with ${code}`)
  })
}

/** Does on each server as servers do on their own after much was written. */
async function tidy({ cluster }: Side, name: string): Promise<void> {
  for (const node of nodesOf(cluster)) {
    await onNode(node, name, 'vacuum (analyze)')
    await onNode(node, name, 'checkpoint')
  }
}

/** CPU-seconds of PostgreSQL of one of what is measured, of both sides in turns. */
interface Compared {
  title: string
  plain: number[]
  citus: number[]
}

const timesOf = ({ plain, citus }: Compared): number => median(ratioOf(citus, plain))

/** Measures both sides in turns; the first turn of each warms up and is not counted, unless it is the only one. */
async function compare(
  title: string,
  sides: readonly Side[],
  times: number,
  measure: (side: Side, turn: number) => Promise<number>,
): Promise<Compared> {
  const found: Compared = { title, plain: [], citus: [] }
  for (let turn = 0; turn <= times; turn += 1)
    for (const side of sides) {
      const each = await measure(side, turn)
      if (turn > 0 || times === 1) found[side.engine].push(each)
    }
  return found
}

/** A database with one account of a test key, and its service. */
async function serviceOn({ cluster, server }: Side, name: string): Promise<Service> {
  const connection = server.connectionTo(name)
  const DATABASE_URL = urlOf(cluster.coordinator, name)
  const settings = { DATABASE_URL, ENCRYPTION_KEY: KEY, BOOTSTRAP_ACCOUNT_MODE: 'test' }
  return startService(settings, undefined, { connection, databaseCpu: server.cpu })
}

/** Writes the least that reads a customer as an account does to a file for pgbench. */
function floorOf(engine: Engine, folder: string): string {
  const scope = SCOPES[engine].account(1n).text.replace('$1', "'1'")
  const select = 'select name, email, currency, version from customers where account_id = :account and customer_id = :n'
  const file = join(folder, `${engine}.sql`)
  writeFileSync(file, `\\set account 1\n\\set n random(1, ${PAYERS})\nbegin;\n${scope};\n${select};\ncommit;\n`)
  return file
}

/** Distributes an empty database, and lets callers ask on both sides. */
async function compareRequests(sides: readonly Side[], options: Options): Promise<Verdict[]> {
  const { times, isSmoke } = options
  const folder = benchFolder()
  const name = 'requests'
  const seconds = isSmoke ? 0.5 : 3
  let empty: Spent | undefined
  const services = new Map<Engine, Service>()
  try {
    for (const side of sides) {
      await onNode(side.cluster.coordinator, 'postgres', `create database ${name}`)
      if (side.engine === 'citus') empty = await distribute(side, name)
      const service = await serviceOn(side, name)
      services.set(side.engine, service)
      await seedMoney(service)
      await tidy(side, name)
    }
    const ask = (title: string, status: number, next: (authorization: string, customer: number) => string) =>
      compare(title, sides, times, async ({ engine }) => {
        const { port, authorization, databaseCpu } = services.get(engine) as Service
        const any = () => next(authorization, 1 + Math.floor(Math.random() * PAYERS))
        const before = databaseCpu()
        const { answers } = await drive({ port, callers: CALLERS, seconds, next: any, status })
        return (databaseCpu() - before) / answers
      })
    const floor = await compare('floor: pgbench', sides, times, async ({ engine }) => {
      const service = services.get(engine) as Service
      return (
        await pgbench(service, floorOf(engine, folder.path), CALLERS, Math.ceil(seconds), {}, SCOPES[engine].session)
      ).database
    })
    const read = await ask('reading a customer', 200, (by, id) => httpGet(`/v1/customers/${id}`, by))
    const payment = await ask('a payment with an allocation', 201, nextPayment)
    tellCompared([floor, read, payment])
    return [
      ofCpu(read, READ_MAX, floor),
      ofCpu(payment, PAYMENT_MAX, floor),
      ofSeconds('distributing an empty database', empty as Spent, EMPTY_SECONDS_MAX),
    ]
  } finally {
    folder.remove()
    for (const service of services.values()) await service.stop()
  }
}

/** Bills some months on both sides, distributes what came of it, and bills the months after. */
async function compareRuns(sides: readonly Side[], { count, months, times }: Options): Promise<Verdict[]> {
  const name = 'books'
  const program = await bundled('subject/billing-run.ts')
  const bill = async ({ server }: Side, month: number, engine: Engine): Promise<number> => {
    const [connection, until]: [Connection, string] = [server.connectionTo(name), monthAfter(month)]
    await moveClock(connection, until)
    await settle(connection)
    const { database } = await spentOn(server, () => workRunIn(connection, program, { count, until, engine }))
    return database / count
  }
  let full: Spent | undefined
  for (const side of sides) {
    await seedRun(side.server, name, { count, isNew: true })
    for (let month = 0; month < months; month += 1) await bill(side, month, 'plain')
    if (side.engine === 'citus') full = await distribute(side, name)
    await tidy(side, name)
  }
  const run = await compare('an invoice of a billing run', sides, times, (side, turn) =>
    bill(side, months + turn, side.engine),
  )
  tellCompared([run])
  const invoices = (count * months).toLocaleString('en')
  return [ofCpu(run, RUN_MAX), ofSeconds(`distributing ${invoices} invoices`, full as Spent, FULL_SECONDS_MAX)]
}

/** Lives through nights of accounts with nothing due. */
async function compareNights(sides: readonly Side[], { times, isSmoke }: Options): Promise<Verdict[]> {
  const name = 'night'
  const accounts = isSmoke ? 50 : ACCOUNTS
  const found: Compared = { title: "an account's empty night", plain: [], citus: [] }
  for (const side of sides) {
    const { engine, server } = side
    const connection = await fill(server, name, accounts)
    if (engine === 'citus') await spreadOut(side, name)
    await tidy(side, name)
    const { marking } = await live(server, connection, {
      accounts,
      nights: times,
      hasDue: false,
      engine,
      hasOtherDuties: false,
    })
    found[engine].push(...marking.map(({ database }) => database / accounts))
  }
  tellCompared([found])
  return [ofCpu(found, NIGHT_MAX)]
}

function tellCompared(all: readonly Compared[]): void {
  const micros = (values: readonly number[]) => spread(values.map((value) => value * 1e6))
  tellTable(
    ['CPU of PostgreSQL each, µs', 'one server', `coordinator and ${WORKERS} workers`, '×'],
    all.map((about) => [about.title, micros(about.plain), micros(about.citus), timesOf(about).toFixed(2)]),
  )
  for (const { title, plain } of all)
    if (isNoisy(plain)) tell(`noisy: ${title} of one server itself moved more than twofold`)
}

function ofCpu(about: Compared, most: number, floor?: Compared): Verdict {
  const times = timesOf(about)
  const ofFloor = floor
    ? `, which is ${(times / timesOf(floor)).toFixed(2)} of the floor's ${timesOf(floor).toFixed(1)} ×`
    : ''
  return {
    goal: `${about.title}: at most ${most} × the CPU of one server`,
    reached: `${times.toFixed(1)} ×${ofFloor}`,
    isMet: times <= most,
  }
}

const ofSeconds = (title: string, { seconds, database }: Spent, most: number): Verdict => ({
  goal: `${title}: at most ${most} s`,
  reached: `${seconds.toFixed(1)} s, ${database.toFixed(1)} s of CPU of all servers`,
  isMet: seconds <= most,
})

const PARTS: Readonly<Record<string, (sides: readonly Side[], options: Options) => Promise<Verdict[]>>> = {
  requests: compareRequests,
  night: compareNights,
  run: compareRuns,
}

export async function benchCitus(options: Options): Promise<void> {
  const missing = missingForCluster()
  if (missing !== undefined) {
    tell(`nothing is measured without Citus: ${missing}`)
    if (!options.isSmoke) process.exitCode = 1
    return
  }
  const { part } = options
  if (part !== undefined && !(part in PARTS)) throw new Error(`${part} is none of ${Object.keys(PARTS).join(', ')}`)
  if (!(await hasPgbench(options))) return
  const sides: Side[] = []
  try {
    for (const engine of ['plain', 'citus'] as const) sides.push(await startSide(engine, options.isSmoke ? 2 : SHARDS))
    await tellMachine(sides[1]!.server.connectionTo('postgres'))
    const verdicts: Verdict[] = []
    for (const [name, measure] of Object.entries(PARTS))
      if (part === undefined || part === name) verdicts.push(...(await measure(sides, options)))
    tellVerdicts(verdicts, options)
  } finally {
    for (const { server } of sides) await server.stop()
  }
}
