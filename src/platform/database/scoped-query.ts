import { withPartsAtHome } from './parts-at-home.ts'
import { fragment, sql, type Statement } from './sql.ts'

/** Statements that set the account, and the settings, under which the statements behind them run. */

/** Engine of a database: `plain`, or `citus` where the tables of accounts are distributed over servers. It is found at the start, not set. */
export type Engine = 'plain' | 'citus'

/**
 * How statements are planned. PostgreSQL plans a statement with a list of identifiers anew each time, because one that
 * fits the list seems cheaper; for a list of one that costs more than running it. `lasting` plans are made once a connection, `fitted`
 * ones as PostgreSQL decides: for statements of thousands of rows.
 */
export type Plans = 'lasting' | 'fitted'

const PLAN_MODES: Record<Plans, string> = { lasting: 'force_generic_plan', fitted: 'auto' }

/** The begin of a transaction, with the isolation that its connection has. */
export const BEGIN: Statement = { name: 'perennial_begin', text: 'begin', values: [] }

/** The end of a transaction, where another begins behind it in one exchange. */
export const COMMIT: Statement = { name: 'perennial_commit', text: 'commit', values: [] }

/** Distinguishes these locks from others of the database. */
const LOCKS = 7305

/** Tries to lock a name until the end of the transaction. */
export const tryingLock = (name: string): Statement =>
  sql`select pg_try_advisory_xact_lock(hashtextextended(${name}, ${LOCKS})) as "taken"`

/** Lets a statement of two or three parameters try a lock, too. */
const withLock = (scope: Statement, lock: string | undefined): Statement =>
  lock === undefined
    ? scope
    : {
        name: `${scope.name}_and_lock`,
        text: `${scope.text}, pg_try_advisory_xact_lock(hashtextextended($${scope.values.length + 1}, ${LOCKS})) as "taken"`,
        values: [...scope.values, lock],
      }

/** How one engine learns whose the statements behind it are. */
export interface Scopes {
  /** Settings of every session. */
  session: string
  /** Sets the account until the end of the transaction. */
  account(account: bigint): Statement
  /** Sets the account for a page of a list, where plans last: its own are fitted, because its limit counts. */
  page(account: bigint): Statement
  /** Sets account, plans and time limit of a transaction that writes; with `lock` it tries to lock that name, and its row has whether that is `taken`. */
  transaction(account: bigint, plans: Plans, statementMs: number, lock: string | undefined): Statement
  /** Bounds how long a lock is waited for until the end of the transaction. */
  lockTimeout(lockMs: number): Statement
  /**
   * Makes plans last on a connection, see `Plans`: for what reads records by their identifiers. The parts of a view over rows and templates that a
   * record is in seem dearer to PostgreSQL where it does not know the identifier, so it would plan each read anew, for twice what the read costs.
   */
  lastingPlans: string | undefined
  /** Returns the statement that is sent in the place of one of a transaction. */
  sent(statement: Statement): Statement
  /** Reads take a begin in front of them and a commit behind them; else they are one transaction until Sync. */
  wrapsReads: boolean
  /** Asks for the names of the other servers that hold accounts, and which of them are reached; undefined where there is none. */
  nodes: Statement | undefined
  /** Asks for the name of the one that has an account; undefined where there is none. */
  homeOf: ((account: bigint) => Statement) | undefined
}

/**
 * Until Sync the statements of an exchange are one implicit transaction, so the setting is gone afterwards and the next statement on this connection fails
 * unless it sets its own account. It costs two to eleven microseconds; an awaited transaction would cost three round trips.
 */
const PLAIN: Scopes = {
  session: '',
  account: (account) => ({
    name: 'perennial_scope',
    text: "select set_config('app.account_id', $1, true)",
    values: [account],
  }),
  page: (account) => ({
    name: 'perennial_page_scope',
    text: "select set_config('app.account_id', $1, true), set_config('plan_cache_mode', 'auto', true)",
    values: [account],
  }),
  transaction: (account, plans, statementMs, lock) =>
    withLock(
      {
        name: 'perennial_transaction',
        text: "select set_config('app.account_id', $1, true), set_config('plan_cache_mode', $2, true), set_config('statement_timeout', $3, true)",
        values: [account, PLAN_MODES[plans], statementMs],
      },
      lock,
    ),
  lockTimeout: (lockMs) => ({
    name: 'perennial_lock_timeout',
    text: "select set_config('lock_timeout', $1, true)",
    values: [lockMs],
  }),
  lastingPlans: `select set_config('plan_cache_mode', 'force_generic_plan', false)`,
  sent: (statement) => statement,
  wrapsReads: false,
  nodes: undefined,
  homeOf: undefined,
}

/**
 * Lets an insert return something for each of its rows, or their number where that is asked for. In a part of a statement Citus draws no identifiers by the
 * default of a column.
 */
const returningInsert = ({ name, text, values, isCounted }: Statement): Statement =>
  isCounted
    ? {
        name: `${name}_counted`,
        text: `with written as (${text} returning 1) select count(*)::integer as "n" from written`,
        values,
      }
    : { name: `${name}_returning`, text: `${text} returning 1`, values }

/** Texts of statements as they are sent, by their names. */
const atHome = new Map<string, string>()

function insertingAtHome(statement: Statement): Statement {
  let text = atHome.get(statement.name)
  if (text === undefined) atHome.set(statement.name, (text = withPartsAtHome(statement.text)))
  return text === statement.text ? statement : { ...statement, name: `${statement.name}_home`, text }
}

/**
 * Workers hear of what SET LOCAL sets in a transaction block, and of nothing that set_config does; a cancelled statement is cancelled there, too. Generic
 * plans hide the account, by which a statement finds its worker, so plans are PostgreSQL's choice.
 */
const CITUS: Scopes & Record<'nodes' | 'homeOf', object> = {
  session: ' -c citus.propagate_set_commands=local',
  account: (account) => ({ name: 'perennial_scope', text: 'select set_account($1)', values: [account] }),
  page: (account) => CITUS.account(account),
  transaction: (account, _plans, statementMs, lock) =>
    withLock(
      {
        name: 'perennial_transaction',
        text: "select set_account($1), set_config('statement_timeout', $2, true)",
        values: [account, statementMs],
      },
      lock,
    ),
  lockTimeout: (lockMs) => ({
    name: 'perennial_lock_timeout',
    text: 'select set_lock_timeout($1)',
    values: [lockMs],
  }),
  lastingPlans: undefined,
  sent: (statement) => (statement.isOfQuery ? returningInsert(statement) : insertingAtHome(statement)),
  wrapsReads: true,
  nodes: sql`
    select nodename || ':' || nodeport as "name", coalesce(citus_check_connection_to_node(nodename, nodeport), false) as "isUp"
      from pg_dist_node where groupid <> 0 and isactive and noderole = 'primary' order by nodeid`,
  homeOf: (account) => sql`
    select n.nodename || ':' || n.nodeport as "name" from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
     where p.shardid = get_shard_id_for_distribution_column('perennial.accounts', ${account}::bigint)`,
}

export const SCOPES = { plain: PLAIN, citus: CITUS } satisfies Record<Engine, Scopes>

/** An account that nobody has: what is asked under it fails where accounts cannot be served, and reads nothing. */
export const NOBODY = 0n

/** Asks what every account asks, of nobody's customers. */
export const AS_AN_ACCOUNT = fragment`select count(*) as "n" from customers where account_id = ${NOBODY}`
