import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'

/** Seals of events, and the events as seals hash them: read as they lie, those of rows of their own and those that share rows. */

/** How long a mark waits for older writes, in milliseconds. */
const MARK_PATIENCE_MS = 5000

/**
 * Takes the mark of events: the identifier below which no event can be written any more. Events below it are seen by statements that begin after it was
 * taken. Older writes that last longer leave their events above it.
 */
export const takeEventMark = (db: Queryable, patienceMs = MARK_PATIENCE_MS): Promise<bigint> =>
  db.value<bigint>(sql`
    select take_mark('events', make_interval(secs => ${patienceMs}::float8 / 1000)) as "below"`)

export interface EventSeal {
  id: Id
  /** Its events are those from the seal before up to below this identifier. */
  below: Id
  events: bigint
  seal: Buffer
}

/** Finds the newest seal of an account. */
export const findNewestEventSeal = async (db: Queryable, account: AccountId): Promise<EventSeal | undefined> =>
  (
    await db.rows<EventSeal>(sql`
    select event_seal_id as "id", below_event_id as "below", events, seal from event_seals
     where account_id = ${account} order by event_seal_id desc limit 1`)
  )[0]

export const insertEventSeal = (tx: Transaction, { below, events, seal }: Omit<EventSeal, 'id'>, at: Instant) =>
  tx.rows(sql`
    insert into event_seals (account_id, sealed_at, below_event_id, events, seal)
    values (${tx.account}, ${at}, ${below}, ${events}, ${seal})`)

/** Identifiers from one up to below another. */
export interface EventSpan {
  from: Id
  below: Id
}

/** Events that follow each other and have type, instant, actor and reason in common. */
export interface AlikeEvents {
  first: Id
  count: number
  type: string
  happenedAt: Instant
  actor: string
  reason: string | null
  /** A line of each, see `lineOf`. */
  lines: string
}

/** An event as a seal hashes it. */
interface SealedRow extends Omit<AlikeEvents, 'count' | 'lines'> {
  recordId: Id
  customerId: CustomerId | null
  /** JSON text of the record; null where a person may stand in it. */
  record: string | null
}

/**
 * Kinds of records in which no person stands. Their events have no customer either; where one has, its record may be made anonymous and is not hashed.
 */
const WITHOUT_PERSONS = [
  'account',
  'api_key',
  'currency',
  'package_group',
  'package',
  'package_version',
  'component',
  'component_version',
  'tax_setting',
  'gl_codes',
  'gateway',
  'collection_rules',
  'webhook',
  'batch',
]

/** Lists events that have a row of their own, from the first of a span on. */
export async function listRowsToSeal(
  db: Queryable,
  account: AccountId,
  { from, below }: EventSpan,
  limit: number,
): Promise<AlikeEvents[]> {
  const rows = await db.rows<SealedRow>(sql`
    select event_id as "first", type, happened_at as "happenedAt", actor, reason, record_id as "recordId", customer_id as "customerId",
           case when customer_id is null and split_part(type, '.', 1) = any (${`{${WITHOUT_PERSONS.join(',')}}`}::text[]) then record::text end as "record"
      from event_rows where account_id = ${account} and event_id >= ${from} and event_id < ${below} order by event_id limit ${limit}`)
  return rows.map((row) => ({ ...row, count: 1, lines: lineOf(row) }))
}

/** Returns the line of an event: its identifier, its record's, its customer's, and the record where it is hashed. */
const lineOf = ({ first, recordId, customerId, record }: SealedRow): string =>
  `${first} ${recordId} ${customerId ?? ''}${record === null ? '' : ` ${record}`}\n`

const LINE = fragment`e.id || ' ' || e.invoice_id || ' ' || coalesce(i.customer_id::text, '') || E'\n'`

/**
 * Lists events that share rows, a row each, from the first of a span on. Of a row that lies across an end of the span are its events within. The invoices
 * stand in a subquery with "offset 0", whose bounds are its parameters, so that row security leaves them the index.
 */
export const listSharedToSeal = (db: Queryable, account: AccountId, { from, below }: EventSpan, limit: number) =>
  db.rows<AlikeEvents>(sql`
    select greatest(s.first_event_id, ${from}::bigint) as "first", l.count::integer as "count", l.lines,
           case when s.mailed is null then 'invoice.issued' else 'invoice.mail_queued' end as "type", s.happened_at as "happenedAt", s.actor,
           null::text as "reason"
      from (select *, first_invoice_id + case when mailed is null then last_event_id - first_event_id else (select max(m) from unnest(mailed) m) end as last_invoice_id
              from event_packs
             where account_id = ${account} and last_event_id >= ${from}::bigint and first_event_id < ${below}::bigint and first_event_id >=
               (select coalesce(max(first_event_id), 0) from event_packs where account_id = ${account} and first_event_id <= ${from}::bigint)
             order by first_event_id limit ${limit}) s
     cross join lateral (
       select count(*) as count, string_agg(${LINE}, '' order by e.id) as lines
         from (select n as id, s.first_invoice_id + coalesce(s.mailed[(n - s.first_event_id)::integer + 1], n - s.first_event_id) as invoice_id
                 from generate_series(greatest(s.first_event_id, ${from}::bigint), least(s.last_event_id, ${below}::bigint - 1)) as n) e
         left join (select invoice_id, customer_id from invoices
                     where account_id = ${account} and invoice_id >= s.first_invoice_id and invoice_id <= s.last_invoice_id offset 0) i
                on i.invoice_id = e.invoice_id) l
     order by s.first_event_id`)
