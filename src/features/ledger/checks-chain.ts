import { createHash, type Hash } from 'node:crypto'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { hashedTextOf } from './post.ts'
import { foldSeal } from './seal.ts'
import type { Check, Report } from '../../platform/checks/difference.ts'
import { groupBy } from '../../kernel/grouping.ts'
import {
  type ChainedEntry,
  type ChainHead,
  type EntryPlace,
  findSealOfEvents,
  listChainPage,
  listEntriesBehindSeal,
  listHeadPage,
  listMovedHeadPage,
  listSeals,
} from './checks-queries.ts'
import { isRead, nextRead, PAGE_SIZE, type Part, type CheckReading } from '../../platform/checks/pages.ts'

/**
 * The hash chains. Rule: the entries of a customer and currency make links 1, 2, 3 … and, hashed one onto the other, come to the head that
 * its totals keep; where the newest seal was made they came to the sealed head; and the newest seal is what all sealed heads come to.
 */
export const ledgerChain: Check = {
  name: 'ledger chain',
  isOfSeals: true,
  async run(tx, report, reading) {
    let looked = await walkChains(tx, report, reading)
    if (reading.part) looked += await walkFromSeal(tx, reading.part, report, reading)
    await checkSeal(tx, report)
    return looked
  },
}

/** Chains to walk: all of a reading, or those of one customer. */
type Walked = CheckReading & { only?: CustomerId }

/** Walks chains from their first link to their head; returns the number of entries. */
async function walkChains(tx: Transaction, report: Report, reading: Walked): Promise<number> {
  const heads = headsByCustomer(tx, reading)
  let next = await heads.next()
  let looked = 0
  // Heads of customers before another one have no entries that were not seen.
  const passTo = async (customerId: CustomerId | null): Promise<ChainHead[]> => {
    while (!next.done && (customerId === null || next.value[0]!.customerId < customerId)) {
      compareHeads(new Map(), next.value, report)
      next = await heads.next()
    }
    if (next.done || next.value[0]!.customerId !== customerId) return []
    const own = next.value
    next = await heads.next()
    return own
  }
  let walks = new Map<string, Walk>()
  let own: ChainHead[] = []
  let customerId: CustomerId | null = null
  for await (const page of pagesOfEntries(tx, reading)) {
    for (const entry of page) {
      if (entry.customerId !== customerId) {
        compareHeads(walks, own, report)
        customerId = entry.customerId
        walks = new Map()
        own = await passTo(customerId)
      }
      follow(walks, own, entry, report)
    }
    looked += page.length
  }
  compareHeads(walks, own, report)
  await passTo(null)
  return looked
}

/**
 * Walks what was posted since the newest seal onto the sealed heads, of the customers whose turn it is not. A chain that does not come to its head so
 * (a seal passed it by, or something differs) is walked whole.
 */
async function walkFromSeal(tx: Transaction, { since }: Part, report: Report, reading: CheckReading): Promise<number> {
  let after: CustomerId = -1n
  let looked = 0
  for (;;) {
    reading.goOn()
    const page = await listMovedHeadPage(tx, tx.account, after, PAGE_SIZE)
    const last = page.at(-1)
    if (!last) return looked
    const heads = page.filter(({ customerId }) => !isRead(reading, customerId))
    const entries = await listEntriesBehindSeal(
      tx,
      tx.account,
      [...new Set(heads.map((head) => head.customerId))],
      since,
    )
    const byChain = groupBy(entries, ({ customerId, currency }) => `${customerId} ${currency}`)
    const doubtful = heads.filter((head) => !leadsTo(head, byChain.get(`${head.customerId} ${head.currency}`) ?? []))
    for (const only of new Set(doubtful.map(({ customerId }) => customerId)))
      looked += await walkChains(tx, report, { ...reading, part: undefined, only })
    looked += entries.length
    if (page.length < PAGE_SIZE) return looked
    after = last.customerId
  }
}

/** Reports whether entries, hashed onto the sealed head of their chain, come to its head. */
function leadsTo({ links, head, sealedLinks, sealedHead }: ChainHead, entries: readonly ChainedEntry[]): boolean {
  let [at, link] = [sealedHead, sealedLinks]
  for (const [number, own] of groupBy(entries, (entry) => entry.link)) {
    const { postedAt } = own[0]!
    if (number !== link + 1 || own.some((entry) => entry.postedAt !== postedAt)) return false
    link = number
    at = createHash('sha256')
      .update(at)
      .update([postedAt, ...own.map(hashedTextOf)].join('\n'))
      .digest()
  }
  return link === links && at.equals(head)
}

async function* pagesOfEntries(tx: Transaction, reading: Walked): AsyncGenerator<ChainedEntry[]> {
  let after: EntryPlace = { customerId: reading.only ?? -1n, id: -1n }
  for (;;) {
    reading.goOn()
    const page = await listChainPage(tx, tx.account, after, PAGE_SIZE)
    const own = page.filter(({ customerId }) => isWalked(reading, customerId))
    if (own.length > 0) yield own
    const last = page.at(-1)
    if (!last || page.length < PAGE_SIZE || isPast(reading, last.customerId)) return
    after = isWalked(reading, last.customerId) ? last : { customerId: nextRead(reading, last.customerId) + 1n, id: -1n }
  }
}

const isWalked = (reading: Walked, customerId: CustomerId): boolean =>
  reading.only === undefined ? isRead(reading, customerId) : customerId === reading.only

