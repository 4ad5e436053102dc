import type { IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'

/** Statements of refunds that were made at a gateway's console, and of the money of their charges. */

/** A refund of the console that is not covered, as a positive adjustment. */
export interface OpenRefund {
  adjustmentId: Id
  dated: IsoDate
  currency: string
  openMinor: bigint
  gatewayId: Id
  chargeId: Id
}

const OPEN = fragment`a.amount_minor - a.paid_minor - a.pending_minor - a.negative_minor`

/** Lists the refunds of a locked customer that were made at the console of a gateway and are not covered, the oldest first. */
export const listOpenRefunds = (tx: Transaction, customerId: CustomerId) =>
  tx.rows<OpenRefund>(sql`
    select r.adjustment_id as "adjustmentId", a.dated, a.currency, ${OPEN} as "openMinor", p.gateway_id as "gatewayId", p.charge_id as "chargeId"
      from payment_refunds r
      join positive_adjustments a on a.account_id = ${tx.account} and a.positive_adjustment_id = r.adjustment_id
      join payments p on p.account_id = ${tx.account} and p.payment_id = r.payment_id
     where r.account_id = ${tx.account} and r.customer_id = ${customerId} and r.is_from_gateway and ${OPEN} > 0
     order by r.refund_id`)

/** Lists the payments of a charge that are received and stand. */
export const listReceivedOfCharge = (tx: Transaction, { gatewayId, chargeId }: { gatewayId: Id; chargeId: Id }) =>
  tx.values<Id>(sql`
    select payment_id as "id" from payments
     where account_id = ${tx.account} and gateway_id = ${gatewayId} and charge_id = ${chargeId}
       and failed_on is null and settled_on is not null order by payment_id`)

/** Lists the payments of a charge that have failed, the newest first. */
export const listFailedOfCharge = (tx: Transaction, { gatewayId, chargeId }: { gatewayId: Id; chargeId: Id }) =>
  tx.values<Id>(sql`
    select payment_id as "id" from payments
     where account_id = ${tx.account} and gateway_id = ${gatewayId} and charge_id = ${chargeId} and failed_on is not null
     order by payment_id desc`)

/** Lists the refunds of a charge that stand open as positive adjustments, the oldest first: our own as well, whose payment had failed. */
export const listOpenOfCharge = (tx: Transaction, { gatewayId, chargeId }: { gatewayId: Id; chargeId: Id }) =>
  tx.rows<{ id: Id; openMinor: bigint }>(sql`
    select a.positive_adjustment_id as "id", ${OPEN} as "openMinor"
      from payments p
      join payment_refunds r on r.account_id = ${tx.account} and r.payment_id = p.payment_id
      join positive_adjustments a on a.account_id = ${tx.account} and a.positive_adjustment_id = r.adjustment_id
     where p.account_id = ${tx.account} and p.gateway_id = ${gatewayId} and p.charge_id = ${chargeId} and ${OPEN} > 0
     order by a.dated, a.positive_adjustment_id`)

/** Finds the refund of a gateway's console that a positive adjustment stands for. */
export const findRefundOfAdjustment = (tx: Transaction, customerId: CustomerId, adjustmentId: Id) =>
  tx.first<{ id: Id; paymentId: Id }>(sql`
    select refund_id as "id", payment_id as "paymentId" from payment_refunds
     where account_id = ${tx.account} and customer_id = ${customerId} and adjustment_id = ${adjustmentId} and is_from_gateway`)
