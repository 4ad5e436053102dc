import pg from 'pg'
import { withoutOptions } from './addresses.ts'
import { Places } from '../places.ts'
import { type Commit, type Memory, NOT_REMEMBERED, type Notable } from '../failover/memory.ts'
import { steadyClock } from '../steady-clock.ts'
import { Turns } from '../turns.ts'
import {
  connectionEnded,
  databaseFault,
  isAfterFailure,
  isRetryable,
  isUnavailable,
  refuseOn,
  RETRIES_MAX,
  serverSilent,
  unavailable,
} from './failures.ts'
import { Lanes } from './lanes.ts'
import { Admission } from './admission.ts'
import { AwayNodes, type DatabaseNode, nodesFrom } from './away-nodes.ts'
import { type Readiness, Watch, type WatchSettings } from './watch.ts'
import { READ_STATEMENT_MS, Reads, SNAPSHOT_MS } from './reads.ts'
import { LONG_CONNECTIONS } from '../long/kinds.ts'
import { portionsOf, readRows, runRows, sendTogether } from './row-query.ts'
import { BEGIN, type Engine, SCOPES, type Scopes, tryingLock } from './scoped-query.ts'
import { READING, ServerClient, type ServerClientConfig } from './server-client.ts'
import { boundSilence, cut, GRACE_MS } from './silence.ts'
import { sql, type Statement } from './sql.ts'
import { columnTypes } from './types.ts'
import { untilAborted } from './until-aborted.ts'
import {
  BY_ROWS,
  type Connection,
  type Database,
  type StatementsOfPart,
  type Transaction,
  type TransactionSettings,
} from './database.ts'
import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { boundTransaction, TRANSACTION_MS } from './bound.ts'
import { pipelineOn, type SharedPart } from './pipelined.ts'

/** Of one statement of the service's own work: billing runs, and what it does beside requests. */
const WORK_STATEMENT_MS = 30 * 60_000

// Compiling a statement takes longer than running it, for all that the service asks.
const SESSION =
  '-c jit=off -c TimeZone=UTC -c DateStyle=ISO -c search_path=perennial,pg_temp -c idle_in_transaction_session_timeout=120000'

/** Purposes that keep connections apart: `work` has a bound that no setting of an operator cuts short, `reads` are snapshots with a short one. */
const PURPOSES = {
  work: `-c statement_timeout=${WORK_STATEMENT_MS}`,
  reads: READING,
}

/** Before a connection that a network has dropped without a word is asked whether it still is one. */
const KEEP_ALIVE_AFTER_MS = 30_000

/** How long work waits for a connection. */
const PATIENCE_MS = 20_000

/** The part of the pool that the writes of one account have at a time. */
const WRITES_OF_ACCOUNT = 3 / 4

/** Connections beside the pool of writes and work. */
const LANES = 2

const CREDENTIAL_LANES = 1

const READS = 8

export function clientConfig(
  connection: Connection,
  role: string | undefined,
  purpose: keyof typeof PURPOSES = 'work',
  { session }: Pick<Scopes, 'session'> = SCOPES.plain,
): ServerClientConfig {
  const { address, options } = withoutOptions(connection.connectionString ?? '')
  return {
    ...connection,
    ...(connection.connectionString === undefined ? {} : { connectionString: address }),
    types: columnTypes,
    options: `${options}${SESSION}${session} ${PURPOSES[purpose]}${role ? ` -c role=${role}` : ''}`,
    application_name: WORKING_NAME,
    silenceMs: WORK_STATEMENT_MS + GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  }
}

/** By which operators find the connection of the watch. */
export const WATCH_NAME = 'perennial watch'

/** By which operators, and those who migrate, find the connections of a start and of migrations. */
export const STARTING_NAME = 'perennial start'

/** By which they find those on which processes and commands work. */
export const WORKING_NAME = 'perennial'

const WATCH = 1
/** Of the nightly copy. */
const COPY = 1

