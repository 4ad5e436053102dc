import type { BookAccount, GlCodes } from '../../engine/books/codes.ts'
import type { EntryRange } from '../../engine/books/entry-ranges.ts'
import type { LedgerEvent } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { LEDGER } from '../ledger/packed.ts'

/** Entries of the ledger that no batch has yet, each with its document, and what their revenue is of. */

export type DocumentType =
  | 'invoice'
  | 'payment'
  | 'negative_adjustment'
  | 'positive_adjustment'
  | 'allocation'
  | 'settlement'

/** Entry of the ledger, or a move between revenue and what is unsettled, which only exports know. */
export interface MoveRow {
  dated: IsoDate
  documentId: Id
  documentType: DocumentType
  /** Null of a move that is no entry. */
  event: LedgerEvent | null
  isReversal: boolean
  debit: BookAccount
  credit: BookAccount
  taxName: string | null
  taxRate: Decimal | null
  amountMinor: bigint
  /** Invoice whose lines and taxes the revenue of another document is of; of its lines only those that the note gives back, where that has lines. */
  ofInvoice: Id | null
  hasLines: true | null
  number: string | null
  reference: string | null
  customerReference: string | null
  customerCode: string | null
  method: string | null
  /** Kinds and names of both documents that an allocation joins, or of a payment, without rows of its allocation, and the one invoice that it pays; null of any other move. */
  givenKind: 'payment' | 'credit_note' | 'bad_debt' | null
  givenName: string | null
  owedKind: 'invoice' | 'adjustment' | null
  owedName: string | null
}

export interface BatchScope {
  id: Id
  currency: string
  from: IsoDate
  to: IsoDate
  below: bigint
  ranges: readonly EntryRange[]
}

const COLUMNS = fragment`e.dated, e.entry_id, e.customer_id, e.event, e.is_reversal, e.debit, e.credit, e.tax_name, e.tax_rate, e.amount_minor`

const RANGES = ({ ranges }: BatchScope): Fragment => fragment`
    from unnest(${bigints(ranges, 'from')}::bigint[], ${bigints(ranges, 'until')}::bigint[], ${dates(ranges, 'after')}::date[])
           as r(from_id, until_id, after)`

/** Returns what reads the entries of the batch; each range on its own, so that the conditions reach both parts of the ledger. */
const FROM = (tx: Transaction, scope: BatchScope): Fragment => fragment`
    ${RANGES(scope)}
    cross join lateral (
      select * from ledger l
       where l.account_id = ${tx.account} and ${LEDGER.fromId('l', fragment`r.from_id`)} and ${LEDGER.belowId('l', fragment`r.until_id`)} offset 0) e`

/** Returns what reads those of settlements. */
const FROM_SETTLEMENTS = (tx: Transaction, scope: BatchScope): Fragment => fragment`
    ${RANGES(scope)}
    cross join lateral (
      select * from ledger l
       where l.account_id = ${tx.account} and l.entry_id >= r.from_id and l.entry_id < r.until_id
         and (l.record_type = 'settlement' or l.event = 'tax_taken_back') offset 0) e`

const IS_FRESH = ({ currency, to }: BatchScope): Fragment =>
  fragment`e.currency = ${currency} and e.dated <= ${to} and (r.after is null or e.dated > r.after)`

/** Sides between which entries of a batch move, and how many. */
export interface Use {
  debit: BookAccount
  credit: BookAccount
  entries: number
}

/** Counts the entries that are in no batch yet by their sides. */
export const countUses = (tx: Transaction, scope: BatchScope) =>
  tx.rows<Use>(sql`
    select e.debit, e.credit, count(*)::integer as "entries" ${FROM(tx, scope)} where ${IS_FRESH(scope)} group by e.debit, e.credit`)

/** Returns whether an account has entries of a batch at or above its mark: those of writes that may not have been seen by all yet. */
export const hasEntriesFrom = async (
  tx: Transaction,
  { currency, to }: Pick<BatchScope, 'currency' | 'to'>,
  below: bigint,
): Promise<boolean> =>
  (await tx.first(sql`
    select 1 from ledger e
     where e.account_id = ${tx.account} and ${LEDGER.fromId('e', fragment`${below}::bigint`)} and e.currency = ${currency} and e.dated <= ${to} limit 1`)) !==
  undefined

