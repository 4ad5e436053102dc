import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { NegativeKind, PositiveKind, TaxAmount } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'

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
  isOfService: boolean
}

export const listNegativeRecords = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<NegativeRow>(sql`
    select negative_adjustment_id as "id", customer_id as "customerId", currency, dated, amount_minor as "amountMinor", kind,
           invoice_id is not null as "isOfService"
      from negative_adjustments where account_id = ${account} and negative_adjustment_id = any(${arrayLiteral(ids)}::bigint[])`)

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
