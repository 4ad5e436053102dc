import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A note or an invoice with what it is, and what is settled of it, in minor units. */
export interface SettledSum {
  id: Id
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  settledMinor: bigint
}

/** Lists callers' notes that settle more than their amount, and the service's that settle anything but it. */
export const listNotesSettledWrong = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<SettledSum>(sql`
    select n.negative_adjustment_id as "id", n.customer_id as "customerId", n.currency, n.amount_minor as "amountMinor",
           coalesce(s.settled, 0)::bigint as "settledMinor"
      from negative_adjustments n
      left join (select negative_adjustment_id, sum(gross_minor) as settled from settlements
                  where account_id = ${account} group by negative_adjustment_id) s
        on s.negative_adjustment_id = n.negative_adjustment_id
     where n.account_id = ${account} and n.negative_adjustment_id > ${after}
       and (coalesce(s.settled, 0) > n.amount_minor or (n.invoice_id is not null and coalesce(s.settled, 0) <> n.amount_minor)
         or (n.kind = 'bad_debt' and s.settled is not null))
     order by n.negative_adjustment_id limit ${limit}`)

/** Lists invoices of which more is settled than their Total. Those with old settlements were credited by another rule. */
export const listInvoicesSettledWrong = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<SettledSum>(sql`
    select i.invoice_id as "id", i.customer_id as "customerId", i.currency, i.total_minor as "amountMinor", s.settled::bigint as "settledMinor"
      from invoices i
      join (select invoice_id, sum(gross_minor) as settled from settlements
             where account_id = ${account} group by invoice_id having not bool_or(is_old)) s on s.invoice_id = i.invoice_id
     where i.account_id = ${account} and i.invoice_id > ${after} and s.settled > i.total_minor
     order by i.invoice_id limit ${limit}`)

export interface CheckedSettlement {
  id: Id
  customerId: CustomerId
  noteId: Id
  invoiceId: Id
  noteInvoiceId: Id | null
  currency: string
  noteCustomerId: CustomerId
  invoiceCustomerId: CustomerId
  invoiceCurrency: string
  invoiceTotalMinor: bigint
  isInvoiceOwed: boolean
}

export const listSettlementPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedSettlement>(sql`
    select s.settlement_id as "id", s.customer_id as "customerId", s.negative_adjustment_id as "noteId", s.invoice_id as "invoiceId",
           n.invoice_id as "noteInvoiceId", n.currency, n.customer_id as "noteCustomerId", i.customer_id as "invoiceCustomerId",
           i.currency as "invoiceCurrency", i.total_minor as "invoiceTotalMinor",
           i.issued_at is not null and i.cancelled_at is null as "isInvoiceOwed"
      from settlements s
      join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = s.negative_adjustment_id
      join invoices i on i.account_id = ${account} and i.invoice_id = s.invoice_id
     where s.account_id = ${account} and s.settlement_id > ${after} order by s.settlement_id limit ${limit}`)
