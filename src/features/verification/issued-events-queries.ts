import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { oneRow, type Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A row of events of issued invoices that is not that of as many invoices. */
interface EventsDifference {
  firstInvoiceId: InvoiceId
  events: number
  /** Invoices of its range that were issued at its time. */
  invoices: number
}

export const listEventsDifferences = (db: Queryable, account: AccountId) =>
  db.rows<EventsDifference>(sql`
    select s.first_invoice_id as "firstInvoiceId", (s.last_event_id - s.first_event_id + 1)::integer as "events", i.count::integer as "invoices"
      from issued_events s
      cross join lateral (
        select count(*) as count from invoices i
         where i.account_id = ${account} and i.invoice_id >= s.first_invoice_id
           and i.invoice_id <= s.first_invoice_id + (s.last_event_id - s.first_event_id) and i.issued_at = s.happened_at) i
     where s.account_id = ${account} and s.mailed is null and i.count <> s.last_event_id - s.first_event_id + 1
     order by s.first_event_id limit 1000`)

/** Lists rows of events of mails that name invoices which are not there, or were not issued by then. */
export const listMailsDifferences = (db: Queryable, account: AccountId) =>
  db.rows<EventsDifference>(sql`
    select s.first_invoice_id as "firstInvoiceId", (s.last_event_id - s.first_event_id + 1)::integer as "events", i.count::integer as "invoices"
      from issued_events s
      cross join lateral (
        select count(*) as count from invoices i
         where i.account_id = ${account} and i.invoice_id >= s.first_invoice_id and i.invoice_id < s.first_invoice_id + 256
           and (i.invoice_id - s.first_invoice_id)::smallint = any (s.mailed) and i.issued_at <= s.happened_at) i
     where s.account_id = ${account} and s.mailed is not null and i.count <> s.last_event_id - s.first_event_id + 1
     order by s.first_event_id limit 1000`)

/** Lists rows of events of which an identifier is given once more: by the next row, or by an event of its own. */
export const listEventsTwice = (db: Queryable, account: AccountId) =>
  db.rows<{ firstInvoiceId: InvoiceId; last: bigint; next: bigint }>(sql`
    select s.first_invoice_id as "firstInvoiceId", s.last_event_id as "last", least(s.next, v.event_id) as "next"
      from (select *, lead(first_event_id) over (order by first_event_id) as next from issued_events where account_id = ${account}) s
      left join lateral (
        select event_id from events where account_id = ${account} and event_id >= s.first_event_id order by event_id limit 1) v on true
     where s.next <= s.last_event_id or v.event_id <= s.last_event_id
     order by s.first_event_id limit 1000`)

/** Counts the invoices that were issued, and the events of it. */
export const countIssuedInvoices = (db: Queryable, account: AccountId) =>
  oneRow<{ invoices: bigint; events: bigint }>(
    db,
    sql`
    select (select count(*) from invoices where account_id = ${account} and number is not null) as "invoices",
           (select count(*) from events where account_id = ${account} and type = 'invoice.issued')
             + (select coalesce(sum(last_event_id - first_event_id + 1), 0) from issued_events where account_id = ${account} and mailed is null)::bigint as "events"`,
  )
