import type { GoOn } from '../../platform/duty.ts'
import { createHash, type Hash } from 'node:crypto'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { hashedTextOf } from '../ledger/post.ts'
import { listNewestSeals } from '../ledger/seal-queries.ts'
import { foldSeal } from '../ledger/seal.ts'
import type { Check, Report } from './difference.ts'
import { type ChainedEntry, type ChainHead, listChainPage, listHeadPage } from './chain-queries.ts'
import { PAGE_SIZE } from './pages.ts'

/**
 * The hash chains. Rule: the entries of a customer and currency make links 1, 2, 3 … and, hashed one onto the other, come to the head that
 * its totals keep; where the newest seal was made they came to the sealed head; and the newest seal is what all sealed heads come to.
 */
export const ledgerChain: Check = {
  name: 'ledger chain',
  async run(tx, report, goOn) {
    const heads = headsByCustomer(tx, goOn)
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
    for await (const page of pagesOfEntries(tx, goOn)) {
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
    await checkSeal(tx, report)
    return looked
  },
}

async function* pagesOfEntries(tx: Transaction, goOn: GoOn): AsyncGenerator<ChainedEntry[]> {
  let after = { customerId: -1n, id: -1n }
  for (;;) {
    goOn()
    const page = await listChainPage(tx, tx.account, after, PAGE_SIZE)
    if (page.length > 0) yield page
    if (page.length < PAGE_SIZE) return
    after = page.at(-1)!
  }
}

async function* headsByCustomer(tx: Transaction, goOn: GoOn): AsyncGenerator<ChainHead[]> {
  let after: CustomerId = -1n
  for (;;) {
    goOn()
    const page = await listHeadPage(tx, tx.account, after, PAGE_SIZE)
    let group: ChainHead[] = []
    for (const head of page) {
      if (group[0] && group[0].customerId !== head.customerId) {
        yield group
        group = []
      }
      group.push(head)
    }
    if (group.length > 0) yield group
    if (page.length < PAGE_SIZE) return
    after = page.at(-1)!.customerId
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
  const [newest, before] = await listNewestSeals(tx, tx.account, 2)
  const should = await foldSeal(tx, tx.account, before?.seal ?? Buffer.alloc(0))
  if (!newest && should.heads === 0n) return
  const about = { customerId: null, recordType: 'ledger_seal', recordId: newest?.id ?? 0n } as const
  if (!newest) report({ ...about, what: 'newest seal', stored: 'none', expected: `one of ${should.heads} chains` })
  else if (!newest.seal.equals(should.seal) || newest.heads !== should.heads)
    report({
      ...about,
      what: 'newest seal',
      stored: `${shortOf(newest.seal)} of ${newest.heads} chains`,
      expected: `${shortOf(should.seal)} of ${should.heads}`,
    })
}
