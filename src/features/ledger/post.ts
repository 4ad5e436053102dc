import type { Posting } from '../../engine/money/postings.ts'
import type { Instant } from '../../kernel/calendar.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { OfMany, Transaction } from '../../platform/database/database.ts'
import { type ChainLink, entriesStatement, type EntryRow } from './queries.ts'

/** Posting to the ledger, in the transaction of what causes it; the customers are locked by the caller. */

/** Postings of one customer and currency. */
export interface CustomerPostings {
  customerId: CustomerId
  currency: string
  postings: readonly Posting[]
}

type TimedPostings = CustomerPostings & { at: Instant }

/** Posts, and returns which of these customers have unallocated money of the currency now. Nothing to post writes nothing. */
export async function post(tx: Transaction, all: readonly CustomerPostings[], at: Instant): Promise<HasUnapplied[]> {
  const posted = timed(all, at)
  return posted.length === 0 ? [] : tx.rows<HasUnapplied>(posting(tx.account, posted))
}

/** Posts without waiting: for changes that need not know what is left unallocated. */
export function sendPostings(tx: Transaction, all: readonly CustomerPostings[], at: Instant): void {
  const posted = timed(all, at)
  if (posted.length > 0) tx.sendGrouped(posting, posted)
}

const timed = (all: readonly CustomerPostings[], at: Instant): TimedPostings[] =>
  all.filter(({ postings }) => postings.length > 0).map((one) => ({ ...one, at }))

const posting: OfMany<TimedPostings> = (account, all) => {
  const links = new Map<string, ChainLink>()
  const entries: EntryRow[] = []
  for (const { customerId, currency, postings, at } of all) {
    const key = `${customerId} ${currency}`
    let link = links.get(key)
    if (!link) {
      link = { customerId, currency, receivableMinor: 0n, unappliedMinor: 0n, clearingMinor: 0n, hashedText: at }
      links.set(key, link)
    }
    for (const one of postings) {
      const entry = rowOf(customerId, currency, one, at)
      entries.push(entry)
      move(link, one)
      link.hashedText += `\n${hashedTextOf(entry)}`
    }
  }
  return entriesStatement(account, [...links.values()], entries)
}

function rowOf(customerId: CustomerId, currency: string, p: Posting, postedAt: Instant): EntryRow {
  return {
    customerId,
    currency,
    event: p.event,
    isReversal: p.isReversal,
    recordType: p.recordType,
    recordId: p.recordId,
    debit: p.debit,
    credit: p.credit,
    taxName: p.tax === null ? null : p.tax.name,
    taxRate: p.tax === null ? null : decimalText(p.tax.rate),
    taxNumber: p.tax === null ? null : p.tax.taxNumber,
    amountMinor: p.amountMinor,
    dated: p.dated,
    postedAt,
  }
}

// Receivable and clearing grow by debits; unapplied is owed to the customer and grows by credits.
function move(link: ChainLink, { debit, credit, amountMinor }: Posting): void {
  if (debit === 'receivable') link.receivableMinor += amountMinor
  else if (debit === 'unapplied') link.unappliedMinor -= amountMinor
  else if (debit === 'clearing') link.clearingMinor += amountMinor
  if (credit === 'receivable') link.receivableMinor -= amountMinor
  else if (credit === 'unapplied') link.unappliedMinor += amountMinor
  else if (credit === 'clearing') link.clearingMinor -= amountMinor
}

/** Writes the text of an entry that its link hashes. All of it stands in the row, so that anybody can hash it again. */
export const hashedTextOf = (e: Omit<EntryRow, 'customerId' | 'currency' | 'postedAt'>): string =>
  `${e.isReversal ? `${e.event}_reversed` : e.event}\u001f${[
    e.recordType,
    e.recordId,
    e.debit,
    e.credit,
    e.taxName ?? '',
    e.taxRate ?? '',
    e.taxNumber ?? '',
    e.amountMinor,
    e.dated,
  ].join('\u001f')}`

/** Customers that have unallocated money of a currency after it. */
export interface HasUnapplied {
  customerId: CustomerId
  currency: string
}
