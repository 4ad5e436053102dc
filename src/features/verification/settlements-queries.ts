import type { NegativeKind } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { writtenEntries } from '../ledger/group-by-facts-queries.ts'

/** A note or an invoice with what it is, and what is settled of it, in minor units. */
export interface SettledSum {
  id: Id
  customerId: CustomerId
  currency: string
  amountMinor: bigint
  settledMinor: bigint
}

/** Lists negative adjustments that settle more than their amount, and notes made for an invoice, so closed before they were sent, that settle anything but it. */
export const listNotesSettledWrong = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<SettledSum>(sql`
    select n.negative_adjustment_id as "id", n.customer_id as "customerId", n.currency, n.amount_minor as "amountMinor",
           coalesce(s.settled, 0)::bigint as "settledMinor"
      from negative_adjustments n
      left join (select negative_adjustment_id, sum(gross_minor) as settled from settlements
                  where account_id = ${account} and ended_on is null group by negative_adjustment_id) s
        on s.negative_adjustment_id = n.negative_adjustment_id
     where n.account_id = ${account} and n.negative_adjustment_id > ${after}
       and (coalesce(s.settled, 0) > n.amount_minor
         or ((n.closed_at < n.sent_at or (n.closed_at is not null and n.sent_at is null)) and coalesce(s.settled, 0) <> n.amount_minor))
     order by n.negative_adjustment_id limit ${limit}`)

/** Lists invoices of which notes settle more than their Total. Those with old settlements were credited by another rule. */
export const listInvoicesSettledWrong = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<SettledSum>(sql`
    select i.invoice_id as "id", i.customer_id as "customerId", i.currency, i.total_minor as "amountMinor", s.settled::bigint as "settledMinor"
      from invoices i
      join (select invoice_id, sum(gross_minor) as settled from settlements
             where account_id = ${account} and ended_on is null and basis <> 'relief' group by invoice_id having not bool_or(is_old)) s on s.invoice_id = i.invoice_id
     where i.account_id = ${account} and i.invoice_id > ${after} and s.settled > i.total_minor
     order by i.invoice_id limit ${limit}`)

/** Lists bad debts of which more is relieved for an invoice than is allocated to it; `amountMinor` is what is. */
export const listOverRelieved = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<SettledSum>(sql`
    select n.negative_adjustment_id as "id", n.customer_id as "customerId", n.currency, l.allocated::bigint as "amountMinor",
           s.relieved::bigint as "settledMinor"
      from (select negative_adjustment_id, invoice_id, sum(gross_minor) as relieved from settlements
             where account_id = ${account} and ended_on is null and basis = 'relief' and negative_adjustment_id > ${after}
             group by negative_adjustment_id, invoice_id) s
      join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = s.negative_adjustment_id
      cross join lateral (
        select coalesce(sum(a.amount_minor), 0) as allocated from allocations a
         where a.account_id = ${account} and a.owed_kind = 'invoice' and a.owed_id = s.invoice_id
           and a.given_kind = 'negative_adjustment' and a.given_id = s.negative_adjustment_id and a.ended_on is null) l
     where s.relieved > l.allocated order by n.negative_adjustment_id fetch first (${limit}::bigint) rows with ties`)

/** A settlement that ended, with the tax that it took back and what of it the ledger has back on that day, in minor units. */
export interface EndedSettlement {
  id: Id
  customerId: CustomerId
  currency: string
  endedOn: IsoDate
  taxMinor: bigint
  backMinor: bigint
}

/** Lists settlements that ended on a day on which the ledger has not all of their tax back. */
export const listEndedWrong = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<EndedSettlement>(sql`
    select s.settlement_id as "id", s.customer_id as "customerId", i.currency, s.ended_on as "endedOn", t.tax::bigint as "taxMinor",
           coalesce(e.back, 0)::bigint as "backMinor"
      from settlements s
      join invoices i on i.account_id = ${account} and i.invoice_id = s.invoice_id
      cross join lateral (select coalesce(sum(x.amount_minor), 0) as tax from settlement_taxes x
        where x.account_id = ${account} and x.settlement_id = s.settlement_id) t
      left join (
        select record_type, record_id, dated, sum(amount_minor) as back from ${writtenEntries(account)} w
         where is_reversal and credit = 'tax' and event in ('tax_taken_back', 'bad_debt_tax_relieved')
         group by record_type, record_id, dated) e
        on e.dated = s.ended_on and e.record_id = coalesce(s.old_allocation_id, s.settlement_id)
       and e.record_type = case when s.old_allocation_id is null then 'settlement' else 'allocation' end
     where s.account_id = ${account} and s.settlement_id > ${after} and s.ended_on is not null and t.tax <> coalesce(e.back, 0)
     order by s.settlement_id limit ${limit}`)

export interface CheckedSettlement {
  id: Id
  customerId: CustomerId
  noteId: Id
  invoiceId: Id
  /** Kind of the note; this and all else about it is null where it was deleted after an event had ended the settlement. */
  noteKind: NegativeKind | null
  noteInvoiceId: Id | null
  currency: string | null
  noteCustomerId: CustomerId | null
  invoiceCustomerId: CustomerId
  invoiceCurrency: string
  invoiceTotalMinor: bigint
  isInvoiceOwed: boolean
}

export const listSettlementPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedSettlement>(sql`
    select s.settlement_id as "id", s.customer_id as "customerId", s.negative_adjustment_id as "noteId", s.invoice_id as "invoiceId",
           n.kind as "noteKind", n.invoice_id as "noteInvoiceId", n.currency, n.customer_id as "noteCustomerId", i.customer_id as "invoiceCustomerId",
           i.currency as "invoiceCurrency", i.total_minor as "invoiceTotalMinor",
           i.issued_at is not null and i.cancelled_at is null as "isInvoiceOwed"
      from settlements s
      left join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = s.negative_adjustment_id
      join invoices i on i.account_id = ${account} and i.invoice_id = s.invoice_id
     where s.account_id = ${account} and s.settlement_id > ${after} order by s.settlement_id limit ${limit}`)
