import type { Check, Report } from '../../platform/checks/difference.ts'
import { eachPage } from '../../platform/checks/pages.ts'
import { type CheckedFile, type CheckedReturn, listFilePage, listReturnPage } from './checks-queries.ts'

/** Checks the counts of files of banks that were read. Rule: lines are kept for a time only, so there may be fewer than were counted. */
export const resultFiles: Check = {
  name: 'result files',
  run: (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => listFilePage(tx, tx.account, after, limit),
      (page) => {
        for (const file of page) checkFile(file, report)
      },
    ),
}

function checkFile({ id, matched, applied, unmatched, lineCount }: CheckedFile, report: Report): void {
  const text = (what: string, stored: number, expected: string) =>
    report({ customerId: null, recordType: 'result_file', recordId: id, what, stored: String(stored), expected })
  if (applied > matched) text('lines applied', applied, `${matched} at most, for so many were matched`)
  if (lineCount > unmatched) text('unmatched lines', unmatched, `${lineCount} at least`)
}

/** Checks that a return which a person has applied names a line of a batch, and that this has failed. */
export const appliedReturns: Check = {
  name: 'returns applied by hand',
  run: (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => listReturnPage(tx, tx.account, after, limit),
      (page) => {
        for (const line of page) checkReturn(line, report)
      },
    ),
}

function checkReturn({ id, paymentId, customerId, isLine, hasFailed }: CheckedReturn, report: Report): void {
  if (isLine && hasFailed) return
  const expected = isLine ? 'one that has failed' : 'a line of a batch'
  const stored = String(paymentId)
  report({ customerId, recordType: 'result_line', recordId: id, what: 'its payment', stored, expected })
}
