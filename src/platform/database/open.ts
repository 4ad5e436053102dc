import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { Memory } from '../failover/memory.ts'
import { holdingGateways } from '../failover/queries.ts'
import { meetAndSettle, type SettleDeps, settling } from '../failover/settle.ts'
import { dataFolderAt, hasDatabase, restoredMarkOf } from '../postgres/data-folder.ts'
import type { EmbeddedConnection } from '../postgres/connection.ts'
import { joinEmbeddedPostgres } from '../postgres/join.ts'
import { comeAfterOthers } from '../postgres/processes.ts'
import { StartFailure } from '../postgres/start-failure.ts'
import { checkEncryptionKeys, checkKeysOfPurposes, openEnvelope } from '../envelope/open.ts'
import type { Envelope } from '../envelope/envelope.ts'
import type { KeyRing } from '../envelope/key-ring.ts'
import { type PostgresLog, startEmbeddedPostgres } from '../postgres/supervisor.ts'
import { shownServer } from './addresses.ts'
import { type DatabaseNode, nodesFrom } from './away-nodes.ts'
import { findEngine } from './cluster.ts'
import { type Connection, type Database, WHOLE_STATEMENT_MS } from './database.ts'
import { isOfWorkerAway } from './failures.ts'
import { firstMissing, type MissingGrant, missingInWords } from './granted.ts'
import { deleteOldLeases } from './housekeeping.ts'
import { maintenanceOn } from './maintenance.ts'
import { listPending, migrate, readMigrations } from './migrations.ts'
import { reached, roleWithoutLogin } from './reached.ts'
import { prepareRoles } from './roles.ts'
import { findPrimary, ServerClient } from './server-client.ts'
import { serversFor } from './servers.ts'
import { GRACE_MS } from './silence.ts'
import { settleUpdates } from './updates.ts'
import { clientConfig, openDatabase } from './open-database.ts'
import { AS_AN_ACCOUNT, type Engine, NOBODY, SCOPES } from './scoped-query.ts'
import { sql } from './sql.ts'
import type { WatchSettings } from './watch.ts'

/** A database that is ready to work with, wherever it is, and how to let go of it. */
export interface OpenDatabase {
  db: Database
  connection: Connection
  /** Opens a connection of the owner of all tables, whom row security does not bound: for what carries the whole database elsewhere. */
  openOwner(): Promise<ServerClient>
  /** Names of the migrations that ran just now. */
  migrated: string[]
  /** Names of the migrations that the database lacks, where this was asked to leave it as it is. */
  lacking: readonly string[]
  /** The newest migration that this program knows. */
  schema: number
  /** Identifies this process among those of the service. */
  processId: string
  /** Returns whether a transaction of an account has written, on a server that DATABASE_URL names. */
  hasWritten(): boolean
  /** Opens what is sealed; the first time in a new database makes its keys. Throws a StartFailure. */
  openEnvelope(): Promise<Envelope>
  close(): Promise<void>
}

/**
 * Who may own the embedded database: 'own' starts it, 'join' wants a running one, 'any' joins one or starts it for its own duration, making
 * it where there is none, and 'present' does so only where there is one.
 */
export type Ownership = 'own' | 'join' | 'any' | 'present'

interface Home {
  connection: Connection
  stop(): Promise<void>
  /** Settles when a database that this process runs has ended, with how and why. */
  ended?: Promise<string>
  /** This process has just started it: nobody worked on it before. */
  isFresh?: boolean
}

async function findHome(config: Config, ownership: Ownership, log: PostgresLog): Promise<Home> {
  if (config.databaseUrl) return { connection: { connectionString: config.databaseUrl }, stop: async () => {} }
  if (ownership !== 'own') {
    const connection = await joinEmbeddedPostgres({ dataDir: config.dataDir })
    if (connection) return { connection, stop: async () => {} }
    if (ownership === 'join') {
      throw new StartFailure(
        `No service runs on ${config.dataDir}: start one with "perennial serve", or set DATABASE_URL to use a server.`,
      )
    }
    if (ownership === 'present') refuseAbsent(config.dataDir)
  }
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, log })
  return {
    connection: postgres.connection,
    stop: () => postgres.stop(),
    ended: postgres.exited.then((end) => postgres.reasonOfEnd(end)),
    isFresh: true,
  }
}

/**
 * Finds the running embedded database, or starts the one that is there, and does nothing in it: a backup comes before an upgrade. Throws a
 * StartFailure.
 */
