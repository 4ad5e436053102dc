import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import { column, fragment, sql, type Statement } from '../../platform/database/sql.ts'

/** A link of a chain: the sums of what one transaction posts for one customer and currency, and its text. */
export interface ChainLink {
  customerId: CustomerId
  currency: string
  receivableMinor: bigint
  unappliedMinor: bigint
  clearingMinor: bigint
  /** The text that is hashed onto the chain's head. */
  hashedText: string
}

export interface EntryRow {
  customerId: CustomerId
  currency: string
  event: string
  isReversal: boolean
  recordType: string
  recordId: Id
  debit: string
  credit: string
  taxName: string | null
  taxRate: string | null
  taxNumber: string | null
  amountMinor: bigint
  dated: IsoDate
  postedAt: Instant
}

/** Parts of a statement that move totals and heads by the links of `l`, where most have totals already: an update costs half of an insert that finds a conflict. */
const linking = (account: AccountId) => fragment`
    moved as (
      update customer_totals t
         set receivable_minor = t.receivable_minor + l.receivable, unapplied_minor = t.unapplied_minor + l.unapplied,
             clearing_minor = t.clearing_minor + l.clearing, links = t.links + 1, head = sha256(t.head || l.hashed)
        from l where t.account_id = ${account} and t.customer_id = l.customer and t.currency = l.currency
      returning t.customer_id, t.currency, t.links, t.unapplied_minor),
    begun as (
      insert into customer_totals (account_id, customer_id, currency, receivable_minor, unapplied_minor, clearing_minor, links, head)
      select ${account}, l.customer, l.currency, l.receivable, l.unapplied, l.clearing, 1, sha256(l.hashed)
        from l left join moved m on m.customer_id = l.customer and m.currency = l.currency
       where m.customer_id is null
      returning customer_id, currency, links, unapplied_minor),
    linked as (select * from moved union all select * from begun)`

/**
 * Writes entries, moves the running totals and the heads of the chains with them, in one statement. Customers are locked, so nobody else
 * moves them. Most have totals already, and an update costs half of an insert that finds a conflict.
 */
export const entriesStatement = (
  account: AccountId,
  links: readonly ChainLink[],
  entries: readonly EntryRow[],
): Statement => sql`
    with l as (
      select p.customer, p.currency, p.receivable, p.unapplied, p.clearing, convert_to(p.hashed, 'UTF8') as hashed
        from unnest(${bigints(links, 'customerId')}::bigint[], ${column(links, 'currency')}::text[],
          ${bigints(links, 'receivableMinor')}::bigint[], ${bigints(links, 'unappliedMinor')}::bigint[],
          ${bigints(links, 'clearingMinor')}::bigint[], ${column(links, 'hashedText')}::text[])
          as p(customer, currency, receivable, unapplied, clearing, hashed)),
    ${linking(account)},
    written as (
      insert into ledger_rows (account_id, customer_id, link, currency, event, is_reversal, record_type, record_id, debit, credit, tax_name,
        tax_rate, tax_number, amount_minor, dated, posted_at)
      select ${account}, e.customer, k.links, e.currency, e.event, e.is_reversal, e.record_type, e.record_id, e.debit, e.credit, e.tax_name,
             e.tax_rate, e.tax_number, e.amount, e.dated, e.posted_at
        from unnest(${bigints(entries, 'customerId')}::bigint[], ${column(entries, 'currency')}::text[], ${column(entries, 'event')}::text[],
          ${column(entries, 'isReversal')}::boolean[], ${column(entries, 'recordType')}::text[], ${bigints(entries, 'recordId')}::bigint[],
          ${column(entries, 'debit')}::text[], ${column(entries, 'credit')}::text[], ${column(entries, 'taxName')}::text[],
          ${column(entries, 'taxRate')}::numeric[], ${column(entries, 'taxNumber')}::text[], ${bigints(entries, 'amountMinor')}::bigint[],
          ${dates(entries, 'dated')}::date[], ${column(entries, 'postedAt')}::timestamptz[]) with ordinality
          as e(customer, currency, event, is_reversal, record_type, record_id, debit, credit, tax_name, tax_rate, tax_number, amount, dated, posted_at,
            place)
        join linked k on k.customer_id = e.customer and k.currency = e.currency
       order by e.place returning 1)
    select customer_id as "customerId", currency from linked where unapplied_minor > 0`
