import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { shapeRelation } from '../../platform/database/bulk.ts'
import { bigintList, bigints, dates, positionsColumn, rangeOfIds } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { idsOfText } from '../../platform/database/id-lists.ts'
import { drawIds, type IdRange } from '../../platform/database/draw-ids.ts'
import {
  asCount,
  column,
  counted,
  type Fragment,
  fragment,
  NOTHING,
  ofQuery,
  sql,
} from '../../platform/database/sql.ts'
import { keepTemplates, type SentTemplates, type KeptOnce, type TemplateKind } from '../../platform/packed/keep.ts'
import { LEDGER } from './packed.ts'

/**
 * Batches of postings, which invoices that are issued together share (decision 33): writing, and finding the batch of an entry or an invoice. A batch is
 * called `b`.
 */

/** Entry of a shape: one that invoices post alike, without who they are. */
export interface TemplateEntry {
  line: number
  currency: string
  debit: string
  credit: string
  taxName: string | null
  taxRate: string | null
  taxNumber: string | null
  amountMinor: bigint
  dated: IsoDate
}

const SHAPE_ENTRY_COLUMNS = {
  amountMinor: ['amount_minor', 'bigint'],
  dated: ['dated', 'date'],
  currency: ['currency', 'text'],
  debit: ['debit', 'text'],
  credit: ['credit', 'text'],
  taxName: ['tax_name', 'text'],
  taxRate: ['tax_rate', 'numeric'],
  taxNumber: ['tax_number', 'text'],
} as const

/** Entries that invoices post alike, and the hash of their text in hexadecimal. */
export interface TemplateEntries extends KeptOnce {
  hash: string
  entries: readonly TemplateEntry[]
}

/** Keeps entries under their hashes. Returns the identifier of each. */
export const keepEntries = (tx: Transaction, templates: readonly TemplateEntries[]) =>
  keepTemplates(tx, POSTING_TEMPLATES, templates)

const POSTING_TEMPLATES: TemplateKind<TemplateEntries> = {
  table: 'posting_templates',
  id: 'posting_template_id',
  columns: [],
  keyOf: ({ hash }) => hash,
  send: sentEntries,
}

function sentEntries(account: AccountId, templates: readonly TemplateEntries[]): SentTemplates {
  const rows = templates.flatMap(({ entries }, index) => entries.map((entry) => ({ ...entry, shape: index + 1 })))
  const { names, values, source } = shapeRelation(rows, SHAPE_ENTRY_COLUMNS)
  return {
    hashed: fragment`
    hashed as materialized (
      select decode(g.hash, 'hex') as hash, g.template from unnest(${column(templates, 'hash')}::text[]) with ordinality as g(hash, template))`,
    contents: fragment`
    entries as (
      insert into posting_template_entries (account_id, posting_template_id, line, ${names})
      select ${account}, n.id, row_number() over (partition by s.shape order by s.line) - 1, ${values}
        from chosen n join ${source} on s.shape = n.template order by n.id, s.line returning 1)`,
  }
}

/** Draws identifiers of entries. */
export const drawEntryIds = async (tx: Transaction, count: number): Promise<IdRange[]> =>
  (await drawIds(tx, [{ sequence: 'ledger_rows_entry_id_seq', count }])).flat()

/** Batch to be written: a stretch of the invoices that are posted together. */
export interface NewPostingBatch {
  firstEntryId: Id
  firstInvoiceId: InvoiceId
  /** Places of its first and last invoice among all, counted from 1. */
  low: number
  high: number
  /** They have all one shape. */
  isAlike: boolean
  entries: number
  /** First and last day of its entries. */
  from: IsoDate
  to: IsoDate
  /** In hexadecimal. */
  hash: string
}

export interface PostedTogether {
  stride: number
  postedAt: Instant
  customerIds: readonly Id[]
  /** Identifier of the shape of each. */
  shapeIds: readonly Id[]
}

export function sendBatches(
  tx: Transaction,
  batches: readonly NewPostingBatch[],
  { stride, postedAt, customerIds, shapeIds }: PostedTogether,
): void {
  const places = (of: (batch: NewPostingBatch) => number) => fragment`${positionsColumn(batches.map(of))}::integer[]`
  tx.send(
    ofQuery(sql`
    insert into ledger_packs (account_id, first_entry_id, first_invoice_id, stride, entries, posted_at, dated_from, dated_to, customer_ids, template_ids,
      hash)
    select ${tx.account}, b.first_entry, b.first_invoice, ${stride}::integer, b.entries, ${postedAt}::timestamptz, b.dated_from, b.dated_to,
           (${bigintList(customerIds)}::bigint[])[b.low:b.high], (${bigintList(shapeIds)}::bigint[])[b.low:b.until], decode(b.hash, 'hex')
      from unnest(${bigints(batches, 'firstEntryId')}::bigint[], ${bigints(batches, 'firstInvoiceId')}::bigint[],
             ${places(({ low }) => low)}, ${places(({ high }) => high)}, ${places(({ low, high, isAlike }) => (isAlike ? low : high))},
             ${places(({ entries }) => entries)}, ${dates(batches, 'from')}::date[], ${dates(batches, 'to')}::date[],
             ${column(batches, 'hash')}::text[])
        as b(first_entry, first_invoice, low, high, until, entries, dated_from, dated_to, hash)
     order by b.first_entry`),
  )
}

