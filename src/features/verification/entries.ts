import { groupBy } from '../../kernel/grouping.ts'
import { type LedgerEvent, type LedgerRecordType, movesWithLock, type Posting } from '../../engine/money/postings.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type Check, type Report } from '../../platform/checks/difference.ts'
import { EXPECTED, type Expected } from './expected-postings.ts'
import { reportDifferences, textOf, textsOf } from './entry-texts.ts'
import {
  listBatchedInvoices,
  listEntriesOfRecord,
  listEntriesOfRecords,
  listEntriesSince,
  listUnpostedInvoices,
  type PostedEntry,
  type RecordPlace,
} from '../ledger/group-by-facts-queries.ts'
import {
  listUnpostedAllocations,
  listUnpostedNegatives,
  listUnpostedPayments,
  listUnpostedPositives,
  listUnpostedSettlements,
} from './entries-queries.ts'
import { eachPage, isRead, nextRead, PAGE_SIZE, type CheckReading } from '../../platform/checks/pages.ts'

const TYPES = Object.keys(EXPECTED) as LedgerRecordType[]

/**
 * Documents and ledger agree, event by event and day by day. Rule: what is left of a record's entries once every reversal has met
 * what it takes back is what the posting rules make of the record; of a record that is gone nothing is left.
 */
export const ledgerEntries: Check = {
  name: 'ledger entries',
  async run(tx, report, reading) {
    let after: RecordPlace = { customerId: -1n, recordType: '', recordId: -1n }
    let looked = 0
    for (;;) {
      reading.goOn()
      const page = await listEntriesOfRecords(tx, tx.account, after, PAGE_SIZE)
      const own = page.filter(({ customerId }) => isRead(reading, customerId))
      await comparePage(tx, await withoutBatched(tx, own, report), report)
      looked += own.length
      if (page.length < PAGE_SIZE) break
      after = behind(reading, page.at(-1)!)
    }
    if (reading.part) looked += await compareSince(tx, reading.part.since, report, reading)
    return looked
  },
}

/** Compares the invoices among the records of some entries that are posted in batches too, with all their entries; returns the entries of the others. */
async function withoutBatched(
  tx: Transaction,
  entries: readonly PostedEntry[],
  report: Report,
): Promise<readonly PostedEntry[]> {
  const invoices = new Map(entries.flatMap((e) => (e.recordType === 'invoice' ? [[e.recordId, e.customerId]] : [])))
  if (invoices.size === 0) return entries
  const batched = new Set((await listBatchedInvoices(tx, tx.account, [...invoices.keys()])).map(({ id }) => id))
  const isBatched = ({ recordType, recordId }: PostedEntry) => recordType === 'invoice' && batched.has(recordId)
  for (const own of byRecord(entries.filter(isBatched))) {
    const { customerId, recordId } = own[0]!
    await comparePage(tx, await listEntriesOfRecord(tx, tx.account, customerId, 'invoice', recordId), report)
  }
  return entries.filter((entry) => !isBatched(entry))
}

/** Returns the place behind which reading goes on: that of the last entry, or the customers whose turn it is next. */
function behind(reading: CheckReading, last: RecordPlace): RecordPlace {
  if (isRead(reading, last.customerId)) return last
  return { customerId: nextRead(reading, last.customerId) + 1n, recordType: '', recordId: -1n }
}

/** No record that stands for entries is without any. */
export const unposted: Check = {
  name: ledgerEntries.name,
  isAtOnce: true,
  async run(tx, report, reading) {
    for (const type of TYPES) await compareUnposted(tx, type, report, reading)
    return 0
  },
}

/** Compares entries with what their records stand for. */
export async function comparePage(tx: Transaction, page: readonly PostedEntry[], report: Report): Promise<void> {
  for (const [type, entries] of groupBy(page, ({ recordType }) => recordType)) {
    const expectedOf = EXPECTED[type]
    // Another check reports types that are not known.
    if (!expectedOf) continue
    const expected = await expectedOf(tx, [...new Set(entries.map(({ recordId }) => recordId))])
    for (const own of byRecord(entries)) compareRecord(own, expected.get(own[0]!.recordId), report)
  }
}

/** Returns entries by customer and record. Those of one mostly stand together, so that few texts are made of them. */
function byRecord(entries: readonly PostedEntry[]): Iterable<PostedEntry[]> {
  const runs: PostedEntry[][] = []
  for (const entry of entries) {
    const run = runs.at(-1)
    if (run && isOfRecord(entry, run[0]!)) run.push(entry)
    else runs.push([entry])
  }
  const found = new Map<string, PostedEntry[]>()
  for (const run of runs) {
    const { customerId, recordType, recordId } = run[0]!
    const key = `${customerId} ${recordType} ${recordId}`
    found.set(key, [...(found.get(key) ?? []), ...run])
  }
  return found.values()
}

const isOfRecord = (entry: PostedEntry, other: PostedEntry): boolean =>
  entry.recordId === other.recordId && entry.customerId === other.customerId && entry.recordType === other.recordType

/**
 * Compares what was posted from an entry on with its records. Entries of one record are read a page at a time, and without older entries: what
 * does not agree so is compared again with all its entries, so that nothing is reported for being read in part.
 */
