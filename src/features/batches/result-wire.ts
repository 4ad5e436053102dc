import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { date, flag, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, listOf, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import { checkReason } from '../money/rules.ts'
import type { BatchResult } from './actions.ts'
import type { Batch } from './queries.ts'
import { LINES_MAX } from './rules.ts'

const result = {
  paymentID: required(requiredReference(), identifies('payment')),
  Success: required(flag(), 'Whether the debit was paid.'),
  Reason: optional(text(), 'Why the debit failed, as the bank says.', LEFT_OUT.noReason),
  Date: optional(date(), 'The day of the result.', LEFT_OUT.today),
} satisfies Properties

const inputs = {
  Results: required(
    listOf(objectOf(result, { name: 'BatchResultInput' }), { min: 1, max: LINES_MAX, what: 'results' }),
    'The results, one entry for each line.',
  ),
} satisfies Properties

export const ResultsIn = objectOf(inputs, { name: 'BatchResults' })
export type ResultsBody = BodyOf<typeof inputs>

/** Notes results of payments that are no lines of the batch, that stand in the list twice, whose day cannot be, or that are a success with the reason of a failure. */
export function checkResults(
  entries: ResultsBody['Results'] | undefined,
  { batch, lineIds, today }: { batch: Batch; lineIds: ReadonlySet<Id>; today: IsoDate },
  problems: Problems,
): void {
  const seen = new Set<Id>()
  const latest = later(today, batch.actionDate)
  for (const [index, entry] of (entries ?? []).entries()) {
    const { paymentID, Date: on } = entry
    const at = `Results[${index}]`
    checkReason(entry, `${at}.`, problems)
    if (!lineIds.has(paymentID))
      problems.add('line_unknown', `${at}.paymentID`, `Payment ${paymentID} is no line of batch ${batch.token}.`)
    else if (seen.has(paymentID))
      problems.add('duplicate', `${at}.paymentID`, `Payment ${paymentID} stands in the list twice.`)
    seen.add(paymentID)
    if (on != null && (on < batch.actionDate || on > latest))
      problems.add('out_of_range', `${at}.Date`, `${at}.Date must be from ${batch.actionDate} to ${latest}.`)
  }
}

export const resultsFromWire = ({ Results }: ResultsBody): BatchResult[] =>
  Results.map((one) => ({
    paymentId: one.paymentID,
    isSuccess: one.Success,
    reason: one.Reason ?? null,
    on: one.Date ?? null,
  }))
