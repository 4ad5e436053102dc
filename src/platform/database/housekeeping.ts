import type { Instant } from '../../kernel/calendar.ts'
import type { CountedList } from '../packed/declare.ts'
import type { Database, Transaction } from './database.ts'
import { arrayLiteral, sql } from './sql.ts'

/** Housekeeping that a worker does now and then for the whole database. */

/** Counts the blocks of long lists that can get no new records, so that deep pages can skip them. */
export async function sealLists(
  db: Pick<Database, 'unscoped'>,
  lists: readonly Pick<CountedList, 'list'>[],
): Promise<void> {
  for (const { list } of lists) await db.unscoped.rows(sql`select seal_list(${list})`)
}

/**
 * Takes records that the transaction deleted out of the counts of their blocks. Belongs right behind the deletion: from here until the
 * commit no block of the list is sealed, so that neither a sealing nor this misses the other.
 */
export const sendUncount = (tx: Transaction, list: string, deleted: readonly bigint[]): void => {
  if (deleted.length > 0) tx.send(sql`select uncount_deleted(${list}, ${arrayLiteral(deleted)}::bigint[])`)
}

/** Forgets leases that nobody holds, whose holders died. */
export const deleteOldLeases = (db: Pick<Database, 'unscoped'>, before: Instant) =>
  db.unscoped.rows(sql`select delete_old_leases(${before}::timestamptz) as "n"`)

/** Forgets idempotent answers that are older than promised. */
export const deleteOldKeys = (db: Pick<Database, 'unscoped'>, before: Instant) =>
  db.unscoped.rows(sql`select delete_old_idempotency_keys(${before}::timestamptz) as "n"`)

/** How long a database that is asked whether it is there may take to answer. */
const PROBE_MS = 3_000

/** Returns whether the database answers and takes writes: a standby, or one that was made read-only, does not. */
export async function takesWrites(db: Database['unscoped']): Promise<boolean> {
  const [row] = await db.rows<{ takesWrites: boolean }>(
    sql`select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as "takesWrites"`,
    PROBE_MS,
  )
  return row?.takesWrites === true
}
