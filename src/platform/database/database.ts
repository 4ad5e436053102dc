import pg from 'pg'
import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { databaseFault, isRetryable, RETRIES_MAX, unavailable } from './failures.ts'
import { RowQuery, type WireConnection } from './row-query.ts'
import {
  BEGIN_STATEMENT,
  BEGIN_TEXT,
  BeginQuery,
  type Plans,
  SCOPE_STATEMENT,
  SCOPE_TEXT,
  ScopedQuery,
  transactionScope,
} from './scoped-query.ts'
import type { Statement } from './sql.ts'
import { columnTypes } from './types.ts'

/** Where the database is: what the driver needs, plus the role to work under. */
export interface Connection {
  host?: string
  port?: number
  user?: string
  password?: string
  database?: string
  connectionString?: string
}

/** Anything that can run a statement for one account: a transaction, or reads without one. */
export interface Queryable {
  rows<Row>(statement: Statement): Promise<Row[]>
}

/** A transaction of one account. */
export interface Transaction extends Queryable {
  readonly account: AccountId
  /** Runs a statement after those before it, without waiting for its answer; if it fails, nothing is committed. */
  send(statement: Statement): void
  /** Runs the callback after the commit, and not at all after a rollback. */
  afterCommit(callback: () => void): void
}

export interface TransactionSettings {
  isolation?: 'repeatable read'
  /** Left out: fitted. */
  plans?: Plans
}

export interface Database {
  /** Reads of one account, each statement a transaction of its own. Quick ones share pipelined connections. */
  reader(account: AccountId, speed?: 'quick' | 'any'): Queryable
  /** One transaction of one account; a dead-lock or serialisation failure is tried again, so the work must not leak outside it. */
  transaction<T>(account: AccountId, work: (tx: Transaction) => Promise<T>, settings?: TransactionSettings): Promise<T>
  /** Statements that belong to no account: the owner's narrow functions, and health checks. */
  unscoped: Queryable
  /** Waits for notifications of a channel until the returned function is called. */
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>
  /** The same database on connections of its own, which others neither wait for nor wait on; to be closed by itself. */
  apart(connections: number): Database
  /** Counts for /metrics. */
  poolState(): { total: number; idle: number; waiting: number }
  close(): Promise<void>
}

const SESSION =
  '-c TimeZone=UTC -c DateStyle=ISO -c search_path=perennial,pg_temp -c statement_timeout=0 -c idle_in_transaction_session_timeout=120000'

export const clientConfig = (connection: Connection, role: string | undefined): pg.ClientConfig => ({
  ...connection,
  types: columnTypes,
  options: role ? `${SESSION} -c role=${role}` : SESSION,
  application_name: 'perennial',
  keepAlive: true,
})

const prepareScope = (client: pg.ClientBase) => client.query({ name: SCOPE_STATEMENT, text: SCOPE_TEXT, values: ['0'] })

/** A new connection of the pool learns what every transaction begins with. Its own begin is ended at once. */
async function prepareBegin(client: pg.ClientBase): Promise<void> {
  await client.query({ name: BEGIN_STATEMENT, text: BEGIN_TEXT })
  await client.query('rollback')
}

type Stream = WireConnection['stream']
const gathering = new WeakSet<Stream>()

/** What is sent before the program waits again leaves in one piece: one system call and one wake-up of the server for several statements. */
function sendTogether(client: pg.ClientBase): void {
  const { stream } = (client as unknown as { connection: WireConnection }).connection
  if (gathering.has(stream)) return
  gathering.add(stream)
  stream.cork()
  process.nextTick(() => {
    gathering.delete(stream)
    stream.uncork()
  })
}

function runScoped<Row>(client: pg.ClientBase, account: AccountId, statement: Statement): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const query = new ScopedQuery(statement, account, (error, rows) => (error ? reject(error) : resolve(rows as Row[])))
    client.query(query as unknown as pg.Submittable)
  })
}

function runRows<Row>(client: pg.ClientBase, statement: Statement): Promise<Row[]> {
  sendTogether(client)
  return new Promise((resolve, reject) => {
    const query = new RowQuery(statement, (error, rows) => (error ? reject(error) : resolve(rows as Row[])))
    client.query(query as unknown as pg.Submittable)
  })
}

/** Two connections on which quick scoped reads of all callers are sent without waiting for each other. */
class QuickLanes {
  readonly #config: pg.ClientConfig
  readonly #lanes: (Promise<pg.Client> | undefined)[]
  #turn = 0
  #isClosed = false

  constructor(config: pg.ClientConfig, lanes: number) {
    this.#config = { ...config, pipeline: true } as pg.ClientConfig
    this.#lanes = Array.from({ length: lanes }, () => undefined)
  }

  async #open(position: number): Promise<pg.Client> {
    const client = new pg.Client(this.#config)
    const forget = () => {
      this.#lanes[position] = undefined
    }
    client.on('error', forget)
    client.on('end', forget)
    await client.connect()
    await prepareScope(client)
    return client
  }

