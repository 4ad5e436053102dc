import { afterLock } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import { midnightOf } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { checkCustomerReference } from '../customers/record.ts'
import { daysOfBatches, type GatewayDeps } from '../gateways/call.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import type { Asked } from '../money/types.ts'
import { addPayment, changeLine, type OnLineChanged, takeBackPayment } from '../money/payments.ts'
import type { PaymentRecord } from '../money/records.ts'
import { resolveAsked } from '../money/resolve.ts'
import { checkSameCustomer } from '../money/rules.ts'
import { refuseMandate } from '../payment-methods/mandates.ts'
import { findMethod, type StoredMethod } from '../payment-methods/queries.ts'
import type { LinesOfService } from './hooks.ts'
import { type BatchLine, findLine, insertLine, updateLine } from './line-queries.ts'
import { type AnyLineBody, appliedFromWire, LINE_NAMES, type LineBody } from './line-wire.ts'
import { type Batch, lockBatch } from './queries.ts'
import { checkActionDay, checkStep, LINES_MAX, refusalOfMethod, wordOf } from './rules.ts'

/** Lines that callers add, edit and delete by hand. The customer of a line is locked before its batch. */

export interface LineDeps extends GatewayDeps {
  linesOfService: LinesOfService
}

/** A line as a body asks for it; undefined in what is wrong. */
export interface ResolvedLine {
  method: StoredMethod | undefined
  amountMinor: bigint | undefined
  asked: Asked | undefined
  isArchived: boolean
}

/** Finds what the body of a line refers to, and locks its customer. */
export async function resolveLine(
  tx: Transaction,
  body: AnyLineBody,
  currency: string | undefined,
  present: { line: BatchLine; payment: PaymentRecord } | null,
  problems: Problems,
): Promise<ResolvedLine> {
  const customer = await checkCustomerReference(tx, body.customerID, problems)
  const methodId = body.paymentMethodID ?? present?.line.paymentMethodId
  const method = methodId == null ? undefined : await findMethod(tx, tx.account, methodId)
  if (methodId != null && !method)
    problems.add('payment_method_unknown', 'paymentMethodID', `There is no payment method ${methodId}.`)
  const asked = await resolveAsked(
    tx,
    {
      isAuto: body.isAutoApply === true,
      order: 'invoices_only',
      entries: body.PaymentApplied && appliedFromWire(body.PaymentApplied),
    },
    { currency, present: present?.payment.allocations ?? null },
    LINE_NAMES,
    problems,
  )
  const amountMinor = amountIn(problems, 'Amount', body.Amount, currency)
  return { method, amountMinor, asked, isArchived: customer?.archivedAt != null }
}

/** Locks a batch for a change of its lines, and throws a conflict where none can change. */
async function openForLines(tx: Transaction, context: RequestContext, deps: GatewayDeps, batchId: Id) {
  const batch = await lockBatch(tx, batchId)
  assert(batch, `batch ${batchId} exists`)
  checkStep(batch, 'lines')
  const gateway = await findGateway(tx, tx.account, batch.gatewayId)
  assert(gateway, `gateway ${batch.gatewayId} exists while a batch of it is open`)
  checkActionDay(daysOfBatches(deps, tx.account, gateway), batch.actionDate, context)
  return { batch, gateway }
}

async function checkMethod(
  tx: Transaction,
  { batch, gateway }: { batch: Batch; gateway: Gateway },
  method: StoredMethod,
  customerId: CustomerId,
): Promise<void> {
  const refuse = (code: string, message: string) => conflict(code, message, 'paymentMethodID')
  if (method.customerId !== customerId)
    throw refuse('other_customer', `Payment method ${method.id} is not of customer ${customerId}.`)
  const refusal = refusalOfMethod(gateway, method)
  if (refusal) throw refuse(refusal.code, refusal.message)
  await refuseMandate(tx, tx.account, gateway, method, batch.actionDate)
}

/** Returns when the payment of a line counts: midnight of the day of the debit; in the books the day after a lock, should that be later. */
export const lineDatesOf = (
  { actionDate }: Pick<Batch, 'actionDate'>,
  { account }: Pick<RequestContext, 'account'>,
) => ({
  paidAt: midnightOf(actionDate, account.timeZone),
  dated: afterLock(actionDate, account.lockDate),
})

