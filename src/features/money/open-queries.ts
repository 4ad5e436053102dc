import type { AppliedAs } from '../../engine/money/allocation-effects.ts'
import type { FreeMoney, GivenRef, OwedRef } from '../../engine/money/allocating.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { type OfMany, type Queryable, rowsOfMany, type Transaction } from '../../platform/database/database.ts'
import { fragment, type Fragment, sql } from '../../platform/database/sql.ts'
import type { OwedDocument } from './types.ts'

/** True of a payment that was begun elsewhere and is not settled. Whether it failed is another question. */
export const IS_UNSETTLED = fragment`(origin <> 'recorded' and settled_on is null)`

/** SQL of how what is allocated of a negative adjustment counts. */
export const NEGATIVE_COUNTS = fragment`case when kind = 'bad_debt' then 'written_off' else 'negative' end`

/** Documents as allocating sees them: what is owed, what is open of it, and which money is free. The customer is locked by the caller. */

const ids = (some: readonly Id[]): string => `{${some.join(',')}}`
const idsOf = (refs: readonly (OwedRef | GivenRef)[], wanted: OwedRef['kind'] | GivenRef['kind']): string =>
  ids(refs.filter(({ kind }) => kind === wanted).map(({ id }) => id))

/** Builds the SQL of what of a document nothing is allocated to: its amount less all its allocations, pending money too. */
const openOf = (amount: Fragment): Fragment => fragment`(${amount} - paid_minor - pending_minor - negative_minor)`
const INVOICE_OPEN = openOf(fragment`total_minor`)
const POSITIVE_OPEN = openOf(fragment`amount_minor`)

/** Document as its row has it: `openMinor` is what nothing is allocated to. */
interface OwedRow extends Omit<OwedDocument, 'givesWayMinor'> {
  pendingMinor: bigint
}

const owedWhere = (account: AccountId, invoices: Fragment, positives: Fragment) => sql`
      select 'invoice' as "kind", invoice_id as "id", customer_id as "customerId", currency, invoice_date as "dated", number as "order",
             ${INVOICE_OPEN} as "openMinor", pending_minor as "pendingMinor",
             case when cancelled_at is not null then 'cancelled' when issued_at is null then 'draft' else 'open' end as "state"
        from invoices where account_id = ${account} and ${invoices}
      union all
      select 'positive_adjustment', positive_adjustment_id, customer_id, currency, dated, positive_adjustment_id, ${POSITIVE_OPEN}, 0, 'open'
        from positive_adjustments where account_id = ${account} and ${positives}`

/** Counts as open what lines that give way are allocated to invoices. They are asked about only where there is pending money. */
async function withPlaces(db: Queryable, account: AccountId, rows: readonly OwedRow[]): Promise<OwedDocument[]> {
  const pending = rows.filter(({ pendingMinor }) => pendingMinor > 0n).map(({ id }) => id)
  const places = new Map(
    pending.length === 0
      ? []
      : (await listPlaces(db, account, pending)).map(({ id, amountMinor }) => [id, amountMinor]),
  )
  return rows.map(({ pendingMinor, ...document }) => {
    const givesWayMinor = pendingMinor > 0n ? (places.get(document.id) ?? 0n) : 0n
    return { ...document, openMinor: document.openMinor + givesWayMinor, givesWayMinor }
  })
}

/** Lists what lines that give way are allocated to invoices. */
const listPlaces = (db: Queryable, account: AccountId, invoiceIds: readonly InvoiceId[]) =>
  db.rows<{ id: InvoiceId; amountMinor: bigint }>(sql`
    select l.owed_id as "id", sum(l.amount_minor)::bigint as "amountMinor"
      from allocations l join payments p on p.account_id = ${account} and p.payment_id = l.given_id and p.gives_way
     where l.account_id = ${account} and l.owed_kind = 'invoice' and l.owed_id = any(${ids(invoiceIds)}::bigint[]) and l.given_kind = 'payment'
       and l.ended_on is null
     group by l.owed_id`)

const named: OfMany<OwedRef> = (account, refs) =>
  owedWhere(
    account,
    fragment`invoice_id = any(${idsOf(refs, 'invoice')}::bigint[])`,
    fragment`positive_adjustment_id = any(${idsOf(refs, 'positive_adjustment')}::bigint[])`,
  )

const isNamed = (row: OwedRow, refs: readonly OwedRef[]): boolean =>
  refs.some(({ kind, id }) => kind === row.kind && id === row.id)

