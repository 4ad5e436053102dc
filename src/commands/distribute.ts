import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { describeCluster } from '../platform/database/cluster.ts'
import type { Connection, Database } from '../platform/database/database.ts'
import {
  distributeAlone,
  distributeFunctions,
  dropLocalCopies,
  noteBegun,
  noteFinished,
  obstacleTo,
  type PlannedTable,
  planDistribution,
} from '../platform/database/distribution.ts'
import { hasTable } from '../platform/database/is-there.ts'
import { listLive, migrate, takeMigrationLock } from '../platform/database/migrations.ts'
import { openDatabase } from '../platform/database/open-database.ts'
import { openOwner } from '../platform/database/open.ts'
import { reached } from '../platform/database/reached.ts'
import { letLogIn, prepareRoles } from '../platform/database/roles.ts'
import { nameOfProcess } from '../platform/database/schema-numbers.ts'
import type { ServerClient } from '../platform/database/server-client.ts'
import { StartFailure } from '../platform/postgres/start-failure.ts'
import { type CommandContext, quietLog } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine } from './output.ts'
import { verifyDatabase } from './verify.ts'

/** `perennial distribute`: spreads the tables of accounts over the workers of Citus. Every step can be done again, and what is done is passed over. */

interface Row {
  Table: string
  Kind: PlannedTable['kind']
  Rows: number
  Seconds: number
  WasDistributed: boolean
}

export async function distributeCommand(
  context: CommandContext,
  { dryRun = false }: { dryRun?: boolean },
): Promise<number> {
  const { config, isJson } = context
  const { databaseUrl } = config
  if (databaseUrl === undefined)
    throw new StartFailure('The embedded database is one server: name the coordinator of Citus in DATABASE_URL.')
  const connection = { connectionString: databaseUrl }
  return reached(config, async () => {
    await onLogin(connection, async (login) => {
      const obstacle = obstacleTo(await describeCluster(login))
      if (obstacle !== undefined) throw new StartFailure(obstacle)
      await refuseLive(login)
    })
    if (dryRun) return onLogin(connection, (login) => showPlan(login, isJson))
    const app = await prepareSchema(context, connection)
    return onLogin(connection, (login) => distribute(context, { login, connection, app }))
  })
}

/** Runs work on a connection of the login itself, whose statements may take as long as whole tables do. */
async function onLogin<T>(connection: Connection, work: (login: ServerClient) => Promise<T>): Promise<T> {
  const login = await openOwner(connection, undefined)
  try {
    return await work(login)
  } finally {
    await login.end()
  }
}

/** Makes what is missing of roles and schema, and lets the roles log in to the workers. Returns the service's role. */
async function prepareSchema(context: CommandContext, connection: Connection): Promise<string> {
  const roles = await prepareRoles(connection)
  await onLogin(connection, (login) => letLogIn(login, roles))
  await migrate(connection, roles.owner, join(context.root, 'db', 'migrations'), { program: context.version })
  return roles.app
}

async function showPlan(login: ServerClient, isJson: boolean): Promise<number> {
  const hasSchema = await hasTable(login, 'perennial.accounts')
  const planned = hasSchema ? await planDistribution(login) : []
  if (isJson)
    printJson({
      Tables: planned.map(({ name, kind, estimate, isDone }) => ({
        Table: name,
        Kind: kind,
        Rows: estimate,
        WasDistributed: isDone,
      })),
    })
  else if (!hasSchema) printLine('The database is empty: its tables would be made and distributed.')
  else
    for (const { name, kind, estimate, isDone } of planned)
      printLine(`${name}: ${isDone ? 'is distributed' : `${kind}, about ${estimate} rows`}`)
  return EXIT.done
}

async function distribute(
  context: CommandContext,
  { login, connection, app }: { login: ServerClient; connection: Connection; app: string },
): Promise<number> {
  const { isJson } = context
  await takeMigrationLock(login)
  await noteBegun(login)
  // A process that began while the note was written is seen now; one that begins later finds the note.
  await refuseLive(login)
  const rows: Row[] = []
  for (const table of await planDistribution(login)) {
    const row = await rowOf(login, table)
    rows.push(row)
    if (!isJson) printLine(lineOf(row))
  }
  await distributeFunctions(login)
  const verified = await verifyAll(context, openDatabase(connection, poolOf(context, app)))
  if (verified.code !== EXIT.done) {
    if (isJson) printJson({ Tables: rows, State: 'distributing', Verified: verified.json })
    throw new StartFailure(
      'The books differ from what they follow from, so the rows on the coordinator are kept: see what is listed, and run this again.',
    )
  }
  await dropLocalCopies(login, await planDistribution(login))
  await noteFinished(login)
  if (isJson) printJson({ Tables: rows, State: 'distributed' })
  else printLine('The tables of accounts are distributed.')
  return EXIT.done
}

const poolOf = (context: CommandContext, role: string) =>
  ({ role, engine: 'citus', poolSize: context.config.databasePool, log: quietLog(context) }) as const

async function rowOf(login: ServerClient, table: PlannedTable): Promise<Row> {
  const beganMs = performance.now()
  const rows = table.isDone ? table.estimate : await distributeAlone(login, table)
  return {
    Table: table.name,
    Kind: table.kind,
    Rows: rows,
    Seconds: Math.round(performance.now() - beganMs) / 1000,
    WasDistributed: table.isDone,
  }
}

const lineOf = ({ Table, Kind, Rows, Seconds, WasDistributed }: Row): string =>
  WasDistributed ? `${Table}: was ${Kind} before` : `${Table}: ${Kind}, ${Rows} rows, ${Seconds.toFixed(1)} s`

async function verifyAll(context: CommandContext, db: Database) {
  try {
    return await verifyDatabase(context, db, undefined)
  } finally {
    await db.close()
  }
}

/** Throws a StartFailure that names the processes of the service that are live, if any is. */
async function refuseLive(login: ServerClient): Promise<void> {
  const live = await listLive(login)
  if (live.length === 0) return
  throw new StartFailure(
    `Processes of the service are live: ${live.map(nameOfProcess).join('; ')}. Stop them, and wait a minute where one was killed.`,
  )
}
