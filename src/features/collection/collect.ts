import { debitDayOf } from '../../engine/collection/dunning.ts'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Answer } from '../../platform/http/answer.ts'
import type { AskedKey, Begun } from '../../platform/http/operation.ts'
import { findWaitingLine } from '../batches/waiting-queries.ts'
import { isDebit, type Way, wayOf } from '../collection-terms/way.ts'
import { type DunnedInvoice, insertDunningByHand, listDunned } from '../dunning/queries.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { refuseStopped } from '../gateways/rules.ts'
import type { Invoice } from '../invoices/queries.ts'
import { reasonUntried } from '../collection-terms/uncollected.ts'
import { loadPayment } from '../money/payments.ts'
import type { PaymentRecord } from '../money/records.ts'
import { isPending } from '../money/rules.ts'
import { paymentShape } from '../money/shapes.ts'
import { type Answered, putOff } from './calls.ts'
import { mandateProblemOn } from '../payment-methods/mandates.ts'
import { debitDaysOf } from './debit-days.ts'
import { beginLine, giveUpLine, type MadeLine, replaceLine } from './lines.ts'
import { announceLines } from './notice.ts'
import { finishTry } from './outcome.ts'
import { beginTry } from './tries.ts'
import { findTry, listTries, type ReplacedLine, type Try } from './try-queries.ts'

/** Collecting an invoice at once, when a caller asks for it: a try that is no step. */

export interface CollectCall {
  t: Try
  /** Left out where the intent was begun before: the gateway is first asked what became of it. */
  way?: Way
}

const refused = (code: string, message: string) => conflict(code, message, 'invoiceID')

/**
 * Refuses what cannot be collected (409), and writes the try or takes up the one that the same request has begun. A bank account is debited by
 * a line of a batch, which is answered at once.
 */
export async function beginCollect(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  invoice: Invoice,
  asked: AskedKey,
): Promise<Begun<CollectCall>> {
  const begun = asked.begunIntent === null ? undefined : await findTry(tx, tx.account, asked.begunIntent)
  if (begun?.state === 'open') return { intent: begun.paymentId, call: { t: begun } }
  if (begun) return { answer: await answerOf(tx, context, begun.paymentId) }
  const { id } = invoice
  if (invoice.isDraft) throw refused('invoice_draft', `Invoice ${id} is a draft; issue it first.`)
  if (invoice.isCancelled) throw refused('invoice_cancelled', `Invoice ${id} is cancelled.`)
  const way = await wayOf(tx, invoice)
  const standing = await standingTry(tx, context, id, way)
  if (standing && 'line' in standing) return { answer: await answerOf(tx, context, standing.line) }
  // An invoice that falls due before dunning began for it can still be collected by hand.
  await insertDunningByHand(tx, id)
  const [dunned] = await listDunned(tx, tx.account, [id])
  assert(dunned, `invoice ${id} is dunned`)
  if (!dunned.isOpen) throw refused('nothing_to_collect', `Invoice ${id} is paid, or pending payments cover it.`)
  if (dunned.isHeld) throw refused('collection_held', `Invoice ${id} or its customer is on hold; lift that first.`)
  if (dunned.customer === 'archived')
    throw refused('customer_archived', `Customer ${invoice.customerId} is archived; reopen it first.`)
  if (!way)
    throw refused(
      'payment_method_missing',
      `Invoice ${id} is collected by ${invoice.collectionMethod}, ${await reasonUntried(tx, invoice)}.`,
    )
  refuseStopped(way.gateway)
  if (isDebit(way)) {
    const line = await collectByLine(tx, context, deps, dunned, way)
    if (!line) throw coveredBy(id)
    return { answer: await answerOf(tx, context, line.paymentId) }
  }
  const { replaced = null } = standing ?? {}
  const t = await beginTry(tx, context, dunned, way, { step: null, isByHand: true, replaced })
  if (!t) throw coveredBy(id)
  return { intent: t.paymentId, call: { t, way } }
}

/** Refuses to collect what unallocated money covers. A refusal keeps nothing: that money is still unallocated when the caller reads this. */
const coveredBy = (id: InvoiceId) =>
  refused(
    'nothing_to_collect',
    `Nothing is collected for invoice ${id}: the customer's unallocated money covers it. Allocate that (PUT /v1/payments/{paymentID} or /v1/credits/{creditNoteID}, AutoApply true).`,
  )

/**
 * Returns the line that waits, where the same method is to be collected, or what it was, where a card takes its place; undefined where no try is
 * open, also where another debit takes the place of a line that waited. Throws a conflict where one is whose outcome is not known.
 */
async function standingTry(
  tx: Transaction,
  context: RequestContext,
  id: InvoiceId,
  way: Way | undefined,
): Promise<{ line: Id } | { replaced: ReplacedLine } | undefined> {
  const open = (await listTries(tx, tx.account, id)).find(({ state }) => state === 'open')
  if (!open) return undefined
  const isSame = way?.method.id === open.paymentMethodId && way.gateway.id === open.gatewayId
  if (isSame && open.isLine && (await findWaitingLine(tx, open.paymentId))) return { line: open.paymentId }
  if (open.isLine && way && isDebit(way) && (await giveUpLine(tx, context, open))) return undefined
  const replaced = open.isLine && way ? await replaceLine(tx, context, open) : null
  if (replaced) return { replaced }
  throw refused('try_open', `Invoice ${id} is being tried: the gateway's answer is not known yet.`)
}

/** Puts an invoice into the batch into which a step wanted today would go, and announces the debit. */
async function collectByLine(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  invoice: DunnedInvoice,
  way: Way,
): Promise<MadeLine | undefined> {
  const { today } = context.moment
  const on = debitDayOf(invoice.dunning, today, today, debitDaysOf(deps, context, way))
  const problem = await mandateProblemOn(tx, tx.account, way.gateway, way.method, on)
  if (problem) throw refused(problem.code, `Payment method ${way.method.id} cannot be debited: ${problem.message}`)
  const line = await beginLine(tx, context, invoice, way, { step: null, on, isByHand: true })
  if (line) await announceLines(tx, context, deps, invoice.customerId, [line])
  return line
}

/** Writes what came of the call, and answers the payment as it stands. */
export async function finishCollect(
  tx: Transaction,
  context: RequestContext,
  { t }: CollectCall,
  answered: Answered,
): Promise<Answer> {
  if (answered.known) return paymentAnswer(await finishTry(tx, context, t, answered.known), context)
  await putOff(tx, context, t, answered)
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