/** Customers who owe more of a currency, each once, in the order of their identifiers, and how much each, in minor units. */
export interface OwedMore {
  currency: string
  customerIds: readonly CustomerId[]
  amountsMinor: readonly bigint[]
}

/**
 * Raises what locked customers owe of a currency, where they have a row for it. Returns how many have one, and which of these have unallocated money of it.
 */
export async function raiseReceivables(
  tx: Transaction,
  owed: OwedMore,
): Promise<{ count: number; unapplied: CustomerId[] }> {
  const { count, unapplied } = await tx.one<{ count: number; unapplied: string | null }>(sql`
      with raised as (
        update customer_totals t set receivable_minor = t.receivable_minor + ${raisedBy(tx, owed)}
        returning t.customer_id, t.unapplied_minor)
      select count(*)::integer as "count", string_agg(customer_id::text, ',') filter (where unapplied_minor > 0) as "unapplied" from raised`)
  return { count, unapplied: idsOfText(unapplied) }
}

/** Returns by how much totals `t` are raised, and of whom. Where all owe the same nothing is joined, which is half of what this costs. */
function raisedBy({ account }: Transaction, { currency, customerIds, amountsMinor }: OwedMore): Fragment {
  const range = rangeOfIds(customerIds)
  const ofCurrency = fragment`
    t.account_id = ${account} and t.currency = ${currency} ${range ? fragment`and t.customer_id between ${range.first} and ${range.last}` : NOTHING}`
  const [first] = amountsMinor
  const ids = bigintList(customerIds)
  return amountsMinor.every((amount) => amount === first)
    ? fragment`${first}::bigint where ${ofCurrency} and t.customer_id = any(${ids}::bigint[])`
    : fragment`l.amount
          from rows from (unnest(${ids}::bigint[]), unnest(${bigintList(amountsMinor)}::bigint[])${range ? counted(customerIds) : NOTHING}) as l(customer, amount)
         where ${ofCurrency} and t.customer_id = l.customer`
}

/** Writes what those of locked customers owe who have no row for the currency yet. Returns how many they are. */
export const insertReceivables = (
  tx: Transaction,
  { currency, customerIds, amountsMinor }: OwedMore,
): Promise<number> =>
  tx.count(
    asCount(
      ofQuery(sql`
    insert into customer_totals (account_id, customer_id, currency, receivable_minor)
    select ${tx.account}, l.customer, ${currency}, l.amount
      from unnest(${bigintList(customerIds)}::bigint[], ${bigintList(amountsMinor)}::bigint[]) as l(customer, amount)
     where not exists (select 1 from customer_totals t where t.account_id = ${tx.account} and t.customer_id = l.customer and t.currency = ${currency})`),
    ),
  )

/**
 * Returns the batches that have an invoice, as a subquery. It is fenced by "offset 0": row security keeps a bound that is computed of a column of another table
 * from the index, so that every batch before it would be read, unless it is a parameter of a subquery.
 */
export const batchesWith = (account: AccountId, invoiceId: Fragment): Fragment => fragment`
  select b.* from ledger_packs b
   where b.account_id = ${account} and ${LEDGER.mayHaveMember('b', invoiceId)}
     and ${invoiceId} - b.first_invoice_id < cardinality(b.customer_ids) offset 0`

/** Entries of batches `b` as the view has them, of a member at its `place`, counted from 1, and of its shape's entry `s`. */
const entryAt = (customerId: Fragment, place: Fragment): Fragment => fragment`
  b.first_entry_id + (${place} - 1) * b.stride + s.line as entry_id, ${customerId} as customer_id, b.first_invoice_id + ${place} - 1 as record_id,
  s.amount_minor, b.posted_at, s.dated, false as is_reversal, s.currency, 'invoice_issued' as event, 'invoice' as record_type, s.debit, s.credit,
  s.tax_name, s.tax_rate, s.tax_number, b.first_entry_id as pack_id, b.dated_from, b.dated_to`

/** Returns the entries of batches: those of the view that are not in ledger_rows. */
export const entriesOfBatches = (account: AccountId): Fragment => fragment`
  select ${entryAt(fragment`m.customer_id`, fragment`m.place`)}
    from ledger_packs b
    cross join lateral unnest(b.customer_ids, b.template_ids) with ordinality as m(customer_id, template_id, place)
    join posting_template_entries s on s.account_id = ${account} and s.posting_template_id = coalesce(m.template_id, b.template_ids[1])
   where b.account_id = ${account}`

const PLACE = fragment`(i.invoice_id - b.first_invoice_id + 1)`

/** Returns the entries in batches of the invoices `i` that meet a condition: their customers have an index of them, batches have none. */
export const batchedEntriesOfInvoices = (account: AccountId, condition: Fragment): Fragment => fragment`
  select ${entryAt(fragment`i.customer_id`, PLACE)}
    from invoices i
    cross join lateral (${batchesWith(account, fragment`i.invoice_id`)}) b
    join posting_template_entries s on s.account_id = ${account}
     and s.posting_template_id = b.template_ids[case when cardinality(b.template_ids) = 1 then 1 else ${PLACE}::integer end]
   where i.account_id = ${account} and b.customer_ids[${PLACE}::integer] = i.customer_id ${condition}`
