import type { LedgerAccount, LedgerEvent, LedgerRecordType } from '../../engine/money/postings.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, type Fragment, namesOf, NOTHING, sql } from '../../platform/database/sql.ts'
import { orderedRows } from '../../platform/database/planner-hints.ts'
import { direction, onward, type PageStart } from '../../platform/http/paging.ts'
import { PACK_ID } from '../../platform/packed/declare.ts'
import { mergedPage, packsOnward } from '../../platform/packed/page.ts'
import { batchedEntriesOfInvoices, entriesOfBatches } from './batch-queries.ts'
import { LEDGER } from './packed.ts'

/** Reading the ledger: its entries and its balances. */

export interface LedgerEntry {
  id: Id
  customerId: CustomerId
  dated: IsoDate
  postedAt: Instant
  event: LedgerEvent
  isReversal: boolean
  recordType: LedgerRecordType
  recordId: Id
  currency: string
  debit: LedgerAccount
  credit: LedgerAccount
  taxName: string | null
  amountMinor: bigint
  /** Number of its document as it is now: of an invoice, or of a credit note, also where the entry is of its settlement. */
  number: string | null
  /** Reference of its document as it is now. */
  reference: string | null
  /** The export that it is in; null while it is in none. */
  exportId: Id | null
}

export interface EntryFilter {
  customerId: CustomerId | null
  /** Inclusive days. */
  from: IsoDate | null
  to: IsoDate | null
  /** On either side. */
  ledgerAccount?: LedgerAccount | null
  event?: { event: LedgerEvent; isReversal: boolean } | null
  record?: { type: LedgerRecordType; id: Id } | null
  /** Records whose document has a number. */
  numbered?: NumberedRecords | null
}

/** Records that a number of a document stands for, and whose they are: customers have an index of their entries. */
export interface NumberedRecords {
  customers: readonly Id[]
  invoices: readonly Id[]
  notes: readonly Id[]
  settlements: readonly Id[]
}

const ids = (list: readonly Id[]) => fragment`any(${arrayLiteral(list)}::bigint[])`

/** Events of every invoice and payment; the index of entries by their event leaves it out. */
const COMMON_EVENTS: readonly LedgerEvent[] = ['invoice_issued', 'payment_recorded', 'allocation_made']
const RARE = fragment`and event not in ('invoice_issued', 'payment_recorded', 'allocation_made')`
/** Accounts that only rare events touch. */
const RARE_ACCOUNTS: readonly LedgerAccount[] = ['clearing', 'bad_debt', 'interest', 'opening_balance']

const numberedCondition = ({ customers, invoices, notes, settlements }: NumberedRecords) => fragment`
  and customer_id = ${ids(customers)}
  and (record_type = 'invoice' and record_id = ${ids(invoices)} or record_type = 'negative_adjustment' and record_id = ${ids(notes)}
       or record_type = 'settlement' and record_id = ${ids(settlements)})`

const chosen = ({ ledgerAccount, event, record, numbered }: EntryFilter): Fragment => fragment`
  ${ledgerAccount == null ? NOTHING : fragment`and (debit = ${ledgerAccount} or credit = ${ledgerAccount})`}
  ${ledgerAccount != null && RARE_ACCOUNTS.includes(ledgerAccount) ? RARE : NOTHING}
  ${event == null ? NOTHING : fragment`and event = ${event.event} and is_reversal = ${event.isReversal}`}
  ${event == null || COMMON_EVENTS.includes(event.event) ? NOTHING : RARE}
  ${record == null ? NOTHING : fragment`and record_type = ${record.type} and record_id = ${record.id}`}
  ${numbered == null ? NOTHING : numberedCondition(numbered)}`

const conditions = ({ customerId, from, to, ...filter }: EntryFilter): Fragment => fragment`
  ${chosen(filter as EntryFilter)}
  ${customerId === null ? NOTHING : fragment`and customer_id = ${customerId}`}
  ${from === null ? NOTHING : fragment`and dated >= ${from}`}
  ${to === null ? NOTHING : fragment`and dated <= ${to}`}`

const documentNumber = (account: AccountId) => fragment`
  case record_type
    when 'invoice' then (select i.number::text from invoices i
      where i.account_id = ${account} and i.invoice_id = e.record_id)
    when 'negative_adjustment' then (select n.ref from negative_adjustments n
      where n.account_id = ${account} and n.negative_adjustment_id = e.record_id and n.kind = 'credit_note')
    when 'settlement' then (select n.ref from settlements s
      join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = s.negative_adjustment_id and n.kind = 'credit_note'
      where s.account_id = ${account} and s.settlement_id = e.record_id)
  end`

