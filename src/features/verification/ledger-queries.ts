import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { LedgerRecordType, NegativeKind, PositiveKind, TaxAmount } from '../../engine/money/postings.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { type Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'
import type { EntryRow } from '../ledger/queries.ts'

/** Queries of a verification: the ledger, and the records with which it must agree. */

/** A customer's running totals in a currency, beside what its documents and its ledger entries come to. */
export interface CheckedBalance {
  customerId: CustomerId
  currency: string
  receivable: bigint
  receivableOpen: bigint
  receivablePosted: bigint
  unapplied: bigint
  unappliedOpen: bigint
  unappliedPosted: bigint
  clearing: bigint
  clearingOpen: bigint
  clearingPosted: bigint
}

/** Totals that differ from their documents or entries, of the customers after one and up to another; null is up to the end. */
export const listBalanceDifferences = (db: Queryable, account: AccountId, after: CustomerId, upTo: CustomerId | null) =>
  db.rows<CheckedBalance>(sql`
    with last as (select coalesce(${upTo}::bigint, 9223372036854775807) as id),
    facts as (
      select customer_id, currency, 0 as source, receivable_minor as receivable, unapplied_minor as unapplied, clearing_minor as clearing
        from customer_totals where account_id = ${account} and customer_id > ${after} and customer_id <= (select id from last)
      union all
      select customer_id, currency, 1, total_minor - negative_minor - paid_minor - pending_minor, 0, 0 from invoices
       where account_id = ${account} and customer_id > ${after} and customer_id <= (select id from last)
         and issued_at is not null and cancelled_at is null
      union all
      select customer_id, currency, 1, amount_minor - negative_minor - paid_minor - pending_minor, 0, 0 from positive_adjustments
       where account_id = ${account} and customer_id > ${after} and customer_id <= (select id from last)
      union all
      select customer_id, currency, 1, 0, amount_minor - applied_minor, 0 from negative_adjustments
       where account_id = ${account} and customer_id > ${after} and customer_id <= (select id from last)
      union all
      select customer_id, currency, 1, 0, amount_minor - applied_minor,
             case when origin <> 'recorded' and settled_on is null then amount_minor else 0 end from payments
       where account_id = ${account} and customer_id > ${after} and customer_id <= (select id from last) and failed_on is null
      union all
      select customer_id, currency, 2,
             case when debit = 'receivable' then amount_minor else 0 end - case when credit = 'receivable' then amount_minor else 0 end,
             case when credit = 'unapplied' then amount_minor else 0 end - case when debit = 'unapplied' then amount_minor else 0 end,
             case when debit = 'clearing' then amount_minor else 0 end - case when credit = 'clearing' then amount_minor else 0 end
        from ledger_entries
       where account_id = ${account} and customer_id > ${after} and customer_id <= (select id from last)),
    summed as (
      select customer_id, currency, source, sum(receivable) as receivable, sum(unapplied) as unapplied, sum(clearing) as clearing
        from facts group by customer_id, currency, source),
    beside as (
      select customer_id as "customerId", currency,
             coalesce(sum(receivable) filter (where source = 0), 0)::bigint as "receivable",
             coalesce(sum(receivable) filter (where source = 1), 0)::bigint as "receivableOpen",
             coalesce(sum(receivable) filter (where source = 2), 0)::bigint as "receivablePosted",
             coalesce(sum(unapplied) filter (where source = 0), 0)::bigint as "unapplied",
             coalesce(sum(unapplied) filter (where source = 1), 0)::bigint as "unappliedOpen",
             coalesce(sum(unapplied) filter (where source = 2), 0)::bigint as "unappliedPosted",
             coalesce(sum(clearing) filter (where source = 0), 0)::bigint as "clearing",
             coalesce(sum(clearing) filter (where source = 1), 0)::bigint as "clearingOpen",
             coalesce(sum(clearing) filter (where source = 2), 0)::bigint as "clearingPosted"
        from summed group by customer_id, currency)
    select * from beside
     where receivable <> "receivableOpen" or receivable <> "receivablePosted" or unapplied <> "unappliedOpen"
        or unapplied <> "unappliedPosted" or clearing <> "clearingOpen" or clearing <> "clearingPosted"
     order by "customerId", currency`)

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
    select entry_id as "id", customer_id as "customerId", debit, credit, amount_minor as "amountMinor", currency, event from ledger_entries
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