const isPast = ({ only }: Walked, customerId: CustomerId): boolean => only !== undefined && customerId > only

async function* headsByCustomer(tx: Transaction, reading: Walked): AsyncGenerator<ChainHead[]> {
  let after: CustomerId = reading.only === undefined ? -1n : reading.only - 1n
  for (;;) {
    reading.goOn()
    const page = await listHeadPage(tx, tx.account, after, PAGE_SIZE)
    const own = page.filter(({ customerId }) => isWalked(reading, customerId))
    yield* groupBy(own, ({ customerId }) => customerId).values()
    const last = page.at(-1)
    if (!last || page.length < PAGE_SIZE || isPast(reading, last.customerId)) return
    after = reading.only === undefined ? nextRead(reading, last.customerId) : last.customerId
  }
}

/** How far the chain of one currency was walked. */
interface Walk {
  customerId: CustomerId
  link: number
  postedAt: string
  /** The link that is being walked; its digest is the head after it. */
  open: Hash
  /** The hash recomputed for the link of the newest seal; null until the walk reaches that link. */
  atSeal: Buffer | null
}

function follow(walks: Map<string, Walk>, heads: readonly ChainHead[], entry: ChainedEntry, report: Report): void {
  const { customerId, currency, link, postedAt } = entry
  const text = (what: string, stored: string, expected: string) =>
    report({ customerId, recordType: 'ledger_entry', recordId: entry.id, what, stored, expected })
  const walk = walks.get(currency)
  if (walk?.link === link) {
    if (postedAt !== walk.postedAt) text('instant of posting', postedAt, `${walk.postedAt}, that of its link`)
    walk.open.update(`\n${hashedTextOf(entry)}`)
    return
  }
  const expected = (walk?.link ?? 0) + 1
  if (link !== expected) text(`link in ${currency}`, String(link), String(expected))
  const head = walk?.open.digest() ?? Buffer.alloc(0)
  const sealed = heads.find((one) => one.currency === currency)
  const isSealedHere = walk !== undefined && sealed?.sealedLinks === walk.link
  walks.set(currency, {
    customerId,
    link,
    postedAt,
    open: createHash('sha256')
      .update(head)
      .update(`${postedAt}\n${hashedTextOf(entry)}`),
    atSeal: isSealedHere ? head : (walk?.atSeal ?? null),
  })
}

/** Compares the ends of one customer's chains with the heads that its totals store. */
function compareHeads(walks: ReadonlyMap<string, Walk>, heads: readonly ChainHead[], report: Report): void {
  for (const currency of new Set([...walks.keys(), ...heads.map((head) => head.currency)])) {
    const walk = walks.get(currency)
    const head = heads.find((one) => one.currency === currency)
    const customerId = head?.customerId ?? walk!.customerId
    const text = (what: string, stored: string, expected: string) =>
      report({ customerId, recordType: 'customer', recordId: customerId, what, stored, expected })
    const last = walk?.link ?? 0
    const end = walk?.open.digest() ?? Buffer.alloc(0)
    if (!head) {
      text(`head of the chain in ${currency}`, 'none', shortOf(end))
      continue
    }
    if (head.links !== last) text(`last link of the ledger in ${currency}`, String(last), String(head.links))
    else if (!head.head.equals(end)) text(`hash of the ledger in ${currency}`, shortOf(end), shortOf(head.head))
    compareSealed(head, last, head.sealedLinks === last ? end : (walk?.atSeal ?? null), text)
  }
}

function compareSealed(
  { currency, sealedLinks, sealedHead }: ChainHead,
  last: number,
  atSeal: Buffer | null,
  text: (what: string, stored: string, expected: string) => void,
): void {
  if (sealedLinks === 0) return
  if (last < sealedLinks)
    text(`last link of the ledger in ${currency}`, String(last), `${sealedLinks} or more, for so many are sealed`)
  else if (!atSeal?.equals(sealedHead))
    text(`sealed hash of the ledger in ${currency}`, atSeal ? shortOf(atSeal) : 'nothing', shortOf(sealedHead))
}

/** Returns enough of a hash for a person to see that it is another. */
const shortOf = (hash: Buffer): string => (hash.length === 0 ? 'nothing' : hash.toString('hex').slice(0, 16))

async function checkSeal(tx: Transaction, report: Report): Promise<void> {
  const [newest, before] = await listSeals(tx, tx.account, 2)
  const should = await foldSeal(tx, tx.account, before?.seal ?? Buffer.alloc(0), {
    batchesBelow: newest?.batchesBelow ?? 0n,
    eventSeal: newest?.eventSealId == null ? null : await findSealOfEvents(tx, tx.account, newest.eventSealId),
  })
  if (!newest && should.heads === 0n) return
  const about = { recordType: 'ledger_seal', recordId: newest?.id ?? 0n } as const
  if (!newest) report({ ...about, what: 'newest seal', stored: 'none', expected: `one of ${should.heads} chains` })
  else if (!newest.seal.equals(should.seal) || newest.heads !== should.heads || newest.batches !== should.batches)
    report({
      ...about,
      what: 'newest seal',
      stored: `${shortOf(newest.seal)} of ${newest.heads} chains and ${newest.batches} batches`,
      expected: `${shortOf(should.seal)} of ${should.heads} and ${should.batches}`,
    })
}
