import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { OfMany, Queryable, Transaction } from '../../platform/database/database.ts'
import {
  arrayLiteral,
  column,
  type Fragment,
  fragment,
  namesOf,
  NOTHING,
  ofQuery,
  sql,
} from '../../platform/database/sql.ts'
import { direction, onward, type PageStart } from '../../platform/http/paging.ts'
import { mergedPage } from '../../platform/packed/page.ts'
import { bigints, deduplicated, texts } from '../../platform/database/columns.ts'
import { deliveriesOfWritten, endpointsOf } from './delivery-queries.ts'
import { invoiceOfEvent, RECORD_OF_EVENT, SHARED_TYPES, type SharedType, TYPE_OF_ROW } from './issued-place-queries.ts'
import { countShared, sharedFrom } from './issued-queries.ts'
import { EVENTS } from './packed.ts'
import { EVENT_TYPES, type EventType } from './types.ts'
import { assert } from '../../kernel/assert.ts'

/** Change of a record: its type `<resource>.<past tense>`, the record as it was at commit, who did it and why. */
export interface NewEvent {
  type: EventType
  recordId: Id
  customerId: Id | null
  happenedAt: Instant
  actor: string
  reason: string | null
  /** JSON text of the record; null where the record's own rows are frozen. */
  record: string | null
}

/**
 * Events with a row of their own: all but those of issued invoices and their mails. Of a type that is never packed they are all there is, and Citus asks one worker for
 * them, where it asks all for the customers of the view.
 */
export const writtenOutEvents = fragment`event_rows`

const insertion = (account: AccountId, events: readonly NewEvent[]) => fragment`
    insert into event_rows (account_id, type, record_id, customer_id, happened_at, actor, reason, record)
    select ${account}, r.type, r.record_id, r.customer_id, r.happened_at, r.actor, r.reason, r.record::jsonb from unnest(
      ${column(events, 'type')}::text[], ${column(events, 'recordId')}::bigint[], ${column(events, 'customerId')}::bigint[],
      ${column(events, 'happenedAt')}::timestamptz[], ${column(events, 'actor')}::text[], ${column(events, 'reason')}::text[],
      ${texts(events, 'record')}::text[]) as r(type, record_id, customer_id, happened_at, actor, reason, record)`

/** Writes events with their deliveries: one statement, so that neither is there without the other. */
const withDeliveries = (account: AccountId, events: Fragment) => sql`
    with ${endpointsOf(account)}, written as (${events} returning event_id, type, record_id) ${deliveriesOfWritten(account)}`

const insertionWithDeliveries: OfMany<NewEvent> = (account, events) =>
  withDeliveries(account, insertion(account, events))

/** Writes events, one or thousands, in the transaction of the changes that they record. */
export const insertEvents = (tx: Transaction, events: readonly NewEvent[]) =>
  tx.rows(insertionWithDeliveries(tx.account, events))

/** Source of events: parts of a statement that come first, and rows with `record_id`, `customer_id` and `record`, in order. */
interface EventSource {
  with: Fragment
  rows: Fragment
}

/** Returns the statement that writes events which are made of what it wrote before them, with their deliveries. */
export const eventsFrom = (
  account: AccountId,
  { type, happenedAt, actor, reason }: Pick<NewEvent, 'type' | 'happenedAt' | 'actor' | 'reason'>,
  source: EventSource,
): Fragment => fragment`
    with ${endpointsOf(account)}, ${source.with}, written as (
      insert into event_rows (account_id, type, record_id, customer_id, happened_at, actor, reason, record)
      select ${account}, ${type}, r.record_id, r.customer_id, ${happenedAt}::timestamptz, ${actor}, ${reason}, r.record from (${source.rows}) r
      returning event_id, type, record_id) ${deliveriesOfWritten(account)}`

/** Writes events without waiting: nothing depends on the answer, and a failure rolls the transaction back. */
export const sendEvents = (tx: Transaction, events: readonly NewEvent[]): void =>
  tx.sendGrouped(insertionWithDeliveries, events)

/** Writes an event that no endpoint is sent automatically, and returns its identifier. */
export const insertUnsentEvent = (tx: Transaction, event: NewEvent): Promise<Id> =>
  tx.value<Id>(sql`${insertion(tx.account, [event])} returning event_id as "id"`)

/** Writes many events that differ only in their record: what they share travels and is read once. */
export async function insertLikeEvents(
  tx: Transaction,
  common: Pick<NewEvent, 'type' | 'happenedAt' | 'actor' | 'reason'>,
  events: readonly Pick<NewEvent, 'recordId' | 'customerId' | 'record'>[],
): Promise<void> {
  for (const { rows, distinct, positions } of deduplicated(events, ['record'])) {
    const insertion = fragment`
      insert into event_rows (account_id, type, happened_at, actor, reason, record_id, customer_id, record)
      select ${tx.account}, ${common.type}, ${common.happenedAt}::timestamptz, ${common.actor}, ${common.reason}, r.record, r.customer,
             (${column(distinct, 'record')}::jsonb[])[r.shape]
        from unnest(${bigints(rows, 'recordId')}::bigint[], ${bigints(rows, 'customerId')}::bigint[], ${positions}::integer[])
          as r(record, customer, shape)`
    await tx.rows(withDeliveries(tx.account, insertion))
  }
}

