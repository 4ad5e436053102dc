import type { LedgerAccount, LedgerEvent, LedgerRecordType } from '../../engine/money/postings.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { countOf, type Queryable } from '../../platform/database/database.ts'
import { fragment, type Fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import type { PageStart } from '../../platform/http/paging.ts'

/** Reading the ledger: its entries, its balances, and the taxes of a period. */

export interface LedgerEntry {
  id: Id
  customerId: CustomerId
  dated: IsoDate
  postedAt: Instant
  event: LedgerEvent
  isReversal: boolean
  recordType: LedgerRecordType
  recordId: Id
  currency: string
  debit: LedgerAccount
  credit: LedgerAccount
  taxName: string | null
  amountMinor: bigint
}

export interface EntryFilter {
  customerId: CustomerId | null
  /** Inclusive days. */
  from: IsoDate | null
  to: IsoDate | null
}

const conditions = ({ customerId, from, to }: EntryFilter): Fragment => fragment`
  ${customerId === null ? NOTHING : fragment`and customer_id = ${customerId}`}
  ${from === null ? NOTHING : fragment`and dated >= ${from}`}
  ${to === null ? NOTHING : fragment`and dated <= ${to}`}`

/** Lists entries in the order posted, which never changes. */
export const listEntries = (db: Queryable, account: AccountId, filter: EntryFilter, start: PageStart, limit: number) =>
  db.rows<LedgerEntry>(sql`
    select entry_id as "id", customer_id as "customerId", dated, posted_at as "postedAt", event, is_reversal as "isReversal",
           record_type as "recordType", record_id as "recordId", currency, debit, credit, tax_name as "taxName", amount_minor as "amountMinor"
      from ledger_entries where account_id = ${account} and entry_id >= ${start.fromId} ${conditions(filter)}
     order by entry_id offset ${start.skip} limit ${limit}`)

export const countEntries = (db: Queryable, account: AccountId, filter: EntryFilter) =>
  countOf(db, sql`select count(*) as "n" from ledger_entries where account_id = ${account} ${conditions(filter)}`)

export interface LedgerBalance {
  currency: string
  ledgerAccount: LedgerAccount
  taxName: string | null
  debitMinor: bigint
  creditMinor: bigint
}

/** Sums what every ledger account was debited and credited up to a day, that day included. */
export const listBalances = (db: Queryable, account: AccountId, date: IsoDate | null) =>
  db.rows<LedgerBalance>(sql`
    with summed as (
      select currency, debit, credit, tax_name, sum(amount_minor) as amount from ledger_entries
       where account_id = ${account} ${date === null ? NOTHING : fragment`and dated <= ${date}`}
       group by currency, debit, credit, tax_name)
    select s.currency, side.word as "ledgerAccount", case when side.word = 'tax' then s.tax_name end as "taxName",
           coalesce(sum(s.amount) filter (where side.is_debit), 0)::bigint as "debitMinor",
           coalesce(sum(s.amount) filter (where not side.is_debit), 0)::bigint as "creditMinor"
      from summed s cross join lateral (values (s.debit, true), (s.credit, false)) as side(word, is_debit)
     group by 1, 2, 3 order by 1, 2, 3 nulls first`)

export interface TaxOfPeriod {
  name: string
  rate: Decimal
  taxNumber: string | null
  currency: string
  baseMinor: bigint
  outputMinor: bigint
  takenBackMinor: bigint
}

/**
 * Sums the taxes of a period, both days included: what invoices dated in it charged less what was cancelled in it, and what credit notes took back.
 * Amounts are those of the ledger, so that a closed period stays as it was; what they were charged on stands on the invoices, also where
 * the rate is 0 and nothing was posted.
 */
export const listTaxesOfPeriod = (db: Queryable, account: AccountId, from: IsoDate, to: IsoDate) =>
  db.rows<TaxOfPeriod>(sql`
    select name, rate, tax_number as "taxNumber", currency, sum(base)::bigint as "baseMinor", sum(output)::bigint as "outputMinor",
           sum(back)::bigint as "takenBackMinor"
      from (
        select t.name, t.rate, t.tax_number, i.currency, t.base_minor as base, 0 as output, 0 as back
          from invoices i join invoice_taxes t on t.account_id = ${account} and t.invoice_id = i.invoice_id
         where i.account_id = ${account} and i.issued_at is not null and i.invoice_date between ${from} and ${to}
        union all
        select t.name, t.rate, t.tax_number, i.currency, -t.base_minor, 0, 0
          from invoices i join invoice_taxes t on t.account_id = ${account} and t.invoice_id = i.invoice_id
         where i.account_id = ${account} and i.cancelled_on is not null and greatest(i.cancelled_on, i.invoice_date) between ${from} and ${to}
        union all
        select e.tax_name, e.tax_rate, e.tax_number, e.currency, 0,
               case when e.event in ('invoice_issued', 'invoice_cancelled') then s.amount else 0 end,
               case when e.event in ('credit_note_made', 'tax_taken_back') then -s.amount else 0 end
          from ledger_entries e cross join lateral (
            select case when e.credit = 'tax' then e.amount_minor else -e.amount_minor end as amount) s
         where e.account_id = ${account} and e.tax_name is not null and e.dated between ${from} and ${to}) all_taxes
     group by name, rate, tax_number, currency
     order by name, rate, tax_number nulls first, currency`)
