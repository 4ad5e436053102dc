import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { LEDGER_ACCOUNTS, LEDGER_EVENTS, LEDGER_RECORD_TYPES, type LedgerEvent } from '../../engine/money/postings.ts'
import { amountColumn, dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { date, reference, text } from '../../platform/wire/fields.ts'
import { objectOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { orNull, outDate, outId, outText, outWord } from '../../platform/wire/write.ts'
import type { LedgerBalance, LedgerEntry } from './read-queries.ts'

/** With _reversed at its end where an entry takes an earlier one back. */
const ENTRY_EVENTS = LEDGER_EVENTS.flatMap((event) => [event, `${event}_reversed`] as const)

export const entryShape = recordShape<LedgerEntry>()('LedgerEntry', {
  entryID: [described(outId(), identifies('ledger entry')), ({ id }) => id],
  Date: described(
    dayColumn(({ dated }) => dated),
    SHARED.BookedDate,
  ),
  PostedAt: [described(outDate('Instant'), 'When the entry was written.'), ({ postedAt }) => postedAt],
  Event: [
    described(outWord(ENTRY_EVENTS), 'What wrote the entry, with `_reversed` where it takes another back.'),
    ({ event, isReversal }) => (isReversal ? (`${event}_reversed` as const) : event),
  ],
  RecordType: [
    described(outWord(LEDGER_RECORD_TYPES), 'The kind of record that the entry is about.'),
    ({ recordType }) => recordType,
  ],
  RecordID: [described(outId(), identifies('record that the entry is about')), ({ recordId }) => recordId],
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
  customerID: [described(outId(), identifies('customer')), ({ customerId }) => customerId],
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }) => currency],
  Debit: [described(outWord(LEDGER_ACCOUNTS), 'The ledger account that is debited.'), ({ debit }) => debit],
  Credit: [described(outWord(LEDGER_ACCOUNTS), 'The ledger account that is credited.'), ({ credit }) => credit],
  TaxName: [described(orNull(outText()), SHARED.TaxName), ({ taxName }) => taxName],
  Amount: described(
    amountColumn(({ amountMinor }) => amountMinor),
    'The amount that moves from the credited account to the debited one.',
  ),
})

export const balanceShape = recordShape<LedgerBalance>()('LedgerBalance', {
  CurrencyCode: [described(outText(), SHARED.CurrencyCode), ({ currency }) => currency],
  Account: [described(outWord(LEDGER_ACCOUNTS), 'The ledger account.'), ({ ledgerAccount }) => ledgerAccount],
  TaxName: [described(orNull(outText()), SHARED.TaxName), ({ taxName }) => taxName],
  Debit: described(
    amountColumn(({ debitMinor }) => debitMinor),
    'The amount on the debit side.',
  ),
  Credit: described(
    amountColumn(({ creditMinor }) => creditMinor),
    'The amount on the credit side.',
  ),
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
