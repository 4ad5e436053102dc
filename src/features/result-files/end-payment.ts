import type { Transaction } from '../../platform/database/database.ts'
import type { StatusLine } from '../../platform/iso20022/result-lines.ts'
import { applyLineResult, type LineResult, type ResultOutcome } from '../batches/results.ts'
import type { SentPayment } from './bookings.ts'
import { holdInvoices, invoicesOfLine } from './cancelled.ts'
import type { Reading } from './deps.ts'
import { resultOfRejection } from './line-results.ts'
import type { Ending } from './rules.ts'

/** Ends a debit that its bank rejected, or cancelled because somebody asked for it: the invoices of the latter are put on hold. */
export async function endPayment(
  tx: Transaction,
  { deps, context }: Pick<Reading, 'deps' | 'context'>,
  { id, actionDate }: Pick<SentPayment, 'id' | 'actionDate'>,
  { line, ending }: { line: StatusLine; ending: Ending },
): Promise<ResultOutcome> {
  const rejected = resultOfRejection(line, { actionDate, today: context.moment.today })
  if (ending === 'rejected') return applyLineResult(tx, context, id, rejected, deps.linesOfService)
  const invoices = await invoicesOfLine(tx, id)
  const withCode = line.code === null ? '' : ` with the code ${line.code}`
  const message = `It was cancelled at the bank${withCode}.`
  const cancelled: LineResult = { ...rejected, reason: { class: 'not_sent', code: line.code, message } }
  const outcome = await applyLineResult(tx, context, id, cancelled, deps.linesOfService)
  if (outcome === 'applied')
    await holdInvoices(tx, context, invoices, `Payment ${id} was cancelled at the bank${withCode}.`)
  return outcome
}
