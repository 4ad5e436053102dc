import type { AccountId } from '../../kernel/ids.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { Database, Transaction } from '../database/database.ts'
import { isHeld, isOver, type Lease, UNTIL } from '../database/lease.ts'
import { sql } from '../database/sql.ts'
import type { Figure } from '../metrics.ts'
import type { LongKind } from './kinds.ts'

/** Statements of long operations: leases that hold what their holder does. */

/** How an operation is at present, as all processes see it. */
export interface LongState {
  state: 'waiting' | 'running'
  about: string | null
  done: number | null
  total: number | null
}

/** Takes the lease of a long operation; false while another holds it. */
export const takeLongLease = async (
  tx: Transaction,
  { name, holder }: Lease,
  { kind, process, state, about, done, total }: LongState & { kind: LongKind; process: string },
): Promise<boolean> =>
  (await tx.first(sql`
    update leases set holder = ${holder}, leased_until = ${UNTIL}, state = ${state}, about = ${about}, begun_at = moment(), done = ${done},
           total = ${total}, process = ${process}
     where account_id = ${tx.account} and name = ${name} and ${isOver('leased_until')} returning holder`)) !==
    undefined ||
  (await tx.first(sql`
    insert into leases (account_id, name, holder, leased_until, kind, state, about, begun_at, done, total, process)
    values (${tx.account}, ${name}, ${holder}, ${UNTIL}, ${kind}, ${state}, ${about}, moment(), ${done}, ${total}, ${process})
    on conflict (account_id, name) do nothing returning holder`)) !== undefined

/** Renews the lease of a long operation with how far it is. */
export const updateLongLease = (
  tx: Transaction,
  { name, holder }: Lease,
  { about, done, total }: Omit<LongState, 'state'>,
): Promise<unknown[]> =>
  tx.rows(
    sql`update leases set leased_until = ${UNTIL}, about = ${about}, done = ${done}, total = ${total}
         where account_id = ${tx.account} and name = ${name} and holder = ${holder}`,
  )

/** Notes that a long operation no longer waits for its place. `begun_at` is the moment at which its present state began. */
export const startLongLease = (tx: Transaction, { name, holder }: Lease): Promise<unknown[]> =>
  tx.rows(
    sql`update leases set leased_until = ${UNTIL}, state = 'running', begun_at = moment()
         where account_id = ${tx.account} and name = ${name} and holder = ${holder}`,
  )

/** Finds the operation that holds a lease; undefined where none does. */
export const findLongLease = (tx: Transaction, name: string) =>
  tx.first<LongState & { begunAt: Instant }>(sql`
    select state, about, done, total, begun_at as "begunAt" from leases
     where account_id = ${tx.account} and name = ${name} and kind is not null and ${isHeld('leased_until')}`)

/** Long operation of any process. */
export interface ListedOperation {
  /** Null of a backup. */
  account: AccountId | null
  kind: LongKind
  about: string | null
  state: LongState['state']
  begunAt: Instant
  seconds: number
  done: bigint | null
  total: bigint | null
  process: string | null
}

/** Lists the long operations of all processes: those that run, the oldest first, then those that wait. */
export const listLongOperations = (db: Database['unscoped']) =>
  db.rows<ListedOperation>(
    sql`select account_id as "account", kind, about, state, begun_at as "begunAt", seconds, done, total, process from list_long_operations()`,
  )

/** Lists the figures of long operations for /metrics. */
export const listLongFigures = (db: Database['unscoped']) =>
  db.rows<Figure>(sql`
    with found as materialized (select kind, state, seconds from list_long_operations())
    select 'long_operations' as name, kind || ' ' || state as label, count(*)::double precision as value from found group by kind, state
    union all
    select 'long_operation_seconds', kind, max(seconds) from found where state = 'running' group by kind`)