async function compareSince(tx: Transaction, since: Id, report: Report, reading: CheckReading): Promise<number> {
  let after = since - 1n
  let looked = 0
  for (;;) {
    reading.goOn()
    const page = await listEntriesSince(tx, tx.account, after, PAGE_SIZE)
    const doubtful = new Map<string, PostedEntry>()
    await comparePage(tx, page, ({ customerId, recordType, recordId }) => {
      const one = page.find((entry) => entry.recordType === recordType && entry.recordId === recordId)
      doubtful.set(`${customerId} ${recordType} ${recordId}`, one!)
    })
    for (const { customerId, recordType, recordId } of doubtful.values()) {
      reading.goOn()
      await comparePage(tx, await listEntriesOfRecord(tx, tx.account, customerId, recordType, recordId), report)
    }
    looked += page.length
    if (page.length < PAGE_SIZE) return looked
    after = page.at(-1)!.id
  }
}

const UNPOSTED: Readonly<
  Record<LedgerRecordType, (db: Queryable, account: AccountId, after: Id, limit: number) => Promise<{ id: Id }[]>>
> = {
  invoice: listUnpostedInvoices,
  payment: listUnpostedPayments,
  negative_adjustment: listUnpostedNegatives,
  positive_adjustment: listUnpostedPositives,
  allocation: listUnpostedAllocations,
  settlement: listUnpostedSettlements,
}

const compareUnposted = (tx: Transaction, type: LedgerRecordType, report: Report, reading: CheckReading) =>
  eachPage(
    reading,
    (after, limit) => UNPOSTED[type](tx, tx.account, after, limit),
    async (page) => {
      const expected = await EXPECTED[type](
        tx,
        page.map(({ id }) => id),
      )
      for (const [id, { customerId, currency, postings }] of expected)
        reportDifferences({ type, id, customerId }, [], textsOf(postings, currency), report)
    },
  )

/** Reports whether entries of one record are just those that it stands for, in their order, as those of most records are. */
const isPosted = (entries: readonly PostedEntry[], { customerId, currency, postings }: Expected): boolean =>
  entries[0]!.customerId === customerId &&
  entries.length === postings.length &&
  entries.every((entry, place) => isEntry(entry, postings[place]!, currency))

/** Reports whether an entry is a posting; one that takes another back is compared with all others. */
const isEntry = (entry: PostedEntry, posting: Posting, currency: string | null): boolean =>
  !entry.isReversal &&
  !posting.isReversal &&
  entry.event === posting.event &&
  entry.debit === posting.debit &&
  entry.credit === posting.credit &&
  entry.amountMinor === posting.amountMinor &&
  entry.dated === posting.dated &&
  entry.currency === currency &&
  (entry.taxName ?? null) === (posting.tax?.name ?? null) &&
  entry.taxNumber === (posting.tax?.taxNumber ?? null) &&
  (entry.taxRate === null
    ? posting.tax === null
    : posting.tax !== null && decimalText(entry.taxRate) === decimalText(posting.tax.rate))

/** Compares the entries of one record under one customer with what the record stands for. */
function compareRecord(entries: readonly PostedEntry[], expected: Expected | undefined, report: Report): void {
  if (expected && isPosted(entries, expected)) return
  const { recordType: type, recordId: id, customerId, currency } = entries[0]!
  const left = netOf(entries).map((entry) => textOf(entry, entry.currency))
  const should = expected?.customerId === customerId ? textsOf(expected.postings, expected.currency ?? currency) : []
  reportDifferences({ type, id, customerId }, left, should, report)
}

/**
 * Returns the entries left after each reversal is matched with the newest earlier entry that it reverses; a reversal without a match is
 * left too. Where books were closed meanwhile, an allocation or a pending payment is taken away on a later day than it was made.
 */
export function netOf(entries: readonly PostedEntry[]): PostedEntry[] {
  const left: PostedEntry[] = []
  for (const entry of entries.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const place = entry.isReversal ? takenBackBy(entry, left) : -1
    if (place >= 0) left.splice(place, 1)
    else left.push(entry)
  }
  return left
}

function takenBackBy(reversal: PostedEntry, left: readonly PostedEntry[]): number {
  const key = sideKey(reversal, reversal.credit, reversal.debit)
  const isSame = (entry: PostedEntry) => !entry.isReversal && sideKey(entry, entry.debit, entry.credit) === key
  const exact = left.findLastIndex((entry) => isSame(entry) && entry.dated === reversal.dated)
  if (exact >= 0 || !movesWithLock(reversal)) return exact
  // A share of a tax may itself have been posted late, and be taken back when books are open again.
  const isShare = SHARES.includes(reversal.event)
  return left.findLastIndex((entry) => isSame(entry) && (isShare || entry.dated < reversal.dated))
}

const sideKey = (e: PostedEntry, debit: string, credit: string): string =>
  [e.event, debit, credit, e.currency, e.taxName, e.taxRate && decimalText(e.taxRate), e.taxNumber, e.amountMinor].join(
    '\u001f',
  )

const SHARES: readonly string[] = ['tax_taken_back', 'bad_debt_tax_relieved'] satisfies LedgerEvent[]
