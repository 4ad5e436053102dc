import type { RequestContext } from '../../kernel/context.ts'
import { assert } from '../../kernel/assert.ts'
import { lastMoment } from '../../kernel/batch-days.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { daysOfBatches, type GatewayDeps, settingsOf } from '../gateways/call.ts'
import type { BatchFile, Traces } from '../gateways/contract.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { countTries } from '../invoices/state-queries.ts'
import { loadPayment, takeBackPayment } from '../money/payments.ts'
import { sealFile } from './file.ts'
import type { LinesOfService } from './hooks.ts'
import { type BatchLine, insertLineInvoices, listLines, updateSent } from './line-queries.ts'
import { type Batch, updateState, updateSubmitted } from './queries.ts'
import { recordBatch } from './record.ts'
import { makeRoomAgain } from './states.ts'
import type { Readied } from './to-build.ts'

/** Ends of a build, whether its lines go as one or one by one. */

export interface BuildDeps extends GatewayDeps {
  db: Database
  linesOfService: LinesOfService
  hasMailServer?: boolean
}

/** Batch that is handed over, with what it was built from. */
export interface HandedBatch {
  batch: Batch
  gateway: Gateway
  readied: Readied
}

/** Returns whether the last moment of a batch is past. */
export const isTooLateFor = (
  deps: GatewayDeps,
  { account, moment }: RequestContext,
  gateway: Gateway,
  { actionDate }: Batch,
) =>
  Date.parse(moment.now) >
  Date.parse(lastMoment(daysOfBatches(deps, account.id, gateway), actionDate, account.timeZone))

/** Writes that a batch was handed over, and counts its lines as tries. */
export async function writeSubmitted(
  tx: Transaction,
  context: RequestContext,
  deps: BuildDeps,
  { batch, gateway, readied: { methods } }: HandedBatch,
  { file, traces }: { file: BatchFile | null; traces?: Traces },
): Promise<void> {
  const company = gatewayFactsOf(gateway.type).nachaCompany?.(settingsOf(deps.envelope, tx.account, gateway))
  await updateSubmitted(tx, batch, file && sealFile(deps.envelope, tx.account, batch.id, file), company)
  const lines = await listLines(tx, tx.account, batch.id)
  const sent = lines.map(({ id }) => {
    const method = methods.get(id)
    const mandate = method?.mandateReference ?? null
    return { id, numberHash: method?.numberHash ?? null, mandate, trace: traces?.get(id) ?? null }
  })
  await updateSent(tx, sent)
  const [ofService, byHand] = [true, false].map((isOurs) =>
    lines.filter(({ isServiceMade }) => isServiceMade === isOurs).map(({ id }) => id),
  ) as [Id[], Id[]]
  await deps.linesOfService.submitted(tx, ofService)
  countTries(tx, await insertLineInvoices(tx, byHand), 1)
  await recordBatch(tx, context, 'batch.submitted', batch.id)
}

/** Takes a line of the service out of its batch. */
export async function leaveBatch(
  tx: Transaction,
  context: RequestContext,
  deps: BuildDeps,
  line: BatchLine,
  reason: string,
): Promise<void> {
  const payment = await loadPayment(tx, tx.account, line.id)
  assert(payment, `payment ${line.id} exists`)
  await deps.linesOfService.gone(tx, context, line.id)
  await takeBackPayment(tx, context, payment, reason)
}

/** Writes that a batch could not be built, and why. */
export async function failBuild(tx: Transaction, context: RequestContext, batch: Batch, error: string): Promise<void> {
  await updateState(tx, batch.id, 'failed', error)
  await makeRoomAgain(tx, batch.id)
  await recordBatch(tx, context, 'batch.build_failed', batch.id, error)
}
