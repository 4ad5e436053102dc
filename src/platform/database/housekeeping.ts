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
