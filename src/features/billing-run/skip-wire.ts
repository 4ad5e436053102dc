import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Problems } from '../../kernel/fault.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import type { Answer } from '../../platform/http/answer.ts'
import { date, longText } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import { orNull, outDate, outList, outObject, outWord } from '../../platform/wire/write.ts'

/** Body and answer of billing what is due on a record at 0.00. */

export const SkipIn = objectOf(
  {
    Until: required(date(), 'Up to which day what is due counts as billed; later periods are billed as ever.'),
    Reason: required(longText(), 'Why nothing is billed; the event keeps it.'),
  },
  { name: 'Skip' },
)

/** Declares the answer: what was skipped, each of a kind out of a list, which the sentence is about. */
export const skipOut = (kinds: readonly string[], name: string, ofKind: string) =>
  outObject(
    {
      Skipped: outList(
        outObject({
          Kind: outWord(kinds, ofKind),
          From: orNull(outDate('Calendar date; null for fees')),
          To: orNull(outDate('Last day; null for fees')),
        }),
        'What counts as billed at 0.00.',
      ),
    },
    name,
  )

/** Notes a day in the future: what is not due cannot be skipped. */
export function checkSkip(body: { Until?: IsoDate }, { moment: { today } }: RequestContext, problems: Problems): void {
  if (body.Until && body.Until > today)
    problems.add('date_future', 'Until', `Until ${body.Until} lies in the future; today is ${today}.`)
}

/** Writes the answer, with a warning where what is due afterwards cannot be billed. Periods are half-open. */
export function skippedAnswer(
  out: ReturnType<typeof skipOut>,
  { account }: RequestContext,
  skipped: readonly { kind: string; from: IsoDate | null; until: IsoDate | null }[],
  isBilled: boolean,
): Answer {
  const shown = (day: IsoDate | null) => (day === null ? null : dateWithOffset(day, account.timeZone))
  const wire = skipped.map(({ kind, from, until }) => ({
    Kind: kind,
    From: shown(from),
    To: shown(until === null ? null : addDays(until, -1)),
  }))
  return {
    status: 201,
    body: out.write({ Skipped: wire }),
    ...(isBilled ? {} : { headers: { 'perennial-warning': 'billing_failed' } }),
  }
}
