import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { ArrayParameter } from '../../platform/database/columns.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { column, type Fragment, fragment, listed, namesOf, NOTHING, sql } from '../../platform/database/sql.ts'
import { direction, onward, type PageStart } from '../../platform/http/paging.ts'
import { packsOnward } from '../../platform/packed/page.ts'
import { deliveriesOfWritten, endpointsOf } from './delivery-queries.ts'
import { eventsOfInvoice, rowsOf, type SharedType } from './issued-place-queries.ts'
import { EVENTS } from './packed.ts'

/**
 * Events of invoices that share rows, of their issue and of their mails: writing, listing and counting the rows of `event_packs`. A row is called `s`.
 */

/** Invoices that are issued together, in their order, and what the event of each keeps. */
export interface IssuedInvoices {
  /** bigint[] */
  ids: ArrayParameter
  /** JSON texts of what is kept, without what is an invoice's own: its payment method and purchase order number are null in it. */
  kept: readonly string[]
  /** The place of what each keeps, counted from 0, as integer[]; null where there is one for all. */
  keptOf: ArrayParameter | null
  /** Payment methods, as bigint[]; null where no invoice has one. */
  methodIds: ArrayParameter | null
  /** Purchase order numbers, as text[]; null where no invoice has one. */
  poNumbers: ArrayParameter | null
  happenedAt: Instant
  actor: string
}

/** Writes the events of issued invoices, in the order of the invoices, with their deliveries. */
export function insertIssuedEvents(tx: Transaction, issued: IssuedInvoices) {
  const { happenedAt, actor } = issued
  const { records, places, source } = keptInRow(issued)
  return tx.rows(sql`
    with ${endpointsOf(tx.account)},
    drawn as materialized (select nextval('event_rows_event_id_seq') as event, r.* from ${drawnFor(issued)}),
    rows_written as (
      insert into event_packs (account_id, first_event_id, last_event_id, first_invoice_id, happened_at, actor, records, record_index, method_ids, po_numbers)
      select ${tx.account}, min(event), max(event), min(invoice), ${happenedAt}::timestamptz, ${actor}, ${records}, ${places},
             ${ownOf(issued.methodIds, METHODS)}, ${ownOf(issued.poNumbers, ORDERS)}
        from drawn d ${source}
       group by event - d.place, invoice - d.place, (d.place - 1) / ${EVENTS.maxMembers}
      returning first_event_id, last_event_id, first_invoice_id),
    written as (
      select first_event_id + k as event_id, 'invoice.issued' as type, first_invoice_id + k as record_id
        from rows_written cross join lateral generate_series(0, last_event_id - first_event_id) as k
       where exists (select 1 from endpoints) order by 1)
    ${deliveriesOfWritten(tx.account)}`)
}

/**
 * Returns the statement that writes the events of mails with invoices that one of its parts queues, and their deliveries. Of that part, `mailed`, are read the
 * invoices (`document_id`); a row is of those within 256 identifiers. `eventIds` (bigint[]) has at least as many as there are mails: they are drawn before, because
 * the part may be run where none can be drawn.
 */
export const eventsOfMails = (
  account: AccountId,
  happenedAt: Instant,
  actor: string,
  { mailed, eventIds }: { mailed: Fragment; eventIds: ArrayParameter },
): Fragment => fragment`
    with ${endpointsOf(account)}, mailed as (${mailed}),
    drawn as materialized (
      select (${eventIds}::bigint[])[m.place] as event, m.invoice, m.place
        from (select document_id as invoice, row_number() over (order by document_id) as place from mailed) m),
    rows_written as (
      insert into event_packs (account_id, first_event_id, last_event_id, first_invoice_id, happened_at, actor, records, mailed)
      select ${account}, min(d.event), max(d.event), min(d.invoice - (d.invoice & ${EVENTS.maxIds - 1})), ${happenedAt}::timestamptz, ${actor}, '[{}]',
             array_agg((d.invoice & ${EVENTS.maxIds - 1})::smallint order by d.event)
        from drawn d group by d.event - d.place, d.invoice / ${EVENTS.maxMembers}
      returning first_event_id, first_invoice_id, mailed),
    written as (
      select r.first_event_id + m.place - 1 as event_id, 'invoice.mail_queued' as type, r.first_invoice_id + m.distance as record_id
        from rows_written r cross join lateral unnest(r.mailed) with ordinality as m(distance, place)
       where exists (select 1 from endpoints) order by 1)
    ${deliveriesOfWritten(account)}`

/** Returns the relation `r` of the invoices, in their order. */
function drawnFor({ ids, keptOf, methodIds, poNumbers }: IssuedInvoices): Fragment {
  const arrays = [fragment`${ids}::bigint[]`]
  const names = ['invoice']
  const add = (name: string, array: Fragment) => {
    names.push(name)
    arrays.push(array)
  }
  if (keptOf !== null) add('kept', fragment`${keptOf}::integer[]`)
  if (methodIds !== null) add('method', fragment`${methodIds}::bigint[]`)
  if (poNumbers !== null) add('po', fragment`${poNumbers}::text[]`)
  return fragment`unnest(${listed(arrays)}) with ordinality as r(${namesOf(names.join(', '))}, place)`
}

