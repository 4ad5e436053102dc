import { createHash } from 'node:crypto'
import type { Posting } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import { earlier, type Instant, type IsoDate, later } from '../../kernel/calendar.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { IdRange } from '../../platform/database/draw-ids.ts'
import {
  drawEntryIds,
  insertReceivables,
  keepEntries,
  type NewPostingBatch,
  raiseReceivables,
  sendBatches,
  type TemplateEntries,
  type TemplateEntry,
} from './batch-queries.ts'
import { LEDGER } from './packed.ts'
import type { HasUnapplied } from './post.ts'

/**
 * Posting invoices that are issued together by their shapes (decision 33): what a shape posts is kept once, and a batch of invoices refers to it. Customers are
 * locked by the caller.
 */

/** Postings of each invoice of a shape, of which the record is the invoice. */
export interface TemplatePostings {
  currency: string
  postings: readonly Posting[]
}

/** Invoices in the order of their identifiers; each is of a customer who has no other of them. */
export interface PostedInvoices {
  ids: readonly InvoiceId[]
  customerIds: readonly CustomerId[]
  /** The place of the shape of each, counted from 0. */
  shapeOf: readonly number[]
  lines: LineIdentifiers
}

/** Entries that invoices of a shape post, with what follows from them. */
export interface PostingTemplate extends TemplateEntries {
  currency: string
  receivableMinor: bigint
  /** First and last day of its entries. */
  from: IsoDate
  to: IsoDate
}

/** Posts invoices by their shapes. Returns which of their customers have unallocated money of the currency now. */
export async function postInBulk(
  tx: Transaction,
  shapes: readonly PostingTemplate[],
  posted: PostedInvoices,
  postedAt: Instant,
): Promise<HasUnapplied[]> {
  const found = await keepEntries(
    tx,
    shapes.filter(({ id }) => id === null),
  )
  const idsOfShapes = shapes.map((shape) => shape.id ?? found.get(shape)!)
  const stride = Math.max(...shapes.map(({ entries }) => entries.length))
  const { ids, customerIds, shapeOf } = posted
  const firsts = await drawFirsts(tx, ids.length, stride)
  const batches = packsOf(firsts, stride, postedAt, posted, shapes)
  const shapeIds = shapeOf.map((place) => idsOfShapes[place]!)
  sendBatches(tx, batches, { stride, postedAt, customerIds, shapeIds })
  return raiseAll(tx, shapes, posted)
}

/** Raises what the customers of invoices owe, currency by currency. Returns which of them have unallocated money of it. */
async function raiseAll(
  tx: Transaction,
  shapes: readonly PostingTemplate[],
  { customerIds, shapeOf }: PostedInvoices,
): Promise<HasUnapplied[]> {
  const owed = new Map<string, { customerIds: CustomerId[]; amountsMinor: bigint[] }>()
  for (let index = 0; index < shapeOf.length; index += 1) {
    const { currency, receivableMinor } = shapes[shapeOf[index]!]!
    let ofCurrency = owed.get(currency)
    if (!ofCurrency) owed.set(currency, (ofCurrency = { customerIds: [], amountsMinor: [] }))
    ofCurrency.customerIds.push(customerIds[index]!)
    ofCurrency.amountsMinor.push(receivableMinor)
  }
  const found: HasUnapplied[] = []
  for (const [currency, of] of owed) {
    const { count, unapplied } = await raiseReceivables(tx, { currency, ...of })
    const missing = of.customerIds.length - count
    // Nearly always all have a row, and nobody looks for those who have none yet.
    const written = missing === 0 ? 0 : await insertReceivables(tx, { currency, ...of })
    assert(written === missing, 'each customer is raised once')
    for (const customerId of unapplied) found.push({ customerId, currency })
  }
  return found
}

