import { afterLock } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { recordChange } from '../events/record.ts'
import { mismatchIn, recordMismatch } from '../gateways/actions.ts'
import { adapterOf, askGateway, type GatewayDeps } from '../gateways/call.ts'
import { factsOfCharge, findKnownCharge } from '../gateways/charge-queries.ts'
import type { Outcome, Refund as GatewayRefund } from '../gateways/contract.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { referenceFor } from '../gateways/references.ts'
import { refuseStopped } from '../gateways/rules.ts'
import { addMoneyBack } from '../money/new-money.ts'
import { sendPaymentHeld } from '../money/payment-queries.ts'
import { endHeld, lockedPayment } from '../money/payments.ts'
import { addPositive } from '../money/positive-adjustments.ts'
import type { PaymentRecord } from '../money/records.ts'
import {
  findPaymentRefund,
  getLeftOfCharge,
  insertPaymentRefund,
  nameRefund,
  noteRefundSending,
  type PaymentRefund,
  updatePaymentRefund,
} from './queries.ts'
import { refundKind } from './record.ts'
import { amountToRefund, firstAskAt, isSent, nextAskAt } from './rules.ts'

/** Refunds through gateways: begun before the call, ended by what the gateway answers. Each works on a locked customer, in one transaction. */

/** A refund that is to be sent, or asked about, with its gateway. */
export interface RefundCall {
  refund: PaymentRefund
  gateway: Gateway
  request: GatewayRefund
}

async function processedBy(tx: Transaction, payment: PaymentRecord): Promise<Gateway> {
  assert(payment.gatewayId !== null, `a gateway processed payment ${payment.id}`)
  const gateway = await findGateway(tx, tx.account, payment.gatewayId)
  assert(gateway, `gateway ${payment.gatewayId} exists`)
  return gateway
}

/** Finds the gateway of a refund. Throws a conflict where it cannot refund. */
async function gatewayOf(tx: Transaction, { adapters }: GatewayDeps, payment: PaymentRecord): Promise<Gateway> {
  const gateway = await processedBy(tx, payment)
  if (!adapters.get(gateway.type)?.refund)
    throw conflict(
      'refund_by_hand',
      `The gateway ${gateway.id} cannot refund: pay the money back by hand and record a refund (POST /v1/adjustment/add).`,
    )
  return gateway
}

/** Makes what a gateway is asked with: the refund, and the charge that it gives back from. */
async function requestOf(
  tx: Transaction,
  refund: PaymentRefund,
  { gatewayId, chargeId }: PaymentRecord,
): Promise<GatewayRefund> {
  assert(gatewayId !== null && chargeId !== null, `a gateway processed the payment of refund ${refund.id}`)
  const charge = await findKnownCharge(tx, tx.account, gatewayId, chargeId)
  assert(charge, `charge ${chargeId} is a try, a line or a sale`)
  const { amountMinor, currency, gatewayReference } = refund
  // Of one that surely did not arrive nothing is under way.
  const sentAt = refund.lastAnswer === 'not_sent' ? null : refund.sentAt
  const reference = referenceFor(refund)
  return { reference, charge: factsOfCharge(charge), amountMinor, currency, gatewayReference, sentAt }
}

/** Begins a refund of a locked payment: its amount is held from now on. */
export async function beginRefund(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  payment: PaymentRecord,
  askedMinor: bigint | null,
): Promise<RefundCall> {
  const amountMinor = amountToRefund(payment, askedMinor, await getLeftOfCharge(tx, payment))
  const gateway = await gatewayOf(tx, deps, payment)
  refuseStopped(gateway)
  const { now, today } = context.moment
  const { customerId, currency } = payment
  const wanted = { paymentId: payment.id, customerId, amountMinor, currency, dated: today, begunAt: now }
  const refund = await insertPaymentRefund(tx, { ...wanted, nextAskAt: firstAskAt(now) })
  sendPaymentHeld(tx, payment.id, amountMinor)
  await recordChange(tx, context, refundKind, { type: 'payment_refund.created', row: refund, customerId })
  return { gateway, refund, request: await requestOf(tx, refund, payment) }
}