/** How many connections a process of a kind opens at most beside those of DATABASE_POOL. */
export const CONNECTIONS_BESIDE_POOL: Readonly<Record<'serve' | 'work', number>> = {
  serve: LANES + CREDENTIAL_LANES + READS + LONG_CONNECTIONS + WATCH,
  // Of look-ups only the sandbox makes some.
  work: LANES + COPY + WATCH,
}

/** Makes a pool of so many connections at most. */
function poolOf(config: ServerClientConfig, max: number): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    Client: ServerClient as unknown as new () => pg.Client,
    // A client is checked out for one transaction at a time, whose statements may be sent before the answers to earlier ones.
    pipeline: true,
    max,
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: PATIENCE_MS,
  })
  // The pool reports a connection that dies while idle; without a handler that would end the process.
  pool.on('error', () => {})
  return pool
}

export interface DatabaseSettings extends WatchSettings {
  role: string | undefined
  poolSize: number
  /** The newest migration that the program knows; left out: it works on any schema. */
  knows?: number
  lanes?: number
  reads?: number
  /** How long a read, and beyond its limit any other statement, may stay unanswered, in milliseconds; left out: READ_STATEMENT_MS and GRACE_MS. */
  silence?: { readMs: number; graceMs: number }
  /** Left out: plain. */
  engine?: Engine
  /** Settles what a failover has lost, on connections that do not wait for that. */
  isUngated?: boolean
  /** How the database is by another watch; left out: by its own. */
  readiness?: () => Readiness
  /** How long an answer may be read piece by piece, in milliseconds; left out: SNAPSHOT_MS. */
  snapshotMs?: number
}