/** Entries by customer and record; those of one record of a customer are never parted, however many there are. */
export const listEntriesOfRecords = (db: Queryable, account: AccountId, after: RecordPlace, limit: number) =>
  db.rows<PostedEntry>(sql`
    select entry_id as "id", customer_id as "customerId", currency, record_type as "recordType", record_id as "recordId", event,
           is_reversal as "isReversal", debit, credit, tax_name as "taxName", tax_rate as "taxRate", tax_number as "taxNumber",
           amount_minor as "amountMinor", dated
      from ledger_entries
     where account_id = ${account} and customer_id >= ${after.customerId}
       and (customer_id, record_type, record_id) > (${after.customerId}::bigint, ${after.recordType}::text, ${after.recordId}::bigint)
     order by customer_id, record_type, record_id fetch first (${limit}::bigint) rows with ties`)

export interface PostedRecord {
  id: Id
  customerId: CustomerId
  currency: string
  dated: IsoDate
  amountMinor: bigint
}

export interface InvoiceRecord extends PostedRecord {
  isIssued: boolean
  cancelledOn: IsoDate | null
}

export const listInvoiceRecords = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<InvoiceRecord>(sql`
    select invoice_id as "id", customer_id as "customerId", currency, invoice_date as "dated", total_minor as "amountMinor",
           issued_at is not null as "isIssued", cancelled_on as "cancelledOn"
      from invoices where account_id = ${account} and invoice_id = any(${arrayLiteral(ids)}::bigint[])`)

/** A tax of an invoice or of a credit note. */
export interface RecordTax extends TaxAmount {
  id: Id
}

export const listPostedInvoiceTaxes = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<RecordTax>(sql`
    select invoice_id as "id", name, rate, tax_number as "taxNumber", amount_minor as "amountMinor" from invoice_taxes
     where account_id = ${account} and invoice_id = any(${arrayLiteral(ids)}::bigint[]) order by invoice_id, invoice_tax_id`)

export interface PaymentRow extends PostedRecord {
  isBegun: boolean
  settledOn: IsoDate | null
  failedOn: IsoDate | null
}

export const listPaymentRecords = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<PaymentRow>(sql`
    select payment_id as "id", customer_id as "customerId", currency, dated, amount_minor as "amountMinor", origin <> 'recorded' as "isBegun",
           settled_on as "settledOn", failed_on as "failedOn"
      from payments where account_id = ${account} and payment_id = any(${arrayLiteral(ids)}::bigint[])`)

export interface NegativeRow extends PostedRecord {
  kind: NegativeKind
}

export const listNegativeRecords = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<NegativeRow>(sql`
    select negative_adjustment_id as "id", customer_id as "customerId", currency, dated, amount_minor as "amountMinor", kind
      from negative_adjustments where account_id = ${account} and negative_adjustment_id = any(${arrayLiteral(ids)}::bigint[])`)

/** The taxes that credit notes of the service took back, each with its number on the invoice. */
export const listTaxesOfNotes = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<RecordTax>(sql`
    select c.credit_note_id as "id", c.name, c.rate, c.amount_minor as "amountMinor",
           (select t.tax_number from invoice_taxes t
             where t.account_id = ${account} and t.invoice_id = n.invoice_id and t.name = c.name and t.rate = c.rate
             order by t.invoice_tax_id limit 1) as "taxNumber"
      from credit_note_taxes c join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = c.credit_note_id
     where c.account_id = ${account} and c.credit_note_id = any(${arrayLiteral(ids)}::bigint[]) order by c.credit_note_id, c.line`)

export interface PositiveRow extends PostedRecord {
  kind: PositiveKind
}

export const listPositiveRecords = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<PositiveRow>(sql`
    select positive_adjustment_id as "id", customer_id as "customerId", currency, dated, amount_minor as "amountMinor", kind
      from positive_adjustments where account_id = ${account} and positive_adjustment_id = any(${arrayLiteral(ids)}::bigint[])`)

