import { amountText } from '../../kernel/currencies.ts'
import { LEDGER_ACCOUNTS } from '../../engine/money/postings.ts'
import { earlier, type IsoDate, later } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Check, Report } from '../../platform/checks/difference.ts'
import { type CheckReading, eachPage } from '../../platform/checks/pages.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listMisplacedBatches } from './checks-queries.ts'
import { BATCHES_AT_ONCE, fromMark, membersOf, shapeIdsOf, shapeReader, type StoredShape } from './group-by-facts.ts'
import { listPostingPacks, type StoredPack } from './group-by-facts-queries.ts'
import {
  hashOfPack,
  hashOfTemplate,
  type InvoiceRange,
  joinedIdentifiers,
  type ListLineIdentifiers,
} from './post-in-bulk.ts'

/** Batches of postings (decision 33): nothing in them was changed, and each of their invoices stands for what is posted of it. */

type Shapes = ReadonlyMap<Id, StoredShape>

/** Goes through the batches of a reading with the shapes of their invoices; returns how many invoices they have. */
async function eachBatch(
  tx: Transaction,
  reading: CheckReading,
  look: (batches: readonly StoredPack[], shapes: Shapes) => Promise<void> | void,
): Promise<number> {
  const shapesOf = shapeReader(tx, tx.account)
  let invoices = 0
  await eachPage(
    await fromMark(tx, reading),
    (after, limit) => listPostingPacks(tx, tx.account, after, limit),
    async (batches) => {
      await look(batches, await shapesOf(shapeIdsOf(batches)))
      for (const { customerIds } of batches) invoices += customerIds.split(',').length
    },
    BATCHES_AT_ONCE,
  )
  return invoices
}

const NAME = 'ledger batches'

/** Makes the check of batches and shapes, which are what they were when they were posted: they come to their hashes. */
export const batchHashes = (listIdentifiers: ListLineIdentifiers): Check => ({
  name: NAME,
  isOfSeals: true,
  async run(tx, report, reading) {
    const checked = new Map<Id, string>()
    return eachBatch(tx, reading, async (batches, shapes) => {
      const found = await listIdentifiers(tx, tx.account, batches.map(rangeOf))
      const identifiers = new Map(
        found.map(({ batchId, charges, taxes }) => [batchId, joinedIdentifiers(charges, taxes)]),
      )
      for (const batch of batches)
        checkBatch({ batch, identifiers: identifiers.get(batch.id) ?? '' }, shapes, checked, report)
    })
  },
})

const rangeOf = ({ id, firstInvoiceId, customerIds }: StoredPack): InvoiceRange => ({
  batchId: id,
  firstInvoiceId,
  count: customerIds.split(',').length,
})

function checkBatch({ batch, identifiers }: ReadBatch, shapes: Shapes, checked: Map<Id, string>, report: Report): void {
  const about = { recordType: 'ledger_batch', recordId: batch.id } as const
  const members = membersOf(batch)
  const days: IsoDate[] = []
  let entries = 0
  for (const { shapeId } of members) {
    const shape = shapes.get(shapeId)
    if (!checked.has(shapeId)) checked.set(shapeId, checkShape(shapeId, shape, about, report))
    entries += shape?.entries.length ?? 0
    for (const { dated } of shape?.entries ?? []) days.push(dated)
  }
  if (entries !== batch.entries)
    report({ ...about, what: 'number of entries', stored: String(batch.entries), expected: String(entries) })
  if (days.length > 0) checkDays(batch, { from: days.reduce(earlier), to: days.reduce(later) }, about, report)
  const longest = Math.max(...members.map(({ shapeId }) => shapes.get(shapeId)?.entries.length ?? 0))
  if (longest > batch.stride)
    report({ ...about, what: 'stride', stored: String(batch.stride), expected: `${longest} or more` })
  const hashed = members.map(({ customerId, shapeId }) => ({ customerId, shapeHash: checked.get(shapeId)! }))
  const should = hashOfPack(batchFacts(batch), hashed, identifiers)
  // Older batches do not cover identifiers of lines.
  if (should !== batch.hash && hashOfPack(batchFacts(batch), hashed, '') !== batch.hash)
    report({ ...about, what: 'hash', stored: shortOf(batch.hash), expected: shortOf(should) })
}

/** A batch with the identifiers that lines and taxes of its invoices have, as its hash covers them. */
interface ReadBatch {
  batch: StoredPack
  identifiers: string
}

type About = { recordType: 'ledger_batch'; recordId: Id }

/** Compares the days by which a batch is found with those of its entries. */
function checkDays(
  batch: StoredPack,
  { from, to }: { from: IsoDate; to: IsoDate },
  about: About,
  report: Report,
): void {
  if (batch.from === from && batch.to === to) return
  report({ ...about, what: 'days', stored: `${batch.from} to ${batch.to}`, expected: `${from} to ${to}` })
}

const batchFacts = ({ id, firstInvoiceId, stride, postedAt }: StoredPack) => ({
  firstEntryId: id,
  firstInvoiceId,
  stride,
  postedAt,
})

/** Reports what is wrong with a shape; returns the hash that its entries come to. */
function checkShape(id: Id, shape: StoredShape | undefined, about: About, report: Report): string {
  const what = `shape ${id}`
  if (!shape) {
    report({ ...about, what, stored: 'nothing', expected: 'some entries' })
    return ''
  }
  // Identifiers of entries follow from it.
  for (const [place, { line }] of shape.entries.entries())
    if (line !== place) report({ ...about, what: `line of ${what}`, stored: String(line), expected: String(place) })
  const hash = hashOfTemplate(shape.entries)
  if (hash !== shape.hash)
    report({
      ...about,
      what: `hash of ${what}`,
      stored: shape.hash ? shortOf(shape.hash) : 'none',
      expected: shortOf(hash),
    })
  for (const { debit, credit, amountMinor, currency } of shape.entries)
    if (amountMinor <= 0n || debit === credit || ![debit, credit].every(isAccount))
      report({
        ...about,
        what: `entry of ${what}`,
        stored: `${debit} → ${credit} ${amountText(amountMinor, currency)}`,
        expected: 'an amount above 0 from one account to another',
      })
  return hash
}

const isAccount = (word: string): boolean => (LEDGER_ACCOUNTS as readonly string[]).includes(word)

/** Returns enough of a hash for a person to see that it is another. */
const shortOf = (hash: string): string => hash.slice(0, 16)

/** No identifier of an entry or invoice is in two batches, and none of an entry is in a batch and stands on its own. */
export const batchPlaces: Check = {
  name: NAME,
  isOfSeals: true,
  isAtOnce: true,
  async run(tx, report) {
    const rows = await listMisplacedBatches(tx, tx.account)
    for (const { id, what, twice } of rows)
      report({
        recordType: 'ledger_batch',
        recordId: id,
        what: what === 'invoices' ? `invoice ${twice}` : `entry ${twice}`,
        stored: what === 'rows' ? 'in it and by itself' : 'in it and in another',
        expected: 'in one place',
      })
    return rows.length
  },
}
