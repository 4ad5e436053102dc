import pg from 'pg'
import { BEGIN, COMMIT, type Scopes } from './scoped-query.ts'
import type { Statement } from './sql.ts'
import { textReader } from './text-rows.ts'
import { columnTypes } from './types.ts'

/**
 * Prepared statements and their rows, one or several in one exchange, read for less than the driver's own query does: the shape of the
 * rows is asked for once a connection and not with every execution, and a row is made by a function that was compiled for its columns.
 * The driver fills objects name by name; with forty names that makes slow objects of three kilobytes.
 */

/** The parts of the driver's Query and Connection that its type package does not describe. */
export interface WireConnection {
  parse(message: { text: string; name: string }): void
  bind(message: {
    portal?: string
    statement: string
    values: unknown[]
    valueMapper?: (value: unknown) => unknown
  }): void
  describe(message: { type: 'P'; name: string }): void
  execute(message: { portal?: string; rows?: number }): void
  close(message: { type: 'S' | 'P'; name: string }): void
  sync(): void
  stream: { cork(): void; uncork(): void }
}
interface DataRow {
  fields: (string | null)[]
}
/** Ends with the number of rows: `UPDATE 3`. */
interface CommandComplete {
  text: string
}
interface RowDescription {
  fields: { name: string; dataTypeID: number }[]
}
interface WireQuery {
  submit(connection: WireConnection): Error | null
  handleRowDescription(message: RowDescription): void
  handleDataRow(message: DataRow): void
  handleCommandComplete(message: CommandComplete, connection: WireConnection): void
  handlePortalSuspended(connection: WireConnection): void
  handleReadyForQuery(connection: WireConnection): void
  handleError(error: Error, connection: WireConnection): void
}
// The driver refuses what is no Query of its own on a pipelined connection.
const BaseQuery = pg.Query as unknown as new (config: object) => WireQuery

type RowReader = (texts: (string | null)[]) => unknown

/** Statements that a connection has prepared, by name, each with the reader of its rows once their shape is known. */
const prepared = new WeakMap<WireConnection, Map<string, RowReader | undefined>>()

function preparedOn(connection: WireConnection): Map<string, RowReader | undefined> {
  let known = prepared.get(connection)
  if (!known) prepared.set(connection, (known = new Map()))
  return known
}

/** Compiles a reader that makes each row with one object literal, so that V8 knows its shape. Names of columns come from our own SQL only. */
function compileReader({ fields }: RowDescription): RowReader {
  const readers = fields.map(({ dataTypeID }) => columnTypes.getTypeParser(dataTypeID))
  const parts = fields.map(
    ({ name }, place) => `${JSON.stringify(name)}: texts[${place}] === null ? null : read${place}(texts[${place}])`,
  )
  const names = readers.map((_, place) => `read${place}`)
  // oxlint-disable-next-line no-new-func
  const make = new Function(...names, `return (texts) => ({ ${parts.join(', ')} })`) as (
    ...given: unknown[]
  ) => RowReader
  return make(...readers)
}

/** A part of a statement's rows: so many at a time, out of a portal that stays open until its transaction ends. */
export interface Portion {
  portal: string
  rows: number
  /** The portal was opened by an earlier exchange. */
  isOpen: boolean
}

export interface Exchange {
  /** Executed in front of the statements: what they answer is not read. */
  before: readonly Statement[]
  statements: readonly Statement[]
  /** Of the one statement, where its rows are fetched in portions. */
  portion?: Portion
  /** Of each statement: the server makes no more rows than these. That a statement reached the bound is called back as `hasMore`. */
  rowsMax?: number
}

type ExchangeCallback = (error: Error | null, found: unknown[][], hasMore: boolean) => void

/** Statements that are sent with one Sync behind all of them: they succeed or fail together. */
class ExchangeQuery extends BaseQuery {
  readonly #exchange: Exchange
  readonly #callback: ExchangeCallback
  readonly #found: unknown[][]
  readonly #readers: (RowReader | undefined)[] = []
  /** Names that this exchange prepares, until it is known that they are. */
  #preparing: string[] = []
  #known: Map<string, RowReader | undefined> | undefined
  /** The place of the statement whose answer arrives; below 0: of those in front. */
  #place: number
  #failure: Error | null = null
  #hasMore = false

  constructor(exchange: Exchange, callback: ExchangeCallback) {
    super(NO_TEXT)
    this.#exchange = exchange
    this.#callback = callback
    this.#found = exchange.statements.map(() => [])
    this.#place = -exchange.before.length
  }

  override submit(connection: WireConnection): null {
    const { before, statements, portion, rowsMax } = this.#exchange
    const how = portion ?? (rowsMax === undefined ? WHOLE : { rows: rowsMax })
    this.#known = preparedOn(connection)
    connection.stream.cork()
    try {
      // All of them first: what another caller's exchange behind this one relies on is prepared whatever becomes of this one.
      for (const statement of before) this.#prepare(connection, statement)
      for (const statement of statements) this.#prepare(connection, statement)
      for (const { name, values } of before) {
        connection.bind({ statement: name, values, valueMapper: parameterOf })
        connection.execute(WHOLE)
      }
      for (const statement of statements) this.#execute(connection, statement, how)
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
    return null
  }

  #prepare(connection: WireConnection, { name, text }: Statement): void {
    if (this.#known?.has(name)) return
    // An exchange that failed early may have left it there.
    connection.close({ type: 'S', name })
    connection.parse({ text, name })
    this.#known?.set(name, undefined)
    this.#preparing.push(name)
  }

  #execute(connection: WireConnection, { name, values }: Statement, how: Partial<Portion>): void {
    const reader = this.#known?.get(name)
    this.#readers.push(reader)
    if (!how.isOpen) {
      const { portal = '' } = how
      connection.bind({ portal, statement: name, values, valueMapper: parameterOf })
      if (!reader) connection.describe({ type: 'P', name: portal })
    }
    connection.execute(how)
  }

