import { afterFailed, afterLost, afterPaid, type Step } from '../../engine/collection/dunning.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { lockCustomer } from '../customers/queries.ts'
import type { DunnedInvoice } from '../dunning/queries.ts'
import { replan } from '../dunning/save.ts'
import { recordMismatch } from '../gateways/actions.ts'
import { namedOtherwise } from '../gateways/references.ts'
import { recordInvoice, rereadInvoice } from '../invoices/manual.ts'
import { countTries } from '../invoices/state-queries.ts'
import { failPayment, loadPayment, settlePayment } from '../money/payments.ts'
import { sendReceipt } from '../money/receipt.ts'
import type { PaymentRecord } from '../money/records.ts'
import { forgetReplaced, remakeLine } from './lines.ts'
import { endNewCard } from './new-card.ts'
import { nameTry } from './call-queries.ts'
import { ASK_AGAIN_SECONDS, closeTry, lockTry, putOffTry, type Try } from './try-queries.ts'

/** Outcomes of tries: of those that a gateway answers, and of lines, which their batches bring. Each works on a locked customer. */

/** The outcome of a try once it is known; `name` is the gateway's of the charge, where a gateway has answered. */
export type Known =
  | { kind: 'succeeded'; on: IsoDate; name?: string | null }
  | { kind: 'failed'; class: DeclineClass; code: string | null; message: string; on: IsoDate }

/**
 * Writes the outcome of a try: its payment, how far the dunning has come, and the try itself. One that has its outcome stays as it is. With
 * `isCardKept` another try goes on with the card that was entered for this one.
 */
export async function finishTry(
  tx: Transaction,
  context: RequestContext,
  begun: Pick<Try, 'paymentId' | 'customerId'>,
  known: Known,
  { isCardKept = false } = {},
): Promise<PaymentRecord> {
  const { paymentId } = begun
  // In one exchange: the reads wait for the lock before them.
  const name = known.kind === 'succeeded' ? (known.name ?? null) : null
  const [customer, , payment, t] = await Promise.all([
    lockCustomer(tx, tx.account, begun.customerId),
    name === null ? undefined : nameTry(tx, paymentId, name),
    loadPayment(tx, tx.account, paymentId),
    lockTry(tx, paymentId),
  ])
  assert(customer && payment && t, `payment ${paymentId} is of a try`)
  if (t.state !== 'open') return payment
  if (name !== null && t.gatewayReference !== name) {
    await putOffMismatched(tx, context, t, otherName(t, name))
    return payment
  }
  const named = { ...payment, transactionId: name ?? payment.transactionId }
  const written =
    known.kind === 'succeeded'
      ? await settlePayment(tx, context, named, known.on)
      : await failPayment(tx, context, named, { on: known.on, reason: known.message })
  await followOutcome(tx, context, t, known, t.begunOn)
  if (t.newCard && !isCardKept) await endNewCard(tx, context, t, t.newCard, known.kind === 'succeeded')
  if (known.kind === 'succeeded') await sendReceipt(tx, context, written, customer)
  return written
}

/** Returns a sentence about an answer with a name that is not the try's. */
export const otherName = ({ paymentId, gatewayReference }: Try, name: string): string =>
  namedOtherwise({ what: `payment ${paymentId}`, noun: 'charge' }, name, gatewayReference)

/**
 * Writes that the answer to a try was about another charge. Rule: what became of it is unknown, and it is asked about again; one event is for a person.
 */
export async function putOffMismatched(
  tx: Transaction,
  context: RequestContext,
  t: Try,
  sentence: string,
): Promise<void> {
  await recordMismatch(tx, context, t.gatewayId, sentence)
  const { attempts, silentSince } = t
  await putOffTry(tx, t.paymentId, {
    wasCalled: true,
    wasUnanswered: true,
    attempts,
    silentSince,
    waitSeconds: ASK_AGAIN_SECONDS,
  })
}

/** Writes what the outcome of a try means: the try itself, and how far the dunning of its invoice has come. `on` is the day of its step. */
async function followOutcome(
  tx: Transaction,
  context: RequestContext,
  t: Try,
  known: Known,
  on: IsoDate,
): Promise<void> {
  const step: Step | null = t.step === null || t.action === null ? null : { daysAfterDue: t.step, action: t.action, on }
  const tried = { step, isExtra: t.isExtra }
  closeTry(tx, t.paymentId, outcomeOf(known))
  // A line is counted once its batch was handed over.
  const wasCounted = !t.isLine || t.wasCalled
  if (known.kind === 'failed' && known.class === 'not_sent' && wasCounted) countTries(tx, [t.invoiceId], -1)
  const isPaid = known.kind === 'succeeded'
  const afterOutcome = ({ dunning }: DunnedInvoice) => {
    if (isPaid) return { dunning: afterPaid(dunning, tried, known.on) }
    // A card that was entered for this once is not the method that the invoice is collected by.
    return t.newCard ? { dunning } : afterFailed(dunning, tried, known.class, known.on)
  }
  const heldIds = await replan(tx, context, [t.invoiceId], afterOutcome, { isPaid })
  if (heldIds.length > 0) await recordHold(tx, context, t, known)
  if (t.replaced) await (isPaid ? forgetReplaced(tx, context, t.replaced) : remakeLine(tx, context, t, t.replaced))
}

/** Writes what the result of a line means for its invoice; its payment is settled or has failed already. A line by hand moves no step. */
export async function lineKnown(
  tx: Transaction,
  context: RequestContext,
  payment: Pick<PaymentRecord, 'id' | 'dated'>,
  known: Known,
): Promise<void> {
  const t = await lockTry(tx, payment.id)
  if (t?.state !== 'open') return
  await followOutcome(tx, context, t, known, payment.dated)
}

/** Takes a line back that counted as a try and was never sent after all: its step is planned anew, from the next day on. */
export async function lineNeverSent(tx: Transaction, context: RequestContext, paymentId: Id): Promise<void> {
  const t = await lockTry(tx, paymentId)
  if (t?.state !== 'succeeded') return
  const on = context.moment.today
  const message = 'The line was never sent to the bank.'
  closeTry(tx, paymentId, { state: 'not_sent', class: 'not_sent', code: null, message, knownOn: on })
  countTries(tx, [t.invoiceId], -1)
  await replan(tx, context, [t.invoiceId], ({ dunning }, rules) =>
    t.step === null ? { dunning: { ...dunning, isSettled: false } } : afterLost(dunning, rules, 'not_sent', on),
  )
}

const outcomeOf = (known: Known): Pick<Try, 'state' | 'class' | 'code' | 'message' | 'knownOn'> =>
  known.kind === 'succeeded'
    ? { state: 'succeeded', class: null, code: null, message: null, knownOn: known.on }
    : {
        state: known.class === 'not_sent' ? 'not_sent' : 'declined',
        class: known.class,
        code: known.code,
        message: known.message,
        knownOn: known.on,
      }

/** Records that the invoice was put on hold: a person has to look before anything else is tried. */
async function recordHold(tx: Transaction, context: RequestContext, t: Try, known: Known): Promise<void> {
  const reason = known.kind === 'failed' ? `Payment ${t.paymentId} was declined as ${known.class}.` : null
  await recordInvoice(tx, context, 'invoice.updated', await rereadInvoice(tx, context, t.invoiceId), reason)
}