/**
 * Lists entries and moves with the documents that they belong to. A settlement belongs to its note, and one that was taken away is known by what a batch
 * before has moved for it. The entries that need a look at settlements, mostly few, are read apart, so that the others cost no more than themselves.
 */
export const moved = (tx: Transaction, scope: BatchScope): Fragment => fragment`
  select ${COLUMNS}, e.record_type as document_type, e.record_id as document_id, null::bigint as invoice_id, null::boolean as has_lines
    ${FROM(tx, scope)}
   where ${IS_FRESH(scope)} and e.record_type <> 'settlement' and e.event <> 'tax_taken_back'
  union all
  select ${COLUMNS}, case when coalesce(s.settlement_id, o.settlement_id, x.note) is null then e.record_type else 'negative_adjustment' end,
         coalesce(s.negative_adjustment_id, o.negative_adjustment_id, x.note, e.record_id), coalesce(s.invoice_id, o.invoice_id, x.invoice_id),
         case when e.record_type <> 'negative_adjustment' then coalesce(s.basis = 'lines', x.has_lines, false) end
    ${FROM_SETTLEMENTS(tx, scope)}
    left join settlements s on e.record_type = 'settlement' and s.account_id = ${tx.account} and s.settlement_id = e.record_id
    left join settlements o on e.record_type = 'allocation' and o.account_id = ${tx.account} and o.old_allocation_id = e.record_id
    left join lateral (
      select x.negative_adjustment_id as note, x.invoice_id, x.has_lines from export_unsettled x
       where e.record_type = 'settlement' and s.settlement_id is null and x.account_id = ${tx.account} and x.settlement_id = e.record_id
       limit 1) x on true
   where ${IS_FRESH(scope)}
  union all
  select x.dated, null, x.customer_id, null, (x.settlement_id is null) = (x.amount_minor < 0),
         case when x.amount_minor > 0 then 'unsettled' else 'revenue' end, case when x.amount_minor > 0 then 'revenue' else 'unsettled' end, null, null,
         abs(x.amount_minor), 'negative_adjustment', x.negative_adjustment_id, x.invoice_id, x.has_lines
    from export_unsettled x where x.account_id = ${tx.account} and x.export_id = ${scope.id}`

/** Adds the notes of moves m, as n: their own entries are about the invoice of their note. */
export const NOTE_OF_MOVE = (tx: Transaction): Fragment => fragment`
  left join negative_adjustments n on m.document_type = 'negative_adjustment' and n.account_id = ${tx.account} and n.negative_adjustment_id = m.document_id`

/** Invoice that the revenue of a move m with its note n is of, and whether the lines of the note count alone. */
export const INVOICE_OF_MOVE = fragment`
  case when m.document_type = 'invoice' then m.document_id else coalesce(m.invoice_id, n.invoice_id) end`
export const HAS_LINES = fragment`coalesce(m.has_lines, n.invoice_id is not null)`

/** Returns the method of a move m of a payment p; that of a deleted payment stands in its event. */
export const METHOD_OF_MOVE = (tx: Transaction): Fragment => fragment`
  case when m.document_type = 'payment' and p.payment_id is null then (
    select v.record->>'Method' from events v
     where v.account_id = ${tx.account} and v.customer_id = m.customer_id and v.type = 'payment.created' and v.record_id = m.document_id
     limit 1) else p.method end`

/** Moves that are in memory together. */
const PORTION = 2000

/**
 * Adds to moves m of payments p the one invoice that a payment pays, as y: where money that is not allocated has the code of what the customer c owes, its
 * allocation has no rows.
 */
const PAID_BY_MOVE = (tx: Transaction, { accounts, debtor }: GlCodes): Fragment => fragment`
  left join lateral (
    select min(y.owed_id) as invoice_id from allocations y
     where m.document_type = 'payment'
       and (${accounts.unapplied ?? null}::text is null
            or ${accounts.unapplied ?? null}::text = coalesce(c.gl_code, ${debtor}::text, ${accounts.receivable ?? null}::text))
       and y.account_id = ${tx.account} and y.given_kind = 'payment' and y.given_id = m.document_id
    having count(distinct (y.owed_kind, y.owed_id)) = 1 and min(y.owed_kind) = 'invoice') y on true`

