import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { ArrayParameter } from '../../platform/database/columns.ts'
import { countOf, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { column, type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { direction, onward, type PageStart } from '../../platform/http/paging.ts'
import { deliveriesOfWritten, endpointsOf } from './delivery-queries.ts'
import { EVENTS_MAX, holdsInvoice, ISSUED } from './issued-place-queries.ts'

/**
 * Events of issued invoices: writing, listing and counting the rows of `issued_events`. A row is called `s`.
 */

/** Invoices that are issued together, in their order, and what the event of each keeps. */
export interface IssuedInvoices {
  /** bigint[] */
  ids: ArrayParameter
  /** JSON texts of what is kept. */
  kept: readonly string[]
  /** The place of what each keeps, counted from 1, as integer[]; null where there is one for all. */
  keptOf: ArrayParameter | null
  happenedAt: Instant
  actor: string
}

/** Writes the events of issued invoices, in the order of the invoices, with their deliveries. */
export const insertIssuedEvents = (tx: Transaction, { ids, kept, keptOf, happenedAt, actor }: IssuedInvoices) =>
  tx.rows(sql`
    with ${endpointsOf(tx.account)},
    drawn as materialized (
      select nextval('events_event_id_seq') as event, r.invoice, r.place ${keptOf === null ? NOTHING : fragment`, r.kept`}
        from ${drawnFor(ids, keptOf)}),
    rows_written as (
      insert into issued_events (account_id, first_event_id, last_event_id, first_invoice_id, happened_at, actor, records)
      select ${tx.account}, min(event), max(event), min(invoice), ${happenedAt}::timestamptz, ${actor}, ${keptInRow(kept, keptOf)}
        from drawn d ${keptJoined(kept, keptOf)}
       group by event - d.place, invoice - d.place, (d.place - 1) / ${EVENTS_MAX}
      returning first_event_id, last_event_id, first_invoice_id),
    written as (
      select first_event_id + k as event_id, ${ISSUED} as type, first_invoice_id + k as record_id
        from rows_written cross join lateral generate_series(0, last_event_id - first_event_id) as k
       where exists (select 1 from endpoints) order by 1)
    ${deliveriesOfWritten(tx.account)}`)

const drawnFor = (ids: ArrayParameter, keptOf: ArrayParameter | null): Fragment =>
  keptOf === null
    ? fragment`unnest(${ids}::bigint[]) with ordinality as r(invoice, place)`
    : fragment`unnest(${ids}::bigint[], ${keptOf}::integer[]) with ordinality as r(invoice, kept, place)`

/** Returns what a row of events keeps: once for all where it is the same, which nobody compares event by event where there is one text alone. */
const keptInRow = (kept: readonly string[], keptOf: ArrayParameter | null): Fragment =>
  keptOf === null
    ? fragment`jsonb_build_array(${kept[0]}::jsonb)`
    : fragment`case when min(d.kept) = max(d.kept) then jsonb_build_array((array_agg(k.record))[1]) else jsonb_agg(k.record order by event) end`

/** Joins each event with its text: PostgreSQL walks to an element of a list of texts, and there may be one for each event. */
const keptJoined = (kept: readonly string[], keptOf: ArrayParameter | null): Fragment => {
  const texts = kept.map((text) => ({ text }))
  return keptOf === null
    ? NOTHING
    : fragment`join unnest(${column(texts, 'text')}::jsonb[]) with ordinality as k(record, kept) on k.kept = d.kept`
}

/** Limits of a list of events of issued invoices. */
interface IssuedFilter {
  customerId?: Id | null
  recordId?: Id | null
  /** Inclusive. */
  from?: Instant | null
  /** Exclusive. */
  before?: Instant | null
}

const inTime = ({ from, before }: IssuedFilter): Fragment => fragment`
  ${from == null ? NOTHING : fragment`and s.happened_at >= ${from}`}
  ${before == null ? NOTHING : fragment`and s.happened_at < ${before}`}`

// Fenced by "offset 0": row security keeps a bound that is computed of another table from the index, unless it is a subquery's parameter.
const ofInvoices = (account: AccountId, { customerId, recordId }: IssuedFilter): Fragment => fragment`
  invoices i
     cross join lateral (
       select s.first_event_id, s.first_invoice_id, s.happened_at from issued_events s where ${holdsInvoice(account, fragment`i.invoice_id`)} offset 0) s
     where i.account_id = ${account} ${customerId == null ? NOTHING : fragment`and i.customer_id = ${customerId}`}
           ${recordId == null ? NOTHING : fragment`and i.invoice_id = ${recordId}`}`

const isOfSome = ({ customerId, recordId }: IssuedFilter): boolean => customerId != null || recordId != null

/** Returns what lists events of issued invoices from the start of a page on, in its direction: each as `id`, and the `first` of its row. */
export function issuedFrom(account: AccountId, filter: IssuedFilter, start: PageStart): Fragment {
  const [order, { fromId }] = [direction(start), start]
  if (isOfSome(filter))
    return fragment`
      select s.first_event_id + (i.invoice_id - s.first_invoice_id) as id, s.first_event_id as first
        from ${ofInvoices(account, filter)} ${inTime(filter)}
             and ${onwardFrom(start, fragment`s.first_event_id + (i.invoice_id - s.first_invoice_id)`)}
       order by 1 ${order}`
  const ofRows = start.isNewestFirst
    ? fragment`s.first_event_id < ${fromId}`
    : fragment`s.first_event_id > ${fromId}::bigint - ${EVENTS_MAX}`
  // Rows come in their order from the index, so only those of a page are gone through.
  return fragment`
    select e.id, s.first_event_id as first from issued_events s cross join lateral generate_series(s.first_event_id, s.last_event_id) as e(id)
     where s.account_id = ${account} and ${ofRows} ${inTime(filter)} ${onward(start, 'e.id')}
     order by s.first_event_id ${order}, e.id ${order}`
}

const onwardFrom = ({ fromId, isNewestFirst }: PageStart, id: Fragment): Fragment =>
  isNewestFirst ? fragment`${id} < ${fromId}` : fragment`${id} >= ${fromId}`

/** Counts events of issued invoices. */
export const countIssued = (db: Queryable, account: AccountId, filter: IssuedFilter) =>
  countOf(
    db,
    isOfSome(filter)
      ? sql`select count(*) as "n" from ${ofInvoices(account, filter)} ${inTime(filter)}`
      : sql`select coalesce(sum(s.last_event_id - s.first_event_id + 1), 0)::bigint as "n" from issued_events s
             where s.account_id = ${account} ${inTime(filter)}`,
  )

/** Returns what lists the invoices that were issued at an instant of real time or later. */
export const issuedSince = (account: AccountId, since: Instant): Fragment => fragment`
  select generate_series(s.first_invoice_id, s.first_invoice_id + (s.last_event_id - s.first_event_id))
    from issued_events s where s.account_id = ${account} and s.recorded_at >= ${since}`