export async function joinOrStart(
  { dataDir }: Pick<Config, 'dataDir'>,
  log: PostgresLog,
): Promise<{ connection: EmbeddedConnection; stop(): Promise<void> }> {
  const running = await joinEmbeddedPostgres({ dataDir })
  if (running) return { connection: running, stop: async () => {} }
  refuseAbsent(dataDir)
  return startEmbeddedPostgres({ dataDir, log })
}

/** Does work on the database as it is, before any migration: the embedded one is joined, or started for the time of the work. */
export async function connectedBefore<T>(
  config: Config,
  log: PostgresLog,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { databaseUrl } = config
  if (databaseUrl !== undefined) {
    const connection = { connectionString: databaseUrl }
    return reached(config, async () => {
      await findPrimary(clientConfig(connection, undefined))
      return work(connection)
    })
  }
  const { connection, stop } = await joinOrStart(config, log)
  return work(connection).finally(stop)
}

/** Refuses a folder without a database: a mistyped one must not become a second, empty database that answers as if all were lost. */
function refuseAbsent(dataDir: string): void {
  if (hasDatabase(dataDir)) return
  throw new StartFailure(
    `There is no database in ${dataFolderAt(dataDir).root}: set DATA_DIR to the folder that the service uses, or make a database there with "perennial serve" or "perennial account create".`,
  )
}

interface ServiceOptions extends Pick<SettleDeps, 'raiseNumbers'> {
  root: string
  /** The version of this program. */
  version: string
  /** Migrations that are lacking run in maintenance. */
  inMaintenance?: boolean
  /** A schema that is there is left as it is. */
  keepsSchema?: boolean
  ownership: Ownership
  log: PostgresLog
  /** The embedded database works for this process after it has worked for others. */
  isBackground?: boolean
  hasCallers?: WatchSettings['hasCallers']
  realClock?: WatchSettings['realClock']
  onDatabaseGone?: (reason: string) => void
  /** Called if a worker of a cluster that was away at the start is back, and keeps what the keys of this process do not open. */
  onKeysMissing?: (reason: string) => void
}

/**
 * Finds or starts the database, makes roles and schema where they are missing, and opens the pool of the service's role. Throws a
 * StartFailure also when what is sealed cannot be opened with the keys that are there.
 */
export async function openService(config: Config, options: ServiceOptions): Promise<OpenDatabase> {
  const home = await findHome(config, options.ownership, options.log)
  try {
    const isEmbedded = config.databaseUrl === undefined
    if (!isEmbedded) await reached(config, () => findPrimary(clientConfig(home.connection, undefined)))
    const hadCitus = await engineOf(config, home.connection, options.log)
    const roles = await reached(config, () => prepareRoles(home.connection, { canLogIn: isEmbedded }))
    const folder = join(options.root, 'db', 'migrations')
    const lacking = options.keepsSchema ? await reached(config, () => lackingOf(home.connection, folder)) : []
    const migrated =
      lacking.length > 0
        ? []
        : await reached(config, () =>
            migrate(home.connection, roles.owner, folder, {
              program: options.version,
              isAlone: home.isFresh === true,
              waits: () => options.log.warn('Another process migrates the database: this one waits until it has.'),
              ...(options.inMaintenance && { inMaintenance: maintenanceOn(home.connection, roles.owner, options.log) }),
            }),
          )
    // A distribution may have ended while this waited for the lock of migrations.
    const engine =
      hadCitus === undefined ? 'plain' : ((await engineOf(config, home.connection, options.log)) ?? 'plain')
    const schema = (await readMigrations(folder)).at(-1)?.version ?? 0
    const memory = isEmbedded ? undefined : new Memory(options.realClock)
    const pool = { role: roles.app, engine, knows: schema, memory, ...options }
    const db = openPool(config, home.connection, pool)
    const processId = randomUUID()
    const meeting = { processId, memory, working: db, raiseNumbers: options.raiseNumbers, log: options.log }
    const openSettling = () => openPool({ ...config, databasePool: 1 }, home.connection, { ...pool, isUngated: true })
    const checkKeys = checkingKeys(db, config, options.onKeysMissing)
    const prepares = { db, home, checkKeys, roles, engine, meeting, openSettling, knows: schema, root: options.root }
    // What it lacks is what preparing would need.
    if (lacking.length === 0) await orClosed(db, prepare(config, prepares))
    let isClosing = false
    void home.ended?.then((reason) => {
      if (!isClosing) options.onDatabaseGone?.(reason)
    })
    const close = async () => {
      isClosing = true
      await db.close()
      await home.stop()
    }
    return {
      db,
      connection: home.connection,
      openOwner: () => openOwner(home.connection, roles.owner, schema),
      migrated,
      lacking,
      schema,
      processId,
      hasWritten: () => memory?.hasCommitted === true,
      openEnvelope: () => openEnvelope(db.unscoped, config, checkKeys),
      close,
    }
  } catch (error) {
    await home.stop()
    throw error
  }
}

