import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { oneRow, type Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { hashedRows } from '../../platform/database/planner-hints.ts'
import { PAGE_ENDS, type PageEnds, type Span } from './pages-queries.ts'

export const findBatches = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  oneRow<PageEnds>(
    db,
    sql`select ${PAGE_ENDS} from (
      select first_entry_id as id from ledger_packs where account_id = ${account} and first_entry_id > ${after} order by first_entry_id limit ${limit}) p`,
  )

/** Invoices of batches that are alike in all that their postings follow from, or one that is like no other. */
export interface BatchedAlike {
  postingShapeId: Id
  firstId: InvoiceId
  count: number
  /** Of one that is like no other: its customer, as the batch has it. All else is null then. */
  customerId: CustomerId | null
  shapeId: Id | null
  currency: string | null
  dated: IsoDate | null
  totalMinor: bigint | null
}

/**
 * Lists the invoices of the batches whose first entries a span has, as groups that are alike. One that is not there, not that customer's, not issued, cancelled, or
 * whose taxes are rows, is like no other.
 */
export const listBatchedAlike = (db: Queryable, account: AccountId, { after, upTo }: Span) =>
  hashedRows<BatchedAlike>(
    db,
    sql`
    with members as materialized (
      select b.first_invoice_id + m.place - 1 as invoice_id, m.customer_id, coalesce(m.template_id, b.template_ids[1]) as posting_template_id
        from ledger_packs b
        cross join lateral unnest(b.customer_ids, b.template_ids) with ordinality as m(customer_id, template_id, place)
       where b.account_id = ${account} and b.first_entry_id > ${after} and b.first_entry_id <= ${upTo}),
    placed as (
      select m.posting_template_id, m.invoice_id, i.template_id, i.currency, i.invoice_date, i.total_minor,
             case when i.template_id is null then m.invoice_id end as alone_id, case when i.template_id is null then m.customer_id end as customer_id
        from members m
        left join (
          select invoice_id, customer_id, template_id, currency, invoice_date, total_minor from invoices
           where account_id = ${account} and invoice_id = any(array(select invoice_id from members))
             and template_id is not null and issued_at is not null and cancelled_on is null offset 0) i
          on i.invoice_id = m.invoice_id and i.customer_id = m.customer_id)
    select posting_template_id as "postingShapeId", min(invoice_id) as "firstId", count(*)::integer as "count", customer_id as "customerId",
           template_id as "shapeId", currency, invoice_date as "dated", total_minor as "totalMinor"
      from placed group by posting_template_id, template_id, currency, invoice_date, total_minor, alone_id, customer_id order by min(invoice_id)`,
  )
