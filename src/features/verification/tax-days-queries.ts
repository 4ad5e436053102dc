import type { IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { hashedRows } from '../../platform/database/planner-hints.ts'

/** Sums of what invoices of a day were taxed on, beside what these come to, in minor units. */
export interface CheckedTaxDay {
  dated: IsoDate
  currency: string
  /** Null where no rule taxed. */
  name: string | null
  rate: Decimal | null
  countryId: Id | null
  storedBaseMinor: bigint
  storedMinor: bigint
  baseMinor: bigint
  outputMinor: bigint
}

/** Lists the first thousand sums of days that are not what the invoices come to whose revenue was posted below the mark. */
export const listTaxDayDifferences = (db: Queryable, account: AccountId) =>
  hashedRows<CheckedTaxDay>(
    db,
    sql`
    with beside as (
      select dated, currency, name, rate, tax_number, category, country_id, state_id, base_minor as stored_base, output_minor as stored,
             0 as base, 0 as output
        from tax_days where account_id = ${account}
      union all
      select i.invoice_date, i.currency, t.name, t.rate, t.tax_number, coalesce(t.category, case when t.rate > 0 then 'S' end),
             i.customer_country_id, i.customer_state_id, 0, 0, coalesce(t.base_minor, i.total_minor), coalesce(t.amount_minor, 0)
        from ledger e
        join invoices i on i.account_id = ${account} and i.invoice_id = e.record_id
        left join invoice_taxes t on t.account_id = ${account} and t.invoice_id = e.record_id
       where e.account_id = ${account} and e.entry_id < coalesce((select summed_until from ledger_days_mark), 0) and e.event = 'invoice_issued' and e.tax_name is null)
    select dated, currency, name, rate, country_id as "countryId", sum(stored_base)::bigint as "storedBaseMinor",
           sum(stored)::bigint as "storedMinor", sum(base)::bigint as "baseMinor", sum(output)::bigint as "outputMinor"
      from beside group by dated, currency, name, rate, tax_number, category, country_id, state_id
    having sum(stored_base) <> sum(base) or sum(stored) <> sum(output)
     order by dated, currency, name nulls first, rate, tax_number nulls first, category nulls first, country_id nulls first,
              state_id nulls first limit 1000`,
  )