/** Returns the names of the migrations that a database lacks; none where it is empty and all of them are to run. */
async function lackingOf(connection: Connection, folder: string): Promise<string[]> {
  const { pending, isEmpty } = await listPending(connection, folder)
  return isEmpty ? [] : pending.map(({ name }) => name)
}

/**
 * Does what stands before the first work on a database: checks that it serves accounts by the keys that are there, and settles what a failover has lost, and
 * what a copy that was restored does not know.
 */
async function prepare(
  config: Config,
  given: {
    db: Database
    home: Home
    checkKeys: () => Promise<unknown>
    roles: { owner: string | undefined; app: string }
    engine: Engine
    meeting: Omit<SettleDeps, 'db'>
    openSettling: () => Database
    knows: number
    root: string
  },
): Promise<void> {
  const { db, home, meeting } = given
  const isEmbedded = config.databaseUrl === undefined
  if (given.engine === 'citus') await reached(config, () => checkNodes(db, home.connection, given.roles.owner))
  await reached(config, () => checkServesAccounts(db, config))
  await reached(config, () => checkIsWhole(db, config, given))
  const servers = serversFor(clientConfig(home.connection, given.roles.app))
  // Where one address leads to the server of now, nobody here has asked the one before.
  const wasSilent = servers.wasSilent || servers.addresses.length === 1
  const { system, timeline } = await reached(config, () =>
    meetAndSettle({ ...meeting, db }, { before: null, wasSilent }),
  )
  if (!isEmbedded && system !== undefined && timeline !== undefined)
    servers.settleFrom({ system, timeline }, settling(meeting, given.openSettling))
  // Whoever held them died with the database: what they worked at can go on at once.
  if (home.isFresh) await deleteOldLeases(db, 'infinity')
  // Of a database that was carried here all records count as updated now, see decision 27.
  const mark = isEmbedded ? restoredMarkOf(dataFolderAt(config.dataDir).cluster) : undefined
  const isRestored = mark !== undefined && existsSync(mark)
  await settleUpdates(db, isRestored)
  // What was charged after the copy was made is not in it.
  if (isRestored) await db.unscoped.rows(holdingGateways('restore'))
  if (isRestored) rmSync(mark)
  await given.checkKeys()
}

/**
 * Makes the check of the keys. While a worker of a cluster is away they are held against what the coordinator has, and against the rest once it is back: a process
 * that lacks one then is no more to go on than to start.
 */
function checkingKeys(
  db: Database,
  config: Config,
  onMissing: (reason: string) => void = () => {},
): () => Promise<KeyRing | undefined> {
  const whole = () => checkEncryptionKeys(db.unscoped, config)
  const again = async () => {
    try {
      await whole()
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error
      onMissing(error.message)
    }
  }
  return async () => {
    const asked = await db.away.ask('which keys seal what accounts keep', async () => ({ ring: await whole() }), again)
    return asked ? asked.ring : checkKeysOfPurposes(db.unscoped, config)
  }
}

/**
 * Looks at the workers of a cluster, under both roles that work there. Throws a StartFailure if one does not let a role log in; one that is away is waited for
 * while the process runs.
 */
async function checkNodes(db: Database, connection: Connection, owner: string | undefined): Promise<void> {
  const nodes = await db.nodes()
  const refusalsOf = (found: readonly DatabaseNode[]) =>
    found.flatMap(({ name, reason }) => {
      const role = reason === null ? undefined : roleWithoutLogin(reason)
      return role === undefined ? [] : [{ name, role }]
    })
  const refused = refusalsOf(nodes)
  // One that is silent takes its time, and is not to take it twice.
  if (nodes.filter(({ isUp }) => !isUp).length === refused.length) {
    refused.push(...refusalsOf(await nodesFrom(clientConfig(connection, owner), SCOPES.citus.nodes)))
  }
  const [first] = refused
  if (!first) return db.away.note(nodes)
  const mends = [...new Set(refused.map(({ role }) => `alter role ${role} login;`))]
  throw new StartFailure(
    `The worker ${first.name} of the database refuses: role "${first.role}" is not permitted to log in. Its administrator runs on the coordinator, which passes it on,  ${mends.join(' ')}`,
  )
}

