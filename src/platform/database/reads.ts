import pg from 'pg'
import type { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { Places } from '../places.ts'
import type { Turns } from '../turns.ts'
import { quieten } from './cancel.ts'
import { readFault, tooExpensive, TooManyRows } from './failures.ts'
import { BY_ROWS, type Snapshot } from './database.ts'
import { type Exchange, sendExchange, sendTogether } from './row-query.ts'
import { BEGIN, COMMIT, type Scopes } from './scoped-query.ts'
import { ServerClient } from './server-client.ts'
import type { Statement } from './sql.ts'

/**
 * Reads of callers, on connections of their own: each a snapshot, a transaction that is repeatable read and read only. They have time
 * limits, end when their caller is gone, and cannot take the connections of writes and of the worker.
 */

/**
 * Rows of a portion of what any number of them belongs to: reading and writing them takes a few milliseconds, and then it is the turn of
 * other requests.
 */
export const PORTION_ROWS = 250

/** Rows of a statement that what is made of them takes a turn of the event loop of its own for. */
const TURN_ROWS = 25

/** Of one statement, or one fetch of its rows. An operator's own limit holds where it is stricter. */
export const READ_STATEMENT_MS = 15_000
/** Of a snapshot: an answer that is streamed to a slow caller breaks off then. */
export const SNAPSHOT_MS = 5 * 60_000

/** How long a read waits for a connection: long enough for a short rush, and shorter than most callers wait. */
const PATIENCE_MS = 20_000

/** The setting of the role, the database or the address is known only once connected. */
const LIMIT = `select set_config('statement_timeout',
  case when setting::bigint between 1 and ${READ_STATEMENT_MS} then setting else '${READ_STATEMENT_MS}' end, false)
  from pg_settings where name = 'statement_timeout'`

/** Gives a new connection for reads its time limit. */
export const limitReads = async (client: pg.ClientBase): Promise<void> => {
  await client.query(LIMIT)
}

export class Reads {
  readonly #pool: pg.Pool
  readonly #places: Places
  readonly #snapshotMs: number
  readonly #turns: Turns
  readonly #scopes: Scopes

  constructor(
    config: pg.ClientConfig,
    { size, snapshotMs, turns, scopes }: { size: number; snapshotMs: number; turns: Turns; scopes: Scopes },
  ) {
    this.#turns = turns
    this.#scopes = scopes
    this.#snapshotMs = snapshotMs
    this.#pool = new pg.Pool({
      ...config,
      Client: ServerClient as unknown as new () => pg.ClientBase,
      pipeline: true,
      max: size,
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: 20_000,
      onConnect: limitReads,
    } as pg.PoolConfig)
    // One account can hold half of them, however many reads it sends.
    this.#places = new Places({ running: size, runningOfOwner: Math.ceil(size / 2), patienceMs: PATIENCE_MS })
    this.#pool.on('error', () => {})
  }

  snapshot(account: AccountId, gone?: AbortSignal, rowsMax?: number): Snapshot {
    const lending = {
      pool: this.#pool,
      places: this.#places,
      boundMs: this.#snapshotMs,
      turns: this.#turns,
      scopes: this.#scopes,
    }
    return new LentSnapshot(lending, account, gone, rowsMax)
  }

  state(): { total: number; idle: number; waiting: number } {
    return { total: this.#pool.totalCount, idle: this.#pool.idleCount, waiting: this.#places.waiting }
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}

/**
 * Connections whose last snapshot is over and not yet committed. Whoever borrows one at once sends the commit in front of its own begin,
 * which saves an exchange for each read while reads wait for connections; else it is sent as soon as the program waits.
 */
const uncommitted = new WeakMap<pg.ClientBase, NodeJS.Immediate>()

const commit = (client: pg.ClientBase): void => void client.query('commit').catch(() => {})

function commitSoon(client: pg.ClientBase): void {
  const soon = setImmediate(() => {
    uncommitted.delete(client)
    commit(client)
  })
  uncommitted.set(client, soon)
}

/** Returns the statements that go in front of the first one of a snapshot. */
function beginOn(client: pg.ClientBase, scope: Statement): Statement[] {
  const begin = [BEGIN, scope]
  const soon = uncommitted.get(client)
  if (!soon) return begin
  clearImmediate(soon)
  uncommitted.delete(client)
  return [COMMIT, ...begin]
}

/** A connection that a snapshot has borrowed. */
interface Lent {
  client: pg.PoolClient
  giveBack(broken: boolean): void
}

class LentSnapshot implements Snapshot {
  declare readonly rowsMax?: number
  readonly #pool: pg.Pool
  readonly #places: Places
  readonly #account: AccountId
  readonly #gone: AbortSignal | undefined
  readonly #boundMs: number
  readonly #turns: Turns
  readonly #scopes: Scopes
  readonly #leave = () => this.#stop(this.#gone?.aborted ? (this.#gone.reason as Fault) : tooExpensive())
  #lending: Promise<Lent> | undefined
  #limit: NodeJS.Timeout | undefined
  #hasBegun = false
  #hasFailed = false
  #isEnded = false
  #stopped: Fault | undefined
  #quiet: Promise<boolean> | undefined
  #portals = 0

  constructor(
    {
      pool,
      places,
      boundMs,
      turns,
      scopes,
    }: { pool: pg.Pool; places: Places; boundMs: number; turns: Turns; scopes: Scopes },
    account: AccountId,
    gone: AbortSignal | undefined,
    rowsMax: number | undefined,
  ) {
    if (rowsMax !== undefined) this.rowsMax = rowsMax
    this.#pool = pool
    this.#places = places
    this.#boundMs = boundMs
    this.#turns = turns
    this.#scopes = scopes
    this.#account = account
    this.#gone = gone
  }

  readonly first = BY_ROWS.first
  readonly one = BY_ROWS.one
  readonly value = BY_ROWS.value
  readonly values = BY_ROWS.values
  readonly count = BY_ROWS.count

  async rows<Row>(statement: Statement): Promise<Row[]> {
    const { rowsMax } = this
    const { rows, hasMore } = await this.#read<Row>(statement, rowsMax === undefined ? {} : { rowsMax: rowsMax + 1 })
    if (hasMore) throw new TooManyRows()
    return rows
  }

  async *portions<Row>(statement: Statement, size: number): AsyncGenerator<Row[], void, undefined> {
    this.#portals += 1
    const portal = `portions_${this.#portals}`
    for (let isOpen = false; ; isOpen = true) {
      const { rows, hasMore } = await this.#read<Row>(statement, { portion: { portal, rows: size, isOpen } })
      if (rows.length > 0) yield rows
      if (!hasMore) return
    }
  }

  async #read<Row>(
    statement: Statement,
    bound: Pick<Exchange, 'portion' | 'rowsMax'>,
  ): Promise<{ rows: Row[]; hasMore: boolean }> {
    try {
      const { client } = await (this.#lending ??= this.#borrow())
      if (this.#stopped) throw this.#stopped
      // The first statement brings its begin with it: a read of one statement waits no longer than it would alone.
      const before = this.#hasBegun ? [] : beginOn(client, this.#scopes.account(this.#account))
      this.#hasBegun = true
      sendTogether(client)
      return await new Promise((resolve, reject) => {
        const exchange = { before, statements: [statement], ...bound }
        sendExchange(client, exchange, (error, [rows = []], hasMore) => {
          const handOn = () => resolve({ rows: rows as Row[], hasMore })
          if (error) reject(error)
          else if (rows.length < TURN_ROWS) handOn()
          else this.#turns.handOn(this.#account, handOn)
        })
      })
    } catch (error) {
      this.#hasFailed = true
      throw this.#stopped ?? readFault(error) ?? error
    }
  }

  async #borrow(): Promise<Lent> {
    const leave = await this.#places.take(this.#account, this.#gone ? { signal: this.#gone } : {})
    try {
      const client = await this.#pool.connect()
      this.#limit = setTimeout(this.#leave, this.#boundMs).unref()
      this.#gone?.addEventListener('abort', this.#leave)
      if (this.#gone?.aborted) this.#leave()
      return {
        client,
        giveBack: (broken) => {
          client.release(broken)
          leave()
        },
      }
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Ends what is being read: nobody waits for it, or it took too long. */
  #stop(reason: Fault): void {
    if (this.#isEnded || this.#stopped) return
    this.#stopped = reason
    if (this.#hasBegun) this.#quiet = this.#lending?.then(({ client }) => quieten(client))
  }

  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    void this.#lending?.then(
      (lent) => this.#finish(lent),
      () => {},
    )
  }

  async #finish({ client, giveBack }: Lent): Promise<void> {
    clearTimeout(this.#limit)
    this.#gone?.removeEventListener('abort', this.#leave)
    if (this.#quiet) return giveBack(!(await this.#quiet))
    // Neither the answer nor the next read waits for it. Of a transaction that failed it is the rollback, and nothing goes in front of it.
    if (this.#hasFailed) commit(client)
    else if (this.#hasBegun) commitSoon(client)
    giveBack(false)
  }
}
