import { LEDGER_ACCOUNTS, LEDGER_EVENTS } from '../../engine/money/postings.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { minorText } from '../../kernel/money.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { listQuery } from '../../platform/http/query.ts'
import { date, reference } from '../../platform/wire/fields.ts'
import { objectOf, optional, word } from '../../platform/wire/read.ts'
import {
  decimalDigits,
  minorDigits,
  orNull,
  outDate,
  outId,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import type { LedgerBalance, LedgerEntry, TaxOfPeriod } from './read-queries.ts'

/** With _reversed at its end where an entry takes an earlier one back. */
const ENTRY_EVENTS = LEDGER_EVENTS.flatMap((event) => [event, `${event}_reversed`] as const)

export const EntriesOut = outList(
  outObject(
    {
      entryID: outId(),
      Date: outDate('Calendar date'),
      PostedAt: outDate('Instant'),
      Event: outWord(ENTRY_EVENTS),
      RecordType: outWord(['invoice', 'payment', 'negative_adjustment', 'positive_adjustment', 'allocation'] as const),
      RecordID: outId(),
      customerID: outId(),
      CurrencyCode: outText(),
      Debit: outWord(LEDGER_ACCOUNTS),
      Credit: outWord(LEDGER_ACCOUNTS),
      TaxName: orNull(outText()),
      Amount: outNumber(),
    },
    'LedgerEntry',
  ),
)

export const entryToWire = (entry: LedgerEntry, timeZone: string) => ({
  entryID: entry.id,
  Date: dateWithOffset(entry.dated, timeZone),
  PostedAt: entry.postedAt,
  Event: entry.isReversal ? (`${entry.event}_reversed` as const) : entry.event,
  RecordType: entry.recordType,
  RecordID: entry.recordId,
  customerID: entry.customerId,
  CurrencyCode: entry.currency,
  Debit: entry.debit,
  Credit: entry.credit,
  TaxName: entry.taxName,
  Amount: minorDigits(entry.amountMinor, digitsOf(entry.currency)),
})

export const BalancesOut = outList(
  outObject(
    {
      CurrencyCode: outText(),
      Account: outWord(LEDGER_ACCOUNTS),
      TaxName: orNull(outText()),
      Debit: outNumber(),
      Credit: outNumber(),
      Balance: outNumber('Debit less Credit'),
    },
    'LedgerBalance',
  ),
)

export function balanceToWire(balance: LedgerBalance) {
  const digits = digitsOf(balance.currency)
  return {
    CurrencyCode: balance.currency,
    Account: balance.ledgerAccount,
    TaxName: balance.taxName,
    Debit: minorDigits(balance.debitMinor, digits),
    Credit: minorDigits(balance.creditMinor, digits),
    Balance: minorDigits(balance.debitMinor - balance.creditMinor, digits),
  }
}

export const TaxReportOut = outList(
  outObject(
    {
      Name: outText(),
      Perc: outNumber('A fraction from 0 to 1'),
      TaxNumber: orNull(outText()),
      CurrencyCode: outText(),
      Base: outNumber('What invoices of the period were taxed on, less those cancelled in it'),
      OutputTax: outNumber('What they charged'),
      TaxTakenBack: outNumber('What credit notes gave back'),
      Net: outNumber('OutputTax less TaxTakenBack'),
    },
    'TaxOfPeriod',
  ),
)

export function taxToWire(tax: TaxOfPeriod) {
  const amount = (minor: bigint) => minorDigits(minor, digitsOf(tax.currency))
  return {
    Name: tax.name,
    Perc: decimalDigits(tax.rate),
    TaxNumber: tax.taxNumber,
    CurrencyCode: tax.currency,
    Base: amount(tax.baseMinor),
    OutputTax: amount(tax.outputMinor),
    TaxTakenBack: amount(tax.takenBackMinor),
    Net: amount(tax.outputMinor - tax.takenBackMinor),
  }
}

/** RFC 4180: a text with a comma, a quote or a line break stands in quotes; one that a spreadsheet would compute is shown as text. */
function csvText(text: string): string {
  const safe = /^[=+@\t\r-]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function taxesAsCsv(taxes: readonly TaxOfPeriod[]): string {
  const lines = taxes.map((tax) => {
    const amount = (minor: bigint) => minorText(minor, digitsOf(tax.currency))
    return [
      csvText(tax.name),
      decimalText(tax.rate),
      csvText(tax.taxNumber ?? ''),
      tax.currency,
      amount(tax.baseMinor),
      amount(tax.outputMinor),
      amount(tax.takenBackMinor),
      amount(tax.outputMinor - tax.takenBackMinor),
    ].join(',')
  })
  return `${['Name,Perc,TaxNumber,CurrencyCode,Base,OutputTax,TaxTakenBack,Net', ...lines].join('\r\n')}\r\n`
}

export const EntryQuery = listQuery({
  customerID: optional(reference()),
  from: optional(date()),
  to: optional(date()),
})

export const BalanceQuery = objectOf({ date: optional(date()) })

export const TaxQuery = objectOf({
  from: optional(date()),
  to: optional(date()),
  format: optional(word(['json', 'csv'] as const, { anyCase: true })),
})
