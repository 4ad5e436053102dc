import type { LedgerRecordType } from '../../engine/money/postings.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { PAGE_ENDS, type PageEnds, type Span } from '../../platform/checks/pages-queries.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { hashedRows } from '../../platform/database/planner-hints.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import type { TemplateEntry } from './batch-queries.ts'

/**
 * Entries as checks read them: rows and batches as they are stored, found without the bounds of readers, and invoices of batches as groups that are alike
 * (decision 39). Other rooms compare them with their records.
 */

/** Returns the entries that were posted one by one, as a relation. */
export const writtenEntries = (account: AccountId): Fragment =>
  fragment`(select * from ledger_rows where account_id = ${account})`

/** An entry as the comparison with its record sees it. */
export interface PostedEntry {
  id: Id
  customerId: CustomerId
  currency: string
  recordType: LedgerRecordType
  recordId: Id
  event: string
  isReversal: boolean
  debit: string
  credit: string
  taxName: string | null
  taxRate: Decimal | null
  taxNumber: string | null
  amountMinor: bigint
  dated: IsoDate
}

export interface RecordPlace {
  customerId: CustomerId
  recordType: string
  recordId: Id
}

const POSTED = fragment`entry_id as "id", customer_id as "customerId", currency, record_type as "recordType", record_id as "recordId", event,
  is_reversal as "isReversal", debit, credit, tax_name as "taxName", tax_rate as "taxRate", tax_number as "taxNumber",
  amount_minor as "amountMinor", dated`

/** Entries by customer and record; those of one record of a customer are never parted, however many there are. */
export const listEntriesOfRecords = (db: Queryable, account: AccountId, after: RecordPlace, limit: number) =>
  db.rows<PostedEntry>(sql`
    select ${POSTED}
      from ledger_rows
     where account_id = ${account} and customer_id >= ${after.customerId}
       and (customer_id, record_type, record_id) > (${after.customerId}::bigint, ${after.recordType}::text, ${after.recordId}::bigint)
     order by customer_id, record_type, record_id fetch first (${limit}::bigint) rows with ties`)

/** Lists entries in the order of their identifiers. */
export const listEntriesSince = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<PostedEntry>(sql`
    select ${POSTED} from ledger_rows where account_id = ${account} and entry_id > ${after} order by entry_id limit ${limit}`)

/** Returns the batch that begins nearest before an invoice, as a subquery; it may end before it. */
const nearestBatch = (account: AccountId, invoiceId: Fragment): Fragment => fragment`
  select * from ledger_packs where account_id = ${account} and first_invoice_id <= ${invoiceId} order by first_invoice_id desc limit 1`

/** Lists all entries of a record under one customer. */
export const listEntriesOfRecord = (
  db: Queryable,
  account: AccountId,
  customer: CustomerId,
  recordType: LedgerRecordType,
  recordId: Id,
) =>
  db.rows<PostedEntry>(sql`
    select ${POSTED} from ledger_rows
     where account_id = ${account} and customer_id = ${customer} and record_type = ${recordType} and record_id = ${recordId}
    union all
    select b.first_entry_id + b.place * b.stride + s.line, b.customer_id, s.currency, 'invoice', b.invoice_id, 'invoice_issued', false,
           s.debit, s.credit, s.tax_name, s.tax_rate, s.tax_number, s.amount_minor, s.dated
      from (select n.*, i.invoice_id, i.customer_id, i.invoice_id - n.first_invoice_id as place
              from invoices i cross join lateral (${nearestBatch(account, fragment`i.invoice_id`)}) n
             where i.account_id = ${account} and i.invoice_id = ${recordId} and i.customer_id = ${customer} and ${recordType} = 'invoice') b
      join posting_template_entries s on s.account_id = ${account}
       and s.posting_template_id = b.template_ids[case when cardinality(b.template_ids) = 1 then 1 else b.place::integer + 1 end]
     where b.customer_ids[b.place::integer + 1] = b.customer_id`)