/** Adds a line to an open batch. */
export async function addLine(
  tx: Transaction,
  context: RequestContext,
  deps: LineDeps,
  batchId: Id,
  body: AnyLineBody,
  { method, amountMinor, asked, isArchived }: ResolvedLine,
): Promise<PaymentRecord> {
  assert(
    method && amountMinor !== undefined && asked && body.customerID !== undefined,
    'a body that was checked is whole',
  )
  const customerId = body.customerID
  const { batch, gateway } = await openForLines(tx, context, deps, batchId)
  if (isArchived)
    throw conflict('customer_archived', `Customer ${customerId} is archived; reopen it first.`, 'customerID')
  await checkMethod(tx, { batch, gateway }, method, customerId)
  if (batch.lineCount >= LINES_MAX)
    throw conflict('batch_full', `Batch ${batch.token} has ${LINES_MAX} lines; add another batch.`, 'BatchToken')
  const payment = await addPayment(
    tx,
    context,
    {
      ...lineDatesOf(batch, context),
      customerId,
      currency: batch.currency,
      amountMinor,
      method: wordOf(method.kind),
      origin: 'batch',
      ref: body.Ref ?? null,
      memo: body.Memo ?? null,
    },
    asked,
    { charge: { gatewayId: batch.gatewayId } },
  )
  await insertLine(tx, {
    id: payment.id,
    batchId,
    customerId,
    paymentMethodId: method.id,
    isServiceMade: false,
    announcedOn: null,
  })
  return payment
}

/** A line that is edited or deleted, with its payment; the customer is locked. */
export interface LockedLine {
  line: BatchLine
  payment: PaymentRecord
  batch: Batch
}

/** Edits a line of an open batch. Rule: one that a caller gives another amount, method or allocations is theirs, no more the service's. */
export async function editLine(
  tx: Transaction,
  context: RequestContext,
  deps: LineDeps,
  { line, payment, batch: { id, token } }: LockedLine,
  body: LineBody,
  { method, amountMinor, asked }: ResolvedLine,
): Promise<PaymentRecord> {
  assert(method && amountMinor !== undefined && asked, 'a body that was checked is whole')
  if (body.BatchToken !== token)
    throw conflict('other_batch', `Payment ${line.id} is in batch ${token}, not in ${body.BatchToken}.`, 'BatchToken')
  checkSameCustomer(`Payment ${line.id}`, payment.customerId, body.customerID)
  const { batch, gateway } = await openForLines(tx, context, deps, id)
  await checkMethod(tx, { batch, gateway }, method, payment.customerId)
  const word = wordOf(method.kind)
  if (body.CurrencyCode != null && body.CurrencyCode !== batch.currency)
    throw conflict('other_currency', `Batch ${token} is in ${batch.currency}.`, 'CurrencyCode')
  if (body.Method != null && body.Method !== word)
    throw conflict('other_method', `Payment method ${method.id} is ${method.kind}: its Method is ${word}.`, 'Method')
  const to = { amountMinor, method: word, ref: body.Ref ?? null, memo: body.Memo ?? null, givesWay: false } as const
  const written = await changeLine(tx, context, payment, to, asked)
  const isMethodChanged = method.id !== line.paymentMethodId
  const isServiceMade = line.isServiceMade && written.givesWay && !isMethodChanged
  await updateLine(tx, { id: line.id, paymentMethodId: method.id, isServiceMade })
  if (line.isServiceMade && !isServiceMade) await deps.linesOfService.gone(tx, context, line.id)
  return written
}

/**
 * Makes the function that hands a line of the service to the caller who has changed what it pays. Rule: they can until its batch was handed over;
 * from then on it is a try of its invoice, whatever its payment is allocated to.
 */
export const takeOverLine =
  (hooks: LinesOfService): OnLineChanged =>
  async (tx, context, id) => {
    const line = await findLine(tx, tx.account, id)
    const batch = line?.isServiceMade ? await lockBatch(tx, line.batchId) : undefined
    if (!line || !batch || batch.state === 'submitted') return
    await updateLine(tx, { ...line, isServiceMade: false })
    await hooks.gone(tx, context, id)
  }

/** Deletes a line of an open batch with its payment. */
export async function removeLine(
  tx: Transaction,
  context: RequestContext,
  deps: LineDeps,
  { line, payment, batch: { id } }: LockedLine,
): Promise<void> {
  const batch = await lockBatch(tx, id)
  assert(batch, `batch ${id} exists`)
  checkStep(batch, 'lines')
  if (line.isServiceMade) await deps.linesOfService.gone(tx, context, line.id)
  await takeBackPayment(tx, context, payment)
}
