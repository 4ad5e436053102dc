import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Answer } from '../../platform/http/operation.ts'
import type { AskedKey, Begun } from '../../platform/http/outward.ts'
import { insertDunning, listDunned } from '../dunning/queries.ts'
import { wayOf } from '../invoices/collection.ts'
import type { Invoice } from '../invoices/queries.ts'
import { loadPayment } from '../money/payments.ts'
import type { PaymentRecord } from '../money/records.ts'
import { isPending } from '../money/rules.ts'
import { paymentShape } from '../money/shapes.ts'
import type { Answered } from './calls.ts'
import { beginTry, finishTry } from './tries.ts'
import { findTry, listTries, putOffTry, type Try } from './try-queries.ts'

/** Collecting an invoice at once, when a caller asks for it: a try that is no step. */

export interface CollectCall {
  t: Try
  /** The intent was begun before: the gateway is first asked what became of it. */
  isBegun: boolean
}

const refused = (code: string, message: string) => conflict(code, message, 'invoiceID')

/** Refuses what cannot be collected (409), and writes the try or takes up the one that the same request has begun. */
export async function beginCollect(
  tx: Transaction,
  context: RequestContext,
  invoice: Invoice,
  asked: AskedKey,
): Promise<Begun<CollectCall>> {
  const begun = asked.begunIntent === null ? undefined : await findTry(tx, tx.account, asked.begunIntent)
  if (begun?.state === 'open') return { intent: begun.paymentId, call: { t: begun, isBegun: true } }
  if (begun) return { answer: await answerOf(tx, context, begun.paymentId) }
  const { id } = invoice
  if (invoice.isDraft) throw refused('invoice_draft', `Invoice ${id} is a draft; issue it first.`)
  if (invoice.isCancelled) throw refused('invoice_cancelled', `Invoice ${id} is cancelled.`)
  if ((await listTries(tx, tx.account, id)).some(({ state }) => state === 'open'))
    throw refused('try_open', `Invoice ${id} is being tried: the gateway's answer is not known yet.`)
  // An invoice that falls due before dunning began for it can still be collected by hand.
  await insertDunning(tx, [{ invoiceId: id, customerId: invoice.customerId, wantedOn: invoice.dueDate }])
  const [dunned] = await listDunned(tx, tx.account, [id])
  assert(dunned, `invoice ${id} is dunned`)
  if (!dunned.isOpen) throw refused('nothing_to_collect', `Invoice ${id} is paid, or pending payments cover it.`)
  if (dunned.isHeld) throw refused('collection_held', `Invoice ${id} or its customer is on hold; lift that first.`)
  if (dunned.customer === 'archived')
    throw refused('customer_archived', `Customer ${invoice.customerId} is archived; reopen it first.`)
  const way = await wayOf(tx, invoice)
  if (!way)
    throw refused(
      'payment_method_missing',
      `Invoice ${id} is collected by ${invoice.collectionMethod}, and there is no usable payment method for it.`,
    )
  const t = await beginTry(tx, context, dunned, way, { step: null, isByHand: true })
  if (!t) throw refused('nothing_to_collect', `Invoice ${id} was paid by the customer's unallocated money.`)
  return { intent: t.paymentId, call: { t, isBegun: false } }
}

/** Writes what came of the call, and answers the payment as it stands. */
export async function finishCollect(
  tx: Transaction,
  context: RequestContext,
  { t }: CollectCall,
  answered: Answered,
): Promise<Answer> {
  if (answered.known) return paymentAnswer(await finishTry(tx, context, t.paymentId, answered.known), context)
  const { wasCalled, wasUnanswered, isNotSent, silentSince } = answered
  const attempts = t.attempts + (isNotSent ? 1 : 0)
  await putOffTry(tx, t.paymentId, { wasCalled, wasUnanswered, attempts, silentSince, waitSeconds: 60 })
  return answerOf(tx, context, t.paymentId)
}

async function answerOf(tx: Transaction, context: RequestContext, paymentId: bigint): Promise<Answer> {
  const payment = await loadPayment(tx, tx.account, paymentId)
  assert(payment, `payment ${paymentId} exists`)
  return paymentAnswer(payment, context)
}

const paymentAnswer = (payment: PaymentRecord, { account, moment }: RequestContext): Answer => ({
  status: isPending(payment) ? 202 : 201,
  body: paymentShape.write(payment, { timeZone: account.timeZone, today: moment.today }),
})