/** Takes up a refund of a locked payment for a call; undefined where it is not of this payment. */
export async function reopenRefund(
  tx: Transaction,
  deps: GatewayDeps,
  payment: PaymentRecord,
  id: Id,
): Promise<RefundCall | undefined> {
  const refund = await findPaymentRefund(tx, tx.account, id)
  if (refund?.paymentId !== payment.id) return undefined
  return { gateway: await gatewayOf(tx, deps, payment), refund, request: await requestOf(tx, refund, payment) }
}

/** Sends a refund to its gateway; the same one again changes nothing there. Outside of any transaction. */
export const sendRefund = (deps: GatewayDeps, context: RequestContext, of: RefundCall): Promise<Outcome> =>
  askGateway(deps, context, of.gateway, async (adapter, call): Promise<Outcome> => {
    assert(adapter.refund, 'the gateway refunds')
    return adapter.refund(call, of.request)
  })

/**
 * Asks what became of a refund, and sends it where the gateway surely never received it. Rule: a call that timed out and is found not made has
 * failed, unless its gateway repeats refunds; one without a recorded answer goes on under its own key.
 */
export async function askRefund(
  deps: GatewayDeps & { db: Database },
  context: RequestContext,
  of: RefundCall,
): Promise<Outcome> {
  const { gateway, request, refund } = of
  const answer = await askGateway(deps, context, gateway, async (adapter, call) => {
    assert(adapter.askRefund, 'the gateway can be asked')
    return adapter.askRefund(call, request)
  })
  // A question that did not arrive leaves what may have arrived before as unknown as it was.
  if (answer.kind === 'not_sent' && refund.lastAnswer !== 'not_sent') return { kind: 'unknown' }
  // What surely did not arrive stays so: a question without an answer does not make it doubtful.
  if (answer.kind === 'unknown' && answer.mismatch === undefined && refund.lastAnswer === 'not_sent')
    return { kind: 'not_sent' }
  if (answer.kind !== 'none') return answer
  if (refund.state !== 'open') return { kind: 'unknown' }
  const { now, today } = context.moment
  const { lastAnswer } = refund
  // However long the gateway repeats an error: a person may settle it after a day.
  const isRepeated =
    adapterOf(deps, context.account.id, gateway).adapter.repeatsRefunds &&
    (lastAnswer === 'unknown' || lastAnswer === null)
  if (!isRepeated && (lastAnswer === 'unknown' || lastAnswer === 'pending'))
    return {
      kind: 'declined',
      class: 'unknown',
      code: 'not_received',
      message: 'The gateway did not receive the refund.',
      on: today,
    }
  if (!isRepeated && !isSent(refund, gateway, now)) return { kind: 'not_sent' }
  await deps.db.transaction(context.account.id, (tx) => noteRefundSending(tx, refund.id))
  return sendRefund(deps, context, of)
}

/** Locks the customer of a refund, and loads it with its payment. */
async function lockedRefund(tx: Transaction, id: Id): Promise<{ refund: PaymentRefund; payment: PaymentRecord }> {
  const known = await findPaymentRefund(tx, tx.account, id)
  const payment = known && (await lockedPayment(tx, known.paymentId))
  const refund = payment && (await findPaymentRefund(tx, tx.account, id))
  assert(refund && payment, `refund ${id} and its payment exist`)
  return { refund, payment }
}

