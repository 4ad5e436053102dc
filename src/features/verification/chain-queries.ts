import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
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

/** Entries by customer, in the order in which they were posted. */
export const listChainPage = (db: Queryable, account: AccountId, after: EntryPlace, limit: number) =>
  db.rows<ChainedEntry>(sql`
    select entry_id as "id", customer_id as "customerId", link, posted_at as "postedAt", currency, event, is_reversal as "isReversal",
           record_type as "recordType", record_id as "recordId", debit, credit, tax_name as "taxName", tax_rate::text as "taxRate",
           tax_number as "taxNumber", amount_minor as "amountMinor", dated
      from ledger_entries where account_id = ${account} and (customer_id, entry_id) > (${after.customerId}::bigint, ${after.id}::bigint)
     order by customer_id, entry_id limit ${limit}`)

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
