import { filter, LEFT_OUT } from '../../platform/wire/left-out.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { LEDGER_ACCOUNTS, LEDGER_EVENTS, LEDGER_RECORD_TYPES, type LedgerEvent } from '../../engine/money/postings.ts'
import { amountColumn, dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { date, reference, text } from '../../platform/wire/fields.ts'
import { objectOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { orNull, outId, outInstant, outText, outWord } from '../../platform/wire/write.ts'
import type { LedgerBalance, LedgerEntry } from './read-queries.ts'
import { fromFilter, toFilter } from '../../platform/http/query.ts'

/** With _reversed at its end where an entry takes an earlier one back. */
const ENTRY_EVENTS = LEDGER_EVENTS.flatMap((event) => [event, `${event}_reversed`] as const)

export const entryShape = recordShape<LedgerEntry>()('LedgerEntry', {
  entryID: [outId(identifies('ledger entry')), ({ id }) => id],
  Date: dayColumn(({ dated }) => dated, SHARED.BookedDate),
  PostedAt: [outInstant('When the entry was written.'), ({ postedAt }) => postedAt],
  Event: [
    outWord(ENTRY_EVENTS, 'What wrote the entry, with `_reversed` where it takes another back.'),
    ({ event, isReversal }) => (isReversal ? (`${event}_reversed` as const) : event),
  ],
  RecordType: [
    outWord(LEDGER_RECORD_TYPES, 'The kind of record that the entry is about.'),
    ({ recordType }) => recordType,
  ],
  RecordID: [outId(identifies('record that the entry is about')), ({ recordId }) => recordId],
  Number: [
    orNull(
      outText(
        'Number of the invoice, or of the credit note that the entry or its settlement is of, as it is now; null of any other, and of a deleted one',
      ),
    ),
    ({ number }) => number,
  ],
  Reference: [
    orNull(
      outText(
        'Reference of the invoice, payment or adjustment, as it is now; null of any other, of one without, and of a deleted one',
      ),
    ),
    ({ reference: text }) => text,
  ],
  exportID: [orNull(outId('The export that it is in; null while it is in none')), ({ exportId }) => exportId],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Debit: [outWord(LEDGER_ACCOUNTS, 'The ledger account that is debited.'), ({ debit }) => debit],
  Credit: [outWord(LEDGER_ACCOUNTS, 'The ledger account that is credited.'), ({ credit }) => credit],
  TaxName: [orNull(outText(SHARED.TaxName)), ({ taxName }) => taxName],
  Amount: amountColumn(
    ({ amountMinor }) => amountMinor,
    'The amount that moves from the credited account to the debited one.',
  ),
})

export const balanceShape = recordShape<LedgerBalance>()('LedgerBalance', {
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Account: [outWord(LEDGER_ACCOUNTS, 'The ledger account.'), ({ ledgerAccount }) => ledgerAccount],
  TaxName: [orNull(outText(SHARED.TaxName)), ({ taxName }) => taxName],
  Debit: amountColumn(({ debitMinor }) => debitMinor, 'The amount on the debit side.'),
  Credit: amountColumn(({ creditMinor }) => creditMinor, 'The amount on the credit side.'),
  Balance: amountColumn(({ debitMinor, creditMinor }) => debitMinor - creditMinor, 'Debit less Credit'),
})

export const entryFilters = {
  customerID: optional(reference(), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
  from: fromFilter(date()),
  to: toFilter(date()),
  Account: filter(word(LEDGER_ACCOUNTS, { anyCase: true }), 'entries that debit or credit this ledger account'),
  Event: filter(word(ENTRY_EVENTS, { anyCase: true }), 'entries of this event'),
  RecordType: optional(
    word(LEDGER_RECORD_TYPES, { anyCase: true }),
    'Limits the list, with RecordID, to entries of one record: its kind.',
    LEFT_OUT.ofAll,
  ),
  RecordID: filter(reference(), 'one record, by its identifier'),
  Number: filter(
    text({ takesNumbers: true }),
    'entries of the document with this number: an invoice, or a credit note and what it settles',
  ),
} satisfies Properties

export const BalanceQuery = objectOf({
  date: optional(date(), 'The last day that counts.', 'Left out, everything counts that is written.'),
})

const REVERSED = '_reversed'

/** Returns the event that a word of the interface names, and whether it is the reversal of it. */
export const eventOfWord = (word: (typeof ENTRY_EVENTS)[number]): { event: LedgerEvent; isReversal: boolean } =>
  word.endsWith(REVERSED)
    ? { event: word.slice(0, -REVERSED.length) as LedgerEvent, isReversal: true }
    : { event: word as LedgerEvent, isReversal: false }