/** Returns what a shape posts, not kept yet. */
export function postingTemplate({ currency, postings }: TemplatePostings): PostingTemplate {
  let receivableMinor = 0n
  const entries = postings.map(({ event, isReversal, debit, credit, tax, amountMinor, dated }, line): TemplateEntry => {
    assert(
      event === 'invoice_issued' && !isReversal && debit === 'receivable',
      'a shape posts what its invoices are issued for',
    )
    receivableMinor += amountMinor
    return {
      line,
      currency,
      debit,
      credit,
      taxName: tax?.name ?? null,
      taxRate: tax === null ? null : decimalText(tax.rate),
      taxNumber: tax?.taxNumber ?? null,
      amountMinor,
      dated,
    }
  })
  const days = entries.map(({ dated }) => dated)
  return {
    id: null,
    entries,
    hash: hashOfTemplate(entries),
    currency,
    receivableMinor,
    from: days.reduce(earlier),
    to: days.reduce(later),
  }
}

/** Returns the hash of a shape in hexadecimal: of a line for each of its entries. All of it stands in the rows, so that anybody can hash it again. */
export const hashOfTemplate = (entries: readonly TemplateEntry[]): string =>
  createHash('sha256').update(entries.map(textOfTemplateEntry).join('\n')).digest('hex')

const textOfTemplateEntry = (e: TemplateEntry): string =>
  [e.currency, e.debit, e.credit, e.taxName ?? '', e.taxRate ?? '', e.taxNumber ?? '', e.amountMinor, e.dated].join(
    '\u001f',
  )

/** How often identifiers are drawn again where others drew between them, so that an invoice would not have its own one after the other. */
const DRAWS_MAX = 20

/**
 * Draws identifiers for the entries of invoices, in rising order: each invoice has `stride` that follow each other. Returns the first of each range, and for
 * how many invoices it has room. Those between are given to nobody.
 */
async function drawFirsts(tx: Transaction, invoices: number, stride: number): Promise<IdRange[]> {
  const found: IdRange[] = []
  let left = invoices
  for (let draws = 0; left > 0; draws += 1) {
    assert(draws < DRAWS_MAX, 'identifiers of entries follow each other now and then')
    for (const drawn of await drawEntryIds(tx, left * stride)) {
      const count = Math.min(left, Math.floor(drawn.count / stride))
      if (count > 0) found.push({ first: drawn.first, count })
      left -= count
    }
  }
  return found
}

/** Parts invoices into batches: each ends where identifiers of entries or invoices do not follow each other, and when it is full. */
function packsOf(
  firsts: readonly IdRange[],
  stride: number,
  postedAt: Instant,
  posted: PostedInvoices,
  shapes: readonly PostingTemplate[],
): NewPostingBatch[] {
  const { ids } = posted
  const most = Math.min(LEDGER.maxMembers, Math.floor(LEDGER.maxIds / stride))
  assert(most > 0, 'an invoice fits into a batch')
  const batches: NewPostingBatch[] = []
  let place = 0
  for (const { first, count } of firsts) {
    const end = place + count
    const begin = place
    while (place < end) {
      const low = place
      place += 1
      while (place < end && place - low < most && ids[place] === ids[place - 1]! + 1n) place += 1
      const firstEntryId = first + BigInt((low - begin) * stride)
      const { members, ...about } = membersOf(low, place, posted, shapes)
      batches.push({
        firstEntryId,
        firstInvoiceId: ids[low]!,
        low: low + 1,
        high: place,
        ...about,
        hash: hashOfPack(
          { firstEntryId, firstInvoiceId: ids[low]!, stride, postedAt },
          members,
          identifiersOf(posted, low, place),
        ),
      })
    }
  }
  return batches
}

