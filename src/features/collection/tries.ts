import { afterBegun, afterFailed, afterPaid, type Step } from '../../engine/collection/dunning.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type DunnedInvoice, listDunned, updateDunning } from '../dunning/queries.ts'
import { getCollectionRules } from '../dunning/rules-queries.ts'
import { dayFactsOf, saveDunning } from '../dunning/save.ts'
import { type Way, wayOf } from '../invoices/collection.ts'
import { countTry, holdInvoice, updateNextTry } from '../invoices/issue-queries.ts'
import { recordInvoice, rereadInvoice } from '../invoices/manual.ts'
import { applyUnallocated } from '../money/apply-unallocated.ts'
import { addPayment, failPayment, lockedPayment, settlePayment } from '../money/payments.ts'
import { sendReceipt } from '../money/receipt.ts'
import type { PaymentRecord } from '../money/records.ts'
import { closeTry, insertTry, lockTry, type Try } from './try-queries.ts'

/** Tries: the intent that is written before a gateway is asked, and what is written of its answer. Each works on a locked customer. */

/** A try as it is asked for: as which step, and by whom. */
export interface Asking {
  step: Step | null
  isByHand: boolean
}

/**
 * Begins a try: takes the customer's unallocated money first, then writes the payment and what is to be asked. Returns undefined where that money
 * has paid the invoice.
 */
export async function beginTry(
  tx: Transaction,
  context: RequestContext,
  given: DunnedInvoice,
  way: Way,
  { step, isByHand }: Asking,
): Promise<Try | undefined> {
  const made = { ...given, customerId: given.customerId }
  await applyUnallocated(tx, context, { invoices: [made], unapplied: [given], isManual: false })
  const invoice = (await listDunned(tx, tx.account, [given.id]))[0]
  assert(invoice, `invoice ${given.id} is dunned`)
  if (!invoice.isOpen) return undefined
  const { moment } = context
  const payment = await addPayment(
    tx,
    context,
    {
      customerId: invoice.customerId,
      paidAt: moment.now,
      dated: moment.today,
      currency: invoice.currency,
      amountMinor: invoice.openMinor,
      method: way.method.kind === 'credit_card' ? 'credit_card' : 'bank_account',
      origin: 'gateway',
      ref: `Invoices ${invoice.number}`,
      memo: null,
    },
    {
      list: [{ id: null, target: { kind: 'invoice', id: invoice.id }, amountMinor: invoice.openMinor }],
      isServiceMade: true,
    },
    { charge: { gatewayId: way.gateway.id } },
  )
  const isExtra = !isByHand && given.dunning.extra !== null && given.dunning.extra.on <= moment.today
  await insertTry(tx, {
    paymentId: payment.id,
    invoiceId: invoice.id,
    customerId: invoice.customerId,
    gatewayId: way.gateway.id,
    paymentMethodId: way.method.id,
    currency: invoice.currency,
    amountMinor: invoice.openMinor,
    step: step?.daysAfterDue ?? null,
    action: step?.action ?? null,
    isExtra,
    isByHand,
    begunOn: moment.today,
    begunAt: moment.now,
  })
  countTry(tx, invoice.id, 1)
  const begun = { ...invoice, hasOpenTry: true, dunning: isByHand ? given.dunning : afterBegun(given.dunning) }
  // While the try is open nothing comes by itself; its outcome wakes the invoice.
  updateDunning(tx, invoice.id, begun.dunning, null)
  updateNextTry(tx, invoice.id, null)
  const t = await lockTry(tx, payment.id)
  assert(t, `try ${payment.id} was written`)
  return t
}

/** The outcome of a try once it is known. */
export type Known =
  | { kind: 'succeeded'; on: IsoDate }
  | { kind: 'failed'; class: DeclineClass; code: string | null; message: string; on: IsoDate }

/** Writes the outcome of a try: its payment, how far the dunning has come, and the try itself. One that has its outcome stays as it is. */
export async function finishTry(
  tx: Transaction,
  context: RequestContext,
  paymentId: Id,
  known: Known,
): Promise<PaymentRecord> {
  const payment = await lockedPayment(tx, paymentId)
  assert(payment, `payment ${paymentId} exists`)
  const t = await lockTry(tx, paymentId)
  assert(t, `payment ${paymentId} is of a try`)
  if (t.state !== 'open') return payment
  const rules = await getCollectionRules(tx, tx.account)
  const [before] = await listDunned(tx, tx.account, [t.invoiceId])
  assert(before, `invoice ${t.invoiceId} is dunned`)
  const step: Step | null =
    t.step === null || t.action === null ? null : { daysAfterDue: t.step, action: t.action, on: t.begunOn }
  const tried = { step, isExtra: t.isExtra }
  const written =
    known.kind === 'succeeded'
      ? await settlePayment(tx, context, payment, known.on)
      : await failPayment(tx, context, payment, { on: known.on, reason: known.message })
  const after =
    known.kind === 'succeeded'
      ? { dunning: afterPaid(before.dunning, tried, known.on), isHeld: false }
      : afterFailed(before.dunning, tried, known.class, known.on)
  closeTry(tx, paymentId, outcomeOf(known))
  if (known.kind === 'succeeded') await sendReceipt(tx, context, written)
  if (known.kind === 'failed' && known.class === 'not_sent') countTry(tx, t.invoiceId, -1)
  if (after.isHeld) await hold(tx, context, t, known)
  const [present] = await listDunned(tx, tx.account, [t.invoiceId])
  assert(present, `invoice ${t.invoiceId} is dunned`)
  // What a try has paid is not tried by itself, whatever method there is.
  const way = known.kind === 'succeeded' ? undefined : await wayOf(tx, present)
  const { today } = context.moment
  await saveDunning(tx, { ...present, dunning: after.dunning }, dayFactsOf(present, { today, rules, way }), false)
  return written
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

/** Puts the invoice on hold, with an event: a person has to look before anything else is tried. */
async function hold(tx: Transaction, context: RequestContext, t: Try, known: Known): Promise<void> {
  await holdInvoice(tx, t.invoiceId, context.moment.now)
  const reason = known.kind === 'failed' ? `Payment ${t.paymentId} was declined as ${known.class}.` : null
  await recordInvoice(tx, context, 'invoice.updated', await rereadInvoice(tx, context, t.invoiceId), reason)
}