/** Opens the connections of one role. Nothing is connected until the first statement. */
export function openDatabase(connection: Connection, options: DatabaseSettings): Database {
  const scopes = SCOPES[options.engine ?? 'plain']
  const { readMs, graceMs } = options.silence ?? { readMs: READ_STATEMENT_MS, graceMs: GRACE_MS }
  const admission = options.admission ?? new Admission(options.knows)
  const configOf = (purpose: keyof typeof PURPOSES, answerMs: number): ServerClientConfig => ({
    ...clientConfig(connection, options.role, purpose, scopes),
    knows: options.knows,
    isUngated: options.isUngated,
    silenceMs: answerMs + graceMs,
    lookEveryMs: graceMs,
  })
  const [config, ofReads] = [configOf('work', WORK_STATEMENT_MS), configOf('reads', readMs)]
  const pool = poolOf(config, options.poolSize)
  const writes = new Places({
    running: options.poolSize,
    runningOfOwner: Math.ceil(options.poolSize * WRITES_OF_ACCOUNT),
    patienceMs: PATIENCE_MS,
  })
  // It has to learn of a schema that the program does not know, and of a server on which something is to be settled.
  const ofWatch = { ...config, knows: undefined, isUngated: true, application_name: WATCH_NAME }
  const { nodes: ofNodes, homeOf: ofHome } = scopes
  // Not from the pool: while a worker is silent others may have all connections.
  const nodes = async () => (ofNodes === undefined ? [] : guarded(() => nodesFrom(config, ofNodes)))
  const homeOf = ofHome && (async (account: AccountId) => (await watch.rows<DatabaseNode>(ofHome(account)))[0]?.name)
  const wasSilent = () => [lanes, credentialLanes].forEach((each) => each.cutWaiting())
  const away = options.away ?? new AwayNodes({ list: nodes, homeOf, wasSilent, log: options.log })
  const watch = new Watch(ofWatch, { ...options, admission, away }, scopes)
  const { memory } = options
  const readiness = options.readiness ?? (() => watch.readiness)
  // What settles a failover is done on the new server, and is nothing that it could lack.
  const ofCommits = options.isUngated === true ? undefined : memory
  const committing: Committing = { memory: ofCommits, boundMs: options.hasCallers === true ? COMMIT_MS : undefined }
  const turns = new Turns()
  const lanes = new Lanes(ofReads, options.lanes ?? LANES, { turns, scopes })
  const credentialLanes = new Lanes(ofReads, CREDENTIAL_LANES, { turns, scopes })
  const reads = new Reads(ofReads, {
    size: options.reads ?? READS,
    snapshotMs: options.snapshotMs ?? SNAPSHOT_MS,
    turns,
    scopes,
  })

  async function withClient<T>(
    work: (client: pg.PoolClient) => Promise<T>,
    statementMs = WORK_STATEMENT_MS,
  ): Promise<T> {
    const client = await pool.connect()
    let broken: Error | undefined
    boundSilence(client, statementMs + graceMs)
    try {
      return await work(client)
    } catch (error) {
      if (isUnavailable(error)) broken = error as Error
      throw error
    } finally {
      client.release(broken)
    }
  }

  const unscoped: Database['unscoped'] = {
    ...BY_ROWS,
    // One statement is a transaction of its own: of one that a dead-lock ended nothing is left.
    rows: <Row>(statement: Statement, answerMs?: number) =>
      guarded(() =>
        retried(() => withClient(async (client) => (await client.query(statement)).rows as Row[], answerMs)),
      ),
  }

  return {
    turns,
    lookup: (account, size) => {
      turns.note(account)
      return lanes.lookup(account, size)
    },
    credentials: (account) => away.guarded(account, credentialLanes.lookup(account)),
    snapshot: (account, gone, rowsMax) => {
      turns.note(account)
      return reads.snapshot(account, gone, rowsMax)
    },
    reader: (account) => ({
      ...BY_ROWS,
      rows: <Row>(statement: Statement) =>
        guarded(() => withClient((client) => readRows<Row>(client, scopes, statement, scopes.account(account)))),
    }),
    transaction: (account, work, settings) => {
      // Statements that leave together are answered together.
      const answerMs = settings?.gathered ? settings.boundMs : settings?.statementMs
      const { signal } = settings ?? {}
      const transactOn = (client: pg.PoolClient) =>
        signal === undefined
          ? transact(client, scopes, account, work, { ...settings, committing })
          : untilAborted(client, signal, work, (guarded) =>
              transact(client, scopes, account, guarded, { ...settings, committing }),
            )
      if (readiness().waitsForStandby) return Promise.reject(unavailable())
      const entered = settings?.times?.waits()
      const once = () =>
        withClient((client) => {
          entered?.()
          return transactOn(client)
        }, answerMs).finally(entered)
      const done = () => guarded(settings?.gathered?.lockMs === undefined ? () => retried(once) : once)
      if (!settings?.isShared) return done()
      turns.note(account)
      return writes.run(account, done)
    },
    unscoped,
    nodes,
    away,
    listen: (channel, heard, missed) => watch.listen({ channel, heard, ...(missed && { missed }) }),
    watched: () => watch.begin(),
    onWatch: { ...BY_ROWS, rows: (statement) => watch.rows(statement) },
    admission,
    readiness: () => watch.readiness,
    apart: (connections) => openDatabase(connection, { ...options, admission, readiness, away, poolSize: connections }),
    ...remembering(memory),
    poolState: () => {
      const { total, idle, waiting } = reads.state()
      return {
        total: pool.totalCount + total,
        idle: pool.idleCount + idle,
        waiting: pool.waitingCount + writes.waiting + waiting,
      }
    },
    close: async () => {
      if (!options.away) away.close()
      await Promise.all([watch.close(), lanes.close(), credentialLanes.close(), reads.close()])
      await pool.end()
    },
  }
}

/** Makes what takes the things that no transaction of its own remembers. */
const remembering = (
  memory: Memory | undefined,
): Pick<Database, 'rememberChange' | 'rememberNumbers' | 'remember'> => ({
  rememberChange: (account, change, sinceMs) => memory?.noteCommit(account, [change], sinceMs, steadyClock()),
  rememberNumbers: (account, numbers) => memory?.noteNumbers(account, numbers),
  remember: (effect) => memory?.beginEffect(effect, steadyClock()) ?? NOT_REMEMBERED,
})