export interface RecordedEvent {
  id: Id
  type: EventType
  recordId: Id
  customerId: Id | null
  happenedAt: Instant
  actor: string
  reason: string | null
  /** JSON text; see docs/events.md for the one type whose record is composed. */
  record: string | null
}

export interface EventFilter {
  type?: EventType | null
  /** Types of which an event is to be one; it holds beside `type`. */
  types?: readonly EventType[] | null
  customerId?: Id | null
  recordId?: Id | null
  /** Inclusive. */
  from?: Instant | null
  /** Exclusive. */
  before?: Instant | null
}

// Every event of one row is indexed by its record, under the condition that the index has.
const conditions = (filter: EventFilter): Fragment => fragment`
  ${filter.recordId == null ? NOTHING : fragment`and record_id = ${filter.recordId} and type <> 'invoice.issued'`}
  ${filter.type == null ? NOTHING : fragment`and type = ${filter.type}`}
  ${filter.types == null ? NOTHING : fragment`and type = any(${arrayLiteral(filter.types)}::text[])`}
  ${filter.customerId == null ? NOTHING : fragment`and customer_id = ${filter.customerId}`}
  ${filter.from == null ? NOTHING : fragment`and happened_at >= ${filter.from}`}
  ${filter.before == null ? NOTHING : fragment`and happened_at < ${filter.before}`}`

const OF_EVENT = invoiceOfEvent(fragment`p.id`)

/** Rows of `events` and of `event_packs`: an event is in one of them. Of `p` are read its identifier, and the first of its row where it is in the latter. */
const EVENT_COLUMNS = fragment`
  p.id, coalesce(v.type, ${TYPE_OF_ROW}) as type, coalesce(v.record_id, ${OF_EVENT}) as "recordId",
  case when s.first_event_id is null then v.customer_id else i.customer_id end as "customerId",
  coalesce(v.happened_at, s.happened_at) as "happenedAt", coalesce(v.actor, s.actor) as actor, v.reason,
  coalesce(v.record, ${RECORD_OF_EVENT})::text as "record"`

// The invoice is computed in a part of its own: under row security no index is asked for what is computed of another table's column.
const joinedTo = (account: AccountId): Fragment => fragment`
  left join event_rows v on v.account_id = ${account} and v.event_id = p.id and p.first is null
  left join event_packs s on s.account_id = ${account} and ${EVENTS.beginsWith('s', fragment`p.first`)}
  left join lateral (select ${OF_EVENT} as invoice_id offset 0) o on true
  left join invoices i on i.account_id = ${account} and i.invoice_id = o.invoice_id`

/** Returns which events that share rows a filter may find: null for all, undefined for none. */
function sharedTypeOf({ type, types }: EventFilter): SharedType | null | undefined {
  const found = SHARED_TYPES.filter((one) => (type ?? one) === one && (types?.includes(one) ?? true))
  return found.length === SHARED_TYPES.length ? null : found[0]
}

/** Returns what lists events that are rows of their own, from the start of a page on. Those of several types are read type by type, because the index of types leads to each. */
function ownFrom(account: AccountId, filter: EventFilter, start: PageStart, most: number): Fragment {
  const { type, types, ...others } = filter
  const rows = (conditioned: EventFilter, ofType: Fragment) => fragment`
    select event_id as id, null::bigint as first from event_rows where account_id = ${account} ${ofType} ${onward(start, 'event_id')}
       ${conditions(conditioned)} order by event_id ${direction(start)} limit ${most}`
  if (types == null || type != null || others.recordId != null || others.customerId != null)
    return rows(filter, NOTHING)
  return fragment`
    select o.id, o.first from unnest(${arrayLiteral(types)}::text[]) as t(type)
     cross join lateral (${rows(others, fragment`and type = t.type`)}) o`
}

/** Lists events in the order in which they were written. */
export function listEvents(db: Queryable, account: AccountId, filter: EventFilter, start: PageStart, limit: number) {
  const type = sharedTypeOf(filter)
  const own = ownFrom(account, filter, start, start.skip + limit)
  const inPacks =
    type === undefined
      ? undefined
      : fragment`select id, first from (${sharedFrom(account, { ...filter, type }, start)}) o`
  return db.rows<RecordedEvent>(sql`
    select ${EVENT_COLUMNS} from (${mergedPage({ own, inPacks, id: 'id' }, start, limit)}) p ${joinedTo(account)}
     order by p.id ${direction(start)}`)
}

export const listEventsById = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<RecordedEvent>(sql`
    select ${EVENT_COLUMNS}
      from (select w.id, (select c.first_event_id from event_packs c where c.account_id = ${account} and ${EVENTS.hasId('c', fragment`w.id`)}) as first
              from unnest(${arrayLiteral(ids)}::bigint[]) as w(id)) p ${joinedTo(account)}
     where v.event_id is not null or s.first_event_id is not null`)