/** Returns the members of a batch, and what follows from their shapes. */
function membersOf(
  low: number,
  end: number,
  { customerIds, shapeOf }: PostedInvoices,
  shapes: readonly PostingTemplate[],
): Pick<NewPostingBatch, 'isAlike' | 'entries' | 'from' | 'to'> & {
  members: { customerId: CustomerId; shapeHash: string }[]
} {
  const first = shapes[shapeOf[low]!]!
  let { from, to } = first
  let [entries, isAlike] = [0, true]
  const members = []
  for (let place = low; place < end; place += 1) {
    const shape = shapes[shapeOf[place]!]!
    members.push({ customerId: customerIds[place]!, shapeHash: shape.hash })
    entries += shape.entries.length
    isAlike &&= shape.hash === first.hash
    from = earlier(from, shape.from)
    to = later(to, shape.to)
  }
  return { members, entries, isAlike, from, to }
}

/** Returns the text of the identifiers that lines and taxes of the invoices of a batch were given. */
function identifiersOf({ shapeOf, lines }: PostedInvoices, low: number, end: number): string {
  const { counts, firstChargeIds, firstTaxIds } = lines
  const textOf = (firsts: readonly (Id | null)[], count: readonly number[]) =>
    textOfIdentifiers(firsts.slice(low, end), (place) => count[shapeOf[low + place]!]!)
  return joinedIdentifiers(textOf(firstChargeIds, counts.charges), textOf(firstTaxIds, counts.taxes))
}

/**
 * Returns the hash of a batch in hexadecimal: of a line with the identifier of its first entry, the stride and the instant of posting, one for each invoice
 * with its customer and the hash of its shape, and the identifiers of their lines and taxes, which older batches do not cover: their text is empty.
 */
export function hashOfPack(
  {
    firstEntryId,
    firstInvoiceId,
    stride,
    postedAt,
  }: { firstEntryId: Id; firstInvoiceId: InvoiceId; stride: number; postedAt: Instant },
  members: readonly { customerId: CustomerId; shapeHash: string }[],
  identifiers: string,
): string {
  let text = `${firstEntryId}\u001f${stride}\u001f${postedAt}`
  let invoiceId = firstInvoiceId
  for (const { customerId, shapeHash } of members) {
    text += `\n${invoiceId}\u001f${customerId}\u001f${shapeHash}`
    invoiceId += 1n
  }
  return createHash('sha256')
    .update(text + identifiers)
    .digest('hex')
}

/** Identifiers that lines and taxes of invoices were given when these were issued together, as the hash of their batch covers them. */
export interface LineIdentifiers {
  /** How many lines and taxes an invoice has, by the place of its shape. */
  counts: { charges: readonly number[]; taxes: readonly number[] }
  /** Of each invoice; null where it has none. */
  firstChargeIds: (Id | null)[]
  firstTaxIds: (Id | null)[]
}

/**
 * Returns the text of identifiers that invoices of a batch were given: a line for each invoice whose first one does not follow the last one before it, with its
 * place, counted from 0. Identifiers of a batch mostly follow each other, so that there is one line.
 */
function textOfIdentifiers(firsts: readonly (Id | null)[], countAt: (place: number) => number): string {
  let text = ''
  let next: Id | undefined
  // By number: an iterator makes two objects for each.
  for (let place = 0; place < firsts.length; place += 1) {
    const first = firsts[place]
    if (first == null) continue
    if (first !== next) text += `\n${place}\u001f${first}`
    next = first + BigInt(countAt(place))
  }
  return text
}

/** Returns the texts of identifiers of lines and of taxes as the hash of a batch covers them. */
export const joinedIdentifiers = (charges: string, taxes: string): string => `\n${charges}\n${taxes}`

/** Invoices that follow each other, posted in one batch. */
export interface InvoiceRange {
  /** Identifier of the first entry of the batch. */
  batchId: Id
  firstInvoiceId: InvoiceId
  count: number
}

/** Lists the identifiers that lines and taxes of the invoices of batches have, as the texts that `joinedIdentifiers` takes. */
export type ListLineIdentifiers = (
  db: Queryable,
  account: AccountId,
  ranges: readonly InvoiceRange[],
) => Promise<{ batchId: Id; charges: string; taxes: string }[]>
