import type { IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { PartLine, ResultLine, StatusLine } from '../../platform/iso20022/result-lines.ts'
import { applyLineResults, type LineResult, type ResultOfLine, type ResultOutcome } from '../batches/results.ts'
import type { SentPayment } from './bookings.ts'
import type { Reading } from './deps.ts'
import { dayOfResult, type Decision } from './rules.ts'

/** Results that lines bring to their payments, and applying those of a portion at once. */

type Days = Pick<SentPayment, 'actionDate'> & { today: IsoDate }

/** Returns the result of a booking of one payment. */
export const resultOfBooking = ({ code, entry }: PartLine, isCredit: boolean, days: Days): LineResult => ({
  isSuccess: isCredit,
  reason: code,
  on: dayOfResult(entry.on, days),
  source: 'file',
})

/** Returns the result of a debit that its bank rejected. */
export const resultOfRejection = ({ code, on }: StatusLine, days: Days): LineResult => ({
  isSuccess: false,
  reason: code,
  on: dayOfResult(on, days),
  source: 'file',
})

/**
 * Applies results that nothing before them in their portion changes, in the order of their lines. A customer's end where one of them is more than a
 * result, or the second about a payment: that line, and all behind it, wait for those before. Returns the outcomes by their lines.
 */
export async function applyFirstResults(
  tx: Transaction,
  { deps, context }: Pick<Reading, 'deps' | 'context'>,
  decided: Iterable<{ line: ResultLine; decision: Decision }>,
): Promise<ReadonlyMap<ResultLine, ResultOutcome>> {
  const { today } = context.moment
  const results = new Map<Id, ResultOfLine & { line: ResultLine }>()
  const waiting = new Set<CustomerId>()
  for (const { line, decision } of decided) {
    const payment = changedBy(decision)
    if (!payment || waiting.has(payment.customerId)) continue
    const result = resultOf(line, decision, today)
    if (result && !results.has(payment.id)) results.set(payment.id, { ...result, line })
    else waiting.add(payment.customerId)
  }
  const all = [...results.values()]
  const outcomes = await applyLineResults(tx, context, all, deps.linesOfService)
  return new Map(all.map(({ line }, index) => [line, outcomes[index] as ResultOutcome]))
}

/** Returns the payment that a decision changes. */
const changedBy = (decision: Decision): SentPayment | undefined =>
  decision.kind === 'ended' || (decision.kind === 'booking' && decision.hasChanged) ? decision.payment : undefined

/** Returns the result that a line brings to one payment; undefined where it brings none, or more than a result. */
function resultOf(line: ResultLine, decision: Decision, today: IsoDate): ResultOfLine | undefined {
  if (decision.kind === 'booking' && decision.hasChanged && line.kind === 'part') {
    const { payment, isCredit } = decision
    return { paymentId: payment.id, result: resultOfBooking(line, isCredit, { ...payment, today }) }
  }
  if (decision.kind === 'ended' && decision.ending === 'rejected' && line.kind === 'status') {
    const { payment } = decision
    return { paymentId: payment.id, result: resultOfRejection(line, { ...payment, today }) }
  }
  return undefined
}