  async rows<Row>(account: AccountId, statement: Statement): Promise<Row[]> {
    if (this.#isClosed) throw unavailable()
    this.#turn = (this.#turn + 1) % this.#lanes.length
    const position = this.#turn
    let lane = this.#lanes[position]
    if (!lane) {
      lane = this.#open(position)
      this.#lanes[position] = lane
      lane.catch(() => {
        this.#lanes[position] = undefined
      })
    }
    return runScoped<Row>(await lane, account, statement)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#lanes.map(async (lane) => (await lane)?.end()))
  }
}

/** Opens the pools of one role. Nothing is connected until the first statement. */
export function openDatabase(
  connection: Connection,
  options: { role: string | undefined; poolSize: number; quickLanes?: number },
): Database {
  const config = clientConfig(connection, options.role)
  const pool = new pg.Pool({
    ...config,
    // A client is checked out for one transaction at a time, whose statements may be sent before the answers to earlier ones.
    pipeline: true,
    max: options.poolSize,
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: 20_000,
  })
  // Without a handler a connection that dies while idle would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    client.on('error', () => {})
  })
  const scoped = new WeakSet<pg.PoolClient>()
  const quick = new QuickLanes(config, options.quickLanes ?? 2)

  async function checkOut(): Promise<pg.PoolClient> {
    const client = await pool.connect()
    if (!scoped.has(client)) {
      await prepareScope(client)
      await prepareBegin(client)
      scoped.add(client)
    }
    return client
  }

  async function withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await checkOut()
    let broken: Error | undefined
    try {
      return await work(client)
    } catch (error) {
      if (databaseFault(error)) broken = error as Error
      throw error
    } finally {
      client.release(broken)
    }
  }

  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw databaseFault(error) ?? error
    }
  }

  return {
    reader: (account, speed = 'any') => ({
      rows: <Row>(statement: Statement) =>
        guarded(() =>
          speed === 'quick'
            ? quick.rows<Row>(account, statement)
            : withClient((client) => runScoped<Row>(client, account, statement)),
        ),
    }),
    transaction: (account, work, settings) =>
      guarded(() => retried(() => withClient((client) => transact(client, account, work, settings)))),
    unscoped: {
      rows: <Row>(statement: Statement) =>
        guarded(() => withClient(async (client) => (await client.query(statement)).rows as Row[])),
    },
    listen: (channel, heard) => listen(config, channel, heard),
    apart: (connections) => openDatabase(connection, { ...options, poolSize: connections }),
    poolState: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: async () => {
      await quick.close()
      await pool.end()
    },
  }
}

const begin = (client: pg.ClientBase, account: AccountId, plans: Plans): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const scope = transactionScope(account, plans)
    const query = new BeginQuery(scope, (error, rows) => (error ? reject(error) : resolve(rows)))
    client.query(query as unknown as pg.Submittable)
  })

async function transact<T>(
  client: pg.PoolClient,
  account: AccountId,
  work: (tx: Transaction) => Promise<T>,
  { isolation, plans = 'fitted' }: TransactionSettings = {},
): Promise<T> {
  const committed: (() => void)[] = []
  let failure: unknown
  // Statements whose answers nobody waits for: each round trip that is saved is a wait less for the caller and a wake-up less for everybody.
  const sent: Promise<unknown>[] = []
  const send = (answer: Promise<unknown>) => {
    sent.push(answer)
    answer.catch((error: unknown) => (failure ??= error))
  }
  sendTogether(client)
  // Should either fail, so does all that follows.
  if (isolation) send(client.query(`begin isolation level ${isolation}`))
  send(isolation ? runRows(client, transactionScope(account, plans)) : begin(client, account, plans))
  let result: T
  try {
    result = await work({
      account,
      rows: <Row>(statement: Statement) => runRows<Row>(client, statement),
      send: (statement) => send(runRows(client, statement)),
      afterCommit: (callback) => committed.push(callback),
    })
    sendTogether(client)
    const commit = client.query('commit')
    await Promise.all([...sent, commit])
    // A failure that someone swallowed turns the commit into a rollback without an error: nothing may be answered as done then.
    const { command } = await commit
    assert(command === 'COMMIT', 'a transaction whose statement failed is not committed')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    // What was sent without waiting failed first; what came after it only tells that the transaction had failed.
    throw failure ?? error
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

async function listen(
  config: pg.ClientConfig,
  channel: string,
  heard: (payload: string) => void,
): Promise<() => Promise<void>> {
  assert(/^[a-z_]+$/.test(channel), 'a channel is a plain word')
  const client = new pg.Client(config)
  client.on('error', () => {})
  client.on('notification', (message) => heard(message.payload ?? ''))
  await client.connect()
  await client.query(`listen ${channel}`)
  return () => client.end()
}

/** The first row of a statement, undefined when it has none. */
export async function firstRow<Row>(db: Queryable, statement: Statement): Promise<Row | undefined> {
  return (await db.rows<Row>(statement))[0]
}

/** The one row that a statement always has. */
export async function oneRow<Row>(db: Queryable, statement: Statement): Promise<Row> {
  const [row] = await db.rows<Row>(statement)
  assert(row !== undefined, `one row is answered by ${statement.text}`)
  return row
}

/** The number that a statement `select count(*) as "n" …` answers. */
export const countOf = async (db: Queryable, statement: Statement): Promise<number> =>
  Number((await oneRow<{ n: bigint }>(db, statement)).n)
