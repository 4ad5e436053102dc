import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database } from '../../platform/database/database.ts'
import { fragment, type Fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { LEDGER } from './packed.ts'

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
     where account_id = ${account} and ${LEDGER.fromId('l', fragment`(select ledger_summed_below())`)} and ${upTo}`
}