/** Adds what moves m of allocations join: the allocation a, as it stands or as it was when it was taken away, its invoice ai or adjustment ao, and the note an that it gives. */
const JOINED_BY_MOVE = (tx: Transaction): Fragment => fragment`
  left join lateral (
    select given_kind, given_id, owed_kind, owed_id from allocations
     where m.document_type = 'allocation' and account_id = ${tx.account} and allocation_id = m.document_id
    union all
    select given_kind, given_id, owed_kind, owed_id from removed_allocations
     where m.document_type = 'allocation' and account_id = ${tx.account} and allocation_id = m.document_id) a on true
  left join invoices ai on ai.account_id = ${tx.account}
       and ai.invoice_id = case when a.owed_kind = 'invoice' then a.owed_id else y.invoice_id end
  left join positive_adjustments ao on a.owed_kind = 'positive_adjustment' and ao.account_id = ${tx.account} and ao.positive_adjustment_id = a.owed_id
  left join negative_adjustments an on a.given_kind = 'negative_adjustment' and an.account_id = ${tx.account}
       and an.negative_adjustment_id = a.given_id`

const JOINED = fragment`
  case when a.given_kind = 'payment' or y.invoice_id is not null then 'payment' when an.kind = 'bad_debt' then 'bad_debt'
       when a.given_kind is not null then 'credit_note' end as "givenKind",
  case when y.invoice_id is not null then m.document_id::text else coalesce(an.ref, a.given_id::text) end as "givenName",
  case when ai.invoice_id is not null then 'invoice' when a.owed_kind is not null then 'adjustment' end as "owedKind",
  coalesce(ai.number::text, ao.ref, a.owed_id::text) as "owedName"`

/**
 * Reads the moves of a batch by day and document, some at a time. Where money that is not allocated has no code of its own, but that of what is owed, moves
 * between the two are left out.
 */
export const movesOfBatch = (tx: Transaction, scope: BatchScope, codes: GlCodes) =>
  tx.portions<MoveRow>(
    sql`
    select m.dated, m.document_id as "documentId", m.document_type as "documentType", m.event, m.is_reversal as "isReversal", m.debit, m.credit,
           m.tax_name as "taxName", m.tax_rate as "taxRate", m.amount_minor as "amountMinor",
           coalesce(m.invoice_id, n.invoice_id) as "ofInvoice", nullif(${HAS_LINES}, false) as "hasLines",
           case when n.kind = 'credit_note' then n.ref else coalesce(i.number, ai.number)::text end as "number",
           case when i.invoice_id is not null then coalesce(i.reference, 'I' || i.invoice_id) when n.kind = 'bad_debt' then n.ref
                when a.owed_kind = 'invoice' then coalesce(ai.reference, 'I' || ai.invoice_id) else coalesce(p.ref, o.ref, ao.ref) end as "reference",
           c.reference as "customerReference", c.gl_code as "customerCode",
           ${METHOD_OF_MOVE(tx)} as "method", ${JOINED}
      from (${moved(tx, scope)}) m
      left join customers c on c.account_id = ${tx.account} and c.customer_id = m.customer_id
      left join invoices i on m.document_type = 'invoice' and i.account_id = ${tx.account} and i.invoice_id = m.document_id
      ${NOTE_OF_MOVE(tx)}
      left join payments p on m.document_type = 'payment' and p.account_id = ${tx.account} and p.payment_id = m.document_id
      left join positive_adjustments o on m.document_type = 'positive_adjustment' and o.account_id = ${tx.account}
           and o.positive_adjustment_id = m.document_id
      ${PAID_BY_MOVE(tx, codes)}
      ${JOINED_BY_MOVE(tx)}
     where not ${codes.accounts.unapplied === undefined} or not (m.debit in ('receivable', 'unapplied') and m.credit in ('receivable', 'unapplied'))
     order by m.dated, m.document_type, m.document_id, m.entry_id nulls last`,
    PORTION,
  )
