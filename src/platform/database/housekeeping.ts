import type { Instant } from '../../kernel/calendar.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

/** What a worker does now and then for the whole database. */

export const SEALED_LISTS = ['customers', 'subscriptions', 'invoices', 'events', 'payments', 'ledger_entries'] as const

/** Counts the blocks of long lists that can get no new records, so that deep pages can skip them. */
export async function sealLists(db: Pick<Database, 'unscoped'>): Promise<void> {
  for (const list of SEALED_LISTS) await db.unscoped.rows(sql`select seal_list(${list})`)
}

/** Forgets idempotent answers that are older than promised. */
export const deleteOldKeys = (db: Pick<Database, 'unscoped'>, before: Instant) =>
  db.unscoped.rows(sql`select delete_old_idempotency_keys(${before}::timestamptz) as "n"`)
