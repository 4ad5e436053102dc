import { described } from '../../platform/wire/described.ts'
import { currencyCode, date } from '../../platform/wire/fields.ts'
import { objectOf, optional, word } from '../../platform/wire/read.ts'
import { REPORT_LOCALES } from './csv.ts'

/** Parameters of reports. */

const ANSWER = {
  currency: optional(described(currencyCode(), 'Of the account; left out, all currencies have rows.')),
  format: optional(
    described(word(['json', 'csv'] as const, { anyCase: true }), 'Left out, the Accept header decides, else json.'),
  ),
  locale: optional(
    described(
      word(REPORT_LOCALES, { anyCase: true }),
      'Writing of the CSV: de has semicolons, decimal commas and a byte-order mark. Left out, en.',
    ),
  ),
}

const by = <const Word extends string>(words: readonly [Word, ...Word[]]) =>
  optional(described(word(words, { anyCase: true }), `What a row stands for; left out, ${words[0]}.`))

const PERIOD = {
  from: optional(described(date(), 'First day; left out, the first of the month of `to`.')),
  to: optional(described(date(), 'Last day, included; left out, today.')),
}

const DATE = { date: optional(described(date(), 'Day at the end of which the report stands; left out, today.')) }

/** Makes the query of a report of a period, its rows by the first of the words unless another is asked for. */
export const periodQuery = <const Word extends string>(words: readonly [Word, ...Word[]]) =>
  objectOf({ ...PERIOD, by: by(words), ...ANSWER })

export const PlainPeriodQuery = objectOf({ ...PERIOD, ...ANSWER })

/** Makes the query of a report as at a day. */
export const dateQuery = <const Word extends string>(words: readonly [Word, ...Word[]]) =>
  objectOf({ ...DATE, by: by(words), ...ANSWER })
