import { LEDGER_ACCOUNTS, LEDGER_EVENTS } from '../../engine/money/postings.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { minorText } from '../../kernel/money.ts'
import { amountColumn, dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { date, reference } from '../../platform/wire/fields.ts'
import { objectOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { decimalDigits, orNull, outDate, outId, outNumber, outText, outWord } from '../../platform/wire/write.ts'
import type { LedgerBalance, LedgerEntry, TaxOfPeriod } from './read-queries.ts'

/** With _reversed at its end where an entry takes an earlier one back. */
const ENTRY_EVENTS = LEDGER_EVENTS.flatMap((event) => [event, `${event}_reversed`] as const)

export const entryShape = recordShape<LedgerEntry>()('LedgerEntry', {
  entryID: [outId(), ({ id }) => id],
  Date: dayColumn(({ dated }) => dated),
  PostedAt: [outDate('Instant'), ({ postedAt }) => postedAt],
  Event: [outWord(ENTRY_EVENTS), ({ event, isReversal }) => (isReversal ? (`${event}_reversed` as const) : event)],
  RecordType: [
    outWord(['invoice', 'payment', 'negative_adjustment', 'positive_adjustment', 'allocation', 'settlement']),
    ({ recordType }) => recordType,
  ],
  RecordID: [outId(), ({ recordId }) => recordId],
  customerID: [outId(), ({ customerId }) => customerId],
  CurrencyCode: [outText(), ({ currency }) => currency],
  Debit: [outWord(LEDGER_ACCOUNTS), ({ debit }) => debit],
  Credit: [outWord(LEDGER_ACCOUNTS), ({ credit }) => credit],
  TaxName: [orNull(outText()), ({ taxName }) => taxName],
  Amount: amountColumn(({ amountMinor }) => amountMinor),
})

export const balanceShape = recordShape<LedgerBalance>()('LedgerBalance', {
  CurrencyCode: [outText(), ({ currency }) => currency],
  Account: [outWord(LEDGER_ACCOUNTS), ({ ledgerAccount }) => ledgerAccount],
  TaxName: [orNull(outText()), ({ taxName }) => taxName],
  Debit: amountColumn(({ debitMinor }) => debitMinor),
  Credit: amountColumn(({ creditMinor }) => creditMinor),
  Balance: amountColumn(({ debitMinor, creditMinor }) => debitMinor - creditMinor, 'Debit less Credit'),
})

const netOf = ({ outputMinor, takenBackMinor }: TaxOfPeriod): bigint => outputMinor - takenBackMinor

export const taxShape = recordShape<TaxOfPeriod>()('TaxOfPeriod', {
  Name: [outText(), ({ name }) => name],
  Perc: [outNumber('A fraction from 0 to 1'), ({ rate }) => decimalDigits(rate)],
  TaxNumber: [orNull(outText()), ({ taxNumber }) => taxNumber],
  CurrencyCode: [outText(), ({ currency }) => currency],
  Base: amountColumn(
    ({ baseMinor }) => baseMinor,
    'What invoices of the period were taxed on, less those cancelled in it',
  ),
  OutputTax: amountColumn(({ outputMinor }) => outputMinor, 'What they charged'),
  TaxTakenBack: amountColumn(({ takenBackMinor }) => takenBackMinor, 'What credit notes gave back'),
  Net: amountColumn(netOf, 'OutputTax less TaxTakenBack'),
})

/** Quotes a text for CSV (RFC 4180): one with a comma, a quote or a line break stands in quotes; one that a spreadsheet would compute is shown as text. */
function csvText(text: string): string {
  const safe = /^[=+@\t\r-]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Writes the taxes of a period as CSV, with a line of headings. */
export function taxesAsCsv(taxes: readonly TaxOfPeriod[]): string {
  const lines = taxes.map((tax) => {
    const text = (minor: bigint) => minorText(minor, digitsOf(tax.currency))
    return [
      csvText(tax.name),
      decimalText(tax.rate),
      csvText(tax.taxNumber ?? ''),
      tax.currency,
      text(tax.baseMinor),
      text(tax.outputMinor),
      text(tax.takenBackMinor),
      text(netOf(tax)),
    ].join(',')
  })
  return `${['Name,Perc,TaxNumber,CurrencyCode,Base,OutputTax,TaxTakenBack,Net', ...lines].join('\r\n')}\r\n`
}

export const entryFilters = {
  customerID: optional(reference()),
  from: optional(date()),
  to: optional(date()),
} satisfies Properties

export const BalanceQuery = objectOf({ date: optional(date()) })

export const TaxQuery = objectOf({
  from: optional(date()),
  to: optional(date()),
  format: optional(word(['json', 'csv'] as const, { anyCase: true })),
})
