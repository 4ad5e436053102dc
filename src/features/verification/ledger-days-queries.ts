import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { heldBelow } from '../ledger/batch-queries.ts'

/** Sum of a day beside what its entries come to. */
export interface CheckedDay {
  dated: IsoDate
  currency: string
  debit: string
  credit: string
  taxName: string | null
  storedMinor: bigint
  postedMinor: bigint
}

/** Lists the first thousand sums of days that are not what the entries below the mark come to. */
export const listDayDifferences = (db: Queryable, account: AccountId) =>
  db.rows<CheckedDay>(sql`
    with beside as (
      select dated, currency, debit, credit, tax_name, amount_minor as stored, 0 as posted from ledger_days where account_id = ${account}
      union all
      select dated, currency, debit, credit, tax_name, 0, amount_minor from ledger l
       where account_id = ${account} and ${heldBelow('l', fragment`(select ledger_summed_below())`)})
    select dated, currency, debit, credit, tax_name as "taxName", sum(stored)::bigint as "storedMinor", sum(posted)::bigint as "postedMinor"
      from beside group by dated, currency, debit, credit, tax_name having sum(stored) <> sum(posted)
     order by dated, currency, debit, credit, tax_name nulls first limit 1000`)
