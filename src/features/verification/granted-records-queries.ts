import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A payment beside the sums of its allocations in force and of its open refunds, and whether somebody is asked for its outcome. */
export interface CheckedPayment {
  id: Id
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  appliedMinor: bigint
  allocatedMinor: bigint
  heldMinor: bigint
  refundingMinor: bigint
  isFailed: boolean
  /** Begun at a gateway, and no outcome is known. */
  isPendingAtGateway: boolean
  hasOpenTry: boolean
}

export const listPaymentPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedPayment>(sql`
    select p.payment_id as "id", p.customer_id as "customerId", p.currency, p.amount_minor as "amountMinor", p.applied_minor as "appliedMinor",
           p.held_minor as "heldMinor", p.failed_on is not null as "isFailed",
           p.gateway_id is not null and p.settled_on is null and p.failed_on is null as "isPendingAtGateway",
           exists (select 1 from collection_tries t where t.account_id = ${account} and t.payment_id = p.payment_id and t.state = 'open')
             or exists (select 1 from batch_lines l where l.account_id = ${account} and l.payment_id = p.payment_id and l.result is null)
             as "hasOpenTry",
           coalesce((select sum(r.amount_minor) from payment_refunds r where r.account_id = ${account} and r.payment_id = p.payment_id
             and r.state = 'open'), 0)::bigint as "refundingMinor",
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