const documentReference = (account: AccountId) => fragment`
  case record_type
    when 'invoice' then (select coalesce(i.reference, 'I' || i.invoice_id) from invoices i
      where i.account_id = ${account} and i.invoice_id = e.record_id)
    when 'payment' then (select p.ref from payments p where p.account_id = ${account} and p.payment_id = e.record_id)
    when 'negative_adjustment' then (select n.ref from negative_adjustments n
      where n.account_id = ${account} and n.negative_adjustment_id = e.record_id and n.kind = 'bad_debt')
    when 'positive_adjustment' then (select o.ref from positive_adjustments o
      where o.account_id = ${account} and o.positive_adjustment_id = e.record_id)
  end`

/** Finds the export that an entry is in: the first of its currency whose mark and last day reach it. */
const exportOfEntry = (account: AccountId) => fragment`
  (select x.export_id from exports x
    where x.account_id = ${account} and x.currency = e.currency and x.below > e.entry_id and x.to_day >= e.dated
    order by x.below, x.export_id limit 1)`

const isInvoiceAccount = (ledgerAccount: LedgerAccount): boolean =>
  ['receivable', 'revenue', 'tax'].includes(ledgerAccount)

/** Reports whether entries of batches can meet a filter: they are those of issued invoices. */
const reachesBatches = ({ ledgerAccount, event, record, numbered }: EntryFilter): boolean =>
  (ledgerAccount == null || isInvoiceAccount(ledgerAccount)) &&
  (event == null || (event.event === 'invoice_issued' && !event.isReversal)) &&
  (record == null || record.type === 'invoice') &&
  (numbered == null || numbered.invoices.length > 0)

/** Returns the entries of batches among which those that meet a filter are: those of some invoices, or all. */
function ofBatches(account: AccountId, { customerId, record, numbered, from, to }: EntryFilter): Fragment {
  if (customerId !== null || record != null || numbered != null)
    return batchedEntriesOfInvoices(
      account,
      fragment`
      ${customerId === null ? NOTHING : fragment`and i.customer_id = ${customerId}`}
      ${record == null ? NOTHING : fragment`and i.invoice_id = ${record.id}`}
      ${numbered == null ? NOTHING : fragment`and i.invoice_id = ${ids(numbered.invoices)}`}`,
    )
  return fragment`
    ${entriesOfBatches(account)}
    ${from === null ? NOTHING : fragment`and b.dated_to >= ${from}`} ${to === null ? NOTHING : fragment`and b.dated_from <= ${to}`}`
}

/** Returns the condition that a batch has to be opened for so many entries of all that there are: each batch has its number of entries, so none beyond these is. */
const openedFor = (account: AccountId, most: number, start: PageStart): Fragment => {
  const order = direction(start)
  // Those before the start of the page have no more than one batch can have together.
  const enough = most + LEDGER.maxIds
  return fragment`
    and b.first_entry_id = any(array(
      select first_entry_id from (
        select first_entry_id, sum(entries) over (order by first_entry_id ${order}) - entries as before from (
          select first_entry_id, entries from ledger_packs where account_id = ${account} and ${packsOnward(LEDGER, start, 'first_entry_id')}
           order by first_entry_id ${order} limit ${enough}) n) s
       where before < ${enough}))`
}

const LISTED = fragment`
  entry_id, customer_id, dated, posted_at, event, is_reversal, record_type, record_id, currency, debit, credit, tax_name, amount_minor`

/** Lists entries in the order posted, which never changes. */
export function listEntries(db: Queryable, account: AccountId, filter: EntryFilter, start: PageStart, limit: number) {
  const most = start.skip + limit
  const order = direction(start)
  const own = fragment`
    select ${LISTED} from ledger_rows where account_id = ${account} ${onward(start, 'entry_id')} ${conditions(filter)}
     order by entry_id ${order} limit ${most}`
  // Packs come in their order from the index, so only those of a page are opened. Where all entries are listed it is known which these are.
  const inPacks = reachesBatches(filter)
    ? fragment`
      select ${LISTED} from (${ofBatches(account, filter)} ${start.isWhole ? openedFor(account, most, start) : NOTHING}) l
       where ${packsOnward(LEDGER, start, PACK_ID)} ${onward(start, 'entry_id')} ${conditions(filter)}
       order by ${namesOf(PACK_ID)} ${order}, entry_id ${order}`
    : undefined
  const statement = sql`
    select entry_id as "id", customer_id as "customerId", dated, posted_at as "postedAt", event, is_reversal as "isReversal",
           record_type as "recordType", record_id as "recordId", currency, debit, credit, tax_name as "taxName", amount_minor as "amountMinor",
           ${documentNumber(account)} as "number", ${documentReference(account)} as "reference", ${exportOfEntry(account)} as "exportId"
      from (${mergedPage({ own, inPacks, id: LEDGER.id }, start, limit)}) e
     order by entry_id ${order}`
  return start.skip > 0 && !start.isWhole && inPacks
    ? orderedRows<LedgerEntry>(db, statement)
    : db.rows<LedgerEntry>(statement)
}