/** How long a commit may wait where there are callers: it waits for a standby, which no limit of a statement ends. */
const COMMIT_MS = 15_000

const RELAXED = sql`select set_config('synchronous_commit', 'off', true)`

/** A transaction that has written, or locked a row, has a number, and its commit stands in the log behind the position. */
const COMMIT_OF = `select pg_current_xact_id_if_assigned()::text as "transaction", (pg_current_wal_insert_lsn() - '0/0')::bigint as "position"`

/** Memory that takes commits, and how long they may wait, in milliseconds; undefined: as long as the server is not silent. */
interface Committing {
  memory: Memory | undefined
  boundMs: number | undefined
}

/**
 * Commits. Throws the failure of a lost connection where nobody knows whether all have it who should: the commit waits for too long, or the server warns
 * that it waits for its standby no more. Returns what the server knows the commit by, where that is asked; undefined: nothing was written here.
 */
async function commit(
  client: pg.PoolClient,
  sent: readonly Promise<unknown>[],
  { boundMs, isNoted }: { boundMs: number | undefined; isNoted: boolean },
): Promise<Commit | undefined> {
  const server = client as unknown as Pick<ServerClient, 'warnings'>
  const { warnings } = server
  const committed = isNoted
    ? (client.query(`${COMMIT_OF}; commit`) as unknown as Promise<[pg.QueryResult, pg.QueryResult]>)
    : client.query('commit')
  let isOver = false
  let limit: NodeJS.Timeout | undefined
  // What was sent before may take its time.
  const begin = () => {
    if (!isOver) limit = setTimeout(() => cut(client, serverSilent()), boundMs)
  }
  if (boundMs !== undefined) void Promise.all(sent).then(begin, () => {})
  try {
    await Promise.all([...sent, committed])
  } finally {
    isOver = true
    clearTimeout(limit)
  }
  // A failure that someone swallowed turns the commit into a rollback without an error: nothing may be answered as done then.
  const answer = await committed
  const [known, { command }] = Array.isArray(answer) ? answer : [undefined, answer]
  assert(command === 'COMMIT', 'a transaction whose statement failed is not committed')
  if (server.warnings > warnings) throw connectionEnded('no standby acknowledged the commit')
  const { transaction, position } = known?.rows[0] ?? {}
  return transaction ? { transaction, position: Number(position) } : undefined
}

/** Runs work, and throws a Fault in place of a failure that means that the database is away or cannot do it now. */
const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw databaseFault(error) ?? error
  }
}

/** Makes what runs the statements of a transaction that one request has for itself. */
const partAlone = (client: pg.PoolClient, account: AccountId, { sent }: Pick<Scopes, 'sent'>): SharedPart => ({
  rows: (statement) => {
    sendTogether(client)
    return runRows(client, sent(statement))
  },
  grouped: (ofMany, items) => {
    sendTogether(client)
    return runRows(client, sent(ofMany(account, items)))
  },
})

