import type { Transaction } from '../../platform/database/database.ts'
import type { StatusLine } from '../../platform/iso20022/result-lines.ts'
import { applyLineResult, type ResultOutcome } from '../batches/results.ts'
import type { SentPayment } from './bookings.ts'
import { holdInvoices, invoicesOfLine } from './cancelled.ts'
import type { Reading } from './deps.ts'
import { dayOfResult, type Ending } from './rules.ts'

/** Ends a debit that its bank rejected, or cancelled because somebody asked for it: the invoices of the latter are put on hold. */
export async function endPayment(
  tx: Transaction,
  { deps, context }: Pick<Reading, 'deps' | 'context'>,
  { id, actionDate }: Pick<SentPayment, 'id' | 'actionDate'>,
  { line, ending }: { line: StatusLine; ending: Ending },
): Promise<ResultOutcome> {
  const on = dayOfResult(line.on, { actionDate, today: context.moment.today })
  const fail = (reason: Parameters<typeof applyLineResult>[3]['reason']) =>
    applyLineResult(tx, context, id, { isSuccess: false, reason, on, source: 'file' }, deps.linesOfService)
  if (ending === 'rejected') return fail(line.code)
  const invoices = await invoicesOfLine(tx, id)
  const withCode = line.code === null ? '' : ` with the code ${line.code}`
  const message = `It was cancelled at the bank${withCode}.`
  const outcome = await fail({ class: 'not_sent', code: line.code, message })
  if (outcome === 'applied')
    await holdInvoices(tx, context, invoices, `Payment ${id} was cancelled at the bank${withCode}.`)
  return outcome
}
