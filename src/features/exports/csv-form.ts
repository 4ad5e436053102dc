import { netRowsOf } from '../../engine/books/journals.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { minorText } from '../../kernel/money.ts'
import { quoted } from '../reports/csv.ts'
import type { BatchForm } from './form.ts'
import { journalText } from './journal-text.ts'

/** Batches as a plain general journal: CSV of RFC 4180 in UTF-8. */

const TITLES = [
  'Journal',
  'Date',
  'Account',
  'GLCode',
  'TaxName',
  'Number',
  'Reference',
  'CustomerReference',
  'Text',
  'Debit',
  'Credit',
  'CurrencyCode',
]

const NONE: readonly [] = []

const cellOf = (text: string | null): string => (text === null ? '' : quoted(text))

export function csvForm({ number, from, currency }: { number: number; from: IsoDate; currency: string }): BatchForm {
  const digits = digitsOf(currency)
  return {
    head: `${TITLES.join(',')}\r\n`,
    encode: (text, into, at) => into.write(text, at),
    rowsOf: (journal, about, place) => {
      const shown = later(about.dated, from)
      const before = `${number}-${place},${shown},`
      const after = `${cellOf(about.number)},${cellOf(about.reference)},${cellOf(about.customerReference)},${quoted(journalText(about, shown))}`
      return netRowsOf(journal).map(({ account, code, taxName, amountMinor }) => {
        const isDebit = amountMinor > 0n
        const amount = minorText(isDebit ? amountMinor : -amountMinor, digits)
        const sides = isDebit ? `${amount},` : `,${amount}`
        return {
          text: `${before}${account},${quoted(code)},${cellOf(taxName)},${after},${sides},${currency}\r\n`,
          debitMinor: isDebit ? amountMinor : 0n,
          creditMinor: isDebit ? 0n : -amountMinor,
          refusals: NONE,
          differences: NONE,
        }
      })
    },
  }
}
