import { amountText } from '../../kernel/currencies.ts'
import type { LedgerRecordType, Posting } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Report } from '../../platform/checks/difference.ts'
import type { PostedEntry } from '../ledger/group-by-facts-queries.ts'

/** Entries as texts, by which those of a record are held against what it stands for. */

/** An entry as people read it; two with the same text are equal. */
interface EntryText {
  event: string
  /** Which of the record's entries it is. */
  what: string
  amount: string
  dated: IsoDate
}

const isEqual = (a: EntryText, b: EntryText): boolean =>
  a.what === b.what && a.amount === b.amount && a.dated === b.dated

const entryText = ({ amount, dated }: EntryText): string => `${amount} on ${dated}`

/** Returns the texts of what a record stands for. */
export const textsOf = (postings: readonly Posting[], currency: string | null): EntryText[] =>
  postings.map((posting) =>
    textOf(
      {
        ...posting,
        taxName: posting.tax?.name ?? null,
        taxRate: posting.tax?.rate ?? null,
        taxNumber: posting.tax?.taxNumber ?? null,
      },
      currency ?? '',
    ),
  )

type Shown = Pick<
  PostedEntry,
  'event' | 'isReversal' | 'debit' | 'credit' | 'taxName' | 'taxRate' | 'taxNumber' | 'amountMinor' | 'dated'
>

/** Returns the text of an entry. */
export function textOf(e: Shown, currency: string): EntryText {
  const number = e.taxNumber === null ? '' : ` (${e.taxNumber})`
  const tax = e.taxName === null || e.taxRate === null ? '' : ` of ${e.taxName} at ${decimalText(e.taxRate)}${number}`
  return {
    event: e.event,
    what: `entry ${e.event}${e.isReversal ? ' taken back' : ''}${tax}`,
    amount: `${amountText(e.amountMinor, currency)} ${e.debit} → ${e.credit}`,
    dated: e.dated,
  }
}

/** Reports what stands in the ledger and should not, and what should and does not. */
export function reportDifferences(
  { type, id, customerId }: { type: LedgerRecordType; id: Id; customerId: CustomerId },
  entries: readonly EntryText[],
  should: readonly EntryText[],
  report: Report,
): void {
  const missing = [...should]
  const without = (some: readonly EntryText[]) =>
    some.filter((entry) => {
      const place = missing.findIndex((other) => isEqual(entry, other))
      if (place >= 0) missing.splice(place, 1)
      return place < 0
    })
  const surplus = without(entries)
  const about = { customerId, recordType: type, recordId: id } as const
  for (const entry of surplus) {
    const place = missing.findIndex((other) => other.what === entry.what)
    const [other] = place >= 0 ? missing.splice(place, 1) : []
    report({ ...about, what: entry.what, stored: entryText(entry), expected: other ? entryText(other) : 'nothing' })
  }
  for (const other of missing) report({ ...about, what: other.what, stored: 'nothing', expected: entryText(other) })
}
