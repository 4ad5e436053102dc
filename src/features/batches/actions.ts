import { lastMoment } from '../../kernel/batch-days.ts'
import { type Instant, type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { assert } from '../../kernel/assert.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import { daysOfBatches, type GatewayDeps } from '../gateways/call.ts'
import { findGateway, type Gateway, holdGatewayByToken } from '../gateways/queries.ts'
import { recordReturnRates } from '../gateways/actions.ts'
import { refuseStopped } from '../gateways/rules.ts'
import { refuseMandate } from '../payment-methods/mandates.ts'
import { listMethodsById } from '../payment-methods/queries.ts'
import { listLines } from './line-queries.ts'
import type { LineDeps } from './lines.ts'
import {
  announceBuild,
  type Batch,
  findBatch,
  insertBatch,
  updateBatch,
  updateLastMoment,
  updateState,
} from './queries.ts'
import { recordBatch } from './record.ts'
import { applyLineResult, type LineResult } from './results.ts'
import {
  checkActionDay,
  checkBatchGateway,
  checkNotPast,
  checkStep,
  isAwaitingRelease,
  refusalOfMethod,
} from './rules.ts'
import { AS_OPEN, failLines, holdLines, makeRoomAgain, moveLines } from './states.ts'
import type { BatchBody, BatchView } from './wire.ts'

/** Changes of batches, each in one transaction, with the customers of their lines locked. */

/** Finds what the body of a batch refers to: its gateway, which stays until the commit. */
export async function resolveBatch(
  tx: Transaction,
  { moment }: RequestContext,
  body: Partial<BatchBody>,
  problems: Problems,
): Promise<Gateway | undefined> {
  checkNotPast(body.ActionDate, moment.today, problems)
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
  if (body.GatewayToken === undefined) return undefined
  const gateway = await holdGatewayByToken(tx, tx.account, body.GatewayToken)
  if (!gateway) problems.add('gateway_unknown', 'GatewayToken', `There is no gateway ${body.GatewayToken}.`)
  return gateway
}

/** Throws a conflict where a gateway takes no batch of a currency, or none for a day any more; returns until when it takes one for the day. */
function checkBatch(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  { gateway, currency, actionDate }: { gateway: Gateway; currency: string; actionDate: IsoDate },
): Instant {
  checkBatchGateway(gateway, currency)
  const days = daysOfBatches(deps, tx.account, gateway)
  checkActionDay(days, actionDate, context)
  return lastMoment(days, actionDate, context.account.timeZone)
}

/** Adds an open batch. */
export async function addBatch(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  gateway: Gateway,
  wanted: Pick<Batch, 'currency' | 'actionDate' | 'notes' | 'isServiceMade'>,
): Promise<BatchView> {
  const last = checkBatch(tx, context, deps, { gateway, ...wanted })
  const { id: gatewayId, token: gatewayToken } = gateway
  const id = await insertBatch(tx, { ...wanted, gatewayId, gatewayToken, createdAt: context.moment.now })
  await updateLastMoment(tx, id, last)
  return recordBatch(tx, context, 'batch.created', id)
}

/** Throws a conflict where a line does not fit another gateway or currency, or the notice to its payer names a later day. */
async function checkLines(
  tx: Transaction,
  batch: Batch,
  gateway: Gateway,
  { currency, actionDate }: { currency: string; actionDate: IsoDate },
): Promise<void> {
  const lines = await listLines(tx, tx.account, batch.id)
  const announcedOn = lines.reduce<IsoDate>((latest, line) => later(latest, line.announcedOn ?? latest), '')
  if (actionDate < announcedOn)
    throw conflict(
      'announced_later',
      `The notice to a payer names ${announcedOn} as the day of the debit; ActionDate cannot be before.`,
      'ActionDate',
    )
  if (currency !== batch.currency && lines.length > 0)
    throw conflict('line_unfit', `Batch ${batch.token} has lines in ${batch.currency}.`, 'CurrencyCode')
  if (gateway.id === batch.gatewayId) return
  const methods = await listMethodsById(tx, tx.account, [...new Set(lines.map((line) => line.paymentMethodId))])
  for (const line of lines) {
    const method = methods.find(({ id }) => id === line.paymentMethodId)
    const refusal = method && refusalOfMethod(gateway, method)
    if (refusal) throw conflict('line_unfit', `Payment ${line.id} does not fit: ${refusal.message}`, 'GatewayToken')
    if (method) await refuseMandate(tx, tx.account, gateway, method, actionDate)
  }
}

/** Moves the lines of a batch to another day or gateway. */
async function moveTo(
  tx: Transaction,
  context: RequestContext,
  deps: LineDeps,
  batch: Batch,
  { gateway, actionDate }: { gateway: Gateway; actionDate: IsoDate },
): Promise<void> {
  if (actionDate === batch.actionDate && gateway.id === batch.gatewayId) return
  await moveLines(tx, context, batch.id, { actionDate, gatewayId: gateway.id })
  if (actionDate !== batch.actionDate)
    await deps.linesOfService.moved(tx, context, deps, { batchId: batch.id, gateway, actionDate })
}

/** Edits a batch that is not being built: it is open again, whatever it was. */
export async function editBatch(
  tx: Transaction,
  context: RequestContext,
  deps: LineDeps,
  batch: Batch,
  gateway: Gateway,
  wanted: Pick<Batch, 'currency' | 'actionDate' | 'notes'>,
): Promise<BatchView> {
  checkStep(batch, 'edit')
  const last = checkBatch(tx, context, deps, { gateway, ...wanted })
  await checkLines(tx, batch, gateway, wanted)
  const { id: gatewayId, token: gatewayToken } = gateway
  await updateBatch(tx, { ...batch, ...wanted, ...AS_OPEN, gatewayId, gatewayToken })
  await updateLastMoment(tx, batch.id, last)
  if (isAwaitingRelease(batch)) await makeRoomAgain(tx, batch.id)
  await moveTo(tx, context, deps, batch, { gateway, actionDate: wanted.actionDate })
  return recordBatch(tx, context, 'batch.updated', batch.id)
}

async function gatewayOf(tx: Transaction, { gatewayId }: Batch): Promise<Gateway> {
  const gateway = await findGateway(tx, tx.account, gatewayId)
  assert(gateway, `gateway ${gatewayId} exists while a batch of it is not completed`)
  return gateway
}

/** Submits an open batch: a job builds it at once, or, with four eyes, when another key has released it. */
export async function submitBatch(
  tx: Transaction,
  context: RequestContext,
  deps: LineDeps,
  batch: Batch,
  { actionDate, notes }: { actionDate: IsoDate; notes: string | null },
): Promise<BatchView> {
  checkStep(batch, 'submit')
  const gateway = await gatewayOf(tx, batch)
  refuseStopped(gateway)
  const last = checkBatch(tx, context, deps, { gateway, currency: batch.currency, actionDate })
  await checkLines(tx, batch, gateway, { currency: batch.currency, actionDate })
  await deps.linesOfService.submitting(tx, context, batch)
  await moveTo(tx, context, deps, batch, { gateway, actionDate })
  const present = (await findBatch(tx, tx.account, batch.id)) ?? batch
  if (present.lineCount === 0)
    throw conflict('batch_empty', `Batch ${batch.token} has no lines; add some first.`, 'BatchToken')
  await holdLines(tx, batch.id)
  await updateBatch(tx, {
    ...present,
    actionDate,
    notes,
    state: 'build',
    submittedAt: context.moment.now,
    submittedBy: context.caller.keyId,
    needsRelease: gateway.isFourEyes,
    releasedAt: null,
  })
  await updateLastMoment(tx, batch.id, last)
  await announceBuild(tx)
  return recordBatch(tx, context, 'batch.build_started', batch.id)
}

/** Releases a batch that another key has submitted. */
export async function releaseBatch(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  batch: Batch,
): Promise<BatchView> {
  checkStep(batch, 'release')
  if (context.caller.keyId === batch.submittedBy)
    throw conflict(
      'same_key',
      `Batch ${batch.token} was submitted by this key; another one has to release it.`,
      'BatchToken',
    )
  const gateway = await gatewayOf(tx, batch)
  refuseStopped(gateway)
  checkActionDay(daysOfBatches(deps, tx.account, gateway), batch.actionDate, context)
  await updateBatch(tx, { ...batch, releasedAt: context.moment.now })
  await announceBuild(tx)
  return recordBatch(tx, context, 'batch.released', batch.id)
}

/** Cancels a batch that was not handed over; its lines fail. */
export async function cancelBatch(
  tx: Transaction,
  context: RequestContext,
  deps: LineDeps,
  batch: Batch,
): Promise<BatchView> {
  checkStep(batch, 'cancel')
  await updateState(tx, batch.id, 'cancelled')
  await failLines(tx, context, deps.linesOfService, batch.id)
  return recordBatch(tx, context, 'batch.cancelled', batch.id)
}

/** Result of a line as a person reports it. */
export interface BatchResult {
  paymentId: Id
  isSuccess: boolean
  reason: string | null
  /** Null: today, or the day of the debit when that is later. */
  on: IsoDate | null
}

/** Applies results by hand, all or nothing. Rule: a success after a failure is refused; the same result again changes nothing. */
export async function applyResults(
  tx: Transaction,
  context: RequestContext,
  deps: LineDeps,
  batch: Batch,
  results: readonly BatchResult[],
): Promise<void> {
  checkStep(batch, 'results')
  const today = later(context.moment.today, batch.actionDate)
  let hasLost = false
  for (const [index, { paymentId, isSuccess, reason, on }] of results.entries()) {
    const result: LineResult = { isSuccess, reason, on: on ?? today, source: 'hand' }
    const outcome = await applyLineResult(tx, context, paymentId, result, deps.linesOfService)
    if (outcome === 'contradiction')
      throw conflict(
        'result_contradicts',
        `Payment ${paymentId} has failed; a success after that is new money: record it as a payment.`,
        `Results[${index}].paymentID`,
      )
    hasLost ||= outcome === 'applied' && !isSuccess
  }
  if (hasLost) await recordReturnRates(tx, context, batch.gatewayId)
}
