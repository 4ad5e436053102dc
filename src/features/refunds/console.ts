import { afterLock } from '../../engine/money/postings.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { amountText } from '../../kernel/currencies.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { recordChange } from '../events/record.ts'
import { addPositive, coveredPositive } from '../money/positive-adjustments.ts'
import type { PaymentRecord } from '../money/records.ts'
import { insertConsoleRefund, type PaymentRefund } from './queries.ts'
import { refundKind } from './record.ts'

/** A refund that was made at a gateway's console, as it is booked. */
export interface ConsoleRefund {
  /** The gateway's name of it. */
  gatewayReference: string
  /** At most what is received of the charge and not refunded. */
  amountMinor: bigint
  on: IsoDate
}

/**
 * Books a refund that was made at a gateway's console, of a charge whose customer is locked and that `payment` was first (§33). The payment does not fail of it:
 * its money is a refund adjustment, covered by what is unallocated of the charge; the rest is open, with an event.
 */
export async function bookConsoleRefund(
  tx: Transaction,
  context: RequestContext,
  payment: PaymentRecord,
  { gatewayReference, amountMinor, on }: ConsoleRefund,
): Promise<PaymentRefund> {
  const { id: paymentId, customerId, currency } = payment
  const dated = afterLock(later(on, payment.dated), context.account.lockDate)
  const ref = `Refund of payment ${paymentId}`
  const wanted = { customerId, kind: 'refund' as const, dated, dueDate: dated, amountMinor, currency, ref, memo: null }
  const { id: adjustmentId } = await addPositive(tx, context, wanted, { given: null })
  const refund = await insertConsoleRefund(tx, {
    paymentId,
    customerId,
    amountMinor,
    currency,
    dated,
    begunAt: context.moment.now,
    adjustmentId,
    gatewayReference,
  })
  await recordChange(tx, context, refundKind, { type: 'payment_refund.succeeded', row: refund, customerId })
  const { paidMinor, negativeMinor } = await coveredPositive(tx, context, { id: adjustmentId, customerId })
  const openMinor = amountMinor - paidMinor - negativeMinor
  if (openMinor > 0n) {
    const reason = `The customer owes ${amountText(openMinor, currency)} of it: no unallocated money of its charge covers that.`
    await recordChange(tx, context, refundKind, { type: 'payment_refund.uncovered', row: refund, customerId, reason })
  }
  return refund
}
