import { LEDGER_ACCOUNTS, LEDGER_EVENTS, LEDGER_RECORD_TYPES, type LedgerEvent } from '../../engine/money/postings.ts'
import { amountColumn, dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { date, reference, text } from '../../platform/wire/fields.ts'
import { objectOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { orNull, outDate, outId, outText, outWord } from '../../platform/wire/write.ts'
import type { LedgerBalance, LedgerEntry } from './read-queries.ts'

/** With _reversed at its end where an entry takes an earlier one back. */
const ENTRY_EVENTS = LEDGER_EVENTS.flatMap((event) => [event, `${event}_reversed`] as const)

export const entryShape = recordShape<LedgerEntry>()('LedgerEntry', {
  entryID: [outId(), ({ id }) => id],
  Date: dayColumn(({ dated }) => dated),
  PostedAt: [outDate('Instant'), ({ postedAt }) => postedAt],
  Event: [outWord(ENTRY_EVENTS), ({ event, isReversal }) => (isReversal ? (`${event}_reversed` as const) : event)],
  RecordType: [outWord(LEDGER_RECORD_TYPES), ({ recordType }) => recordType],
  RecordID: [outId(), ({ recordId }) => recordId],
  Number: [
    orNull(
      outText({
        description:
          'Number of the invoice, or of the credit note that the entry or its settlement is of, as it is now; null of any other, and of a deleted one',
      }),
    ),
    ({ number }) => number,
  ],
  Reference: [
    orNull(
      outText({
        description:
          'Reference of the invoice, payment or adjustment, as it is now; null of any other, of one without, and of a deleted one',
      }),
    ),
    ({ reference: text }) => text,
  ],
  exportID: [orNull(outId('The export that it is in; null while it is in none')), ({ exportId }) => exportId],
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

export const entryFilters = {
  customerID: optional(reference()),
  from: optional(date()),
  to: optional(date()),
  Account: optional(word(LEDGER_ACCOUNTS, { anyCase: true })),
  Event: optional(word(ENTRY_EVENTS, { anyCase: true })),
  RecordType: optional(word(LEDGER_RECORD_TYPES, { anyCase: true })),
  RecordID: optional(reference()),
  Number: optional(text({ takesNumbers: true })),
} satisfies Properties

export const BalanceQuery = objectOf({ date: optional(date()) })

const REVERSED = '_reversed'

/** Returns the event that a word of the interface names, and whether it is the reversal of it. */
export const eventOfWord = (word: (typeof ENTRY_EVENTS)[number]): { event: LedgerEvent; isReversal: boolean } =>
  word.endsWith(REVERSED)
    ? { event: word.slice(0, -REVERSED.length) as LedgerEvent, isReversal: true }
    : { event: word as LedgerEvent, isReversal: false }
