import type { OwedKind } from '../../engine/money/allocating.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'
import { writtenEntries } from '../ledger/group-by-facts-queries.ts'

/**
 * Lists entries behind another, each with the invoice that it or its allocation is about; null where it is about none. Those in batches are of invoices that
 * are new themselves.
 */
export const listInvoicesPosted = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id; invoiceId: InvoiceId | null }>(sql`
    select e.entry_id as "id", case when e.record_type = 'invoice' then e.record_id else l.owed_id end as "invoiceId"
      from (select entry_id, record_type, record_id from ${writtenEntries(account)} w
             where entry_id > ${after} order by entry_id limit ${limit}) e
      left join allocations l
        on e.record_type = 'allocation' and l.account_id = ${account} and l.allocation_id = e.record_id and l.owed_kind = 'invoice'
     order by e.entry_id`)

export interface CheckedTax {
  invoiceId: InvoiceId
  name: string
  rate: Decimal
  baseMinor: bigint
  amountMinor: bigint
  /** Null where the one line of the invoice carries it whole. */
  shares: bigint[] | null
}

export const listCheckedTaxes = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  db.rows<CheckedTax>(sql`
    select invoice_id as "invoiceId", name, rate, base_minor as "baseMinor", amount_minor as "amountMinor", shares
      from invoice_taxes where account_id = ${account} and invoice_id = any(${arrayLiteral(ids)}::bigint[])
     order by invoice_id, invoice_tax_id`)

/** Sums of the allocations in force to a document owed, in minor units, by how they count. */
export interface AppliedTo {
  id: Id
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
  /** Of that, bad debt. */
  writtenOffMinor: bigint
}

export const listAppliedTo = (db: Queryable, account: AccountId, kind: OwedKind, ids: readonly Id[]) =>
  db.rows<AppliedTo>(sql`
    select l.owed_id as "id",
           coalesce(sum(l.amount_minor) filter (where l.given_kind = 'payment' and not s.pending), 0)::bigint as "paidMinor",
           coalesce(sum(l.amount_minor) filter (where l.given_kind = 'payment' and s.pending), 0)::bigint as "pendingMinor",
           coalesce(sum(l.amount_minor) filter (where l.given_kind = 'negative_adjustment'), 0)::bigint as "negativeMinor",
           coalesce(sum(l.amount_minor) filter (where n.kind = 'bad_debt'), 0)::bigint as "writtenOffMinor"
      from allocations l
      left join negative_adjustments n on l.given_kind = 'negative_adjustment' and n.account_id = ${account} and n.negative_adjustment_id = l.given_id
      left join payments p on l.given_kind = 'payment' and p.account_id = ${account} and p.payment_id = l.given_id
      cross join lateral (select coalesce(p.origin <> 'recorded' and p.settled_on is null, false) as pending) s
     where l.account_id = ${account} and l.owed_kind = ${kind} and l.ended_on is null and l.owed_id = any(${arrayLiteral(ids)}::bigint[])
     group by l.owed_id`)

/** Lists what credit notes settle for invoices, in minor units; those for which none does are left out. */
export const listCreditedOf = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  db.rows<{ id: InvoiceId; creditedMinor: bigint }>(sql`
    select invoice_id as "id", sum(gross_minor)::bigint as "creditedMinor" from settlements
     where account_id = ${account} and invoice_id = any(${arrayLiteral(ids)}::bigint[]) and ended_on is null and basis <> 'relief'
     group by invoice_id`)
