import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A payment beside the sums of its allocations in force. */
export interface CheckedPayment {
  id: Id
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  appliedMinor: bigint
  allocatedMinor: bigint
  isFailed: boolean
}

export const listPaymentPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedPayment>(sql`
    select p.payment_id as "id", p.customer_id as "customerId", p.currency, p.amount_minor as "amountMinor", p.applied_minor as "appliedMinor",
           p.failed_on is not null as "isFailed",
           coalesce((select sum(l.amount_minor) from allocations l where l.account_id = ${account} and l.ended_on is null
             and l.given_kind = 'payment' and l.given_id = p.payment_id), 0)::bigint as "allocatedMinor"
      from payments p where p.account_id = ${account} and p.payment_id > ${after} order by p.payment_id limit ${limit}`)

/** A positive adjustment with its sums, beside which the allocations are counted. */
export interface CheckedPositive {
  id: Id
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
}

export const listPositivePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedPositive>(sql`
    select positive_adjustment_id as "id", customer_id as "customerId", currency, amount_minor as "amountMinor", paid_minor as "paidMinor",
           pending_minor as "pendingMinor", negative_minor as "negativeMinor"
      from positive_adjustments where account_id = ${account} and positive_adjustment_id > ${after}
     order by positive_adjustment_id limit ${limit}`)
