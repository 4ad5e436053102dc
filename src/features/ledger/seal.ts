import { createHash, type Hash } from 'node:crypto'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import {
  insertSeal,
  listBatchHashes,
  listNewestSeals,
  listSealedHeads,
  type SealedHead,
  sealHeads,
} from './seal-queries.ts'

/**
 * Nightly seal of an account's ledger. A chain on its own does not show that its newest entries were cut off together with its head, nor a batch that it was
 * taken away; a seal remembers how far each chain was and which batches there were, and every seal is hashed onto the one before it.
 */

export interface SealedLedger {
  /** Chains that are in it. */
  heads: bigint
  /** Batches of postings that are in it. */
  batches: bigint
  seal: Buffer
}

/** Heads or batches read at once. */
const PAGE_SIZE = 5000

/**
 * Hashes the seal before it, every sealed head, a line each of customer, currency, links and head in hexadecimal, and every batch of postings below an
 * identifier, a line each of that of its first entry and its hash; and the newest seal of events, where there is one.
 */
export async function foldSeal(
  db: Queryable,
  account: AccountId,
  before: Buffer,
  { batchesBelow, eventSeal }: { batchesBelow: Id; eventSeal: Buffer | null },
): Promise<SealedLedger> {
  const hash = createHash('sha256').update(before)
  const heads = await foldHeads(db, account, hash)
  const batches = await foldBatches(db, account, batchesBelow, hash)
  if (eventSeal) hash.update(`events\u001f${eventSeal.toString('hex')}\n`)
  return { heads, batches, seal: hash.digest() }
}

async function foldHeads(db: Queryable, account: AccountId, hash: Hash): Promise<bigint> {
  let heads = 0n
  let after: Pick<SealedHead, 'customerId' | 'currency'> = { customerId: -1n, currency: '' }
  for (;;) {
    const page = await listSealedHeads(db, account, after, PAGE_SIZE)
    for (const { customerId, currency, sealedLinks, sealedHead } of page)
      hash.update(`${[customerId, currency, sealedLinks, sealedHead].join('\u001f')}\n`)
    heads += BigInt(page.length)
    if (page.length < PAGE_SIZE) return heads
    after = page.at(-1)!
  }
}

async function foldBatches(db: Queryable, account: AccountId, below: Id, hash: Hash): Promise<bigint> {
  let batches = 0n
  let after = -1n
  for (;;) {
    const page = await listBatchHashes(db, account, { after, below }, PAGE_SIZE)
    for (const batch of page) hash.update(`${batch.id}\u001f${batch.hash}\n`)
    batches += BigInt(page.length)
    if (page.length < PAGE_SIZE) return batches
    after = page.at(-1)!.id
  }
}

/** Parts of an account that are sealed with its heads. */
interface ToSeal {
  at: Instant
  /** Nothing can be posted below it any more. */
  below: Id
  /** Newest seal of events; null where there is none. */
  eventSeal: { id: Id; seal: Buffer } | null
}

/**
 * Seals the chains as they are now, the batches below an identifier below which nothing can be posted any more, and the newest seal of events, in one
 * transaction; null where there is nothing yet.
 */
export const sealLedger = (
  db: Pick<Database, 'transaction'>,
  account: AccountId,
  { at, below, eventSeal }: ToSeal,
): Promise<SealedLedger | null> =>
  db.transaction(account, async (tx) => {
    await sealHeads(tx, account)
    const [newest] = await listNewestSeals(tx, account, 1)
    const before = newest?.batchesBelow ?? 0n
    const batchesBelow = below > before ? below : before
    const of = { batchesBelow, eventSeal: eventSeal?.seal ?? null }
    const sealed = await foldSeal(tx, account, newest?.seal ?? Buffer.alloc(0), of)
    if (sealed.heads === 0n && sealed.batches === 0n && !eventSeal) return null
    await insertSeal(tx, { ...sealed, batchesBelow, eventSealId: eventSeal?.id ?? null }, at)
    return sealed
  })
