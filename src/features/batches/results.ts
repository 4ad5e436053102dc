import { type FailureReason, readReason } from '../../engine/collection/reasons.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { countTries } from '../invoices/state-queries.ts'
import { failPayment, lockedPayment, settlePayment } from '../money/payments.ts'
import type { PaymentRecord } from '../money/records.ts'
import { judgeMethod } from '../payment-methods/actions.ts'
import { type LinesOfService, NO_LINES_OF_SERVICE } from './hooks.ts'
import {
  type BatchLine,
  findLine,
  hasLineWithoutResult,
  listLineInvoices,
  type ResultSource,
  sendResult,
} from './line-queries.ts'
import { lockBatchState, updateState } from './queries.ts'
import { recordBatch } from './record.ts'

/** Results of lines, whoever brings them: the gateway, a file of a bank, or a person. */

/** A result as it arrives: what is known of a debit, and the day it is known. */
export interface LineResult {
  isSuccess: boolean
  /** Class, code of a scheme, or free text, as given; or as the gateway's adapter has read it. */
  reason: string | FailureReason | null
  on: IsoDate
  source: ResultSource
}

/**
 * Outcome of a result: `applied`, also where money is lost again; `already`, the same is known; `contradiction`, a success after a failure;
 * `unknown`, the payment is no line of a batch that was handed over.
 */
export type ResultOutcome = 'applied' | 'already' | 'contradiction' | 'unknown'

/** Applies the result of a line. Locks its customer, then its batch; who applies many has locked their customers in order. */
export async function applyLineResult(
  tx: Transaction,
  context: RequestContext,
  paymentId: Id,
  result: LineResult,
  hooks: LinesOfService = NO_LINES_OF_SERVICE,
): Promise<ResultOutcome> {
  const payment = await lockedPayment(tx, paymentId)
  const line = payment && (await findLine(tx, tx.account, paymentId))
  const batch = line && (await lockBatchState(tx, line.batchId))
  if (!payment || !line || !batch || (batch.state !== 'submitted' && batch.state !== 'completed')) return 'unknown'
  const known: Known = { payment, line, hooks }
  if (result.isSuccess) {
    if (line.result !== null) return line.result === 'success' && line.returnedOn === null ? 'already' : 'contradiction'
    await succeed(tx, context, known, result)
  } else {
    if (line.result === 'failed' || line.returnedOn !== null) return 'already'
    // Money of it was taken back or failed by another way.
    if (payment.failedOn !== null) return 'already'
    if (line.result === null) await fail(tx, context, known, result)
    else await lose(tx, context, known, result)
  }
  if (batch.state === 'submitted' && !(await hasLineWithoutResult(tx, batch.id))) {
    await updateState(tx, batch.id, 'completed')
    await recordBatch(tx, context, 'batch.completed', batch.id)
  }
  return 'applied'
}

interface Known {
  payment: PaymentRecord
  line: BatchLine
  hooks: LinesOfService
}

const reasonOf = ({ reason }: LineResult, isAfterSuccess: boolean): FailureReason =>
  reason === null || typeof reason === 'string' ? readReason(reason, isAfterSuccess) : reason

async function succeed(
  tx: Transaction,
  context: RequestContext,
  { payment, line, hooks }: Known,
  { on, source }: LineResult,
): Promise<void> {
  const settled = await settlePayment(tx, context, payment, on)
  sendResult(tx, { ...line, result: 'success', resultOn: on, resultSource: source })
  await judgeMethod(tx, context, line, 'verified')
  if (line.isServiceMade) await hooks.known(tx, context, settled, { kind: 'succeeded', on })
}

async function fail(
  tx: Transaction,
  context: RequestContext,
  { payment, line, hooks }: Known,
  result: LineResult,
): Promise<void> {
  const { on, source } = result
  const reason = reasonOf(result, false)
  const failed = await failPayment(tx, context, payment, { on, reason: reason.message, declineClass: reason.class })
  sendResult(tx, {
    ...line,
    result: 'failed',
    resultOn: on,
    resultClass: reason.class,
    resultCode: reason.code,
    resultReason: reason.message,
    resultSource: source,
  })
  await reject(tx, context, line, reason)
  if (reason.class === 'not_sent' && !line.isServiceMade) await takeBackTries(tx, line.id)
  if (line.isServiceMade) await hooks.known(tx, context, failed, { kind: 'failed', on, ...reason })
}

/** Rule: money that was received is lost again that day; what was never sent is reversed without a mail or a step. */
async function lose(
  tx: Transaction,
  context: RequestContext,
  { payment, line, hooks }: Known,
  result: LineResult,
): Promise<void> {
  const { on, source } = result
  const reason = reasonOf(result, true)
  await failPayment(tx, context, payment, { on, reason: reason.message, declineClass: reason.class })
  await noteReturned(tx, context, line, { ...reason, on, source })
  if (reason.class !== 'not_sent') return
  if (line.isServiceMade) await hooks.neverSent(tx, context, line.id)
  else await takeBackTries(tx, line.id)
}

/** Writes that the money of a line, which its payment has lost already, came back. */
export async function noteReturned(
  tx: Transaction,
  context: RequestContext,
  line: BatchLine,
  { on, source, ...reason }: FailureReason & Pick<LineResult, 'on' | 'source'>,
): Promise<void> {
  assert(line.result === 'success', `line ${line.id} was paid`)
  sendResult(tx, {
    ...line,
    returnedOn: on,
    returnedClass: reason.class,
    returnedCode: reason.code,
    returnedReason: reason.message,
    returnedSource: source,
  })
  await reject(tx, context, line, reason)
}

/** Classes after which an account is not debited again until it is edited or validated. */
const REJECTING: readonly FailureReason['class'][] = ['account_closed', 'invalid_account', 'no_mandate']

async function reject(
  tx: Transaction,
  context: RequestContext,
  line: BatchLine,
  { class: declineClass }: FailureReason,
): Promise<void> {
  if (REJECTING.includes(declineClass)) await judgeMethod(tx, context, line, 'rejected')
}

/** Takes back what a line by hand counts as a try: it never left. */
async function takeBackTries(tx: Transaction, id: Id): Promise<void> {
  countTries(tx, await listLineInvoices(tx, id), -1)
}