async function transact<T>(
  client: pg.PoolClient,
  scopes: Scopes,
  account: AccountId,
  work: (tx: Transaction) => Promise<T>,
  settings: TransactionSettings & { committing?: Committing } = {},
): Promise<T> {
  const { isolation, plans = 'fitted', statementMs = WORK_STATEMENT_MS, boundMs = TRANSACTION_MS } = settings
  const { times, committing, isRelaxed = false } = settings
  const memory = isRelaxed ? undefined : committing?.memory
  const notes: Notable[] = []
  const asks = <Of>(answer: Promise<Of>): Promise<Of> => (times ? times.asks(answer) : answer)
  const committed: (() => void)[] = []
  // The first failure of a statement that nobody waited for, and the first failure at all. Later ones only mean that the transaction had failed.
  let failure: unknown
  let firstFailure: unknown
  const bound = boundTransaction(client, boundMs)
  // Statements whose answers nobody waits for: each round trip that is saved is a wait less for the caller and a wake-up less for everybody.
  const sent: Promise<unknown>[] = []
  const send = (answer: Promise<unknown>) => {
    sent.push(answer)
    answer.catch((error: unknown) => {
      if (!isAfterFailure(error)) failure ??= error
    })
  }
  const gathered = settings.gathered && pipelineOn(client, account, { before: [BEGIN], sent: scopes.sent })
  const whole: SharedPart = gathered?.part() ?? partAlone(client, account, scopes)
  const savepoint = async <Done>(inner: () => Promise<Done>): Promise<Done> => {
    assert(!gathered, 'work that shares a transaction has no savepoint')
    sendTogether(client)
    await client.query('savepoint attempt')
    const [sentBefore, committedBefore, notesBefore] = [sent.length, committed.length, notes.length]
    try {
      const done = await inner()
      await Promise.all(sent.slice(sentBefore))
      await client.query('release savepoint attempt')
      return done
    } catch (error) {
      await Promise.allSettled(sent.splice(sentBefore))
      const cause = failure ?? (isAfterFailure(error) ? firstFailure : error)
      await client.query('rollback to savepoint attempt')
      committed.splice(committedBefore)
      notes.splice(notesBefore)
      failure = undefined
      firstFailure = undefined
      throw cause
    }
  }
  sendTogether(client)
  // Should either fail, so does all that follows.
  if (isolation) send(client.query(`begin isolation level ${isolation}`))
  const scope = scopes.transaction(account, plans, statementMs, settings.lock)
  const scoped: Promise<{ taken: boolean }[]> = gathered
    ? whole.rows(scope)
    : runRows(client, scope, isolation ? [] : [BEGIN])
  send(scoped)
  if (isRelaxed) send(whole.rows(RELAXED))
  if (settings.gathered?.lockMs !== undefined) send(whole.rows(scopes.lockTimeout(settings.gathered.lockMs)))
  const awaited = async <Row>(rows: Promise<Row[]>): Promise<Row[]> => {
    try {
      return await asks(rows)
    } catch (error) {
      firstFailure ??= error
      throw error
    }
  }
  const statementsOf = ({ rows, grouped }: SharedPart): StatementsOfPart => ({
    ...BY_ROWS,
    rows: <Row>(statement: Statement) => awaited(rows<Row>(statement)),
    tryLock: async (name) => {
      const [row] = await awaited(name === settings.lock ? scoped : rows<{ taken: boolean }>(tryingLock(name)))
      return row?.taken === true
    },
    send: (statement) => send(rows(statement)),
    grouped: (ofMany, items, isOf) => awaited(grouped(ofMany, items, isOf)),
    sendGrouped: (ofMany, items, refusals = {}) => send(refuseOn(grouped(ofMany, items), refusals)),
  })
  let result: T
  try {
    result = await work({
      account,
      ...statementsOf(whole),
      part: () => (gathered ? statementsOf(gathered.part()) : statementsOf(whole)),
      portions: (statement, size) => {
        assert(!gathered, 'work that shares a transaction reads no portions')
        return portionsOf(client, statement, size)
      },
      alone: () => {},
      afterCommit: (callback) => committed.push(callback),
      remember: (note) => {
        if (memory) notes.push(note())
      },
      savepoint,
    })
    bound.check()
    gathered?.finish()
    sendTogether(client)
    const sentMs = steadyClock()
    const wrote = await asks(commit(client, sent, { boundMs: committing?.boundMs, isNoted: memory !== undefined }))
    // One that only read must not make a server that lacks nothing look as if it did. Of what is written on other servers this one has no number.
    if (wrote || (scopes !== SCOPES.plain && notes.length > 0))
      memory?.noteCommit(account, notes, sentMs, steadyClock(), wrote)
  } catch (error) {
    gathered?.drop()
    await client.query('rollback').catch(() => {})
    throw failure ?? (isAfterFailure(error) ? firstFailure : undefined) ?? error
  } finally {
    bound.clear()
  }
  for (const callback of committed) callback()
  return result
}

async function retried<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!isRetryable(error)) throw error
      if (tries >= RETRIES_MAX) throw unavailable()
    }
  }
}
