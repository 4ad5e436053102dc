import type Stripe from 'stripe'
import { idOf, type Book } from './stripe-book.ts'
import { missing, refused } from './stripe-error.ts'
import { newDispute, newRefund } from './stripe-objects.ts'

/** Money that goes back: refunds and disputes. All amounts are minor units as Stripe counts them. */

/** Until a pending refund succeeds, and until one that succeeded fails, where the card is of that kind. */
const REFUND_SECONDS = 86_400
const DISPUTE_FEE = 1500

interface RefundFacts {
  amount?: number | undefined
  reason?: Stripe.RefundCreateParams['reason']
  metadata?: Record<string, string>
}

/** Finds the charge that a refund names, or whose intent it names. */
export function chargeToRefund(book: Book, body: { charge?: string; payment_intent?: string }): Stripe.Charge {
  const { charge, payment_intent: intent } = body
  if (charge === undefined && intent === undefined) throw refused('One of charge or payment_intent must be provided.')
  if (intent !== undefined && !book.intents.has(intent)) throw missing('payment_intent', intent, 'payment_intent', 400)
  const id = charge ?? idOf(book.intents.get(intent ?? '')?.latest_charge) ?? ''
  const found = book.charges.get(id)
  if (found === undefined && charge !== undefined) throw missing('charge', charge, 'charge', 400)
  if (found === undefined || !found.paid)
    throw refused('This PaymentIntent does not have a successful charge to refund.')
  return found
}

/** Refunds a charge, whole or in part. */
export function refundCharge(
  book: Book,
  charge: Stripe.Charge,
  { amount, reason, metadata }: RefundFacts,
): Stripe.Refund {
  const left = charge.amount - charge.amount_refunded
  if (left === 0) throw refused(`Charge ${charge.id} has already been refunded.`, { code: 'charge_already_refunded' })
  if (isChargedBack(book, charge))
    throw refused(`Charge ${charge.id} has been charged back; cannot issue a refund.`, { code: 'charge_disputed' })
  const back = amount ?? left
  if (back < 1)
    throw refused('This value must be greater than or equal to 1.', {
      code: 'parameter_invalid_integer',
      param: 'amount',
    })
  if (back > left)
    throw refused(`Refund amount (${back}) is greater than unrefunded amount on charge (${left}).`, { param: 'amount' })
  const { refunds } = book.cardOf(book.method(charge.payment_method ?? ''))
  const making = book.make('re')
  const transaction = book.move({ ...moving(charge, -back, making.id), category: 'refund' })
  const status = refunds === 'later' ? 'pending' : 'succeeded'
  const facts = { amount: back, status, transaction: transaction.id, reason: reason ?? null, metadata: metadata ?? {} }
  const refund = newRefund(making, charge, facts)
  book.refunds.set(refund.id, refund)
  setRefunded(charge, charge.amount_refunded + back)
  book.emit('charge.refunded', charge)
  book.emit('refund.created', refund)
  const later = refunds === 'later' ? () => settleRefund(book, refund) : () => failRefund(book, refund, 'unknown')
  if (refunds !== undefined) book.clock.at(book.clock.now() + REFUND_SECONDS, () => book.byItself(later))
  return refund
}

const isChargedBack = (book: Book, charge: Stripe.Charge) =>
  [...book.disputes.values()].some(
    (dispute) => dispute.charge === charge.id && !dispute.is_charge_refundable && dispute.status !== 'won',
  )

const moving = (charge: Stripe.Charge, amount: number, source: string) => ({
  ...{ amount, currency: charge.currency, fee: 0, rate: null, source },
})

function setRefunded(charge: Stripe.Charge, amount: number): void {
  charge.amount_refunded = amount
  charge.refunded = amount === charge.amount
}

/** A refund that was pending has arrived. */
export function settleRefund(book: Book, refund: Stripe.Refund): void {
  if (refund.status !== 'pending') return
  refund.status = 'succeeded'
  book.emit('refund.updated', refund)
}

/** A refund could not be paid out: its amount counts as not refunded again. */
export function failRefund(book: Book, refund: Stripe.Refund, reason: string): void {
  const charge = book.charges.get(idOf(refund.charge) ?? '')
  if (charge === undefined || refund.status === 'failed') return
  const transaction = book.move({ ...moving(charge, refund.amount, refund.id), category: 'refund_failure' })
  Object.assign(refund, { status: 'failed', failure_reason: reason, failure_balance_transaction: transaction.id })
  setRefunded(charge, charge.amount_refunded - refund.amount)
  book.emit('refund.updated', refund)
  book.emit('refund.failed', refund)
}

interface DisputeFacts {
  /** The whole charge if nothing is given. */
  amount?: number
  reason?: string
  networkCode?: string
  isEnquiry?: boolean
  /** Its currency, if the bank counts in another one than the charge. */
  currency?: string
  /** Units of the Stripe account's own currency for one of the dispute's. */
  rate?: number
}

/** A bank disputes a charge. Unless that is an enquiry, the money is withdrawn at once. */
export function openDispute(book: Book, charge: Stripe.Charge, facts: DisputeFacts): Stripe.Dispute {
  const { amount = charge.amount, currency = charge.currency, isEnquiry = false } = facts
  const { reason = 'fraudulent', networkCode = '10.4' } = facts
  const dispute = newDispute(book.make('dp'), charge, { amount, currency, reason, networkCode, isEnquiry })
  book.disputes.set(dispute.id, dispute)
  charge.disputed = true
  book.emit('charge.dispute.created', dispute)
  if (!isEnquiry) withdraw(book, dispute, { amount, rate: facts.rate ?? 1 })
  return dispute
}

/** Money of a dispute leaves. @param amount in the dispute's currency; what the Stripe account's own loses is that at the rate */
export function withdraw(
  book: Book,
  dispute: Stripe.Dispute,
  { amount, rate }: { amount: number; rate: number },
): void {
  const own = { amount: -Math.round(amount * rate), currency: rate === 1 ? dispute.currency : 'usd', rate }
  const moved = book.move({ ...own, fee: DISPUTE_FEE, source: dispute.id, category: 'dispute' })
  dispute.balance_transactions.push(moved)
  dispute.is_charge_refundable = false
  book.emit('charge.dispute.funds_withdrawn', dispute)
}

/** Money of a dispute comes back. @param amount as of `withdraw` */
export function reinstate(
  book: Book,
  dispute: Stripe.Dispute,
  { amount, rate }: { amount: number; rate: number },
): void {
  const own = { amount: Math.round(amount * rate), currency: rate === 1 ? dispute.currency : 'usd', rate }
  const moved = book.move({ ...own, fee: -DISPUTE_FEE, source: dispute.id, category: 'dispute_reversal' })
  dispute.balance_transactions.push(moved)
  book.emit('charge.dispute.funds_reinstated', dispute)
}

/** Ends a dispute, or opens it again. */
export function setDispute(book: Book, dispute: Stripe.Dispute, status: Stripe.Dispute['status']): void {
  const before = dispute.status
  dispute.status = status
  const isClosed = status === 'won' || status === 'lost' || status === 'warning_closed'
  book.emit(isClosed ? 'charge.dispute.closed' : 'charge.dispute.updated', dispute, { status: before })
}
