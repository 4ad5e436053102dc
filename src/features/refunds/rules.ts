import type { Instant } from '../../kernel/calendar.ts'
import { amountText } from '../../kernel/currencies.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Gateway } from '../gateways/queries.ts'
import { isStopped } from '../gateways/rules.ts'
import type { Payment } from '../money/payment-queries.ts'
import { isPending } from '../money/rules.ts'
import type { PaymentRefund } from './queries.ts'

/** Rules of refunds through gateways, as functions of facts. */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** A call has ended after that long, with an answer or without. */
const FIRST_ASK_MS = 2 * MINUTE_MS
const ASKS_AFTER_MS = [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS]

/** How long a refund that did not reach its gateway is sent again. */
export const SENDING_MS = 20 * HOUR_MS
/** How long a gateway is asked in vain before a person may settle a refund. */
const BY_HAND_AFTER_MS = 24 * HOUR_MS

const after = (instant: Instant, ms: number): Instant => instantOf(Date.parse(instant) + ms)

/** Returns when the gateway is asked what became of a refund that was just begun. */
export const firstAskAt = (begunAt: Instant): Instant => after(begunAt, FIRST_ASK_MS)

/** Returns when it is asked again: after a minute, five, thirty, then every hour. */
export const nextAskAt = (now: Instant, asks: number): Instant => after(now, ASKS_AFTER_MS[asks] ?? HOUR_MS)

/** Returns true while a refund that surely never reached its gateway is still sent. Rule: a gateway that has stopped takes nothing of that time. */
export const isSent = (
  { begunAt }: PaymentRefund,
  gateway: Pick<Gateway, 'heldFor' | 'keyState' | 'releasedAt'>,
  now: Instant,
): boolean =>
  isStopped(gateway) ||
  Date.parse(now) < Math.max(Date.parse(begunAt), Date.parse(gateway.releasedAt ?? begunAt)) + SENDING_MS

/**
 * Returns the amount to refund. Rule: up to the unallocated part of a payment that a gateway processed and that was received, and no more than
 * is left of its charge (`leftMinor`): a refund whose allocation was taken away has still been made. Throws a conflict for any other payment,
 * and for more.
 */
export function amountToRefund(payment: Payment, askedMinor: bigint | null, leftMinor: bigint): bigint {
  const { id, currency } = payment
  if (payment.gatewayId === null)
    throw conflict(
      'not_through_gateway',
      `Payment ${id} was processed by no gateway: pay the money back by hand and record a refund (POST /v1/adjustment/add).`,
    )
  if (payment.failedOn !== null)
    throw conflict('payment_failed', `Payment ${id} has failed; there is nothing to give back.`)
  if (isPending(payment)) throw conflict('payment_pending', `Payment ${id} waits for its outcome.`)
  const freeMinor = payment.amountMinor - payment.appliedMinor - payment.heldMinor
  const amountMinor = askedMinor ?? (leftMinor > 0n && leftMinor < freeMinor ? leftMinor : freeMinor)
  if (amountMinor > freeMinor || freeMinor === 0n)
    throw conflict(
      'too_little_unallocated',
      `Payment ${id} has ${amountText(freeMinor, currency)} unallocated; ${amountText(amountMinor, currency)} of it cannot be refunded. Take allocations off it first.`,
      'Amount',
    )
  if (amountMinor > leftMinor)
    throw conflict(
      'charge_refunded',
      `Of what the gateway received with payment ${id} ${amountText(leftMinor, currency)} has not been refunded yet; ${amountText(amountMinor, currency)} cannot be.`,
      'Amount',
    )
  return amountMinor
}

/** Throws where a person settles a refund whose outcome is known, or which the gateway may still answer for. */
export function checkResultByHand({ id, state, begunAt, lastAnswer }: PaymentRefund, now: Instant): void {
  if (state !== 'open') throw conflict('refund_ended', `Refund ${id} has ${state} already.`)
  if (lastAnswer === 'pending' || Date.parse(now) < Date.parse(begunAt) + BY_HAND_AFTER_MS)
    throw conflict(
      'gateway_may_answer',
      `The gateway of refund ${id} is still asked what became of it; a result by hand is taken 24 hours after it fell silent.`,
    )
}

/** Throws for a day of the outcome before the refund or after today. */
export function checkResultDay(refund: PaymentRefund, on: string, today: string): void {
  if (on > today) throw invalid('date_in_future', `Date ${on} lies after today, ${today}.`, 'Date')
  if (on < refund.begunAt.slice(0, 10) && on < refund.dated)
    throw invalid('date_before_refund', `Date ${on} lies before the refund, ${refund.dated}.`, 'Date')
}
