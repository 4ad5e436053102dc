import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { oneRow, type Queryable } from '../../platform/database/database.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { EVENTS_MAX, rowsOf, type SharedType } from '../events/issued-place-queries.ts'

/** A row of events of invoices that is not that of as many invoices. */
interface EventsDifference {
  firstInvoiceId: InvoiceId
  events: number
  /** Invoices that it is rightly of. */
  invoices: number
}

// Of rows of a kind, the invoices `i` that are theirs are counted.
const listUnlike = (db: Queryable, account: AccountId, type: SharedType, areTheirs: Fragment) =>
  db.rows<EventsDifference>(sql`
    select s.first_invoice_id as "firstInvoiceId", (s.last_event_id - s.first_event_id + 1)::integer as "events", i.count::integer as "invoices"
      from event_packs s
      cross join lateral (select count(*) as count from invoices i where i.account_id = ${account} and ${areTheirs}) i
     where s.account_id = ${account} and ${rowsOf(type)} and i.count <> s.last_event_id - s.first_event_id + 1
     order by s.first_event_id limit 1000`)

/** Lists rows of events of issued invoices that are not those of as many invoices, which were issued then. */
export const listEventsDifferences = (db: Queryable, account: AccountId) =>
  listUnlike(
    db,
    account,
    'invoice.issued',
    fragment`i.invoice_id >= s.first_invoice_id and i.invoice_id <= s.first_invoice_id + (s.last_event_id - s.first_event_id)
           and i.issued_at = s.happened_at`,
  )

/** Lists rows of events of mails that name invoices which are not there, or were not issued by then. */
export const listMailsDifferences = (db: Queryable, account: AccountId) =>
  listUnlike(
    db,
    account,
    'invoice.mail_queued',
    fragment`i.invoice_id >= s.first_invoice_id and i.invoice_id < s.first_invoice_id + ${EVENTS_MAX}
           and (i.invoice_id - s.first_invoice_id)::smallint = any (s.mailed) and i.issued_at <= s.happened_at`,
  )

/** Lists rows of events of which an identifier is given once more: by the next row, or by an event of its own. */
export const listEventsTwice = (db: Queryable, account: AccountId) =>
  db.rows<{ firstInvoiceId: InvoiceId; last: bigint; next: bigint }>(sql`
    select s.first_invoice_id as "firstInvoiceId", s.last_event_id as "last", least(s.next, v.event_id) as "next"
      from (select *, lead(first_event_id) over (order by first_event_id) as next from event_packs where account_id = ${account}) s
      left join lateral (
        select event_id from event_rows where account_id = ${account} and event_id >= s.first_event_id order by event_id limit 1) v on true
     where s.next <= s.last_event_id or v.event_id <= s.last_event_id
     order by s.first_event_id limit 1000`)

/** Counts the invoices that were issued, and the events of it. */
export const countIssuedInvoices = (db: Queryable, account: AccountId) =>
  oneRow<{ invoices: bigint; events: bigint }>(
    db,
    sql`
    select (select count(*) from invoices where account_id = ${account} and number is not null) as "invoices",
           (select count(*) from event_rows where account_id = ${account} and type = 'invoice.issued')
             + (select coalesce(sum(last_event_id - first_event_id + 1), 0) from event_packs where account_id = ${account} and mailed is null)::bigint as "events"`,
  )
