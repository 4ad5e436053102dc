import type { Instant } from '../../kernel/calendar.ts'
import type { Database, Transaction } from './database.ts'
import { arrayLiteral, sql } from './sql.ts'

/** Housekeeping that a worker does now and then for the whole database. */

/** Lists whose blocks of identifiers are counted, with the column of these: the rows of the table counted_lists, each made by a migration. */
export const COUNTED_LISTS = {
  customers: 'customer_id',
  subscriptions: 'subscription_id',
  invoices: 'invoice_id',
  event_rows: 'event_id',
  payments: 'payment_id',
  ledger_rows: 'entry_id',
} as const

export type CountedList = keyof typeof COUNTED_LISTS

/**
 * Views in which all records of a list are that are more than the rows of its table, and a column for the first identifier of the row that a record is in,
 * less than so many below its own.
 */
export const LIST_VIEWS: Partial<Record<CountedList, { relation: string; held: string; most: number }>> = {
  ledger_rows: { relation: 'ledger', held: 'pack_id', most: 1024 },
}

/** Rows of which each is many records of a list: their relation, the columns of the first and last identifier, and how many they are at most. */
export const SHARED_ROWS: Partial<
  Record<CountedList, { relation: string; first: string; last: string; most: number }>
> = { event_rows: { relation: 'event_packs', first: 'first_event_id', last: 'last_event_id', most: 256 } }

/** Counts the blocks of long lists that can get no new records, so that deep pages can skip them. */
export async function sealLists(db: Pick<Database, 'unscoped'>): Promise<void> {
  for (const list of Object.keys(COUNTED_LISTS)) await db.unscoped.rows(sql`select seal_list(${list})`)
}

/**
 * Takes records that the transaction deleted out of the counts of their blocks. Belongs right behind the deletion: from here until the
 * commit no block of the list is sealed, so that neither a sealing nor this misses the other.
 */
export const sendUncount = (tx: Transaction, list: CountedList, deleted: readonly bigint[]): void => {
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
