import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Admission } from './admission.ts'
import type { AwayNodes, DatabaseNode } from './away-nodes.ts'
import type { Change, Effect, EffectUnderWay, Notable, NumbersGiven } from '../failover/memory.ts'
import type { Turns } from '../turns.ts'
import type { Refusals } from './failures.ts'
import type { Plans } from './scoped-query.ts'
import type { Readiness } from './watch.ts'
import { type Fragment, fragment, NOTHING, type Statement } from './sql.ts'

/** Connection to the database: everything that the driver needs, plus the role to work under. */
export interface Connection {
  host?: string
  port?: number
  user?: string
  password?: string
  database?: string
  connectionString?: string
  /** Called with the server's process of each connection, once it is there. */
  onConnected?(serverProcess: number): void
}

/** Anything that can run a statement for one account: a transaction, or reads without one. */
export interface Queryable {
  /** Of a look-up, and of what is tried as short: most rows of a statement. Whatever can have any number of rows takes no more than one above them, see `orTooMany`. */
  readonly rowsMax?: number
  rows<Row>(statement: Statement): Promise<Row[]>
  /** Returns the first row of a statement, undefined when it has none. */
  first<Row>(statement: Statement): Promise<Row | undefined>
  /** Returns the one row that a statement always has. */
  one<Row>(statement: Statement): Promise<Row>
  /** Returns the value of the one row of a statement that has one column. */
  value<Value>(statement: Statement): Promise<Value>
  /** Lists the values of a statement that has one column. */
  values<Value>(statement: Statement): Promise<Value[]>
  /** Returns the number that a statement `select count(*) …` answers. */
  count(statement: Statement): Promise<number>
  /** Left out where nobody else asks. */
  readonly grouped?: Grouped
}

/** The part of what runs statements that follows from `rows`, also where `rows` is put in its place later. */
export const BY_ROWS = {
  async first<Row>(this: Pick<Queryable, 'rows'>, statement: Statement): Promise<Row | undefined> {
    return (await this.rows<Row>(statement))[0]
  },
  async one<Row>(this: Pick<Queryable, 'rows'>, statement: Statement): Promise<Row> {
    const [row] = await this.rows<Row>(statement)
    assert(row !== undefined, `one row is answered by ${statement.text}`)
    return row
  },
  async value<Value>(this: Pick<Queryable, 'rows'>, statement: Statement): Promise<Value> {
    const [value] = await this.rows<{ [column: string]: Value }>(statement).then(valuesOf)
    assert(value !== undefined, `one row is answered by ${statement.text}`)
    return value
  },
  async values<Value>(this: Pick<Queryable, 'rows'>, statement: Statement): Promise<Value[]> {
    return valuesOf(await this.rows<{ [column: string]: Value }>(statement))
  },
  async count(this: Pick<Queryable, 'rows'>, statement: Statement): Promise<number> {
    const [count] = valuesOf(await this.rows<{ n: bigint }>(statement))
    assert(count !== undefined, `one row is answered by ${statement.text}`)
    return Number(count)
  },
}

const valuesOf = <Value>(rows: readonly { [column: string]: Value }[]): Value[] =>
  rows.flatMap((row) => Object.values(row))

/** Makes one statement for items of an account: it answers a row for each, in their order, or rows that show which item they are of. */
export type OfMany<Item> = (account: AccountId, items: readonly Item[]) => Statement

/**
 * Reads, locks or draws what items are about, and writes nothing. What requests that share a transaction ask for at once is one statement. `isOf` finds the
 * rows of these items; left out: there is one for each.
 */
export type Grouped = <Item, Row>(
  ofMany: OfMany<Item>,
  items: readonly Item[],
  isOf?: (row: Row, items: readonly Item[]) => boolean,
) => Promise<Row[]>

/** Asks for the rows of items as `Joint` does, where others can join. */
export const rowsOfMany = <Item, Row>(
  db: Queryable,
  account: AccountId,
  ofMany: OfMany<Item>,
  items: readonly Item[],
  isOf: (row: Row, items: readonly Item[]) => boolean,
): Promise<Row[]> => (db.grouped ? db.grouped(ofMany, items, isOf) : db.rows<Row>(ofMany(account, items)))

/** A transaction of one account. */
export interface Transaction extends Queryable {
  readonly account: AccountId
  /** Tries to lock a name until the end of the transaction. Returns false while another transaction has it. */
  tryLock(name: string): Promise<boolean>
  /** Runs a statement after those before it, without waiting for its answer; if it fails, nothing is committed. */
  send(statement: Statement): void
  readonly grouped: Grouped
  /** Writes items in the same way, without waiting; if it fails, nothing is committed. `refusals` are those of constraints, see `refuseOn`. */
  sendGrouped<Item>(ofMany: OfMany<Item>, items: readonly Item[], refusals?: Refusals): void
  /** Has the process remember what the transaction does, once it is committed: see `platform/failover/memory.ts`. Asked for only where it remembers. */
  remember(note: () => Notable): void
  /** Runs the callback after the commit, and not at all after a rollback. */
  afterCommit(callback: () => void): void
  /** The rows of a statement as they are when it begins, so many at a time; other statements may run between the portions. */
  portions<Row>(statement: Statement, size: number): AsyncGenerator<Row[], void, undefined>
  /** Runs work of which nothing stays if it fails, while what came before it does. Throws its failure; the transaction goes on. */
  savepoint<T>(work: () => Promise<T>): Promise<T>
  /**
   * Begins the work anew automatically where it shares its transaction with other requests, see `http/grouped-writes.ts`: before what reaches beyond
   * the record of its request, and before the first write.
   */
  alone(): void
  /** The same transaction for one of the requests that share it, whose statements run in their order. */
  part(): StatementsOfPart
}