/** Writes what became of a refund, whoever learned it; one whose outcome is known already stays as it is. */
export async function finishRefund(
  tx: Transaction,
  context: RequestContext,
  id: Id,
  outcome: Outcome,
): Promise<PaymentRefund> {
  const { refund: begun, payment } = await lockedRefund(tx, id)
  if (begun.state !== 'open') return begun
  let { gatewayReference } = begun
  const mismatch = await mismatchIn(outcome, { what: `refund ${id}`, noun: 'refund' }, async (name) => {
    gatewayReference = await nameRefund(tx, id, name)
    return gatewayReference
  })
  const refund = { ...begun, gatewayReference }
  if (mismatch !== undefined) {
    await recordMismatch(tx, context, (await processedBy(tx, payment)).id, mismatch)
    return wait(tx, context, refund, 'unknown')
  }
  switch (outcome.kind) {
    case 'succeeded':
      return succeed(tx, context, refund, payment, outcome.on)
    case 'declined':
      return endHold(tx, context, refund, outcome)
    case 'held':
      return wait(tx, context, refund, refund.lastAnswer)
    case 'not_sent':
      if (!isSent(refund, await processedBy(tx, payment), context.moment.now))
        return endHold(tx, context, refund, {
          message: 'The refund never reached the gateway.',
          on: context.moment.today,
        })
      return wait(tx, context, refund, 'not_sent')
    case 'pending':
    case 'unknown':
      return wait(tx, context, refund, outcome.kind)
    case 'requires_action':
      return wait(tx, context, refund, 'pending')
  }
}

async function wait(
  tx: Transaction,
  { moment }: RequestContext,
  refund: PaymentRefund,
  lastAnswer: PaymentRefund['lastAnswer'],
): Promise<PaymentRefund> {
  const waiting = {
    ...refund,
    lastAnswer,
    asks: refund.asks + 1,
    nextAskAt: nextAskAt(moment.now, refund.asks),
  }
  await updatePaymentRefund(tx, waiting)
  return waiting
}

/** Rule: the refund adjustment is made and allocated to the payment; where that has failed meanwhile, it stays open. */
async function succeed(
  tx: Transaction,
  context: RequestContext,
  refund: PaymentRefund,
  payment: PaymentRecord,
  on: IsoDate,
): Promise<PaymentRefund> {
  const { customerId, currency, amountMinor } = refund
  sendPaymentHeld(tx, payment.id, -amountMinor)
  const dated = afterLock(later(on, payment.dated), context.account.lockDate)
  const adjustment = await addPositive(
    tx,
    context,
    {
      customerId,
      kind: 'refund',
      dated,
      dueDate: dated,
      amountMinor,
      currency,
      ref: `Refund of payment ${payment.id}`,
      memo: null,
    },
    { given: payment.failedOn === null ? { kind: 'payment', id: payment.id } : null },
  )
  const ended = { ...refund, state: 'succeeded' as const, adjustmentId: adjustment.id, dated, nextAskAt: null }
  await updatePaymentRefund(tx, ended)
  await recordChange(tx, context, refundKind, { type: 'payment_refund.succeeded', row: ended, customerId })
  return ended
}

/** Why and when a refund failed. */
interface Failure {
  message: string
  on: IsoDate
}

async function fail(
  tx: Transaction,
  context: RequestContext,
  refund: PaymentRefund,
  { message, on }: Failure,
): Promise<PaymentRefund> {
  const ended = { ...refund, state: 'failed' as const, message, dated: later(on, refund.dated), nextAskAt: null }
  await updatePaymentRefund(tx, ended)
  await recordChange(tx, context, refundKind, {
    type: 'payment_refund.failed',
    row: ended,
    customerId: refund.customerId,
    reason: message,
  })
  return ended
}

async function endHold(
  tx: Transaction,
  context: RequestContext,
  refund: PaymentRefund,
  failure: Failure,
): Promise<PaymentRefund> {
  await endHeld(tx, context, refund)
  return fail(tx, context, refund, failure)
}

/** Writes that a refund which had succeeded failed later. Rule: its money is new money, for the refund adjustment where that is open; the adjustment stays. */
export async function failLater(
  tx: Transaction,
  context: RequestContext,
  id: Id,
  { message, on }: Failure,
): Promise<{ refund: PaymentRefund; money: PaymentRecord | null }> {
  const { refund, payment } = await lockedRefund(tx, id)
  if (refund.state !== 'succeeded') return { refund, money: null }
  const { amountMinor, adjustmentId: refundId } = refund
  const money = await addMoneyBack(tx, context, payment, { cause: 'Refund failed', amountMinor, on, refundId })
  return { refund: await fail(tx, context, refund, { message, on }), money }
}
