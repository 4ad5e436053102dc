import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { firstRow, type Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, sql } from '../../platform/database/sql.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { EntryRow } from '../ledger/queries.ts'

/** An entry as a link's text is made of it, with its place in the chain. */
export interface ChainedEntry extends EntryRow {
  id: Id
  link: number
  postedAt: Instant
}

export interface EntryPlace {
  customerId: CustomerId
  id: Id
}

const CHAINED = fragment`
  e.entry_id as "id", e.customer_id as "customerId", e.link, e.posted_at as "postedAt", e.currency, e.event, e.is_reversal as "isReversal",
  e.record_type as "recordType", e.record_id as "recordId", e.debit, e.credit, e.tax_name as "taxName", e.tax_rate::text as "taxRate",
  e.tax_number as "taxNumber", e.amount_minor as "amountMinor", e.dated`

/** Entries by customer, in the order in which they were posted. */
export const listChainPage = (db: Queryable, account: AccountId, after: EntryPlace, limit: number) =>
  db.rows<ChainedEntry>(sql`
    select ${CHAINED}
      from ledger_rows e where account_id = ${account} and (customer_id, entry_id) > (${after.customerId}::bigint, ${after.id}::bigint)
     order by customer_id, entry_id limit ${limit}`)

/** Lists entries of some customers from an entry on and behind the links that are sealed, in the order in which they were posted. */
export const listEntriesBehindSeal = (db: Queryable, account: AccountId, customers: readonly CustomerId[], since: Id) =>
  db.rows<ChainedEntry>(sql`
    select ${CHAINED}
      from customer_totals t
      join ledger_rows e on e.account_id = ${account} and e.customer_id = t.customer_id and e.entry_id >= ${since}
       and e.currency = t.currency and e.link > t.sealed_links
     where t.account_id = ${account} and t.customer_id = any(${arrayLiteral(customers)}::bigint[])
     order by e.customer_id, e.entry_id`)

/** Stored end of the hash chain of a customer and currency, and its end at the newest seal. */
export interface ChainHead {
  customerId: CustomerId
  currency: string
  links: number
  head: Buffer
  sealedLinks: number
  sealedHead: Buffer
}

/** Heads by customer; those of one customer are never parted. */
export const listHeadPage = (db: Queryable, account: AccountId, after: CustomerId, limit: number) =>
  db.rows<ChainHead>(sql`
    select customer_id as "customerId", currency, links, head, sealed_links as "sealedLinks", sealed_head as "sealedHead" from customer_totals
     where account_id = ${account} and customer_id > ${after} order by customer_id fetch first (${limit}::bigint) rows with ties`)

/** Lists the heads that are not what is sealed, by customer; those of one customer are never parted. */
export const listMovedHeadPage = (db: Queryable, account: AccountId, after: CustomerId, limit: number) =>
  db.rows<ChainHead>(sql`
    select customer_id as "customerId", currency, links, head, sealed_links as "sealedLinks", sealed_head as "sealedHead" from customer_totals
     where account_id = ${account} and customer_id > ${after} and (links <> sealed_links or head <> sealed_head)
     order by customer_id fetch first (${limit}::bigint) rows with ties`)

/** Returns a seal of events that a seal of heads names; empty where it is gone. */
export const findSealOfEvents = async (db: Queryable, account: AccountId, id: Id): Promise<Buffer> =>
  (
    await firstRow<{ seal: Buffer }>(
      db,
      sql`select seal from event_seals where account_id = ${account} and event_seal_id = ${id}`,
    )
  )?.seal ?? Buffer.alloc(0)
