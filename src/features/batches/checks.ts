import { amountText } from '../../kernel/currencies.ts'
import { type Check, eachRecord, type Report } from '../../platform/checks/difference.ts'
import { type CheckedBatch, type CheckedLine, listBatchPage, listLinePage, listWaitingPage } from './checks-queries.ts'

/** Checks that what went to a gateway is what the lines of its batch are, and that each state of a batch fits the results of its lines. */
export const batches: Check = {
  name: 'batches',
  run: eachRecord(listBatchPage, checkBatchSums),
}

function checkBatchSums(batch: CheckedBatch, report: Report): void {
  const { id, state, currency, sentCount, sentMinor, lineCount, totalMinor, withoutResult } = batch
  const text = (what: string, stored: string, expected: string) =>
    report({ recordType: 'batch', recordId: id, what, stored, expected })
  if (sentCount !== null && sentCount !== lineCount) text('lines sent', String(sentCount), String(lineCount))
  if (sentMinor !== null && sentMinor !== totalMinor)
    text('amount sent', amountText(sentMinor, currency), amountText(totalMinor, currency))
  const isOver = state === 'completed' || state === 'cancelled'
  if (isOver && withoutResult > 0) text('state', state, `submitted, for ${withoutResult} lines have no result`)
  if (state === 'submitted' && withoutResult === 0) text('state', state, 'completed, for every line has a result')
}

/**
 * Checks that each line has the result that its payment shows: settled, returned after that, failed, or open. So those of a batch that was handed
 * over come to all of them. Rule: a line gives way while it is the service's and its batch is open or failed, never else.
 */
export const batchLines: Check = {
  name: 'lines of batches',
  run: eachRecord(listLinePage, checkLine),
}

function checkLine(line: CheckedLine, report: Report): void {
  const { id, customerId, state, result, isReturned, wasSettled, hasFailed, isOfBatch, isServiceMade, givesWay } = line
  const isSubmitted = state === 'submitted' || state === 'completed'
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId, recordType: 'payment', recordId: id, what, stored, expected })
  if (!isOfBatch) text('its batch', 'of it', 'of another customer or currency, or of none')
  if (isSubmitted && line.isCalled && !line.isAnswered)
    text('its name at the gateway', 'none', 'one, for it was handed over')
  const shown = wasSettled ? (hasFailed ? 'returned' : 'success') : hasFailed ? 'failed' : 'none'
  const stored = isReturned ? 'returned' : (result ?? 'none')
  // A received payment can be lost by a way that brings no result of a line: a part of it that was refunded.
  if (shown !== stored && !(shown === 'returned' && stored === 'success')) text('its result', stored, shown)
  const shouldGiveWay = isServiceMade && (state === 'open' || state === 'failed')
  if (givesWay !== shouldGiveWay) text('whether it gives way', String(givesWay), String(shouldGiveWay))
  if (result !== null && (state === 'open' || state === 'build' || state === 'failed'))
    text('its result', result, `none, for its batch is ${state}`)
}

/** Checks that nothing gives way to other money but lines of batches. */
export const givingWay: Check = {
  name: 'payments that give way',
  run: eachRecord(listWaitingPage, ({ id, customerId }, report) =>
    report({
      customerId,
      recordType: 'payment',
      recordId: id,
      what: 'whether it gives way',
      stored: 'true',
      expected: 'false, for it is in no batch',
    }),
  ),
}
