import { afterLeft, type DueTry } from '../../engine/collection/dunning.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import {
  addServiceLine,
  cancelWithoutLines,
  lockUnsubmitted,
  openBatchFor,
  removeWaitingLine,
  takeLineOut,
} from '../batches/of-service.ts'
import { lockBatch } from '../batches/queries.ts'
import { LINES_MAX } from '../batches/rules.ts'
import { findWaitingLine, listWaitingLines, type WaitingLine } from '../batches/waiting-queries.ts'
import { type Way, wayOf } from '../collection-terms/way.ts'
import { type DunnedInvoice, listDunned } from '../dunning/queries.ts'
import { replan } from '../dunning/save.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { findMethodFacts } from '../collection-terms/queries.ts'
import { sendTried } from '../invoices/state-queries.ts'
import { refOfInvoice } from '../money/records.ts'
import { mandateProblemOn } from '../payment-methods/mandates.ts'
import { listMethodsById } from '../payment-methods/queries.ts'
import { afterUnallocated, writeTry } from './tries.ts'
import {
  deleteTry,
  findMailedCustomer,
  listLineTries,
  lockTry,
  markSubmitted,
  type ReplacedLine,
  type Try,
} from './try-queries.ts'

/** Tries of invoices by lines of batches, from their making to their results. Each works on a locked customer. */

/** A line that was made, as far as it is announced to its payer. */
export interface MadeLine {
  paymentId: Id
  invoice: DunnedInvoice
  way: Way
  actionDate: IsoDate
}

/**
 * Makes the line by which an invoice is tried: takes the customer's unallocated money first, then puts what is left into the batch of the day.
 * Returns undefined where that money has paid the invoice.
 */
export async function beginLine(
  tx: Transaction,
  context: RequestContext,
  given: DunnedInvoice,
  way: Way,
  { step, on, isByHand }: DueTry & { isByHand: boolean },
): Promise<MadeLine | undefined> {
  const invoice = await afterUnallocated(tx, context, given)
  if (!invoice) return undefined
  const { currency, customerId } = invoice
  const batch = await openBatchFor(tx, context, way.gateway, { currency, actionDate: on })
  // A gateway that keeps accounts may announce debits itself: only its Settings show who does, and whoever opens them notes the day.
  const mayAnnounce = way.method.kind === 'sepa' && !gatewayFactsOf(way.gateway.type).keepsAccounts
  const isAnnounced = mayAnnounce && Boolean((await findMailedCustomer(tx, customerId))?.email)
  const { method } = way
  const line = { customerId, method, invoice, ref: refOfInvoice(invoice.number), announcedOn: isAnnounced ? on : null }
  const payment = await addServiceLine(tx, context, batch, line)
  const written = { paymentId: payment.id, lineOn: on }
  writeTry(tx, context, invoice, way, written, { step, isByHand })
  return { paymentId: payment.id, invoice, way, actionDate: on }
}

/** Counts lines as tries of their invoices: their batch has been handed over. */
export const linesSubmitted = async (tx: Transaction, paymentIds: readonly Id[]): Promise<void> =>
  sendTried(tx, await markSubmitted(tx, paymentIds))

/**
 * Forgets the try that a line was to be, because the line goes or is the service's no more: its step is planned anew, from today or from a later
 * day on. The payment may go afterwards.
 */
export async function lineGone(
  tx: Transaction,
  context: RequestContext,
  paymentId: Id,
  from: IsoDate = context.moment.today,
): Promise<void> {
  const t = await lockTry(tx, paymentId)
  if (t?.state !== 'open') return
  await deleteTry(tx, paymentId)
  await planWithout(tx, context, t.invoiceId, t, from)
}

/** Plans the step of a line anew, from a day on, because the line was never made after all; one by hand was no step. */
const planWithout = (
  tx: Transaction,
  context: RequestContext,
  invoiceId: InvoiceId,
  was: Pick<Try, 'isExtra' | 'isByHand'>,
  from: IsoDate,
) =>
  replan(tx, context, [invoiceId], ({ dunning }) => ({
    dunning: was.isByHand ? dunning : afterLeft(dunning, was, from),
  }))

/** Takes the lines of a customer out of their batches that collect what is now collected otherwise, or not at all. */
export async function reviewLines(
  tx: Transaction,
  context: RequestContext,
  customerId: CustomerId,
  changedMethodId: Id | null = null,
): Promise<void> {
  for (const line of await listWaitingLines(tx, customerId)) {
    const t = await lockTry(tx, line.paymentId)
    if (t?.state !== 'open') continue
    const reason = await reasonToLeave(tx, t, changedMethodId)
    if (reason !== null) await leave(tx, context, line, reason)
  }
}

type Collecting = Pick<Try, 'invoiceId' | 'gatewayId' | 'paymentMethodId' | 'isExtra' | 'isByHand'>

