import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import { daysOfBatches, type GatewayDeps } from '../gateways/call.ts'
import { type Gateway, holdGatewayByToken } from '../gateways/queries.ts'
import { type Batch, insertBatch, updateBatch } from './queries.ts'
import { recordBatch } from './record.ts'
import { checkActionDay, checkBatchGateway, checkNotPast, checkStep } from './rules.ts'
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

/** Throws a conflict where a gateway takes no batch of a currency, or none for a day any more. */
function checkBatch(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  { gateway, currency, actionDate }: { gateway: Gateway; currency: string; actionDate: IsoDate },
): void {
  checkBatchGateway(gateway, currency)
  checkActionDay(daysOfBatches(deps, tx.account, gateway), actionDate, context)
}

/** Adds an open batch. */
export async function addBatch(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  gateway: Gateway,
  wanted: Pick<Batch, 'currency' | 'actionDate' | 'notes' | 'isServiceMade'>,
): Promise<BatchView> {
  checkBatch(tx, context, deps, { gateway, ...wanted })
  const { id: gatewayId, token: gatewayToken } = gateway
  const id = await insertBatch(tx, { ...wanted, gatewayId, gatewayToken, createdAt: context.moment.now })
  return recordBatch(tx, context, 'batch.created', id)
}

/** Edits a batch that is not being built: it is open again, whatever it was. */
export async function editBatch(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  batch: Batch,
  gateway: Gateway,
  wanted: Pick<Batch, 'currency' | 'actionDate' | 'notes'>,
): Promise<BatchView> {
  checkStep(batch, 'edit')
  checkBatch(tx, context, deps, { gateway, ...wanted })
  const { id: gatewayId, token: gatewayToken } = gateway
  await updateBatch(tx, { ...batch, ...wanted, ...AS_OPEN, gatewayId, gatewayToken })
  return recordBatch(tx, context, 'batch.updated', batch.id)
}

/** The fields of a batch that is open, and no more submitted. */
const AS_OPEN = {
  state: 'open',
  buildError: null,
  submittedAt: null,
  submittedBy: null,
  needsRelease: false,
  releasedAt: null,
} as const satisfies Partial<Batch>
