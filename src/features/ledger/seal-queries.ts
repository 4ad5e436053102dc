import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Seals of the ledger: the heads of all chains of an account, as they were on a night, hashed together. */

/** Seals the heads that moved since the last seal. Those that a money write holds just now wait for the next one: a seal waits for nobody. */
export const sealHeads = (tx: Transaction, account: AccountId) =>
  tx.rows(sql`
    with free as (
      select customer_id, currency from customer_totals
       where account_id = ${account} and links > sealed_links order by customer_id, currency for update skip locked)
    update customer_totals t set sealed_links = t.links, sealed_head = t.head from free f
     where t.account_id = ${account} and t.customer_id = f.customer_id and t.currency = f.currency`)

export interface SealedHead {
  customerId: CustomerId
  currency: string
  sealedLinks: number
  /** In hexadecimal. */
  sealedHead: string
}

/** Lists sealed heads by customer and currency. */
export const listSealedHeads = (
  db: Queryable,
  account: AccountId,
  after: Pick<SealedHead, 'customerId' | 'currency'>,
  limit: number,
) =>
  db.rows<SealedHead>(sql`
    select customer_id as "customerId", currency, sealed_links as "sealedLinks", encode(sealed_head, 'hex') as "sealedHead" from customer_totals
     where account_id = ${account} and sealed_links > 0
       and (customer_id, currency) > (${after.customerId}::bigint, ${after.currency}::text)
     order by customer_id, currency limit ${limit}`)

export interface Seal {
  id: Id
  heads: bigint
  /** Batches of postings whose first entry is below an identifier. */
  batches: bigint
  batchesBelow: Id
  /** Newest seal of events that is hashed into it; null where there was none. */
  eventSealId: Id | null
  seal: Buffer
}

/** Lists the newest seals of an account, the last one first. */
export const listNewestSeals = (db: Queryable, account: AccountId, limit: number) =>
  db.rows<Seal>(sql`
    select ledger_seal_id as "id", heads, batches, batches_below as "batchesBelow", event_seal_id as "eventSealId", seal from ledger_seals where account_id = ${account} order by ledger_seal_id desc limit ${limit}`)

/** Lists the hashes of batches behind the identifier of an entry and below another, in the order of their entries. */
export const listBatchHashes = (
  db: Queryable,
  account: AccountId,
  { after, below }: { after: Id; below: Id },
  limit: number,
) =>
  db.rows<{ id: Id; hash: string }>(sql`
    select first_entry_id as "id", encode(hash, 'hex') as "hash" from ledger_packs
     where account_id = ${account} and first_entry_id > ${after} and first_entry_id < ${below} order by first_entry_id limit ${limit}`)

export const insertSeal = (
  tx: Transaction,
  { heads, batches, batchesBelow, eventSealId, seal }: Omit<Seal, 'id'>,
  at: Instant,
) =>
  tx.rows(sql`
    insert into ledger_seals (account_id, sealed_at, heads, batches, batches_below, event_seal_id, seal)
    values (${tx.account}, ${at}, ${heads}, ${batches}, ${batchesBelow}, ${eventSealId}, ${seal})`)
