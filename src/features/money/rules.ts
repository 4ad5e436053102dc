import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { PostedPayment } from '../../engine/money/postings.ts'
import { isFailure } from '../../engine/collection/reasons.ts'
import { amountText } from '../../kernel/currencies.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Payment } from './payment-queries.ts'
import type { GivenStatus } from './types.ts'

/** Rules of money records that hold at every door, as functions of facts. */

/** Computes the status of given money from how much of it is allocated, to whatever kind. */
export const allocatedStatus = ({
  amountMinor,
  appliedMinor,
}: {
  amountMinor: bigint
  appliedMinor: bigint
}): 'Allocated' | 'Partial' | 'Unallocated' =>
  appliedMinor === 0n ? 'Unallocated' : appliedMinor < amountMinor ? 'Partial' : 'Allocated'

/** Returns true of a payment that was begun at a gateway or in a batch and whose outcome is not known. */
export const isPending = (payment: Pick<Payment, 'origin' | 'settledOn' | 'failedOn'>): boolean =>
  payment.failedOn === null && payment.origin !== 'recorded' && payment.settledOn === null

/** Computes the status of a payment: Failed; Pending; else by how much of it is allocated. `PAYMENT_STATUS` is the same rule in SQL. */
export const paymentStatus = (payment: Payment): GivenStatus =>
  payment.failedOn !== null ? 'Failed' : isPending(payment) ? 'Pending' : allocatedStatus(payment)

/** Returns the facts of a payment that its postings follow from. */
export const postedPayment = (payment: Payment): PostedPayment => ({
  ...payment,
  isBegun: payment.origin !== 'recorded',
})

const WORDS = {
  payment: 'payment',
  negative_adjustment: 'negative adjustment',
  invoice: 'invoice',
  positive_adjustment: 'positive adjustment',
} as const

/** Names a document in a sentence: "positive adjustment 7". */
export const labelOf = ({ kind, id }: { kind: GivenKind | OwedKind; id: Id }): string => `${WORDS[kind]} ${id}`

/** Throws a conflict where a record would come to be of another customer. */
export function checkSameCustomer(label: string, present: CustomerId, wanted: CustomerId): void {
  if (wanted !== present)
    throw conflict(
      'other_customer',
      `${label} is of customer ${present} and cannot become one of customer ${wanted}.`,
      'customerID',
    )
}

/** Throws a conflict where a record changes its currency and keeps allocations. */
export function checkCurrencyEdit(label: string, present: string, wanted: string, keepsSome: boolean): void {
  if (wanted !== present && keepsSome)
    throw conflict(
      'currency_allocated',
      `${label} is in ${present}; its currency can change only with an empty list of allocations.`,
      'CurrencyCode',
    )
}

/**
 * Throws a conflict where allocations come to more than the amount of their record, or reach into what is held of it. `field` is the one that asked
 * for it.
 */
export function checkAllocated(
  allocatedMinor: bigint,
  { amountMinor, currency, heldMinor = 0n }: { amountMinor: bigint; currency: string; heldMinor?: bigint },
  field: string | null,
): void {
  if (heldMinor > 0n && allocatedMinor <= amountMinor && allocatedMinor > amountMinor - heldMinor)
    throw conflict(
      'held_for_refund',
      `Of the amount of ${amountText(amountMinor, currency)}, ${amountText(heldMinor, currency)} is held for a refund whose outcome is not known; ${amountText(allocatedMinor, currency)} cannot be allocated.`,
      field,
    )
  if (allocatedMinor > amountMinor)
    throw conflict(
      'over_allocated',
      `The allocations come to ${amountText(allocatedMinor, currency)}, more than the amount of ${amountText(amountMinor, currency)}.`,
      field,
    )
}

/** Notes a success by hand that is sent with the reason of a failure. `at` is where the result stands in the body: '' or "Results[0].". */
export function checkReason(
  { Success, Reason }: { Success?: boolean; Reason?: string | null },
  at: string,
  problems: Problems,
): void {
  if (Success === true && isFailure(Reason))
    problems.add('contradiction', `${at}Reason`, `${at}Reason is one of a failure, and ${at}Success is true.`)
}
