import type { PostedPayment } from '../../engine/money/postings.ts'
import type { Payment } from '../money/payment-queries.ts'
import { allocatedStatus } from '../money/rules.ts'

/** It was begun at a gateway or in a batch and its outcome is not known. */
export const isPending = (payment: Pick<Payment, 'origin' | 'settledOn' | 'failedOn'>): boolean =>
  payment.failedOn === null && payment.origin !== 'recorded' && payment.settledOn === null

/** Rule: Failed; Pending; else by how much of it is allocated, to whatever kind. */
export const paymentStatus = (payment: Payment) =>
  payment.failedOn !== null
    ? 'Failed'
    : isPending(payment)
      ? 'Pending'
      : allocatedStatus(payment.amountMinor, payment.appliedMinor)

/** What the ledger needs to know of a payment. */
export const postedPayment = (payment: Payment): PostedPayment => ({
  ...payment,
  isBegun: payment.origin !== 'recorded',
})
