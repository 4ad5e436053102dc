import type { Database, Queryable } from '../../platform/database/database.ts'
import { fragment, type Fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { LEDGER } from './packed.ts'

/** How long a mark waits for older writes, in milliseconds. */
export const MARK_PATIENCE_MS = 5000

/**
 * Takes the mark of the ledger: the identifier below which no entry can be posted any more. Entries below it are seen by statements that begin after
 * it was taken, so it comes before the snapshot of whoever reads them. Older writes that last longer leave their entries above it.
 */
export const takeLedgerMark = (db: Queryable, patienceMs = MARK_PATIENCE_MS): Promise<bigint> =>
  db.value<bigint>(sql`
    select take_ledger_mark(make_interval(secs => ${patienceMs}::float8 / 1000)) as "below"`)

/** The identifier below which the ledger is summed by day. A subquery, because a function would be called on whichever server runs the statement. */
export const SUMMED_BELOW = fragment`coalesce((select summed_until from ledger_days_mark), 0)`

/** The ledger by day: what was posted from one account to another on each day, summed below a mark below which nothing can be posted any more. */

/** Sums the entries that came below the mark since the last time, some hundred blocks of them. Returns whether it summed any. */
export async function sumDays(db: Database['unscoped']): Promise<boolean> {
  const [row] = await db.rows<{ n: number }>(sql`select sum_ledger_days() as "n"`)
  return (row?.n ?? 0) > 0
}

/**
 * Lists amounts by day, currency, sides and tax up to a day: of what is below the mark the sums, and the entries from there on one by one. The mark is
 * that of the same snapshot.
 */
export const movedUntil = (account: AccountId, to: IsoDate, currency: string | null): Fragment => {
  const upTo = fragment`dated <= ${to} ${currency === null ? NOTHING : fragment`and currency = ${currency}`}`
  return fragment`
    select dated, currency, debit, credit, tax_name, amount_minor from ledger_days where account_id = ${account} and ${upTo}
    union all
    select dated, currency, debit, credit, tax_name, amount_minor from ledger l
     where account_id = ${account} and ${LEDGER.fromId('l', SUMMED_BELOW)} and ${upTo}`
}