/** Statements of one of the requests that share a transaction. */
export type StatementsOfPart = Pick<
  Transaction,
  keyof typeof BY_ROWS | 'rows' | 'tryLock' | 'send' | 'grouped' | 'sendGrouped'
>

export interface TransactionSettings {
  isolation?: 'repeatable read'
  /** Left out: fitted. */
  plans?: Plans
  /** A name that `tryLock` is asked for first: it is tried by the statement that sets the account. */
  lock?: string
  /** Of a request: its account has part of the connections at a time, and waits for itself beyond that. */
  isShared?: boolean
  /** How long one statement may take, in milliseconds; left out: WORK_STATEMENT_MS. */
  statementMs?: number
  /** How long the transaction may last, in milliseconds; left out: TRANSACTION_MS. More only for what adds no records. */
  boundMs?: number
  /**
   * Of work that many statements wait in at once: they leave together, without savepoints and portions. With `lockMs` a lock is waited for so many
   * milliseconds at most, and what fails is not tried again.
   */
  gathered?: { lockMs?: number }
  /** Its commit does not wait for the disk: a machine that dies may lose it, so it is never remembered as one that callers rely on. */
  isRelaxed?: boolean
  /** Ends the transaction when it is aborted, its statement too, and throws the reason; nothing of it is left. */
  signal?: AbortSignal
  /** Takes how long the transaction waits for its connection and for answers. */
  times?: Times
}

/** Takes where time goes. */
export interface Times {
  /** Counts a wait for a place until the returned function is called. */
  waits(): () => void
  /** Counts the time until an answer of the database. */
  asks<T>(answer: Promise<T>): Promise<T>
}

/** Statements that belong to no account. */
interface Unscoped extends Queryable {
  /** Runs a statement. `answerMs`: how long the server may be silent before the connection is given up; left out: as long as work may take. */
  rows<Row>(statement: Statement, answerMs?: number): Promise<Row[]>
}

export interface Database {
  /**
   * A short read of one account by identifiers, on shared connections: all its statements at once, as one snapshot. Rejects with TooManyRows
   * where it is not short.
   */
  lookup(account: AccountId, size?: LookupSize): Queryable
  /** A look-up of credentials, which waits for no other read. */
  credentials(account: AccountId): Queryable
  /**
   * A read of one account for a caller, until its end; cancelled when the signal is aborted. With `rowsMax` it rejects with TooManyRows where a
   * statement that is not read in portions has more rows.
   */
  snapshot(account: AccountId, gone?: AbortSignal, rowsMax?: number): Snapshot
  /** Reads of one account for work of the service itself, each statement a transaction of its own. */
  reader(account: AccountId): Queryable
  /** Runs work in a transaction of one account, and again after a deadlock or serialisation failure: it may have no effects outside. */
  transaction<T>(account: AccountId, work: (tx: Transaction) => Promise<T>, settings?: TransactionSettings): Promise<T>
  /** Statements that belong to no account: the owner's narrow functions, and health checks. */
  unscoped: Unscoped
  /** Turns of the event loop, which large reads take while requests of several accounts come. */
  turns: Turns
  /** Waits for notifications of a channel on the watch until the returned function is called; a lost connection is taken up again, and `missed` called then. */
  listen(channel: string, heard: (payload: string) => void, missed?: () => void): Promise<() => Promise<void>>
  /** Begins the watch, and returns once the database has answered it. Throws if it does not. */
  watched(): Promise<void>
  /** Statements on the connection of the watch: few and short, for a process that makes itself known while it takes no work. */
  onWatch: Queryable
  /** Whether work is taken, as the watch has learned. */
  admission: Admission
  /** Asks which workers of a cluster its coordinator reaches; none where the database is one server. */
  nodes(): Promise<DatabaseNode[]>
  /** Those that it does not reach, as this process has met them. */
  away: AwayNodes
  /** Returns what the watch knows of the database. It begins with the first that listens, too. */
  readiness(): Readiness
  /** The same database on connections of its own, which others neither wait for nor wait on; to be closed on its own. */
  apart(connections: number): Database
  /** Has the process remember an effect that is about to leave, until the caller reports what came of it. */
  remember(effect: Effect): EffectUnderWay
  /** Has the process remember a change of several transactions, which has been under way since a moment of the steady clock. */
  rememberChange(account: AccountId, change: Change, sinceMs: number): void
  /** Remembers numbers of documents that another transaction gave, perhaps of another process, and that are acknowledged again. */
  rememberNumbers(account: AccountId, numbers: readonly NumbersGiven[]): void
  /** Counts for /metrics. */
  poolState(): { total: number; idle: number; waiting: number }
  close(): Promise<void>
}

/** Of one statement of a request that writes. */
export const WRITE_STATEMENT_MS = 5 * 60_000
/** Of one statement that reads whole tables: the verification of the books, and migrations. */
export const WHOLE_STATEMENT_MS = 24 * 3_600_000

/**
 * Returns the limit of a part of a statement that can have any number of rows: for a look-up one more than it may have, so that the server
 * neither sorts nor joins what would be thrown away; for everything else none.
 */
export const orTooMany = ({ rowsMax }: Queryable): Fragment =>
  rowsMax === undefined ? NOTHING : fragment`limit ${rowsMax + 1}`

/** Reads of one account that show one moment. */
export interface Snapshot extends Queryable {
  /** The rows of a statement, so many at a time: what has been handed on need not be kept. */
  portions<Row>(statement: Statement, size: number): AsyncGenerator<Row[], void, undefined>
  /** Lets go of what the snapshot holds; nothing can be read of it afterwards. */
  end(): void
}

/** Kind of a look-up: one record, or a page of them. */
export type LookupSize = 'record' | 'page'
