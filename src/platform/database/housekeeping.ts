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
export function sendUncount(tx: Transaction, list: string, deleted: readonly bigint[]): void {
  if (deleted.length === 0) return
  tx.send(sql`select pg_advisory_xact_lock_shared(hashtextextended(${`counted ${list}`}, 0))::text as "got"`)
  tx.send(sql`
    update list_blocks b set records = b.records - d.gone
      from (select id / 4096 as block, count(*)::integer as gone from unnest(${arrayLiteral(deleted)}::bigint[]) as id group by 1) d
     where b.account_id = ${tx.account} and b.list = ${list} and b.block = d.block`)
}

/** Forgets leases that nobody holds, whose holders died. */
export const deleteOldLeases = (db: Pick<Database, 'unscoped'>, before: Instant) =>
  db.unscoped.rows(sql`select delete_old_leases(${before}::timestamptz) as "n"`)

/** Forgets idempotent answers that are older than promised. */
export const deleteOldKeys = (db: Pick<Database, 'unscoped'>, before: Instant) =>
  db.unscoped.rows(sql`select delete_old_idempotency_keys(${before}::timestamptz) as "n"`)