/** Returns why a line may not stand in its batch; null where it may. */
async function reasonToLeave(
  tx: Transaction,
  t: Collecting,
  changedMethodId: Id | null = null,
): Promise<string | null> {
  const [invoice] = await listDunned(tx, tx.account, [t.invoiceId])
  assert(invoice, `invoice ${t.invoiceId} is dunned`)
  if (invoice.isHeld) return `Invoice ${invoice.id} or its customer is on hold.`
  const isLeftAlone =
    invoice.customer === 'suspended_by_hand' || (invoice.customer === 'suspended_by_rule' && !t.isExtra)
  if (invoice.customer === 'archived' || (isLeftAlone && !t.isByHand))
    return `Customer ${invoice.customerId} is suspended or archived.`
  if (changedMethodId === t.paymentMethodId) return `Payment method ${changedMethodId} was changed.`
  const way = await wayOf(tx, invoice)
  if (way?.gateway.id === t.gatewayId && way.method.id === t.paymentMethodId) return null
  return `Invoice ${invoice.id} is collected in another way now.`
}

async function leave(tx: Transaction, context: RequestContext, line: WaitingLine, reason: string): Promise<void> {
  if (!(await lockUnsubmitted(tx, line.batchId))) return
  await lineGone(tx, context, line.paymentId)
  await removeWaitingLine(tx, context, line, reason)
}

/** Takes the lines out of a locked batch whose mandates do not reach to its new day; one that is left without lines is cancelled. */
export async function leaveLapsed(
  tx: Transaction,
  context: RequestContext,
  { batchId, gateway, actionDate }: { batchId: Id; gateway: Gateway; actionDate: IsoDate },
): Promise<void> {
  if (!gatewayFactsOf(gateway.type).needsMandates) return
  const tries = await listLineTries(tx, batchId)
  const ids = [...new Set(tries.map(({ paymentMethodId }) => paymentMethodId))]
  for (const method of await listMethodsById(tx, tx.account, ids)) {
    const problem = await mandateProblemOn(tx, tx.account, gateway, method, actionDate)
    if (problem === null) continue
    const reason = `Payment method ${method.id} cannot be debited: ${problem.message}`
    for (const { paymentId } of tries.filter(({ paymentMethodId }) => paymentMethodId === method.id)) {
      await lineGone(tx, context, paymentId)
      await takeLineOut(tx, context, { paymentId }, reason)
    }
  }
  await cancelWithoutLines(tx, context, batchId)
}

/** Takes a waiting line out of its batch because its invoice is collected in another way now. Returns false where it waits no more. */
export async function giveUpLine(tx: Transaction, context: RequestContext, t: Try): Promise<boolean> {
  const line = await findWaitingLine(tx, t.paymentId)
  if (!line || !(await lockUnsubmitted(tx, line.batchId))) return false
  await leave(tx, context, line, `Invoice ${t.invoiceId} is collected in another way now.`)
  return true
}

/**
 * Takes a waiting line away whose place a try by card takes, and returns what is needed to make it again. Its batch stays until the try has its
 * outcome, even without lines.
 */
export async function replaceLine(tx: Transaction, context: RequestContext, t: Try): Promise<ReplacedLine | null> {
  const line = await findWaitingLine(tx, t.paymentId)
  const method = await findMethodFacts(tx, tx.account, t.paymentMethodId)
  if (!line || !method || !(await lockUnsubmitted(tx, line.batchId))) return null
  await deleteTry(tx, t.paymentId)
  await takeLineOut(tx, context, line, 'A try by card takes its place.')
  return {
    batchId: String(line.batchId),
    gatewayId: String(t.gatewayId),
    paymentMethodId: String(t.paymentMethodId),
    kind: method.kind,
    step: t.step,
    action: t.action,
    isExtra: t.isExtra,
    isByHand: t.isByHand,
    announcedOn: line.announcedOn,
  }
}

/** Cancels the batch of a line whose place a try by card has taken for good, where no other line is left in it. */
export const forgetReplaced = (tx: Transaction, context: RequestContext, { batchId }: ReplacedLine) =>
  cancelWithoutLines(tx, context, BigInt(batchId))

/**
 * Makes a line again whose place a failed try had taken: in its batch while that is open, unless its invoice is collected otherwise or not at all
 * by now; else its step is planned anew.
 */
export async function remakeLine(
  tx: Transaction,
  context: RequestContext,
  t: Try,
  { batchId, gatewayId, paymentMethodId, kind, announcedOn, ...was }: ReplacedLine,
): Promise<void> {
  const [invoice] = await listDunned(tx, tx.account, [t.invoiceId])
  assert(invoice, `invoice ${t.invoiceId} is dunned`)
  const batch = await lockBatch(tx, BigInt(batchId))
  const way = { gateway: { id: BigInt(gatewayId) }, method: { id: BigInt(paymentMethodId), kind } }
  const hasPlace = batch?.state === 'open' && batch.lineCount < LINES_MAX
  const collecting = { ...was, invoiceId: invoice.id, gatewayId: way.gateway.id, paymentMethodId: way.method.id }
  if (!batch || !hasPlace || !invoice.isOpen || (await reasonToLeave(tx, collecting)) !== null) {
    if (batch) await cancelWithoutLines(tx, context, batch.id)
    await planWithout(tx, context, t.invoiceId, was, context.moment.today)
    return
  }
  const { customerId } = invoice
  const line = { customerId, method: way.method, invoice, ref: refOfInvoice(invoice.number), announcedOn }
  const { id: paymentId } = await addServiceLine(tx, context, batch, line)
  const step = was.step === null || was.action === null ? null : { daysAfterDue: was.step, action: was.action }
  const written = { paymentId, lineOn: batch.actionDate }
  const { isByHand, isExtra } = was
  writeTry(tx, context, invoice, way, written, { step, isByHand, isExtra })
}
