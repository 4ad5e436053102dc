import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import type { EventSeal } from './seal-queries.ts'

/** A row of events of invoices that is not that of as many invoices. */
interface EventsDifference {
  firstInvoiceId: InvoiceId
  events: number
  /** Invoices that it is rightly of. */
  invoices: number
}

// Of rows of a kind, the invoices `i` that are theirs are counted.
const listUnlike = (db: Queryable, account: AccountId, isOfKind: Fragment, areTheirs: Fragment) =>
  db.rows<EventsDifference>(sql`
    select s.first_invoice_id as "firstInvoiceId", (s.last_event_id - s.first_event_id + 1)::integer as "events", i.count::integer as "invoices"
      from (select *, (select max(m) from unnest(mailed) as m) as furthest from event_packs where account_id = ${account} offset 0) s
      cross join lateral (select count(*) as count from invoices i where i.account_id = ${account} and ${areTheirs}) i
     where ${isOfKind} and i.count <> s.last_event_id - s.first_event_id + 1
     order by s.first_event_id limit 1000`)

/** Lists rows of events of issued invoices that are not those of as many invoices, which were issued then. */
export const listEventsDifferences = (db: Queryable, account: AccountId) =>
  listUnlike(
    db,
    account,
    fragment`s.mailed is null`,
    fragment`i.invoice_id >= s.first_invoice_id and i.invoice_id <= s.first_invoice_id + (s.last_event_id - s.first_event_id)
           and i.issued_at = s.happened_at`,
  )

/** Lists rows of events of mails that name invoices which are not there, or were not issued by then. */
export const listMailsDifferences = (db: Queryable, account: AccountId) =>
  listUnlike(
    db,
    account,
    fragment`s.mailed is not null`,
    fragment`i.invoice_id >= s.first_invoice_id and i.invoice_id <= s.first_invoice_id + s.furthest
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
  db.one<{ invoices: bigint; events: bigint }>(sql`
    select (select count(*) from invoices where account_id = ${account} and number is not null) as "invoices",
           (select count(*) from event_rows where account_id = ${account} and type = 'invoice.issued')
             + (select coalesce(sum(last_event_id - first_event_id + 1), 0) from event_packs where account_id = ${account} and mailed is null)::bigint as "events"`)

/** Lists seals of an account behind one, in the order in which they were made. */
export const listEventSeals = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<EventSeal>(sql`
    select event_seal_id as "id", below_event_id as "below", events, seal from event_seals
     where account_id = ${account} and event_seal_id > ${after} order by event_seal_id limit ${limit}`)

export interface CheckedDelivery {
  id: Id
  eventId: Id
  /** Type and record, as the delivery has them. */
  about: string
  /** The same of its event; null where there is no such event. */
  eventAbout: string | null
}

/** Lists deliveries of webhooks whose event is not there, or is another than the one they name. */
export const listDeliveryDifferences = (db: Queryable, account: AccountId) =>
  db.rows<CheckedDelivery>(sql`
    select d.delivery_id as "id", d.event_id as "eventId", d.type || ' ' || d.record_id as "about", e.type || ' ' || e.record_id as "eventAbout"
      from webhook_deliveries d
      left join lateral (
        select v.type, v.record_id from event_rows v where v.account_id = ${account} and v.event_id = d.event_id
        union all
        select case when s.mailed is null then 'invoice.issued' else 'invoice.mail_queued' end,
               s.first_invoice_id + coalesce(s.mailed[(d.event_id - s.first_event_id)::integer + 1], d.event_id - s.first_event_id)
          from (select * from event_packs where account_id = ${account} and first_event_id <= d.event_id order by first_event_id desc limit 1) s
         where s.last_event_id >= d.event_id) e on true
     where d.account_id = ${account} and (e.type is distinct from d.type or e.record_id is distinct from d.record_id)
     order by d.delivery_id limit 1000`)