const METHODS = fragment`case when count(d.method) > 0 then array_agg(d.method order by d.event) end`
const ORDERS = fragment`case when count(d.po) > 0 then array_agg(d.po order by d.event) end`
const NULL = fragment`null`

const ownOf = (values: ArrayParameter | null, inRow: Fragment): Fragment => (values === null ? NULL : inRow)

/** Texts of which a pack has all where its events differ; where there are more, it has that of each event. */
const SHARED_MAX = 16

/** Returns what a row of events keeps, the places of its records, and what is joined for it. Nobody compares event by event where there is one text alone. */
function keptInRow({ kept, keptOf }: IssuedInvoices): { records: Fragment; places: Fragment; source: Fragment } {
  if (keptOf === null) return { records: fragment`${`[${kept[0]}]`}::jsonb`, places: NULL, source: NOTHING }
  if (kept.length <= SHARED_MAX) {
    const all = `[${kept.join(',')}]`
    return {
      records: fragment`case when min(d.kept) = max(d.kept) then '[]' || (${all}::jsonb -> min(d.kept)) else ${all}::jsonb end`,
      places: fragment`case when min(d.kept) < max(d.kept) then array_agg(d.kept::smallint order by d.event) end`,
      source: NOTHING,
    }
  }
  const texts = kept.map((text) => ({ text }))
  return {
    records: fragment`case when min(d.kept) = max(d.kept) then '[]' || (array_agg(k.record))[1] else jsonb_agg(k.record order by d.event) end`,
    places: fragment`case when min(d.kept) < max(d.kept) then array(select generate_series(0, max(d.event) - min(d.event)))::smallint[] end`,
    // PostgreSQL walks to an element of a list of texts, and there may be one for each event.
    source: fragment`join unnest(${column(texts, 'text')}::jsonb[]) with ordinality as k(record, position) on k.position = d.kept + 1`,
  }
}

/** Limits of a list of events that share rows. */
interface SharedFilter {
  /** Null: of both. */
  type: SharedType | null
  customerId?: Id | null
  recordId?: Id | null
  /** Inclusive. */
  from?: Instant | null
  /** Exclusive. */
  before?: Instant | null
}

const inTime = ({ from, before }: SharedFilter): Fragment => fragment`
  ${from == null ? NOTHING : fragment`and s.happened_at >= ${from}`}
  ${before == null ? NOTHING : fragment`and s.happened_at < ${before}`}`

// Fenced by "offset 0": row security keeps a bound that is computed of another table from the index, unless it is a subquery's parameter.
const ofInvoices = (account: AccountId, { type, customerId, recordId }: SharedFilter): Fragment => fragment`
  invoices i
     cross join lateral (select * from (${eventsOfInvoice(account, type, fragment`i.invoice_id`)}) e offset 0) s
     where i.account_id = ${account} ${customerId == null ? NOTHING : fragment`and i.customer_id = ${customerId}`}
           ${recordId == null ? NOTHING : fragment`and i.invoice_id = ${recordId}`}`

const isOfSome = ({ customerId, recordId }: SharedFilter): boolean => customerId != null || recordId != null

/** Returns what lists events that share rows from the start of a page on, in its direction: each as `id`, and the `first` of its row. */
export function sharedFrom(account: AccountId, filter: SharedFilter, start: PageStart): Fragment {
  const order = direction(start)
  if (isOfSome(filter))
    return fragment`
      select s.id, s.first from ${ofInvoices(account, filter)} ${inTime(filter)} and ${onwardFrom(start, fragment`s.id`)}
       order by 1 ${order}`
  // Rows come in their order from the index, so only those of a page are gone through.
  return fragment`
    select e.id, s.first_event_id as first from event_packs s cross join lateral generate_series(s.first_event_id, s.last_event_id) as e(id)
     where s.account_id = ${account} and ${rowsOf(filter.type)} and ${packsOnward(EVENTS, start, 's.first_event_id')} ${inTime(filter)} ${onward(start, 'e.id')}
     order by s.first_event_id ${order}, e.id ${order}`
}

const onwardFrom = ({ fromId, isNewestFirst }: PageStart, id: Fragment): Fragment =>
  isNewestFirst ? fragment`${id} < ${fromId}` : fragment`${id} >= ${fromId}`

/** Counts events that share rows. */
export const countShared = (db: Queryable, account: AccountId, filter: SharedFilter) =>
  db.count(
    isOfSome(filter)
      ? sql`select count(*) as "n" from ${ofInvoices(account, filter)} ${inTime(filter)}`
      : sql`select coalesce(sum(s.last_event_id - s.first_event_id + 1), 0)::bigint as "n" from event_packs s
             where s.account_id = ${account} and ${rowsOf(filter.type)} ${inTime(filter)}`,
  )
