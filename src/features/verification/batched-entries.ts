import type { Posting } from '../../engine/money/postings.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { TemplateEntry } from '../ledger/batch-queries.ts'
import { fromMark, type Member, membersOf, shapeReader, type StoredShape } from '../ledger/group-by-facts.ts'
import {
  type BatchedAlike,
  findBatches,
  listBatchedAlike,
  listEntriesOfRecord,
  listPostingPacks,
} from '../ledger/group-by-facts-queries.ts'
import type { Check, Report } from '../../platform/checks/difference.ts'
import { comparePage } from './entries.ts'
import { EXPECTED, type Expected } from './expected-postings.ts'
import { eachSpan, PAGE_SIZE } from '../../platform/checks/pages.ts'
import type { Span } from '../../platform/checks/pages-queries.ts'

/** Entries of invoices in batches (decision 33): what each stands for is what its shape posts. Invoices that are alike in all that they post are compared once. */

/** Batches that are read at once, which have some thousand invoices. */
const BATCHES_AT_ONCE = 64

/** So many kinds of invoices are remembered. */
const REMEMBERED_MAX = 100_000

type ReadShapes = ReturnType<typeof shapeReader>

/** Entries of each invoice of a batch, with all others of it, are what the posting rules make of the invoice. */
export const batchedEntries: Check = {
  // Another name than that of the entries that stand on their own: how far each was verified is kept under it.
  name: 'entries of batches',
  async run(tx, report, reading) {
    const shapesOf = shapeReader(tx, tx.account)
    const known = new Set<string>()
    return eachSpan(
      await fromMark(tx, reading),
      (after, limit) => findBatches(tx, tx.account, after, limit),
      async (span) => {
        if (known.size >= REMEMBERED_MAX) known.clear()
        const found = await listBatchedAlike(tx, tx.account, span)
        const unknown = found.filter((group) => group.customerId === null && !known.has(keyOf(group)))
        if (await arePosted(tx, unknown, shapesOf)) {
          for (const group of unknown) known.add(keyOf(group))
          await compareMembers(tx, found.flatMap(memberOf), shapesOf, report)
        } else await compareMembers(tx, await listMembers(tx, span), shapesOf, report)
        return found.reduce((sum, { count }) => sum + count, 0)
      },
      BATCHES_AT_ONCE,
    )
  },
}

const keyOf = ({ postingShapeId, shapeId, currency, dated, totalMinor }: BatchedAlike): string =>
  `${postingShapeId} ${shapeId} ${currency} ${dated} ${totalMinor}`

/** Returns the invoice of a group that is like no other. */
const memberOf = ({ firstId, customerId, postingShapeId }: BatchedAlike): Member[] =>
  customerId === null ? [] : [{ invoiceId: firstId, customerId, shapeId: postingShapeId }]

/** Reports whether the first invoice of each group, as the others are like it, stands for just what its shape posts. */
async function arePosted(tx: Transaction, groups: readonly BatchedAlike[], shapesOf: ReadShapes): Promise<boolean> {
  if (groups.length === 0) return true
  const shapes = await shapesOf(groups.map(({ postingShapeId }) => postingShapeId))
  const expected = await EXPECTED.invoice(
    tx,
    groups.map(({ firstId }) => firstId),
  )
  // That their customers are those of the batch is what made them alike.
  return groups.every(({ firstId, postingShapeId }) =>
    isPosted(expected.get(firstId), entriesOf(shapes.get(postingShapeId))),
  )
}

const entriesOf = (shape: StoredShape | undefined): readonly TemplateEntry[] => shape?.entries ?? []

/** Lists the invoices of the batches whose first entries a span has. */
async function listMembers(tx: Transaction, { after, upTo }: Span): Promise<Member[]> {
  const batches = await listPostingPacks(tx, tx.account, after, BATCHES_AT_ONCE)
  return batches.filter(({ id }) => id <= upTo).flatMap(membersOf)
}

/** Compares invoices of batches with their entries, one by one. */
async function compareMembers(
  tx: Transaction,
  members: readonly Member[],
  shapesOf: ReadShapes,
  report: Report,
): Promise<void> {
  for (let from = 0; from < members.length; from += PAGE_SIZE) {
    const page = members.slice(from, from + PAGE_SIZE)
    const shapes = await shapesOf(page.map(({ shapeId }) => shapeId))
    const expected = await EXPECTED.invoice(
      tx,
      page.map(({ invoiceId }) => invoiceId),
    )
    for (const member of page) {
      const shape = entriesOf(shapes.get(member.shapeId))
      const own = expected.get(member.invoiceId)
      if (own?.customerId === member.customerId && isPosted(own, shape)) continue
      await compareMember(tx, member, shape.length, report)
    }
  }
}

/** Reports whether an invoice stands for just what its shape posts. */
const isPosted = (expected: Expected | undefined, shape: readonly TemplateEntry[]): boolean =>
  expected !== undefined &&
  expected.postings.length === shape.length &&
  expected.postings.every((posting, line) => isEntry(posting, expected.currency, shape[line]!))

const isEntry = (posting: Posting, currency: string | null, entry: TemplateEntry): boolean =>
  posting.event === 'invoice_issued' &&
  !posting.isReversal &&
  posting.debit === entry.debit &&
  posting.credit === entry.credit &&
  posting.amountMinor === entry.amountMinor &&
  posting.dated === entry.dated &&
  currency === entry.currency &&
  (posting.tax === null
    ? entry.taxName === null
    : posting.tax.name === entry.taxName &&
      decimalText(posting.tax.rate) === entry.taxRate &&
      posting.tax.taxNumber === entry.taxNumber)

/** Compares an invoice with all its entries, except for one that has entries of its own besides: it is compared with these. */
async function compareMember(tx: Transaction, member: Member, entries: number, report: Report): Promise<void> {
  const all = await listEntriesOfRecord(tx, tx.account, member.customerId, 'invoice', member.invoiceId)
  if (all.length === 0) reportStrange(member, report)
  else if (all.length <= entries) await comparePage(tx, all, report)
}

/** Reports an invoice of a batch that is not that customer's, or is not there. */
const reportStrange = ({ customerId, invoiceId }: Member, report: Report) =>
  report({
    customerId,
    recordType: 'invoice',
    recordId: invoiceId,
    what: 'entry invoice_issued',
    stored: 'some in a batch',
    expected: 'nothing, because the invoice is not that customer’s',
  })
