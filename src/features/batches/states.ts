import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { updateGivesWay } from '../money/payment-queries.ts'
import { changeLine, failPayment, loadPayment } from '../money/payments.ts'
import type { PaymentRecord } from '../money/records.ts'
import type { LinesOfService } from './hooks.ts'
import { listLines, sendResult } from './line-queries.ts'
import { lineDatesOf } from './lines.ts'
import { type Batch, updateBatch } from './queries.ts'

/** Changes of state, as far as they reach the lines of a batch. The customers of the lines are locked. */

async function paymentOf(tx: Transaction, id: Id): Promise<PaymentRecord> {
  const payment = await loadPayment(tx, tx.account, id)
  assert(payment, `payment ${id} exists`)
  return payment
}

/** The fields of a batch that is open, and no more submitted. */
export const AS_OPEN = {
  state: 'open',
  buildError: null,
  submittedAt: null,
  submittedBy: null,
  needsRelease: false,
  releasedAt: null,
} as const satisfies Partial<Batch>

const idsOfService = async (tx: Transaction, batchId: Id): Promise<Id[]> =>
  (await listLines(tx, tx.account, batchId)).filter(({ isServiceMade }) => isServiceMade).map(({ id }) => id)

/** Lets the lines of the service give way to other money again. */
export const makeRoomAgain = async (tx: Transaction, batchId: Id): Promise<void> => {
  const ids = await idsOfService(tx, batchId)
  if (ids.length > 0) await updateGivesWay(tx, ids, true)
}

/** Keeps the lines of the service from giving way from now on. */
export const holdLines = async (tx: Transaction, batchId: Id): Promise<void> => {
  const ids = await idsOfService(tx, batchId)
  if (ids.length > 0) await updateGivesWay(tx, ids, false)
}

/** Opens a batch that was submitted and waits. */
export async function reopen(tx: Transaction, batch: Batch): Promise<void> {
  await updateBatch(tx, { ...batch, ...AS_OPEN })
  await makeRoomAgain(tx, batch.id)
}

/** Moves the payments of a batch to the day of the debit, and to its gateway. */
export async function moveLines(
  tx: Transaction,
  context: RequestContext,
  batchId: Id,
  to: { actionDate: IsoDate; gatewayId: Id },
): Promise<void> {
  const dates = lineDatesOf(to, context)
  for (const { id } of await listLines(tx, tx.account, batchId))
    await changeLine(tx, context, await paymentOf(tx, id), { ...dates, gatewayId: to.gatewayId }, { keep: true })
}

/** Fails the lines of a batch that is cancelled: they were never sent, and what they were to pay is open again. */
export async function failLines(
  tx: Transaction,
  context: RequestContext,
  hooks: LinesOfService,
  batchId: Id,
): Promise<void> {
  const { today: on } = context.moment
  const reason = { class: 'not_sent', code: null, message: 'The batch was cancelled.' } as const
  for (const line of await listLines(tx, tx.account, batchId)) {
    const failed = await failPayment(tx, context, await paymentOf(tx, line.id), { on, reason: reason.message })
    sendResult(tx, {
      ...line,
      result: 'failed',
      resultOn: on,
      resultClass: reason.class,
      resultReason: reason.message,
      resultSource: 'hand',
    })
    if (line.isServiceMade) await hooks.known(tx, context, failed, { kind: 'failed', on, ...reason })
  }
}
