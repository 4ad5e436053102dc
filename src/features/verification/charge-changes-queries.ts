import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A change of a charge, with what it was booked as. */
export interface CheckedChange {
  id: Id
  kind: string
  isRefund: boolean
  reference: string
  chargeId: Id
  paymentId: Id | null
  amountMinor: bigint | null
  /** Of the first payment of the charge; null where the charge is no payment. */
  customerId: CustomerId | null
  currency: string | null
  /** The payment that it names is one of the charge. */
  isOfCharge: boolean
  /** Of the refund that bears its reference; null where there is none. */
  refundedMinor: bigint | null
}

export const listChangePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedChange>(sql`
    select c.charge_change_id as "id", c.kind, c.is_refund as "isRefund", c.reference, c.charge_id as "chargeId", c.payment_id as "paymentId",
           c.amount_minor as "amountMinor", p.customer_id as "customerId", p.currency,
           exists (select 1 from payments o where o.account_id = ${account} and o.payment_id = c.payment_id and o.gateway_id = c.gateway_id
             and o.charge_id = c.charge_id) as "isOfCharge",
           (select r.amount_minor from payment_refunds r where r.account_id = ${account} and r.gateway_reference = c.reference
             and r.is_from_gateway) as "refundedMinor"
      from charge_changes c
      left join lateral (select customer_id, currency from payments
            where account_id = ${account} and gateway_id = c.gateway_id and charge_id = c.charge_id order by payment_id limit 1) p on true
     where c.account_id = ${account} and c.charge_change_id > ${after} order by c.charge_change_id limit ${limit}`)

/** A refund of a gateway's console, with the positive adjustment that it is. */
export interface CheckedRefund {
  id: Id
  paymentId: Id
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  dated: IsoDate
  adjustmentId: Id | null
  adjustmentKind: string | null
  adjustmentCustomerId: CustomerId | null
  adjustmentCurrency: string | null
  adjustmentMinor: bigint | null
  adjustmentDated: IsoDate | null
  /** It came back: its day is then that of the failure. */
  hasFailed: boolean
}

export const listConsoleRefundPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedRefund>(sql`
    select r.refund_id as "id", r.payment_id as "paymentId", r.customer_id as "customerId", r.currency, r.amount_minor as "amountMinor", r.dated,
           r.adjustment_id as "adjustmentId", a.kind as "adjustmentKind", a.customer_id as "adjustmentCustomerId",
           a.currency as "adjustmentCurrency", a.amount_minor as "adjustmentMinor", a.dated as "adjustmentDated", r.state = 'failed' as "hasFailed"
      from payment_refunds r
      left join positive_adjustments a on a.account_id = ${account} and a.positive_adjustment_id = r.adjustment_id
     where r.account_id = ${account} and r.is_from_gateway and r.refund_id > ${after} order by r.refund_id limit ${limit}`)

/** A name that a gateway has for several of one kind. */
export interface DoubleName {
  kind: 'charge' | 'refund'
  name: string
  /** The first of them. */
  id: Id
  count: bigint
}

export const listDoubleNames = (db: Queryable, account: AccountId) =>
  db.rows<DoubleName>(sql`
    select 'charge' as "kind", gateway_reference as "name", min(payment_id) as "id", count(*) as "count" from collection_tries
     where account_id = ${account} and gateway_reference is not null group by gateway_id, gateway_reference having count(*) > 1
     union all
    select 'charge', gateway_reference, min(charge_id), count(*) from capture_sales
     where account_id = ${account} and gateway_reference <> 'by hand' group by gateway_id, gateway_reference having count(*) > 1
     union all
    select 'charge', gateway_reference, min(payment_id), count(*) from batch_lines
     where account_id = ${account} and gateway_reference is not null group by gateway_reference having count(*) > 1
     union all
    select 'refund', gateway_reference, min(refund_id), count(*) from payment_refunds
     where account_id = ${account} and gateway_reference is not null group by gateway_reference having count(*) > 1`)
