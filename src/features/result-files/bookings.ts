import type { IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'

/**
 * The one credit and the one return that are expected of a payment, as functions of facts. The first booking of each kind that is applied, or
 * that the ledger has already, is kept with the bank's day; it may come again in other files.
 */

/** Booking of a payment that is kept. */
export interface KeptBooking {
  on: IsoDate
  /** The file that it was read in first; null for one that was read before bookings were kept. */
  fileId: Id | null
  /** It settled the payment, failed it or took its money back. */
  hasChanged: boolean
}

/** Payment in a batch that left for the gateway, and what has become of it. */
export interface SentPayment {
  id: Id
  customerId: CustomerId
  gatewayId: Id
  batchToken: string
  amountMinor: bigint
  currency: string
  actionDate: IsoDate
  /** Its first result; null while it waits. */
  result: 'success' | 'failed' | null
  /** The day since which it has failed; null while it has not. */
  failedOn: IsoDate | null
  /** Who failed it, or took its money back; null while nobody has. */
  failedBy: 'gateway' | 'file' | 'hand' | null
  credit: KeptBooking | null
  return: KeptBooking | null
}

/** `waits` for its result; `received`; `returned` by a return that is kept; `taken_back` by hand; `rejected_late`, by a status after a kept credit; else `failed`. */
export type PaymentState = 'waits' | 'received' | 'returned' | 'taken_back' | 'rejected_late' | 'failed'

/** Returns what has become of a payment, as far as its bookings are judged by it. */
export function stateOfPayment(payment: SentPayment): PaymentState {
  if (payment.failedOn === null) return payment.result === null ? 'waits' : 'received'
  const wasReceived = payment.result === 'success'
  if (wasReceived && payment.failedBy !== 'file') return 'taken_back'
  if (payment.return !== null) return 'returned'
  return wasReceived && payment.credit !== null ? 'rejected_late' : 'failed'
}

/** `changes` the payment: settles it, fails it or takes its money back. `passed`: the ledger has it already. `again`: it is the one kept. */
export type BookingVerdict = 'changes' | 'passed' | 'again' | 'listed'

/**
 * Decides on a booking of a payment. Rule: the table of one credit and one return; one more beside a kept one waits for a person. With `isOther` its
 * bank's reference shows that it is not the kept one, whatever its day.
 */
export function verdictOn(
  payment: SentPayment,
  { isCredit, on, fileId, isOther = false }: { isCredit: boolean; on: IsoDate; fileId: Id; isOther?: boolean },
): BookingVerdict {
  const kept = isCredit ? payment.credit : payment.return
  if (kept !== null) return !isOther && kept.on === on && kept.fileId !== fileId ? 'again' : 'listed'
  switch (stateOfPayment(payment)) {
    case 'waits':
      return 'changes'
    case 'received':
      return isCredit ? 'passed' : 'changes'
    case 'returned':
      return payment.return !== null && on <= payment.return.on ? 'passed' : 'listed'
    case 'taken_back':
      return 'passed'
    case 'rejected_late':
      return isCredit ? 'listed' : 'passed'
    case 'failed':
      return 'listed'
  }
}

/** Returns a payment as it is once a booking of it is kept. */
export function withBooking(
  payment: SentPayment,
  { isCredit, kept }: { isCredit: boolean; kept: KeptBooking },
): SentPayment {
  if (isCredit) return { ...payment, credit: kept, result: kept.hasChanged ? 'success' : payment.result }
  const failed = kept.hasChanged
    ? { failedOn: kept.on, failedBy: 'file' as const, result: payment.result ?? ('failed' as const) }
    : {}
  return { ...payment, return: kept, ...failed }
}

/** Payment of a batch that may have been booked as a whole. */
export type CollectedPayment = Pick<SentPayment, 'amountMinor' | 'failedOn' | 'credit'>

/**
 * Decides on a booking of a whole collection by its amount. Rule: it settles the payments that have not failed if it comes to them and none has
 * a credit; it is the one that is kept if each of its payments has one of that day.
 */
export function verdictOnCollection(
  payments: readonly CollectedPayment[],
  { amountMinor, on, fileId }: { amountMinor: bigint; on: IsoDate; fileId: Id },
): Exclude<BookingVerdict, 'passed'> {
  const sumOf = (some: readonly CollectedPayment[]) => some.reduce((sum, one) => sum + one.amountMinor, 0n)
  const notFailed = payments.filter(({ failedOn }) => failedOn === null)
  // What it booked may have been returned since.
  const booked = payments.filter(({ failedOn, credit }) => failedOn === null || credit?.on === on)
  const isKept = booked.length > 0 && booked.every(({ credit }) => credit?.on === on && credit.fileId !== fileId)
  if (isKept && sumOf(booked) === amountMinor) return 'again'
  if (notFailed.length === 0 || sumOf(notFailed) !== amountMinor) return 'listed'
  return notFailed.some(({ credit }) => credit !== null) ? 'listed' : 'changes'
}