/** Returns the engine of the database; undefined where there is no Citus. Throws a StartFailure if it cannot serve accounts. */
async function engineOf(config: Config, connection: Connection, log: PostgresLog): Promise<Engine | undefined> {
  const { databaseUrl } = config
  if (databaseUrl === undefined) return undefined
  return reached(config, () => findEngine(connection, shownServer(databaseUrl), (caution) => log.warn(caution)))
}

/** Opens the connections of the service's role. */
function openPool(
  { databaseUrl, databasePool }: Config,
  connection: Connection,
  {
    role,
    engine,
    knows,
    isBackground,
    hasCallers,
    realClock,
    log,
    memory,
    isUngated = false,
  }: Pick<ServiceOptions, 'isBackground' | 'hasCallers' | 'realClock' | 'log'> &
    Pick<WatchSettings, 'memory'> & { role: string; engine: Engine; knows: number; isUngated?: boolean },
): Database {
  const pooled = { poolSize: databasePool, engine, knows, hasCallers, realClock, log, memory, isUngated }
  if (databaseUrl !== undefined) return openDatabase(connection, { ...pooled, role })
  // No way leads back from a role that logged in to one that may do more.
  const background = isBackground ? { onConnected: comeAfterOthers } : {}
  return openDatabase({ ...connection, user: role, ...background }, { ...pooled, role: undefined })
}

/** Closes the database if a check of it fails. */
const orClosed = <T>(db: Database, check: Promise<T>): Promise<T> =>
  check.catch(async (error: unknown) => {
    await db.close()
    throw error
  })

/** Opens a connection of the owner, or of the login itself, with the bounds of statements that read whole tables. */
export async function openOwner(
  connection: Connection,
  owner: string | undefined,
  knows?: number,
): Promise<ServerClient> {
  const silenceMs = WHOLE_STATEMENT_MS + GRACE_MS
  const client = new ServerClient({ ...clientConfig(connection, owner), silenceMs, knows })
  await client.connect()
  await client.query(`set statement_timeout = ${WHOLE_STATEMENT_MS}`)
  return client
}

/** SQLSTATEs of rights, tables and settings that a database of ours has. */
const IS_NOT_OURS = new Set(['42501', '42P01', '42704', '42883', '3F000'])

/**
 * Asks what an account asks, under the service's role. Throws a StartFailure with the server's words if accounts cannot be served; a worker of a cluster that is
 * away is no reason.
 */
async function checkServesAccounts(db: Database, config: Config): Promise<void> {
  try {
    await db.reader(NOBODY).rows(sql`${AS_AN_ACCOUNT}`)
  } catch (error) {
    if (isOfWorkerAway(error)) return
    const { code = '', message } = error as { code?: string; message?: string }
    if (!IS_NOT_OURS.has(code)) throw error
    throw servesNoAccounts(
      config,
      `${message}. Rights, tables or settings of it are missing, as after a restore in part: restore it whole, or use another database`,
    )
  }
}

const servesNoAccounts = ({ databaseUrl, dataDir }: Config, why: string): StartFailure =>
  new StartFailure(
    `The database at ${databaseUrl === undefined ? dataFolderAt(dataDir).root : shownServer(databaseUrl)} serves no accounts: ${why}.`,
  )

/**
 * Throws a StartFailure if a table that the service works on, or one of its rights, is missing. What a newer program has made of the schema is not known
 * here.
 */
async function checkIsWhole(
  db: Database,
  config: Config,
  { knows, root }: { knows: number; root: string },
): Promise<void> {
  if ((await db.unscoped.value<number>(sql`select (watch() ->> 'schema')::integer`)) > knows) return
  const asked = await firstMissing(root).catch((error: Error) => {
    throw new StartFailure(`The program is not whole: ${error.message}. Install it again.`)
  })
  const [missing] = await db.unscoped.rows<MissingGrant>(asked)
  if (!missing) return
  const [text, mend] = missingInWords(missing)
  throw servesNoAccounts(config, `${text}: ${mend.replace(/;$/, '')}`)
}
