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

export const BEGIN_STATEMENT = 'perennial_begin'
export const BEGIN_TEXT = 'begin'

/**
 * How statements of a transaction are planned. PostgreSQL plans a statement with a list of identifiers anew each time, because one that
 * fits the list seems cheaper; for a list of one that costs more than running it. `lasting` plans are made once a connection, `fitted`
 * ones as PostgreSQL decides: for statements of thousands of rows.
 */
export type Plans = 'lasting' | 'fitted'

const PLAN_MODES: Record<Plans, string> = { lasting: 'force_generic_plan', fitted: 'auto' }

export const transactionScope = (account: bigint, plans: Plans): Statement => ({
  name: 'perennial_transaction',
  text: "select set_config('app.account_id', $1, true), set_config('plan_cache_mode', $2, true)",
  values: [account.toString(), PLAN_MODES[plans]],
})

/** The begin of a transaction and what is set for it, in one exchange. */
export class BeginQuery extends RowQuery {
  override prepare(connection: WireConnection): void {
    connection.bind({ statement: BEGIN_STATEMENT, values: [] })
    connection.execute({})
    super.prepare(connection)
  }
}
