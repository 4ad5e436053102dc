import { fragment, type Statement } from './sql.ts'

/** Statements that set the account, and the settings, under which the statements behind them run. */

/**
 * Returns the setting of the account of the statements behind it in one exchange. Until Sync they are one implicit transaction, so the
 * setting is gone afterwards and the next statement on this connection fails unless it sets its own account. It costs two to eleven
 * microseconds; an awaited transaction would cost three round trips.
 */
export const accountScope = (account: bigint): Statement => ({
  name: 'perennial_scope',
  text: "select set_config('app.account_id', $1, true)",
  values: [account],
})

/**
 * Makes plans last on a connection, see `Plans`: for what reads records by their identifiers. The parts of a view over rows and templates that a
 * record is in seem dearer to PostgreSQL where it does not know the identifier, so it would plan each read anew, for twice what the read costs.
 */
export const LASTING_PLANS = `select set_config('plan_cache_mode', 'force_generic_plan', false)`

/** Returns the same setting of the account for a page of a list on such a connection: its plans are fitted, because its limit counts. */
export const pageScope = (account: bigint): Statement => ({
  name: 'perennial_page_scope',
  text: "select set_config('app.account_id', $1, true), set_config('plan_cache_mode', 'auto', true)",
  values: [account],
})

/** The begin of a transaction, with the isolation that its connection has. */
export const BEGIN: Statement = { name: 'perennial_begin', text: 'begin', values: [] }

/** The end of a transaction, where another begins behind it in one exchange. */
export const COMMIT: Statement = { name: 'perennial_commit', text: 'commit', values: [] }

/**
 * How statements are planned. PostgreSQL plans a statement with a list of identifiers anew each time, because one that
 * fits the list seems cheaper; for a list of one that costs more than running it. `lasting` plans are made once a connection, `fitted`
 * ones as PostgreSQL decides: for statements of thousands of rows.
 */
export type Plans = 'lasting' | 'fitted'

const PLAN_MODES: Record<Plans, string> = { lasting: 'force_generic_plan', fitted: 'auto' }

/** Returns the statement that sets account, plans and time limit until the end of a transaction that writes. */
export const transactionScope = (account: bigint, plans: Plans, statementMs: number): Statement => ({
  name: 'perennial_transaction',
  text: "select set_config('app.account_id', $1, true), set_config('plan_cache_mode', $2, true), set_config('statement_timeout', $3, true)",
  values: [account, PLAN_MODES[plans], statementMs],
})

/** Returns the statement that bounds how long a lock is waited for until the end of the transaction. */
export const lockTimeout = (lockMs: number): Statement => ({
  name: 'perennial_lock_timeout',
  text: "select set_config('lock_timeout', $1, true)",
  values: [lockMs],
})

/** An account that nobody has: what is asked under it fails where accounts cannot be served, and reads nothing. */
export const NOBODY = 0n

/** Asks what every account asks, of nobody's customers. */
export const AS_AN_ACCOUNT = fragment`select count(*) as "n" from customers where account_id = ${NOBODY}`
