import pg from 'pg'
import type { Statement } from './sql.ts'
import { columnTypes } from './types.ts'

/**
 * A prepared statement and its rows, read for less than the driver's own query does: the shape of the rows is asked for once a connection
 * and not with every execution, and a row is made by a function that was compiled for its columns. The driver fills objects name by name;
 * with forty names that makes slow objects of three kilobytes.
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
  sync(): void
  stream: { cork(): void; uncork(): void }
  submittedNamedStatements: Record<string, string>
}
export interface DataRow {
  fields: (string | null)[]
}
interface RowDescription {
  fields: { name: string; dataTypeID: number }[]
}
interface WireQuery {
  text: string
  name: string
  values: unknown[]
  hasBeenParsed(connection: WireConnection): boolean
  prepare(connection: WireConnection): void
  handleRowDescription(message: RowDescription): void
  handleDataRow(message: DataRow): void
  handleCommandComplete(message: unknown, connection: WireConnection): void
  handleError(error: unknown, connection: WireConnection): void
}
const BaseQuery = pg.Query as unknown as new (config: object) => WireQuery

type RowReader = (texts: (string | null)[]) => unknown

const shapes = new WeakMap<WireConnection, Map<string, RowReader>>()

function shapesOf(connection: WireConnection): Map<string, RowReader> {
  let known = shapes.get(connection)
  if (!known) shapes.set(connection, (known = new Map()))
  return known
}

/** One literal with all columns: the engine then knows the shape of the object. The names are those that our own SQL gives. */
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

export type RowsCallback = (error: Error | null, rows: unknown[]) => void

export class RowQuery extends BaseQuery {
  readonly #found: unknown[]
  readonly #fail: (error: Error) => void
  #reader: RowReader | undefined
  #connection: WireConnection | undefined

  constructor(statement: Statement, callback: RowsCallback) {
    const found: unknown[] = []
    let failure: Error | null = null
    super({
      text: statement.text,
      name: statement.name,
      values: statement.values,
      callback: (error: Error | null) => callback(error ?? failure, found),
    })
    this.#found = found
    this.#fail = (error) => (failure ??= error)
  }

  override prepare(connection: WireConnection): void {
    this.#connection = connection
    if (!this.hasBeenParsed(connection)) {
      connection.parse({ text: this.text, name: this.name })
      connection.submittedNamedStatements[this.name] = this.text
    }
    connection.bind({ statement: this.name, values: this.values, valueMapper: parameterOf })
    this.#reader = shapesOf(connection).get(this.name)
    if (!this.#reader) connection.describe({ type: 'P', name: '' })
    connection.execute({})
    connection.sync()
  }

  override handleRowDescription(message: RowDescription): void {
    this.#reader = compileReader(message)
    if (this.#connection) shapesOf(this.#connection).set(this.name, this.#reader)
  }

  override handleDataRow({ fields }: DataRow): void {
    // A value that cannot be read fails the statement, and not the connection with all that waits on it.
    try {
      this.#found.push((this.#reader as RowReader)(fields))
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  override handleCommandComplete(): void {}
}

/** Binary columns stay what they are; everything else travels as text. */
const parameterOf = (value: unknown): unknown =>
  value === null || value === undefined ? null : Buffer.isBuffer(value) ? value : String(value)
