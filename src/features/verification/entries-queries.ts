import type { IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, sql } from '../../platform/database/sql.ts'
import { batchedEntriesOfInvoices, batchesWith } from '../ledger/batch-queries.ts'
import type { LedgerRecordType } from '../../engine/money/postings.ts'

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
    select ${POSTED} from (${batchedEntriesOfInvoices(account, fragment`and i.invoice_id = ${recordId}`)}) b
     where customer_id = ${customer} and record_type = ${recordType}`)

/** Lists the invoices among some that are posted in batches. */
export const listBatchedInvoices = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<{ id: Id }>(sql`
    select i.id from unnest(${arrayLiteral(ids)}::bigint[]) as i(id)
     where exists (${batchesWith(account, fragment`i.id`)})`)

// Records without any entry. Each should have one, unless its amount is 0. Invoices are looked for between those of batches.
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

export const listUnpostedPayments = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.payment_id as "id" from payments r
     where r.account_id = ${account} and r.payment_id > ${after} and not exists (select 1 from ledger_rows e
       where e.account_id = ${account} and e.record_type = 'payment' and e.record_id = r.payment_id)
     order by r.payment_id limit ${limit}`)

export const listUnpostedNegatives = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.negative_adjustment_id as "id" from negative_adjustments r
     where r.account_id = ${account} and r.negative_adjustment_id > ${after} and not exists (select 1 from ledger_rows e
       where e.account_id = ${account} and e.record_type = 'negative_adjustment' and e.record_id = r.negative_adjustment_id)
     order by r.negative_adjustment_id limit ${limit}`)

export const listUnpostedPositives = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.positive_adjustment_id as "id" from positive_adjustments r
     where r.account_id = ${account} and r.positive_adjustment_id > ${after} and not exists (select 1 from ledger_rows e
       where e.account_id = ${account} and e.record_type = 'positive_adjustment' and e.record_id = r.positive_adjustment_id)
     order by r.positive_adjustment_id limit ${limit}`)

// An old settlement stands under its allocation, also where that is gone.
export const listUnpostedAllocations = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.allocation_id as "id" from (
        select allocation_id from allocations where account_id = ${account}
        union
        select s.old_allocation_id from settlements s
         where s.account_id = ${account} and exists (select 1 from settlement_taxes t
           where t.account_id = ${account} and t.settlement_id = s.settlement_id and t.amount_minor > 0)) r
     where r.allocation_id > ${after} and not exists (select 1 from ledger_rows e
       where e.account_id = ${account} and e.record_type = 'allocation' and e.record_id = r.allocation_id)
     order by r.allocation_id limit ${limit}`)

export const listUnpostedSettlements = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.settlement_id as "id" from settlements r
     where r.account_id = ${account} and r.settlement_id > ${after} and not r.is_old
       and exists (select 1 from settlement_taxes t
         where t.account_id = ${account} and t.settlement_id = r.settlement_id and t.amount_minor > 0)
       and not exists (select 1 from ledger_rows e
         where e.account_id = ${account} and e.record_type = 'settlement' and e.record_id = r.settlement_id)
     order by r.settlement_id limit ${limit}`)