export async function countEvents(db: Queryable, account: AccountId, filter: EventFilter): Promise<number> {
  const statement = sql`select count(*) as "n" from event_rows where account_id = ${account} ${conditions(filter)}`
  const type = sharedTypeOf(filter)
  return (await db.count(statement)) + (type === undefined ? 0 : await countShared(db, account, { ...filter, type }))
}

/** Replaces who a customer is in the records of its events: the one change that an event ever gets. Of an event the service may update nothing else. */
export const anonymiseEvents = (tx: Transaction, customerId: Id, neutral: string) =>
  tx.rows(sql`
    update event_rows set record = anonymised_record(record, ${customerId}::bigint, ${neutral})
     where account_id = ${tx.account} and customer_id = ${customerId}
       and jsonb_path_exists(record, '$.**.customerID ? (@ == $id)', jsonb_build_object('id', ${customerId}::bigint))`)

/**
 * Records that were changed since an instant, by their events and by notes of changes that have no event of their own (decision 27). The clock is that of
 * the database, in real time.
 */

const RECORD_TYPES = [
  'customer',
  'subscription',
  'invoice',
  'recurring_invoice',
  'package',
  'component',
  'payment',
  'credit_note',
] as const

/** A kind of record whose list can be asked for what was updated. */
type UpdatedType = (typeof RECORD_TYPES)[number]

/** Events after which a record reads as before: something was sent, tried or billed. */
const LEAVE_IT: readonly EventType[] = [
  'customer.reminder_queued',
  'payment.receipt_queued',
  'invoice.debit_unannounced',
  'invoice.link_revoked',
  'subscription.billing_failed',
  'subscription.billing_recovered',
  'recurring_invoice.billing_failed',
  'recurring_invoice.billing_recovered',
]

const typesOf = (recordType: UpdatedType): EventType[] =>
  EVENT_TYPES.filter((type) => type.startsWith(`${recordType}.`) && !LEAVE_IT.includes(type))

/** Events that update a record by those of its type, and by those that bear its identifier though they are another record's. */
const EVENTS_OF: Readonly<Record<UpdatedType, string>> = Object.fromEntries(
  RECORD_TYPES.map((recordType) => {
    const others: EventType[] = recordType === 'subscription' ? ['usage.recorded'] : []
    return [recordType, arrayLiteral([...typesOf(recordType), ...others])]
  }),
) as Record<UpdatedType, string>

/** Events that show in the customer whom they belong to: their primary payment method. */
const METHOD_EVENTS = arrayLiteral(EVENT_TYPES.filter((type) => type.startsWith('payment_method.')))

// Read once, before the list: few against many, whatever else the list is filtered by.
const updated = (account: AccountId, recordType: UpdatedType, since: Instant): Fragment => fragment`
  select e.record_id from ${namesOf(recordType === 'invoice' ? EVENTS.list : EVENTS.rows)} e
   where e.account_id = ${account} and e.type = any(${EVENTS_OF[recordType]}::text[]) and e.recorded_at >= ${since}
  union
  select n.record_id from record_changes n
   where n.account_id = ${account} and n.record_type = ${recordType} and n.changed_at >= ${since}
  ${
    recordType === 'customer'
      ? fragment`union
  select e.customer_id from event_rows e
   where e.account_id = ${account} and e.type = any(${METHOD_EVENTS}::text[]) and e.recorded_at >= ${since}`
      : NOTHING
  }`

/** Returns the condition that a record was changed at an instant or later; `id` is its column as it stands in the code. */
export const onlyUpdated = (
  account: AccountId,
  recordType: UpdatedType,
  id: string,
  since: Instant | null | undefined,
): Fragment =>
  since == null ? NOTHING : fragment`and ${namesOf(id)} = any(array(${updated(account, recordType, since)}))`

/** Returns the end of a statement that notes the change of the records whose identifiers its part `changed` returns as `id`. */
export const notingChanged = (account: AccountId, recordType: UpdatedType): Fragment => fragment`
  insert into record_changes (account_id, record_type, record_id) select ${account}, ${recordType}, id from changed returning 1`

/** Notes that records were changed which no event is written of, without waiting. */
export const sendChanged = (tx: Transaction, recordType: UpdatedType, ids: readonly Id[]): void => {
  assert(ids.length > 0, 'something was changed')
  tx.send(
    ofQuery(sql`
    insert into record_changes (account_id, record_type, record_id)
    select ${tx.account}, ${recordType}, * from unnest(${bigints(
      ids.map((id) => ({ id })),
      'id',
    )}::bigint[])`),
  )
}

/** Returns true where an event about a record is written for a reason, of a type whose events are rows of their own. */
export const isRecordedFor = (
  tx: Transaction,
  { type, recordId, reason }: Pick<NewEvent, 'type' | 'recordId' | 'reason'>,
): Promise<boolean> =>
  tx.value<boolean>(sql`
    select exists (select 1 from event_rows where account_id = ${tx.account} and type = ${type} and record_id = ${recordId}
      and reason = ${reason}) as "is"`)
