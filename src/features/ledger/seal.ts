import { createHash } from 'node:crypto'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import { insertSeal, listNewestSeals, listSealedHeads, type SealedHead, sealHeads } from './seal-queries.ts'

/**
 * Nightly seal of an account's ledger. A chain by itself does not show that its newest entries were cut off together with its head; a
 * seal remembers how far each chain was, and every seal is hashed onto the one before it.
 */

export interface SealedLedger {
  /** Chains that are in it. */
  heads: bigint
  seal: Buffer
}

/** Heads read at once. */
const PAGE_SIZE = 5000

/** Hashes the seal before it and every sealed head: a line each of customer, currency, links and head in hexadecimal. */
export async function foldSeal(db: Queryable, account: AccountId, before: Buffer): Promise<SealedLedger> {
  const hash = createHash('sha256').update(before)
  let heads = 0n
  let after: Pick<SealedHead, 'customerId' | 'currency'> = { customerId: -1n, currency: '' }
  for (;;) {
    const page = await listSealedHeads(db, account, after, PAGE_SIZE)
    for (const { customerId, currency, sealedLinks, sealedHead } of page)
      hash.update(`${[customerId, currency, sealedLinks, sealedHead].join('\u001f')}\n`)
    heads += BigInt(page.length)
    if (page.length < PAGE_SIZE) return { heads, seal: hash.digest() }
    after = page.at(-1)!
  }
}

/** Seals the chains as they are now, in one transaction; null where there is none yet. */
export const sealLedger = (
  db: Pick<Database, 'transaction'>,
  account: AccountId,
  at: Instant,
): Promise<SealedLedger | null> =>
  db.transaction(account, async (tx) => {
    await sealHeads(tx, account)
    const [newest] = await listNewestSeals(tx, account, 1)
    const sealed = await foldSeal(tx, account, newest?.seal ?? Buffer.alloc(0))
    if (sealed.heads === 0n) return null
    await insertSeal(tx, sealed, at)
    return sealed
  })
