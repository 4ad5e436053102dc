import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { MethodKind } from '../../kernel/rails.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { Gateway } from '../gateways/queries.ts'
import { addPayment, loadPayment, takeBackPayment } from '../money/payments.ts'
import type { PaymentRecord } from '../money/records.ts'
import { submitBatch } from './actions.ts'
import { buildBatch } from './build.ts'
import type { BuildDeps } from './build-steps.ts'
import { insertLine } from './line-queries.ts'
import { lineDatesOf } from './lines.ts'
import { type Batch, insertBatch, lockBatch, lockWholeBatch, updateBatch } from './queries.ts'
import { recordBatch } from './record.ts'
import { LINES_MAX, wordOf } from './rules.ts'
import { deleteServiceLine, findOpenOfService, lockBatchesOf, type WaitingLine } from './waiting-queries.ts'
import { moveLines } from './states.ts'

/** Batches that the service makes and fills. */

export interface WantedBatch {
  currency: string
  actionDate: IsoDate
}

/**
 * Returns the open batch of the service for a gateway, a currency and a day, locked; a new one where there is none with a place left. Rule: the
 * gateway is locked before its batches, so that makers of several batches neither wait for each other in a circle nor make one twice.
 */
export async function openBatchFor(
  tx: Transaction,
  context: RequestContext,
  gateway: Gateway,
  wanted: WantedBatch,
): Promise<Batch> {
  await lockBatchesOf(tx, gateway.id)
  const found = await findOpenOfService(tx, gateway.id, wanted, LINES_MAX)
  const batch = found && (await lockBatch(tx, found.id))
  const isRight = batch?.state === 'open' && batch.actionDate === wanted.actionDate && batch.lineCount < LINES_MAX
  return isRight ? batch : makeBatch(tx, context, gateway, wanted)
}

async function makeBatch(tx: Transaction, context: RequestContext, gateway: Gateway, wanted: WantedBatch) {
  const id = await insertBatch(tx, {
    ...wanted,
    gatewayId: gateway.id,
    gatewayToken: gateway.token,
    notes: null,
    isServiceMade: true,
    createdAt: context.moment.now,
  })
  await recordBatch(tx, context, 'batch.created', id)
  const batch = await lockBatch(tx, id)
  assert(batch, `batch ${id} was made`)
  return batch
}

export interface ServiceLine {
  customerId: CustomerId
  method: { id: Id; kind: MethodKind }
  invoice: { id: InvoiceId; openMinor: bigint }
  ref: string
  /** The day of the debit that is announced to the payer; null where it is not. */
  announcedOn: IsoDate | null
}

/** Adds a line that pays what is open of an invoice to a locked batch. Its customer is locked. */
export async function addServiceLine(
  tx: Transaction,
  context: RequestContext,
  batch: Batch,
  { customerId, method, invoice, ref, announcedOn }: ServiceLine,
): Promise<PaymentRecord> {
  const payment = await addPayment(
    tx,
    context,
    {
      customerId,
      ...lineDatesOf(batch, context),
      currency: batch.currency,
      amountMinor: invoice.openMinor,
      method: wordOf(method.kind),
      origin: 'batch',
      ref,
      memo: null,
    },
    {
      list: [{ id: null, target: { kind: 'invoice', id: invoice.id }, amountMinor: invoice.openMinor }],
      isServiceMade: true,
    },
    { charge: { gatewayId: batch.gatewayId }, givesWay: true },
  )
  const { id: paymentMethodId } = method
  await insertLine(tx, {
    id: payment.id,
    batchId: batch.id,
    customerId,
    paymentMethodId,
    isServiceMade: true,
    announcedOn,
  })
  return payment
}

/** Locks the batch of a line that waits; undefined where it was submitted meanwhile. */
export async function lockUnsubmitted(tx: Transaction, batchId: Id): Promise<Batch | undefined> {
  const batch = await lockBatch(tx, batchId)
  return batch?.state === 'open' || batch?.state === 'failed' ? batch : undefined
}

/** Takes a line of the service out of its locked batch, and deletes its payment; a batch that is left without lines is cancelled. */
export async function removeWaitingLine(
  tx: Transaction,
  context: RequestContext,
  line: Pick<WaitingLine, 'paymentId' | 'batchId'>,
  reason: string,
): Promise<void> {
  await takeLineOut(tx, context, line, reason)
  await cancelWithoutLines(tx, context, line.batchId)
}

/** Takes a line of the service out of its locked batch, and deletes its payment. */
export async function takeLineOut(
  tx: Transaction,
  context: RequestContext,
  line: Pick<WaitingLine, 'paymentId'>,
  reason: string,
): Promise<void> {
  const payment = await loadPayment(tx, tx.account, line.paymentId)
  assert(payment, `payment ${line.paymentId} of a line exists`)
  await deleteServiceLine(tx, line.paymentId)
  await takeBackPayment(tx, context, payment, reason)
}

/** Cancels a batch that the service made and that is left without lines. */
export async function cancelWithoutLines(tx: Transaction, context: RequestContext, id: Id): Promise<void> {
  const batch = await lockBatch(tx, id)
  const isLeft = batch?.isServiceMade && batch.lineCount === 0 && (batch.state === 'open' || batch.state === 'failed')
  if (!batch || !isLeft) return
  await updateBatch(tx, { ...batch, state: 'cancelled', buildError: null })
  await recordBatch(tx, context, 'batch.cancelled', id, 'No line was left in it.')
}

/** Moves an open batch of the service to a later day, with its lines. Returns false where it is open no more. */
export async function moveBatch(
  tx: Transaction,
  context: RequestContext,
  { id, actionDate }: Pick<Batch, 'id' | 'actionDate'>,
  to: IsoDate,
): Promise<boolean> {
  const batch = await lockWholeBatch(tx, id)
  if (batch?.state !== 'open' || batch.actionDate !== actionDate) return false
  await updateBatch(tx, { ...batch, actionDate: to, moves: batch.moves + 1 })
  await moveLines(tx, context, id, { actionDate: to, gatewayId: batch.gatewayId })
  await recordBatch(tx, context, 'batch.moved', id, `Nobody submitted it in time for ${actionDate}.`)
  return true
}

export interface SubmitDeps extends BuildDeps {
  db: Database
}

/** Submits a batch of the service on its own, as far as it is still open for its day, and builds it at once where the account's clock stands. */
export async function submitByItself(
  deps: SubmitDeps,
  context: RequestContext,
  { id, actionDate }: Pick<Batch, 'id' | 'actionDate'>,
): Promise<void> {
  const { account, moment } = context
  await deps.db.transaction(account.id, async (tx) => {
    const batch = await lockWholeBatch(tx, id)
    if (batch?.state !== 'open' || batch.actionDate !== actionDate) return
    await deps.linesOfService.submitting(tx, context, batch)
    const present = await lockWholeBatch(tx, id)
    if (present?.state !== 'open' || present.lineCount === 0) return
    await submitBatch(tx, context, deps, present, { actionDate, notes: present.notes })
  })
  if (account.clockAt !== null) await buildBatch(deps, account, moment, id, true)
}
