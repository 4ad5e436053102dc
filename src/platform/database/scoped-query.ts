import pg from 'pg'
import type { Statement } from './sql.ts'

/**
 * A statement and the account it is for, sent as one exchange: the set_config is bound and executed just before the statement, ahead of
 * the one Sync. Until Sync both are one implicit transaction, so the setting is gone afterwards and the next statement on this
 * connection fails unless it says its own account. It costs two to eleven microseconds; an awaited transaction would cost three
 * round trips.
 */

export const SCOPE_STATEMENT = 'perennial_scope'
export const SCOPE_TEXT = "select set_config('app.account_id', $1, true)"

/** The parts of the driver's Query and Connection that its type package does not describe. */
interface WireConnection {
  bind(message: { statement: string; values: unknown[] }): void
  execute(message: { portal?: string; rows?: number }): void
}
interface WireQuery {
  prepare(connection: WireConnection): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: unknown): void
}
const BaseQuery = pg.Query as unknown as new (config: object) => WireQuery

export type QueryCallback = (error: Error | null, result: { rows: unknown[] }) => void

export class ScopedQuery extends BaseQuery {
  readonly #account: string
  #isScopeAnswered = false

  constructor(statement: Statement, account: bigint, callback: QueryCallback) {
    super({ text: statement.text, name: statement.name, values: statement.values, callback })
    this.#account = account.toString()
  }

  override prepare(connection: WireConnection): void {
    connection.bind({ statement: SCOPE_STATEMENT, values: [this.#account] })
    connection.execute({})
    super.prepare(connection)
  }

  override handleDataRow(message: unknown): void {
    if (this.#isScopeAnswered) super.handleDataRow(message)
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.#isScopeAnswered) super.handleCommandComplete(message, connection)
    else this.#isScopeAnswered = true
  }
}
