import { type DataRow, RowQuery, type RowsCallback, type WireConnection } from './row-query.ts'
import type { Statement } from './sql.ts'

/**
 * A statement and the account it is for, sent as one exchange: the set_config is bound and executed just before the statement, ahead of
 * the one Sync. Until Sync both are one implicit transaction, so the setting is gone afterwards and the next statement on this
 * connection fails unless it says its own account. It costs two to eleven microseconds; an awaited transaction would cost three
 * round trips.
 */

export const SCOPE_STATEMENT = 'perennial_scope'
export const SCOPE_TEXT = "select set_config('app.account_id', $1, true)"

export class ScopedQuery extends RowQuery {
  readonly #account: string
  #isScopeAnswered = false

  constructor(statement: Statement, account: bigint, callback: RowsCallback) {
    super(statement, callback)
    this.#account = account.toString()
  }

  override prepare(connection: WireConnection): void {
    connection.bind({ statement: SCOPE_STATEMENT, values: [this.#account] })
    connection.execute({})
    super.prepare(connection)
  }

  override handleDataRow(message: DataRow): void {
    if (this.#isScopeAnswered) super.handleDataRow(message)
  }

  override handleCommandComplete(): void {
    this.#isScopeAnswered = true
  }
}
