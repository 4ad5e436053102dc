import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

export interface CheckedAllocation {
  id: Id
  customerId: CustomerId
  givenKind: GivenKind
  givenId: Id
  owedKind: OwedKind
  owedId: Id
  dated: IsoDate
  /** Taken away by a failure: kept as history, whatever became of the documents since. */
  isEnded: boolean
  /** Of the document owed; null where there is none. */
  owedCustomerId: CustomerId | null
  owedCurrency: string | null
  owedDated: IsoDate | null
  /** Of the document given; null where there is none. */
  givenCustomerId: CustomerId | null
  givenCurrency: string | null
  givenDated: IsoDate | null
}

export const listAllocationPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedAllocation>(sql`
    select l.allocation_id as "id", l.customer_id as "customerId", l.given_kind as "givenKind", l.given_id as "givenId",
           l.owed_kind as "owedKind", l.owed_id as "owedId", l.dated, l.ended_on is not null as "isEnded",
           coalesce(i.customer_id, o.customer_id) as "owedCustomerId", coalesce(i.currency, o.currency) as "owedCurrency",
           coalesce(i.invoice_date, o.dated) as "owedDated", coalesce(p.customer_id, n.customer_id) as "givenCustomerId",
           coalesce(p.currency, n.currency) as "givenCurrency", coalesce(p.dated, n.dated) as "givenDated"
      from (select * from allocations where account_id = ${account} and allocation_id > ${after} order by allocation_id limit ${limit}) l
      left join invoices i on l.owed_kind = 'invoice' and i.account_id = ${account} and i.invoice_id = l.owed_id
      left join positive_adjustments o
        on l.owed_kind = 'positive_adjustment' and o.account_id = ${account} and o.positive_adjustment_id = l.owed_id
      left join payments p on l.given_kind = 'payment' and p.account_id = ${account} and p.payment_id = l.given_id
      left join negative_adjustments n
        on l.given_kind = 'negative_adjustment' and n.account_id = ${account} and n.negative_adjustment_id = l.given_id
     order by l.allocation_id`)