export interface AllocationRecord extends Omit<PostedRecord, 'currency'> {
  givenKind: GivenKind
  owedKind: OwedKind
  owedId: Id
  endedOn: IsoDate | null
  /** Of its documents; null where both are gone, as they may be when a failure ended it. */
  currency: string | null
}

export const listAllocationRecords = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<AllocationRecord>(sql`
    select l.allocation_id as "id", l.customer_id as "customerId", l.given_kind as "givenKind", l.owed_kind as "owedKind",
           l.owed_id as "owedId", l.amount_minor as "amountMinor", l.dated, l.ended_on as "endedOn",
           case l.owed_kind
             when 'invoice' then (select i.currency from invoices i where i.account_id = ${account} and i.invoice_id = l.owed_id)
             else (select o.currency from positive_adjustments o where o.account_id = ${account} and o.positive_adjustment_id = l.owed_id)
           end as "currency"
      from allocations l where l.account_id = ${account} and l.allocation_id = any(${arrayLiteral(ids)}::bigint[])`)

// Records without any entry; each should have one, unless it is of nothing.

export const listUnpostedInvoices = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.invoice_id as "id" from invoices r
     where r.account_id = ${account} and r.invoice_id > ${after} and r.issued_at is not null and not exists (select 1 from ledger_entries e
       where e.account_id = ${account} and e.record_type = 'invoice' and e.record_id = r.invoice_id)
     order by r.invoice_id limit ${limit}`)

export const listUnpostedPayments = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.payment_id as "id" from payments r
     where r.account_id = ${account} and r.payment_id > ${after} and not exists (select 1 from ledger_entries e
       where e.account_id = ${account} and e.record_type = 'payment' and e.record_id = r.payment_id)
     order by r.payment_id limit ${limit}`)

export const listUnpostedNegatives = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.negative_adjustment_id as "id" from negative_adjustments r
     where r.account_id = ${account} and r.negative_adjustment_id > ${after} and not exists (select 1 from ledger_entries e
       where e.account_id = ${account} and e.record_type = 'negative_adjustment' and e.record_id = r.negative_adjustment_id)
     order by r.negative_adjustment_id limit ${limit}`)

export const listUnpostedPositives = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.positive_adjustment_id as "id" from positive_adjustments r
     where r.account_id = ${account} and r.positive_adjustment_id > ${after} and not exists (select 1 from ledger_entries e
       where e.account_id = ${account} and e.record_type = 'positive_adjustment' and e.record_id = r.positive_adjustment_id)
     order by r.positive_adjustment_id limit ${limit}`)

export const listUnpostedAllocations = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select r.allocation_id as "id" from allocations r
     where r.account_id = ${account} and r.allocation_id > ${after} and not exists (select 1 from ledger_entries e
       where e.account_id = ${account} and e.record_type = 'allocation' and e.record_id = r.allocation_id)
     order by r.allocation_id limit ${limit}`)

/** A payment beside what allocations that stand say is given of it. */
export interface CheckedPayment {
  id: Id
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  appliedMinor: bigint
  allocatedMinor: bigint
  isFailed: boolean
}

export const listPaymentPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedPayment>(sql`
    select p.payment_id as "id", p.customer_id as "customerId", p.currency, p.amount_minor as "amountMinor", p.applied_minor as "appliedMinor",
           p.failed_on is not null as "isFailed",
           coalesce((select sum(l.amount_minor) from allocations l where l.account_id = ${account} and l.ended_on is null
             and l.given_kind = 'payment' and l.given_id = p.payment_id), 0)::bigint as "allocatedMinor"
      from payments p where p.account_id = ${account} and p.payment_id > ${after} order by p.payment_id limit ${limit}`)

/** A positive adjustment with its sums, beside which the allocations are counted. */
export interface CheckedPositive {
  id: Id
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
}

export const listPositivePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedPositive>(sql`
    select positive_adjustment_id as "id", customer_id as "customerId", currency, amount_minor as "amountMinor", paid_minor as "paidMinor",
           pending_minor as "pendingMinor", negative_minor as "negativeMinor"
      from positive_adjustments where account_id = ${account} and positive_adjustment_id > ${after}
     order by positive_adjustment_id limit ${limit}`)
