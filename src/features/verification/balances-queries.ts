import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { batchedPostings, writtenEntries } from '../ledger/group-by-facts-queries.ts'
import { PAGE_ENDS, type PageEnds } from '../../platform/checks/pages-queries.ts'

export const findCustomers = (db: Queryable, account: AccountId, after: CustomerId, limit: number) =>
  db.one<PageEnds>(sql`
    select ${PAGE_ENDS} from (
  select customer_id as id from customers where account_id = ${account} and customer_id > ${after} order by customer_id limit ${limit}) p`)

/** A customer's running totals in a currency, beside what its documents and its ledger entries come to. */
export interface CheckedBalance {
  customerId: CustomerId
  currency: string
  receivable: bigint
  receivableOpen: bigint
  receivablePosted: bigint
  unapplied: bigint
  unappliedOpen: bigint
  unappliedPosted: bigint
  clearing: bigint
  clearingOpen: bigint
  clearingPosted: bigint
}

/**
 * Lists the totals that differ from their documents or entries, of the customers after one and up to another; null is up to the end. `mostMembers`: invoices of
 * the largest batch of postings.
 */
export function listBalanceDifferences(
  db: Queryable,
  account: AccountId,
  { after, upTo }: { after: CustomerId; upTo: CustomerId | null },
  mostMembers: number,
) {
  const theirs = fragment`account_id = ${account} and customer_id > ${after} and customer_id <= coalesce(${upTo}::bigint, 9223372036854775807)`
  return db.rows<CheckedBalance>(sql`
    with chosen as materialized (
      select invoice_id, customer_id, currency,
             case when issued_at is not null and cancelled_at is null then total_minor - negative_minor - paid_minor - pending_minor else 0 end as open
        from invoices where ${theirs}),
    ${batchedPostings(account, mostMembers)},
    facts as (
      select customer_id, currency, 0 as source, receivable_minor as receivable, unapplied_minor as unapplied, clearing_minor as clearing
        from customer_totals where ${theirs}
      union all
      select customer_id, currency, 1, open, 0, 0 from chosen
      union all
      select customer_id, currency, 1, amount_minor - negative_minor - paid_minor - pending_minor, 0, 0 from positive_adjustments
       where ${theirs}
      union all
      select customer_id, currency, 1, 0, amount_minor - applied_minor, 0 from negative_adjustments where ${theirs}
      union all
      select customer_id, currency, 1, 0, amount_minor - applied_minor,
             case when origin <> 'recorded' and settled_on is null then amount_minor else 0 end from payments
       where ${theirs} and failed_on is null
      union all
      select customer_id, currency, 2,
             case when debit = 'receivable' then amount_minor else 0 end - case when credit = 'receivable' then amount_minor else 0 end,
             case when credit = 'unapplied' then amount_minor else 0 end - case when debit = 'unapplied' then amount_minor else 0 end,
             case when debit = 'clearing' then amount_minor else 0 end - case when credit = 'clearing' then amount_minor else 0 end
        from ${writtenEntries(account)} e where ${theirs}
      union all
      select customer_id, currency, 2, receivable, 0, 0 from batched),
    beside as (
      select customer_id as "customerId", currency,
             coalesce(sum(receivable) filter (where source = 0), 0)::bigint as "receivable",
             coalesce(sum(receivable) filter (where source = 1), 0)::bigint as "receivableOpen",
             coalesce(sum(receivable) filter (where source = 2), 0)::bigint as "receivablePosted",
             coalesce(sum(unapplied) filter (where source = 0), 0)::bigint as "unapplied",
             coalesce(sum(unapplied) filter (where source = 1), 0)::bigint as "unappliedOpen",
             coalesce(sum(unapplied) filter (where source = 2), 0)::bigint as "unappliedPosted",
             coalesce(sum(clearing) filter (where source = 0), 0)::bigint as "clearing",
             coalesce(sum(clearing) filter (where source = 1), 0)::bigint as "clearingOpen",
             coalesce(sum(clearing) filter (where source = 2), 0)::bigint as "clearingPosted"
        from facts group by customer_id, currency)
    select * from beside
     where receivable <> "receivableOpen" or receivable <> "receivablePosted" or unapplied <> "unappliedOpen"
        or unapplied <> "unappliedPosted" or clearing <> "clearingOpen" or clearing <> "clearingPosted"
     order by "customerId", currency`)
}