  override handleRowDescription(message: RowDescription): void {
    this.#preparing = []
    const statement = this.#exchange.statements[this.#place]
    const reader = statement?.areTexts ? textReader(message.fields) : compileReader(message)
    this.#readers[this.#place] = reader
    this.#known?.set(statement?.name ?? '', reader)
  }

  override handleDataRow({ fields }: DataRow): void {
    if (this.#place < 0) return
    // A value that cannot be read fails the exchange, and not the connection with all that waits on it.
    try {
      this.#found[this.#place]?.push((this.#readers[this.#place] as RowReader)(fields))
    } catch (error) {
      this.#failure ??= error as Error
    }
  }

  override handleCommandComplete({ text }: CommandComplete): void {
    this.#preparing = []
    if (this.#exchange.statements[this.#place]?.isCounted)
      this.#found[this.#place]?.push({ n: Number(text.slice(text.lastIndexOf(' ') + 1)) })
    this.#place += 1
  }

  override handlePortalSuspended(): void {
    this.#preparing = []
    this.#hasMore = true
    this.#place += 1
  }

  override handleReadyForQuery(): void {
    this.#callback(this.#failure, this.#found, this.#hasMore)
  }

  override handleError(error: Error): void {
    for (const name of this.#preparing) this.#known?.delete(name)
    this.#callback(error, this.#found, false)
  }
}

const NO_TEXT = { text: '' }
const WHOLE = {}

/** Returns a value as the driver sends it: binary columns stay as they are, everything else travels as text. */
const parameterOf = (value: unknown): unknown =>
  value === null || value === undefined ? null : Buffer.isBuffer(value) ? value : String(value)

/** Sends an exchange and calls back with the rows of its statements, in their order. */
export function sendExchange(client: pg.ClientBase, exchange: Exchange, callback: ExchangeCallback): void {
  client.query(new ExchangeQuery(exchange, callback) as unknown as pg.Submittable)
}

const NOTHING_BEFORE: readonly Statement[] = []

/** Returns the rows of one statement, with what is executed in front of it. */
export function runRows<Row>(
  client: pg.ClientBase,
  statement: Statement,
  before: readonly Statement[] = NOTHING_BEFORE,
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    sendExchange(client, { before, statements: [statement] }, (error, [rows]) =>
      error ? reject(error) : resolve(rows as Row[]),
    )
  })
}

/**
 * Sends reads that set their account in front, as a transaction of their own: where that takes a begin, its end leaves with them and has a Sync of its own, so that reads which fail leave nothing for the next.
 * `ended` is called once that end is answered, too: only then is the connection free.
 */
export function sendReads(
  client: pg.ClientBase,
  { wrapsReads }: Scopes,
  exchange: Exchange,
  callback: ExchangeCallback,
  ended: () => void = () => {},
): void {
  if (!wrapsReads)
    return sendExchange(client, exchange, (...answer) => {
      callback(...answer)
      ended()
    })
  sendTogether(client)
  sendExchange(client, { ...exchange, before: [BEGIN, ...exchange.before] }, callback)
  sendExchange(client, { before: [COMMIT], statements: [] }, ended)
}

/** Returns the rows of one such read. */
export function readRows<Row>(
  client: pg.ClientBase,
  scopes: Scopes,
  statement: Statement,
  scope: Statement,
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    sendReads(client, scopes, { before: [scope], statements: [statement] }, (error, [rows]) =>
      error ? reject(error) : resolve(rows as Row[]),
    )
  })
}

let portals = 0

/** Yields the rows of one statement in portions, inside a transaction that its caller has begun. */
export async function* portionsOf<Row>(
  client: pg.ClientBase,
  statement: Statement,
  size: number,
): AsyncGenerator<Row[], void, undefined> {
  portals += 1
  const portal = `rows_${portals}`
  for (let isOpen = false, hasMore = true; hasMore; isOpen = true) {
    const exchange = { before: NOTHING_BEFORE, statements: [statement], portion: { portal, rows: size, isOpen } }
    const answer = await new Promise<{ rows: Row[]; hasMore: boolean }>((resolve, reject) => {
      sendExchange(client, exchange, (error, [rows = []], more) =>
        error ? reject(error) : resolve({ rows: rows as Row[], hasMore: more }),
      )
    })
    if (answer.rows.length > 0) yield answer.rows
    hasMore = answer.hasMore
  }
}

type Stream = WireConnection['stream']
const gathering = new WeakSet<Stream>()

/** Sends everything that is written before the program waits again in one piece: one system call and one wake-up of the server. */
export function sendTogether(client: pg.ClientBase): void {
  const { stream } = (client as unknown as { connection: WireConnection }).connection
  if (gathering.has(stream)) return
  gathering.add(stream)
  stream.cork()
  process.nextTick(() => {
    gathering.delete(stream)
    stream.uncork()
  })
}