/** Lists the documents that references name; those that do not exist are left out. */
export const listOwed = async (db: Queryable, account: AccountId, refs: readonly OwedRef[]): Promise<OwedDocument[]> =>
  withPlaces(db, account, await rowsOfMany(db, account, named, refs, isNamed))

/** Lists what of a customer and currency is open: issued invoices and positive adjustments that something is left of, lines that give way not counted. */
export async function listOpen(tx: Transaction, customerId: CustomerId, currency: string): Promise<OwedDocument[]> {
  const ofCustomer = fragment`customer_id = ${customerId} and currency = ${currency}`
  const rows = await tx.rows<OwedRow>(
    owedWhere(
      tx.account,
      fragment`${ofCustomer} and issued_at is not null and cancelled_at is null and (${INVOICE_OPEN} > 0 or pending_minor > 0)`,
      fragment`${ofCustomer} and ${POSITIVE_OPEN} > 0`,
    ),
  )
  const found = await withPlaces(tx, tx.account, rows)
  return found.filter(({ openMinor }) => openMinor > 0n)
}

/** Finds invoices by their numbers. */
export const listInvoicesByNumber = (db: Queryable, account: AccountId, numbers: readonly bigint[]) =>
  db.rows<{ id: InvoiceId; number: bigint }>(sql`
    select invoice_id as "id", number from invoices where account_id = ${account} and number = any(${ids(numbers)}::bigint[])`)

/** Lists the numbers of invoices; drafts have none. */
export const listInvoiceNumbers = (db: Queryable, account: AccountId, invoiceIds: readonly InvoiceId[]) =>
  db.rows<{ id: InvoiceId; number: bigint | null }>(sql`
    select invoice_id as "id", number from invoices where account_id = ${account} and invoice_id = any(${ids(invoiceIds)}::bigint[])`)

/** Money given, in whatever state, with what it counts as where it is allocated. */
export interface GivenDocument extends FreeMoney {
  customerId: CustomerId
  currency: string
  counts: AppliedAs
  isFailed: boolean
}

const listGivenWhere = (db: Queryable, account: AccountId, payments: Fragment, negatives: Fragment) =>
  db.rows<GivenDocument>(sql`
    select 'payment' as "kind", payment_id as "id", customer_id as "customerId", currency, dated, amount_minor - applied_minor - held_minor as "freeMinor",
           case when ${IS_UNSETTLED} then 'pending' else 'paid' end as "counts", failed_on is not null as "isFailed"
      from payments where account_id = ${account} and ${payments}
    union all
    select 'negative_adjustment', negative_adjustment_id, customer_id, currency, dated, amount_minor - applied_minor, ${NEGATIVE_COUNTS}, false
      from negative_adjustments where account_id = ${account} and ${negatives}`)

/** Lists unallocated payments, pending ones too except for lines that give way, and credit notes of customers; never bad debt, which the service does not apply. */
export const listFree = (tx: Transaction, customerIds: readonly CustomerId[]) => {
  const ofCustomers = fragment`customer_id = any(${ids(customerIds)}::bigint[])`
  return listGivenWhere(
    tx,
    tx.account,
    fragment`${ofCustomers} and amount_minor > applied_minor + held_minor and failed_on is null and not gives_way`,
    fragment`${ofCustomers} and amount_minor > applied_minor and kind = 'credit_note'`,
  )
}

/** Lists which credit notes with unallocated money are settled for invoices. */
export const listFreeNotesOf = (tx: Transaction, invoiceIds: readonly InvoiceId[]) =>
  tx.rows<{ id: Id; invoiceId: InvoiceId }>(sql`
    select distinct n.negative_adjustment_id as "id", s.invoice_id as "invoiceId"
      from settlements s
      join negative_adjustments n on n.account_id = ${tx.account} and n.negative_adjustment_id = s.negative_adjustment_id
     where s.account_id = ${tx.account} and s.invoice_id = any(${ids(invoiceIds)}::bigint[]) and s.ended_on is null
       and n.kind = 'credit_note' and n.amount_minor > n.applied_minor`)

/** Lists the payments and negative adjustments that references name; those that do not exist are left out. */
export const listGiven = (db: Queryable, account: AccountId, refs: readonly GivenRef[]) =>
  listGivenWhere(
    db,
    account,
    fragment`payment_id = any(${idsOf(refs, 'payment')}::bigint[])`,
    fragment`negative_adjustment_id = any(${idsOf(refs, 'negative_adjustment')}::bigint[])`,
  )
