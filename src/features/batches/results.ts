import { type FailureReason, readReason } from '../../engine/collection/reasons.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { endsTries } from '../../rails/nacha/repeats.ts'
import { countTries } from '../invoices/state-queries.ts'
import {
  applyNotesTo,
  changeLine,
  loadPayment,
  loadPayments,
  lockedPayment,
  losePayment,
  settlePayment,
} from '../money/payments.ts'
import type { PaymentRecord } from '../money/records.ts'
import { judgeMethod } from '../payment-methods/actions.ts'
import { type LinesOfService, NO_LINES_OF_SERVICE } from './hooks.ts'
import {
  type BatchLine,
  findLine,
  hasLineWithoutResult,
  listInvoicesOfSent,
  listLineInvoices,
  listLinesById,
  listTracedDebits,
  type ResultSource,
  sendResult,
} from './line-queries.ts'
import { lineDatesOf } from './lines.ts'
import { type BatchState, lockBatchStates, updateState } from './queries.ts'
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

/** Result of the line of a payment. */
export interface ResultOfLine {
  paymentId: Id
  result: LineResult
}

/** Applies the result of a line. Locks its customer, then its batch. */
export async function applyLineResult(
  tx: Transaction,
  context: RequestContext,
  paymentId: Id,
  result: LineResult,
  hooks: LinesOfService = NO_LINES_OF_SERVICE,
): Promise<ResultOutcome> {
  const payment = await lockedPayment(tx, paymentId)
  const line = payment && (await findLine(tx, tx.account, paymentId))
  if (!payment || !line) return 'unknown'
  const [outcome] = await applyToLines(tx, context, [{ payment, line, result }], hooks)
  return outcome as ResultOutcome
}

/**
 * Applies the results of different lines, whose customers are locked; locks their batches. Lines of different customers take their steps at the same
 * time, so that each step is one exchange with the database. Returns the outcomes in the order of the lines.
 */
export async function applyLineResults(
  tx: Transaction,
  context: RequestContext,
  results: readonly ResultOfLine[],
  hooks: LinesOfService,
): Promise<ResultOutcome[]> {
  if (results.length === 0) return []
  const ids = results.map(({ paymentId }) => paymentId)
  const lines = new Map((await listLinesById(tx, tx.account, ids)).map((line) => [line.id, line]))
  const outcomes = new Map<Id, ResultOutcome>()
  for (const round of roundsOf(results, lines)) {
    const payments = await loadPayments(
      tx,
      tx.account,
      round.map(({ line }) => line.id),
    )
    const known = round.flatMap(({ line, result }) => {
      const payment = payments.get(line.id)
      return payment ? [{ payment, line, result }] : []
    })
    const found = await applyToLines(tx, context, known, hooks)
    for (const [index, { line }] of known.entries()) outcomes.set(line.id, found[index] as ResultOutcome)
  }
  return ids.map((id) => outcomes.get(id) ?? 'unknown')
}

/** Parts results into rounds, in their order: of each customer there is one in a round. */
function roundsOf(results: readonly ResultOfLine[], lines: ReadonlyMap<Id, BatchLine>): Omit<Known, 'payment'>[][] {
  const rounds: Omit<Known, 'payment'>[][] = []
  const counts = new Map<CustomerId, number>()
  for (const { paymentId, result } of results) {
    const line = lines.get(paymentId)
    if (!line) continue
    const place = counts.get(line.customerId) ?? 0
    counts.set(line.customerId, place + 1)
    ;(rounds[place] ??= []).push({ line, result })
  }
  return rounds
}

/** Line with its result. */
interface Known {
  payment: PaymentRecord
  line: BatchLine
  result: LineResult
}

async function applyToLines(
  tx: Transaction,
  context: RequestContext,
  all: readonly Known[],
  hooks: LinesOfService,
): Promise<ResultOutcome[]> {
  const batchIds = new Set(all.map(({ line }) => line.batchId))
  const states = new Map((await lockBatchStates(tx, [...batchIds])).map(({ id, state }) => [id, state]))
  const outcomes = all.map((one) => outcomeOf(one, states.get(one.line.batchId)))
  const applied = all.filter((_, index) => outcomes[index] === 'applied')
  const written = await together(tx, applied, async (own, one) => ({ ...one, after: await write(own, context, one) }))
  // What follows may reach beyond the customer of a line, and comes one after the other.
  const lost = written.filter(({ result }) => !result.isSuccess)
  await applyNotesTo(
    tx,
    context,
    lost.map(({ payment, after }) => ({ failed: after, before: payment })),
  )
  for (const one of written) await follow(tx, context, one, hooks)
  await endTries(tx, context, lost, hooks)
  for (const id of new Set(applied.map(({ line }) => line.batchId)))
    if (states.get(id) === 'submitted' && !(await hasLineWithoutResult(tx, id))) {
      await updateState(tx, id, 'completed')
      await recordBatch(tx, context, 'batch.completed', id)
    }
  return outcomes
}

