import { groupBy } from '../../kernel/grouping.ts'
import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { NegativeKind, PositiveKind, Recovery, TaxAmount } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import type { SettledTax, Settlement } from '../money/types.ts'

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

/** Lists the taxes that credit notes of the service took back, each with the number that its settlement keeps. */
export const listPostedNoteTaxes = (db: Queryable, account: AccountId, noteIds: readonly Id[]) =>
  db.rows<RecordTax>(sql`
    select c.credit_note_id as "id", c.name, c.rate, t.tax_number as "taxNumber", c.amount_minor as "amountMinor"
      from credit_note_taxes c
      left join settlements s on s.account_id = ${account} and s.negative_adjustment_id = c.credit_note_id
      left join settlement_taxes t on t.account_id = ${account} and t.settlement_id = s.settlement_id and t.line = c.line
     where c.account_id = ${account} and c.credit_note_id = any(${arrayLiteral(noteIds)}::bigint[])
     order by c.credit_note_id, c.line`)

/** Lists what of bad debts was recovered after their books were closed, oldest first. */
export const listPostedRecoveries = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<Recovery & { id: Id }>(sql`
    select negative_adjustment_id as "id", amount_minor as "amountMinor", dated from bad_debt_recoveries
     where account_id = ${account} and negative_adjustment_id = any(${arrayLiteral(ids)}::bigint[]) order by recovery_id`)

type StoredTax = Omit<SettledTax, 'category'>

/** A settlement as it is stored, ended ones too. */
export interface StoredSettlement extends Omit<Settlement, 'taxes'> {
  taxes: readonly StoredTax[]
}

export const listSettlements = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  listStored(db, account, fragment`s.settlement_id = any(${arrayLiteral(ids)}::bigint[])`)

/** Lists the old settlements whose entries stand under allocations. */
export const listSettlementsUnder = (db: Queryable, account: AccountId, allocationIds: readonly Id[]) =>
  listStored(db, account, fragment`s.old_allocation_id = any(${arrayLiteral(allocationIds)}::bigint[])`)

async function listStored(db: Queryable, account: AccountId, condition: Fragment): Promise<StoredSettlement[]> {
  const rows = await db.rows<Omit<StoredSettlement, 'taxes'>>(sql`
    select s.settlement_id as "id", s.customer_id as "customerId", s.negative_adjustment_id as "noteId", s.invoice_id as "invoiceId", s.basis,
           s.gross_minor as "amountMinor", s.settled_before_minor as "settledBeforeMinor", s.is_old as "isOld",
           s.old_allocation_id as "oldAllocationId", s.dated, s.ended_on as "endedOn"
      from settlements s where s.account_id = ${account} and ${condition} order by s.settlement_id`)
  const ids = arrayLiteral(rows.map(({ id }) => id))
  const taxes = await db.rows<StoredTax & { id: Id }>(sql`
    select settlement_id as "id", name, rate, tax_number as "taxNumber", amount_minor as "amountMinor", settled_before_minor as "settledBeforeMinor", dated
      from settlement_taxes where account_id = ${account} and settlement_id = any(${ids}::bigint[]) order by settlement_id, line`)
  const byId = groupBy(taxes, ({ id }) => id)
  return rows.map((row) => ({ ...row, taxes: byId.get(row.id) ?? [] }))
}
