import { LEFT_OUT } from '../../platform/wire/left-out.ts'
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
  customerID: described(optional(reference()), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
  from: described(
    optional(date()),
    'Limits the answer to what happened on this day or later.',
    'Left out, it begins with the oldest.',
  ),
  to: described(
    optional(date()),
    'Limits the answer to what happened on this day or earlier.',
    'Left out, it ends with the newest.',
  ),
  Account: described(
    optional(word(LEDGER_ACCOUNTS, { anyCase: true })),
    'Limits the list to entries that debit or credit this ledger account.',
    LEFT_OUT.all,
  ),
  Event: described(
    optional(word(ENTRY_EVENTS, { anyCase: true })),
    'Limits the list to entries of this event.',
    LEFT_OUT.all,
  ),
  RecordType: described(
    optional(word(LEDGER_RECORD_TYPES, { anyCase: true })),
    'Limits the list, with RecordID, to entries of one record: its kind.',
    LEFT_OUT.ofAll,
  ),
  RecordID: described(optional(reference()), 'Limits the list to one record, by its identifier.', LEFT_OUT.all),
  Number: described(
    optional(text({ takesNumbers: true })),
    'Limits the list to entries of the document with this number: an invoice, or a credit note and what it settles.',
    LEFT_OUT.all,
  ),
} satisfies Properties

export const BalanceQuery = objectOf({
  date: described(optional(date()), 'The last day that counts.', 'Left out, everything counts that is written.'),
})

const REVERSED = '_reversed'

/** Returns the event that a word of the interface names, and whether it is the reversal of it. */
export const eventOfWord = (word: (typeof ENTRY_EVENTS)[number]): { event: LedgerEvent; isReversal: boolean } =>
  word.endsWith(REVERSED)
    ? { event: word.slice(0, -REVERSED.length) as LedgerEvent, isReversal: true }
    : { event: word as LedgerEvent, isReversal: false }