/** Lists the invoices among some that are posted in batches. */
export const listBatchedInvoices = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<{ id: Id }>(sql`
    select i.id from unnest(${arrayLiteral(ids)}::bigint[]) as i(id)
     cross join lateral (${nearestBatch(account, fragment`i.id`)}) b
     where i.id - b.first_invoice_id < cardinality(b.customer_ids)`)

/** Lists issued invoices without any entry: those that lie between the invoices of batches and have none of their own. */
export const listUnpostedInvoices = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    with batched as materialized (
      select first_invoice_id as first, first_invoice_id + cardinality(customer_ids) as past from ledger_packs where account_id = ${account}),
    gaps as materialized (
      select greatest(max(past) over (order by first rows between unbounded preceding and 1 preceding), 0) as low, first as high from batched
      union all select greatest(max(past), 0), 9223372036854775807 from batched)
    select r.invoice_id as "id" from gaps g
      cross join lateral (
        select invoice_id from invoices
         where account_id = ${account} and invoice_id >= g.low and invoice_id < g.high and invoice_id > ${after} and issued_at is not null offset 0) r
     where g.low < g.high and not exists (select 1 from ledger_rows e
       where e.account_id = ${account} and e.record_type = 'invoice' and e.record_id = r.invoice_id)
     order by r.invoice_id limit ${limit}`)

/** Reports whether the ledger has more entries than a number; it reads no more than that many. */
export const hasEntries = async (tx: Transaction, above: number): Promise<boolean> =>
  (await tx.first(sql`
    select 1 from (
      select count(*) as n from (select 1 from ledger_rows where account_id = ${tx.account} limit ${above + 1}) e
      union all
      select coalesce(sum(entries), 0) from ledger_packs where account_id = ${tx.account}) f
    having sum(n) > ${above}`)) !== undefined

/** A batch as it is stored. */
export interface StoredPack {
  /** Identifier of its first entry. */
  id: Id
  firstInvoiceId: InvoiceId
  stride: number
  entries: number
  postedAt: Instant
  /** First and last day of its entries. */
  from: IsoDate
  to: IsoDate
  customerIds: string
  shapeIds: string
  /** In hexadecimal. */
  hash: string
}

const PACK = fragment`
  b.first_entry_id as "id", b.first_invoice_id as "firstInvoiceId", b.stride, b.entries, b.posted_at as "postedAt",
  b.dated_from as "from", b.dated_to as "to",
  array_to_string(b.customer_ids, ',') as "customerIds", array_to_string(b.template_ids, ',') as "shapeIds", encode(b.hash, 'hex') as "hash"`

/** Lists batches behind an identifier of an entry, in the order of their entries. */
export const listPostingPacks = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<StoredPack>(sql`
    select ${PACK} from ledger_packs b where b.account_id = ${account} and b.first_entry_id > ${after} order by b.first_entry_id limit ${limit}`)

/** Lists the entries of shapes, in the order in which they are posted. */
export const listTemplateEntries = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<TemplateEntry & { shapeId: Id; hash: string | null }>(sql`
    select s.posting_template_id as "shapeId", encode(p.hash, 'hex') as "hash", s.line, s.currency, s.debit, s.credit, s.tax_name as "taxName",
           s.tax_rate::text as "taxRate", s.tax_number as "taxNumber", s.amount_minor as "amountMinor", s.dated
      from posting_template_entries s left join posting_templates p on p.account_id = ${account} and p.posting_template_id = s.posting_template_id
     where s.account_id = ${account} and s.posting_template_id = any(${arrayLiteral(ids)}::bigint[])
     order by s.posting_template_id, s.line`)

/** Finds the first entry of the batch that begins nearest before an entry, and so may have it; undefined where none begins before. */
export const findBatchBefore = async (db: Queryable, account: AccountId, entryId: Id): Promise<Id | undefined> =>
  (
    await db.first<{ id: Id }>(sql`
      select first_entry_id as "id" from ledger_packs where account_id = ${account} and first_entry_id < ${entryId} order by first_entry_id desc limit 1`)
  )?.id

export const findBatches = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.one<PageEnds>(sql`
    select ${PAGE_ENDS} from (
  select first_entry_id as id from ledger_packs where account_id = ${account} and first_entry_id > ${after} order by first_entry_id limit ${limit}) p`)

/** Invoices of batches that are alike in all that their postings follow from, or one that is like no other. */
export interface BatchedAlike {
  postingShapeId: Id
  firstId: InvoiceId
  count: number
  /** Of one that is like no other: its customer, as the batch has it. All else is null then. */
  customerId: CustomerId | null
  shapeId: Id | null
  currency: string | null
  dated: IsoDate | null
  totalMinor: bigint | null
}

/**
 * Lists the invoices of the batches whose first entries a span has, as groups that are alike. One that is not there, not that customer's, not issued, cancelled, or
 * whose taxes are rows, is like no other.
 */
export const listBatchedAlike = (db: Queryable, account: AccountId, { after, upTo }: Span) =>
  hashedRows<BatchedAlike>(
    db,
    sql`
    with members as materialized (
      select b.first_invoice_id + m.place - 1 as invoice_id, m.customer_id, coalesce(m.template_id, b.template_ids[1]) as posting_template_id
        from ledger_packs b
        cross join lateral unnest(b.customer_ids, b.template_ids) with ordinality as m(customer_id, template_id, place)
       where b.account_id = ${account} and b.first_entry_id > ${after} and b.first_entry_id <= ${upTo}),
    placed as (
      select m.posting_template_id, m.invoice_id, i.template_id, i.currency, i.invoice_date, i.total_minor,
             case when i.template_id is null then m.invoice_id end as alone_id, case when i.template_id is null then m.customer_id end as customer_id
        from members m
        left join (
          select invoice_id, customer_id, template_id, currency, invoice_date, total_minor from invoices
           where account_id = ${account} and invoice_id = any(array(select invoice_id from members))
             and template_id is not null and issued_at is not null and cancelled_on is null offset 0) i
          on i.invoice_id = m.invoice_id and i.customer_id = m.customer_id)
    select posting_template_id as "postingShapeId", min(invoice_id) as "firstId", count(*)::integer as "count", customer_id as "customerId",
           template_id as "shapeId", currency, invoice_date as "dated", total_minor as "totalMinor"
      from placed group by posting_template_id, template_id, currency, invoice_date, total_minor, alone_id, customer_id order by min(invoice_id)`,
  )

/** Returns how many invoices the largest batch has; 1 where there is none. */
export const findMostMembers = (db: Queryable, account: AccountId): Promise<number> =>
  db.value<number>(sql`
    select coalesce(max(cardinality(customer_ids)), 1) as "most" from ledger_packs where account_id = ${account}`)

/**
 * Returns the relation `batched` of what batches have posted of the invoices of `chosen`. Batches are found by the stretches of identifiers in which they begin,
 * each of them once however many of its invoices are chosen: neighbours are mostly in one batch.
 */
export const batchedPostings = (account: AccountId, mostMembers: number): Fragment => fragment`
    placed as materialized (
      select invoice_id, customer_id, invoice_id / ${mostMembers}::bigint - d.back as stretch from chosen cross join (values (0), (1)) as d(back)),
    near as materialized (
      select s.stretch, b.first_invoice_id, b.customer_ids, b.template_ids
        from (select stretch, stretch * ${mostMembers}::bigint as first, (stretch + 1) * ${mostMembers}::bigint as past
                from (select distinct stretch from placed) d offset 0) s
        join ledger_packs b on b.account_id = ${account} and b.first_invoice_id >= s.first and b.first_invoice_id < s.past),
    held as materialized (
      select p.customer_id, b.template_ids[case when cardinality(b.template_ids) = 1 then 1 else p.invoice_id - b.first_invoice_id + 1 end] as template_id
        from placed p join near b on b.stretch = p.stretch and p.invoice_id >= b.first_invoice_id
         and b.customer_ids[p.invoice_id - b.first_invoice_id + 1] = p.customer_id),
    batched as (
      select h.customer_id, s.currency, s.amount_minor as receivable
        from held h
        join posting_template_entries s on s.account_id = ${account} and s.posting_template_id = h.template_id and s.debit = 'receivable'
         and s.posting_template_id = any(array(select distinct template_id from held)))`
