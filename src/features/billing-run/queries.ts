import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { isHeld } from '../../platform/database/lease.ts'
import { CLAIMED, IS_FREE, leasedRows, LET_GO } from '../../platform/database/leased.ts'
import { fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'

export type RunCause = 'schedule' | 'request' | 'command' | 'clock'

export interface BillingRun {
  id: Id
  cause: RunCause
  untilDate: IsoDate
  createdAt: Instant
  startedAt: Instant | null
  finishedAt: Instant | null
  done: number
  total: number
  invoices: number
  failed: number
}

export interface RunFailure {
  /** The name of the record's kind. A record without an identifier of its own, such as a statement, has that of its customer. */
  recordType: string
  recordId: Id
  customerId: Id
  dueOn: IsoDate
  reason: string
  /** The reason without anything that a caller sent; left out of failures that are read. */
  loggedReason?: string
}

/** Outcome of a run that moved a clock, as JSON texts; null of other runs, and while it goes on. */
export interface ClockOutcome {
  result: string | null
  failure: string | null
}

const COLUMNS = fragment`
  billing_run_id as "id", cause, until_date as "untilDate", created_at as "createdAt", started_at as "startedAt", finished_at as "finishedAt",
  done, total, invoices, failed`

export const insertRun = (
  tx: Transaction,
  account: AccountId,
  run: { cause: RunCause; untilDate: IsoDate; createdAt: Instant; movesTo?: Instant },
) =>
  tx.one<BillingRun>(sql`
    insert into billing_runs (account_id, cause, until_date, created_at, moves_to)
    values (${account}, ${run.cause}, ${run.untilDate}, ${run.createdAt}, ${run.movesTo ?? null})
    returning ${COLUMNS}`)

export const findRun = (db: Queryable, account: AccountId, id: Id) =>
  db.first<BillingRun & ClockOutcome>(sql`
    select ${COLUMNS}, result::text as "result", failure::text as "failure" from billing_runs where account_id = ${account} and billing_run_id = ${id}`)

/** Finds the run that moves the clock of an account now. */
export const findClockMove = (db: Queryable, account: AccountId) =>
  db.first<{ id: Id; until: Instant }>(sql`
    select billing_run_id as "id", moves_to as "until" from billing_runs
     where account_id = ${account} and finished_at is null and moves_to is not null and failure is null
       and ${isHeld('leased_until')}
     order by billing_run_id desc limit 1`)

/** Writes what became of a run that moved a clock, unless that is known. */
export const updateOutcome = (tx: Transaction, account: AccountId, id: Id, { result, failure }: ClockOutcome) =>
  tx.rows(sql`
    update billing_runs set result = ${result}::json, failure = ${failure}::json
     where account_id = ${account} and billing_run_id = ${id} and cause = 'clock' and result is null and failure is null`)

export const listRuns = (db: Queryable, account: AccountId, _filter: object, start: PageStart, limit: number) =>
  db.rows<BillingRun>(sql`
    select ${COLUMNS} from billing_runs where account_id = ${account} order by billing_run_id ${inPage(start, limit)}`)

export const countRuns = (db: Queryable, account: AccountId) =>
  db.count(sql`select count(*) as "n" from billing_runs where account_id = ${account}`)

export const listFailures = (db: Queryable, account: AccountId, runId: Id) =>
  db.rows<RunFailure>(sql`
    select record_type as "recordType", record_id as "recordId", customer_id as "customerId", due_on as "dueOn", reason
      from billing_run_failures where account_id = ${account} and billing_run_id = ${runId} order by record_type, record_id limit 1000`)

const rows = leasedRows({ relation: 'billing_runs', id: 'billing_run_id' })

/** Takes a run for a worker, unless it is finished, another worker holds it, or it waits after a failure. */
export const leaseRun = (tx: Transaction, account: AccountId, id: Id, now: Instant, total: number) =>
  tx.first<BillingRun>(sql`
    update billing_runs set ${CLAIMED}, started_at = coalesce(started_at, ${now}),
           total = case when started_at is null then ${total} else greatest(total, done + ${total}) end
     where account_id = ${account} and billing_run_id = ${id} and ${IS_FREE}
    returning ${COLUMNS}`)

/** Adds to the counts of a run. The worker that leads it renews its lease thereby; one that bills slices of it does not, or a leader that died were never missed. */
export const addProgress = (
  tx: Transaction,
  account: AccountId,
  id: Id,
  more: { done: number; invoices: number; failed: number; isHelper?: boolean },
) =>
  tx.rows(sql`
    update billing_runs set done = done + ${more.done}, invoices = invoices + ${more.invoices}, failed = failed + ${more.failed},
      total = greatest(total, done + ${more.done}) ${more.isHelper ? NOTHING : fragment`, ${CLAIMED}`}
     where account_id = ${account} and billing_run_id = ${id}`)

/** Notes that a run has passed over customers, whoever works on it. */
export const addPassedOver = (tx: Transaction, account: AccountId, id: Id, customers: number) =>
  tx.rows(sql`
    update billing_runs set passed_over = passed_over + ${customers} where account_id = ${account} and billing_run_id = ${id}`)

/** Returns how often a run has passed over a customer so far. */
export const countPassedOver = (db: Queryable, account: AccountId, id: Id): Promise<number> =>
  db.count(sql`select passed_over as "n" from billing_runs where account_id = ${account} and billing_run_id = ${id}`)

/** Ends a run: what a run beside it has billed meanwhile was not for this one to do. */
export const finishRun = (tx: Transaction, account: AccountId, id: Id, at: Instant) =>
  tx.one<BillingRun>(sql`
    update billing_runs set finished_at = ${at}, ${LET_GO}, total = done where account_id = ${account} and billing_run_id = ${id}
    returning ${COLUMNS}`)

/** Lets go of a run that its worker leaves unfinished, so that the next need not wait for the lease to lapse. */
export const releaseRun = rows.release

/** Puts off a run that failed as a whole: it is tried again after a wait that grows with each failure. */
export const putOffRun = rows.fail

/** Writes down what could not be billed; once per record and run. */
export const insertFailure = (tx: Transaction, account: AccountId, runId: Id, failure: RunFailure) =>
  tx.rows(sql`
    insert into billing_run_failures (account_id, billing_run_id, record_type, record_id, customer_id, due_on, reason)
    values (${account}, ${runId}, ${failure.recordType}, ${failure.recordId}, ${failure.customerId}, ${failure.dueOn}, ${failure.reason})
    on conflict do nothing`)

/** Runs that are not finished and that no worker holds and that do not wait after a failure, of all accounts. */
export const listUnfinishedRuns = (db: Queryable) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", billing_run_id as "id" from list_unfinished_runs()`,
  )

/** Tells workers of every process that a run waits for them. */
export const announceRun = (tx: Transaction) => tx.rows(sql`select pg_notify('billing_run', '')`)

export const deleteOldRuns = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_billing_runs(${before}::timestamptz) as "n"`)

/** Tables of a run: those that it reads, or those that it has written, with its records there. */
export interface RunTables {
  about: 'due' | 'issued'
  records: number
}

/** Lists the tables of a run where one has at least so many rows of the account, and PostgreSQL expects less than a tenth of them; else none. */
export const listTablesToAnalyze = (tx: Transaction, { about, records }: RunTables, atLeast: number) =>
  tx.rows<{ name: string }>(
    sql`select name from list_tables_to_analyze(${tx.account}, ${about}, ${records}::bigint, ${atLeast}::bigint)`,
  )

export const analyzeTable = (tx: Transaction, name: string) => tx.rows(sql`select analyze_table(${name})`)
