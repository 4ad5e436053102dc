import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, sql } from '../../platform/database/sql.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { EntryRow } from './queries.ts'
import type { Seal } from './seal-queries.ts'

/** Entries that no constraint would let in: they do not balance, or name what the ledger does not know. */
export const listMalformedEntries = (
  db: Queryable,
  account: AccountId,
  after: Id,
  { words, types, events }: Record<'words' | 'types' | 'events', readonly string[]>,
  limit: number,
) =>
  db.rows<{
    id: Id
    customerId: CustomerId
    debit: string
    credit: string
    amountMinor: bigint
    currency: string
    event: string
  }>(sql`
    select entry_id as "id", customer_id as "customerId", debit, credit, amount_minor as "amountMinor", currency, event from ledger_rows
     where account_id = ${account} and entry_id > ${after}
       and (amount_minor <= 0 or debit = credit or (tax_name is null) <> (debit <> 'tax' and credit <> 'tax')
         or not debit = any(${arrayLiteral(words)}::text[]) or not credit = any(${arrayLiteral(words)}::text[])
         or not record_type = any(${arrayLiteral(types)}::text[]) or not event = any(${arrayLiteral(events)}::text[]))
     order by entry_id limit ${limit}`)

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

/** Lists the newest seals of an account, the last one first. */
export const listSeals = (db: Queryable, account: AccountId, limit: number) =>
  db.rows<Seal>(sql`
    select ledger_seal_id as "id", heads, batches, batches_below as "batchesBelow", event_seal_id as "eventSealId", seal from ledger_seals
     where account_id = ${account} order by ledger_seal_id desc limit ${limit}`)

/** Returns a seal of events that a seal of heads names; empty where it is gone. */
export const findSealOfEvents = async (db: Queryable, account: AccountId, id: Id): Promise<Buffer> =>
  (
    await db.first<{ seal: Buffer }>(sql`
      select seal from event_seals where account_id = ${account} and event_seal_id = ${id}`)
  )?.seal ?? Buffer.alloc(0)

/** A batch whose identifiers are another's too. */
export interface MisplacedBatch {
  id: Id
  what: 'entries' | 'invoices' | 'rows'
  /** Identifier that is given twice. */
  twice: Id
}

/** Lists the first thousand batches that share identifiers of entries or invoices with the next one, or of entries with one that was posted on its own. */
export const listMisplacedBatches = (db: Queryable, account: AccountId) =>
  db.rows<MisplacedBatch>(sql`
    with b as (
      select first_entry_id as id, first_entry_id + cardinality(customer_ids) * stride as entries_end,
             first_invoice_id + cardinality(customer_ids) as invoices_end,
             lead(first_entry_id) over (order by first_entry_id) as next_entry, lead(first_invoice_id) over (order by first_invoice_id) as next_invoice
        from ledger_packs where account_id = ${account})
    select b.id, 'entries' as "what", b.next_entry as "twice" from b where b.next_entry < b.entries_end
    union all
    select b.id, 'invoices', b.next_invoice from b where b.next_invoice < b.invoices_end
    union all
    select b.id, 'rows', e.entry_id from b join ledger_rows e on e.account_id = ${account} and e.entry_id >= b.id and e.entry_id < b.entries_end
     order by 1, 2 limit 1000`)

/** Sum of a day beside what its entries come to. */
export interface CheckedDay {
  dated: IsoDate
  currency: string
  debit: string
  credit: string
  taxName: string | null
  storedMinor: bigint
  postedMinor: bigint
}

/** Lists the first thousand sums of days that are not what the entries below the mark come to. */
export const listDayDifferences = (db: Queryable, account: AccountId) =>
  db.rows<CheckedDay>(sql`
    with beside as (
      select dated, currency, debit, credit, tax_name, amount_minor as stored, 0 as posted from ledger_days where account_id = ${account}
      union all
      select dated, currency, debit, credit, tax_name, 0, amount_minor from ledger
       where account_id = ${account} and entry_id < coalesce((select summed_until from ledger_days_mark), 0))
    select dated, currency, debit, credit, tax_name as "taxName", sum(stored)::bigint as "storedMinor", sum(posted)::bigint as "postedMinor"
      from beside group by dated, currency, debit, credit, tax_name having sum(stored) <> sum(posted)
     order by dated, currency, debit, credit, tax_name nulls first limit 1000`)
