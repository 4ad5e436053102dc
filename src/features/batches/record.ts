import type { Instant } from '../../kernel/calendar.ts'
import { missing } from '../../kernel/fault.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { Answer } from '../../platform/http/answer.ts'
import { isGuid } from '../../platform/wire/fields.ts'
import type { EventType } from '../events/types.ts'
import { recordEvent } from '../events/record.ts'
import { listLineAmounts } from './line-queries.ts'
import { type Batch, findBatch, findBatchByToken, lockWholeBatch } from './queries.ts'
import { isDayPassed } from './rules.ts'
import { batchEtag, batchShape, type BatchView } from './wire.ts'

/** Batches by their tokens, as requests name them, in a path or a body. */

export const unknownBatch = (token: string) =>
  missing('batch_unknown', `There is no batch ${token.slice(0, 40)}.`, 'BatchToken')

/** Finds a batch by the token of a request, in letters of any case, or throws its 404. */
export async function foundBatch(db: Queryable, account: AccountId, token: string): Promise<Batch> {
  const batch = isGuid(token) ? await findBatchByToken(db, account, token) : undefined
  if (!batch) throw unknownBatch(token)
  return batch
}

/** Locks the customers of the lines of a batch and the batch that a body names; undefined where the body names none that can be read. */
export async function lockedBatch(tx: Transaction, token: string | undefined): Promise<Batch | undefined> {
  if (token === undefined) return undefined
  const { id } = await foundBatch(tx, tx.account, token)
  const batch = await lockWholeBatch(tx, id)
  if (!batch) throw unknownBatch(token)
  return batch
}

/** Returns a batch with its lines. Its last moment is the one that was found last, where its gateway is not at hand. */
export const viewOf = async (
  db: Queryable,
  context: RequestContext,
  batch: Batch,
  lastMomentAt = batch.lastMomentAt,
): Promise<BatchView> =>
  shownBatch(batch, context, lastMomentAt, await listLineAmounts(db, context.account.id, batch.id))

/** Returns a batch as answers show it. */
export function shownBatch(
  batch: Batch,
  { moment }: Pick<RequestContext, 'moment'>,
  lastMomentAt: Instant | null,
  lines: BatchView['lines'],
): BatchView {
  const isSubmitted = batch.state === 'submitted' || batch.state === 'completed' || batch.state === 'cancelled'
  const shownMoment = isSubmitted ? null : lastMomentAt
  return { ...batch, lines, shownMoment, isDayPassed: isDayPassed(batch, shownMoment, moment.now) }
}

export const batchAnswer = (view: BatchView, context: RequestContext): Answer => ({
  status: 200,
  body: batchShape.write(view, writingOf(context)),
  etag: batchEtag(view),
})

/** Records what happened to a batch, with its fields and lines as they now are, and returns it. */
export async function recordBatch(
  tx: Transaction,
  context: RequestContext,
  type: EventType & `batch.${string}`,
  id: Id,
  reason: string | null = null,
): Promise<BatchView> {
  const batch = await findBatch(tx, tx.account, id)
  if (!batch) throw unknownBatch(String(id))
  const view = await viewOf(tx, context, batch)
  await recordEvent(tx, context, { type, recordId: id, record: batchShape.write(view, writingOf(context)), reason })
  return view
}