/** Counts entries. */
export const countEntries = async (db: Queryable, account: AccountId, filter: EntryFilter): Promise<number> =>
  (await db.count(sql`select count(*) as "n" from ledger_rows where account_id = ${account} ${conditions(filter)}`)) +
  (reachesBatches(filter)
    ? await db.count(sql`
      select count(*) as "n" from (${ofBatches(account, filter)}) l where true ${conditions(filter)}`)
    : 0)

export interface LedgerBalance {
  currency: string
  ledgerAccount: LedgerAccount
  taxName: string | null
  debitMinor: bigint
  creditMinor: bigint
}

/** Sums what every ledger account was debited and credited up to a day, that day included. */
export const listBalances = (db: Queryable, account: AccountId, date: IsoDate | null) =>
  db.rows<LedgerBalance>(sql`
    with summed as (
      select currency, debit, credit, tax_name, sum(amount_minor) as amount from ledger
       where account_id = ${account} ${date === null ? NOTHING : fragment`and dated <= ${date}`}
       group by currency, debit, credit, tax_name)
    select s.currency, side.word as "ledgerAccount", case when side.word = 'tax' then s.tax_name end as "taxName",
           coalesce(sum(s.amount) filter (where side.is_debit), 0)::bigint as "debitMinor",
           coalesce(sum(s.amount) filter (where not side.is_debit), 0)::bigint as "creditMinor"
      from summed s cross join lateral (values (s.debit, true), (s.credit, false)) as side(word, is_debit)
     group by 1, 2, 3 order by 1, 2, 3 nulls first`)

const RECORDS = {
  invoice: ['invoices', 'invoice_id'],
  payment: ['payments', 'payment_id'],
  negative_adjustment: ['negative_adjustments', 'negative_adjustment_id'],
  positive_adjustment: ['positive_adjustments', 'positive_adjustment_id'],
  allocation: ['allocations', 'allocation_id'],
} as const satisfies Partial<Record<LedgerRecordType, readonly [string, string]>>

/** Finds whose note a settlement is of; null where it is there no more. */
export async function findCustomerOfSettlement(db: Queryable, account: AccountId, id: Id): Promise<CustomerId | null> {
  const [row] = await db.rows<{ customerId: CustomerId }>(sql`
    select n.customer_id as "customerId" from settlements s
      join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = s.negative_adjustment_id
     where s.account_id = ${account} and s.settlement_id = ${id}`)
  return row?.customerId ?? null
}

/** Finds whose a record is, so that its entries are found among those of one customer; null where the record is there no more. */
export async function findCustomerOfRecord(
  db: Queryable,
  account: AccountId,
  { type, id }: { type: LedgerRecordType; id: Id },
): Promise<CustomerId | null> {
  if (type === 'settlement') return findCustomerOfSettlement(db, account, id)
  const [table, column] = RECORDS[type]
  const [row] = await db.rows<{ customerId: CustomerId }>(
    sql`select customer_id as "customerId" from ${namesOf(table)} where account_id = ${account} and ${namesOf(column)} = ${id}`,
  )
  return row?.customerId ?? null
}

/** Lists the records whose document has a number: an invoice, and a credit note with what it settles. */
export async function listNumbered(db: Queryable, account: AccountId, number: string): Promise<NumberedRecords> {
  const rows = await db.rows<{ type: string; id: Id; customerId: Id }>(sql`
    select 'invoice' as "type", i.invoice_id as "id", i.customer_id as "customerId" from invoices i
     where i.account_id = ${account} and i.number = ${/^[1-9]\d{0,17}$/.test(number) ? number : null}::bigint
    union all
    select 'note', n.negative_adjustment_id, n.customer_id from negative_adjustments n
     where n.account_id = ${account} and n.kind = 'credit_note' and n.ref = ${number}
    union all
    select 'settlement', s.settlement_id, n.customer_id from negative_adjustments n
      join settlements s on s.account_id = ${account} and s.negative_adjustment_id = n.negative_adjustment_id
     where n.account_id = ${account} and n.kind = 'credit_note' and n.ref = ${number}`)
  const of = (type: string) => rows.filter((row) => row.type === type).map(({ id }) => id)
  const customers = [...new Set(rows.map(({ customerId }) => customerId))]
  return { customers, invoices: of('invoice'), notes: of('note'), settlements: of('settlement') }
}
