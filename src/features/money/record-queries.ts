import type { FreeMoney, GivenRef, OpenDocument, OwedRef } from '../../engine/money/allocating.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Documents as allocating sees them: what is owed, what is open of it, and which money is free. The customer is locked by the caller. */

/** A document that money can be allocated to, in whatever state. */
export interface OwedDocument extends OwedRef {
  customerId: CustomerId
  currency: string
  dated: IsoDate
  amountMinor: bigint
  /** The amount less everything allocated to it, pending money too. */
  openMinor: bigint
  state: 'open' | 'draft' | 'cancelled'
}

const ids = (some: readonly Id[]): string => `{${some.join(',')}}`
const givenIds = (refs: readonly GivenRef[], kind: GivenRef['kind']): string =>
  ids(refs.filter((ref) => ref.kind === kind).map(({ id }) => id))
const idsOf = (refs: readonly OwedRef[], kind: OwedRef['kind']): string =>
  ids(refs.filter((ref) => ref.kind === kind).map(({ id }) => id))

/** The documents that references name; those that do not exist are left out. */
export const listOwed = (db: Queryable, account: AccountId, refs: readonly OwedRef[]) =>
  db.rows<OwedDocument>(sql`
    select 'invoice' as "kind", invoice_id as "id", customer_id as "customerId", currency, invoice_date as "dated", total_minor as "amountMinor",
           total_minor - paid_minor - pending_minor - negative_minor as "openMinor",
           case when cancelled_at is not null then 'cancelled' when issued_at is null then 'draft' else 'open' end as "state"
      from invoices where account_id = ${account} and invoice_id = any(${idsOf(refs, 'invoice')}::bigint[])
    union all
    select 'positive_adjustment', positive_adjustment_id, customer_id, currency, dated, amount_minor,
           amount_minor - paid_minor - pending_minor - negative_minor, 'open'
      from positive_adjustments where account_id = ${account} and positive_adjustment_id = any(${idsOf(refs, 'positive_adjustment')}::bigint[])`)

/** Invoices by their numbers. */
export const listInvoicesByNumber = (db: Queryable, account: AccountId, numbers: readonly bigint[]) =>
  db.rows<{ id: InvoiceId; number: bigint }>(sql`
    select invoice_id as "id", number from invoices where account_id = ${account} and number = any(${ids(numbers)}::bigint[])`)

/** The numbers of invoices; drafts have none. */
export const listInvoiceNumbers = (db: Queryable, account: AccountId, invoiceIds: readonly InvoiceId[]) =>
  db.rows<{ id: InvoiceId; number: bigint | null }>(sql`
    select invoice_id as "id", number from invoices where account_id = ${account} and invoice_id = any(${ids(invoiceIds)}::bigint[])`)

/** What of a customer and currency is open: issued invoices and positive adjustments that something is left of. */
export const listOpen = (tx: Transaction, customerId: CustomerId, currency: string) =>
  tx.rows<OpenDocument>(sql`
    select 'invoice' as "kind", invoice_id as "id", invoice_date as "dated", number as "order",
           total_minor - paid_minor - pending_minor - negative_minor as "openMinor"
      from invoices
     where account_id = ${tx.account} and customer_id = ${customerId} and currency = ${currency} and issued_at is not null and cancelled_at is null
       and total_minor - paid_minor - pending_minor - negative_minor > 0
    union all
    select 'positive_adjustment', positive_adjustment_id, dated, positive_adjustment_id, amount_minor - paid_minor - pending_minor - negative_minor
      from positive_adjustments
     where account_id = ${tx.account} and customer_id = ${customerId} and currency = ${currency}
       and amount_minor - paid_minor - pending_minor - negative_minor > 0`)

/** Money with what it counts as where it is allocated. */
export interface FreeRecord extends FreeMoney {
  customerId: CustomerId
  currency: string
  counts: 'paid' | 'pending' | 'negative'
  takesTax: boolean
}

/** Unallocated payments, pending ones too, and credit notes of customers; never bad debt, which the service does not apply. */
export const listFree = (tx: Transaction, customerIds: readonly CustomerId[]) =>
  tx.rows<FreeRecord>(sql`
    select 'payment' as "kind", payment_id as "id", customer_id as "customerId", currency, dated, amount_minor - applied_minor as "freeMinor",
           case when origin <> 'recorded' and settled_on is null then 'pending' else 'paid' end as "counts", false as "takesTax"
      from payments
     where account_id = ${tx.account} and customer_id = any(${ids(customerIds)}::bigint[]) and failed_on is null and amount_minor > applied_minor
    union all
    select 'negative_adjustment', negative_adjustment_id, customer_id, currency, dated, amount_minor - applied_minor, 'negative', false
      from negative_adjustments
     where account_id = ${tx.account} and customer_id = any(${ids(customerIds)}::bigint[]) and kind = 'credit_note' and amount_minor > applied_minor`)

/** Money given, in whatever state, as positive adjustments see what is allocated to them. */
export interface GivenDocument extends FreeRecord {
  isFailed: boolean
}

/** The payments and negative adjustments that references name; those that do not exist are left out. */
export const listGiven = (db: Queryable, account: AccountId, refs: readonly GivenRef[]) =>
  db.rows<GivenDocument>(sql`
    select 'payment' as "kind", payment_id as "id", customer_id as "customerId", currency, dated, amount_minor - applied_minor as "freeMinor",
           case when origin <> 'recorded' and settled_on is null then 'pending' else 'paid' end as "counts", false as "takesTax",
           failed_on is not null as "isFailed"
      from payments where account_id = ${account} and payment_id = any(${givenIds(refs, 'payment')}::bigint[])
    union all
    select 'negative_adjustment', negative_adjustment_id, customer_id, currency, dated, amount_minor - applied_minor, 'negative',
           kind = 'credit_note' and invoice_id is null, false
      from negative_adjustments
     where account_id = ${account} and negative_adjustment_id = any(${givenIds(refs, 'negative_adjustment')}::bigint[])`)