/** Returns what becomes of a result, by what is known of its line. */
function outcomeOf({ payment, line, result }: Known, state: BatchState | undefined): ResultOutcome {
  if (state !== 'submitted' && state !== 'completed') return 'unknown'
  if (result.isSuccess) {
    if (line.result === null) return 'applied'
    return line.result === 'success' && line.returnedOn === null ? 'already' : 'contradiction'
  }
  if (line.result === 'failed' || line.returnedOn !== null) return 'already'
  // Money of it was taken back or failed by another way.
  return payment.failedOn === null ? 'applied' : 'already'
}

/** Takes a step for each of some lines at the same time. Waits for all of them, and then throws the first failure. */
async function together<One, Done>(
  tx: Transaction,
  all: readonly One[],
  step: (tx: Transaction, one: One) => Promise<Done>,
): Promise<Done[]> {
  const steps = await Promise.allSettled(all.map((one) => step(all.length === 1 ? tx : { ...tx, ...tx.part() }, one)))
  return steps.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}

const reasonOf = ({ reason }: LineResult, isAfterSuccess: boolean): FailureReason =>
  reason === null || typeof reason === 'string' ? readReason(reason, isAfterSuccess) : reason

/** Writes the result of a line and its payment, which it returns, and judges the payment method. */
async function write(
  tx: Transaction,
  context: RequestContext,
  { payment, line, result }: Known,
): Promise<PaymentRecord> {
  const { on, source, isSuccess } = result
  if (isSuccess) {
    const settled = await settlePayment(tx, context, payment, on)
    sendResult(tx, { ...line, result: 'success', resultOn: on, resultSource: source })
    await judgeMethod(tx, context, line, 'verified')
    return settled
  }
  const isReturn = line.result !== null
  const reason = reasonOf(result, isReturn)
  const failed = await losePayment(tx, context, payment, { on, reason: reason.message, declineClass: reason.class })
  if (isReturn) await noteReturned(tx, context, line, { ...reason, on, source })
  else {
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
  }
  return failed
}

/** Ends the tries of invoices whose debits have come back as often as their scheme allows, or in a way after which it allows none. */
async function endTries(
  tx: Transaction,
  context: RequestContext,
  lost: readonly Known[],
  hooks: LinesOfService,
): Promise<void> {
  const traced = lost.flatMap(({ line }) => (line.sentTrace === null ? [] : [line.id]))
  if (traced.length === 0) return
  const invoices = await listInvoicesOfSent(tx, traced)
  const debits = groupBy(await listTracedDebits(tx, tx.account, invoices), ({ invoiceId }) => invoiceId)
  const ended = invoices.filter((id) => endsTries(debits.get(id) ?? []))
  if (ended.length > 0) await hooks.ended(tx, context, ended)
}

/** Lets the room that made a line know its result. Rule: what was never sent was no try; money that came back is no result of the try. */
async function follow(
  tx: Transaction,
  context: RequestContext,
  { line, result, after }: Known & { after: PaymentRecord },
  hooks: LinesOfService,
): Promise<void> {
  const { on, isSuccess } = result
  const isReturn = line.result !== null
  const reason = isSuccess ? null : reasonOf(result, isReturn)
  if (reason?.class === 'not_sent' && !line.isServiceMade) return takeBackTries(tx, line.id)
  if (!line.isServiceMade) return
  if (!isReturn)
    await hooks.known(
      tx,
      context,
      after,
      reason === null ? { kind: 'succeeded', on } : { kind: 'failed', on, ...reason },
    )
  else if (reason?.class === 'not_sent') await hooks.neverSent(tx, context, line.id)
}

/** Gives the payment of a line the day for which its gateway has it; the batch keeps its own. Its customer is locked. */
export async function moveLineTo(tx: Transaction, context: RequestContext, id: Id, debitOn: string): Promise<void> {
  const payment = await loadPayment(tx, tx.account, id)
  assert(payment, `payment ${id} of a line exists`)
  if (dateIn(payment.paidAt, context.account.timeZone) === debitOn) return
  await changeLine(tx, context, payment, lineDatesOf({ actionDate: debitOn }, context), { keep: true })
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
