import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { bigints } from '../../platform/database/columns.ts'
import { isOver, UNTIL } from '../../platform/database/lease.ts'
import { arrayLiteral, column, type Fragment, fragment, ofQuery, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { EventType } from './types.ts'
import { EVENTS } from './packed.ts'

/**
 * Deliveries: events that endpoints (webhooks) are sent. They are written here because each is written with its event; sending is the part of
 * `webhooks`. Instants are real time.
 */

/** waiting: a try is to come; delivered: an endpoint has taken it; failed: given up. */
export const DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Tries of an event for which later events of its record wait. */
export const TRIES_IN_ORDER = 5

/** Returns the condition that an endpoint wants events of a type: of all types, of this one, or of all of its resource. */
const isWanted = (types: Fragment, type: Fragment): Fragment =>
  fragment`(${types} is null or ${type} = any (${types}) or split_part(${type}, '.', 1) || '.*' = any (${types}))`

/** Returns the part of a statement that reads the endpoints which are active: once, and before anything is written. */
export const endpointsOf = (account: AccountId): Fragment =>
  fragment`endpoints as materialized (select webhook_id, types from webhooks where account_id = ${account} and is_active)`

/**
 * Returns the part of a statement that writes a delivery of each event of `written` for each of the `endpoints` that want it. Where there are no
 * endpoints, the events are not gone through again.
 */
export const deliveriesOfWritten = (account: AccountId): Fragment => fragment`
  insert into webhook_deliveries (account_id, webhook_id, event_id, type, record_id)
  select ${account}, w.webhook_id, e.event_id, e.type, e.record_id
    from endpoints w join written e on ${isWanted(fragment`w.types`, fragment`e.type`)} returning 1`

export interface NewDelivery {
  webhookId: Id
  eventId: Id
}

/** Writes a delivery of an event that was written already, in no order: a replay, or a test. */
export const insertDelivery = (tx: Transaction, { webhookId, eventId }: NewDelivery) =>
  tx.rows(sql`
    insert into webhook_deliveries (account_id, webhook_id, event_id, type, record_id, is_ordered)
    select ${tx.account}, ${webhookId}, ${eventId}, e.type, e.record_id, false
      from events e where e.account_id = ${tx.account} and ${EVENTS.isId('e', fragment`${eventId}::bigint`)}
    returning 1`)

/** Events of a time, of some types (null: all) that are not those of tests; `from` is inclusive, `before` exclusive. */
export interface EventRange {
  from: Instant
  before: Instant
  types: readonly string[] | null
}

const listOrNull = (types: readonly string[] | null) => (types === null ? null : arrayLiteral(types))

const eventsIn = (account: AccountId, { from, before, types }: EventRange) => fragment`
  events e where e.account_id = ${account} and e.happened_at >= ${from} and e.happened_at < ${before} and e.type <> 'webhook.tested'
     and ${isWanted(fragment`${listOrNull(types)}::text[]`, fragment`e.type`)}`

/** Counts the events of a time, up to a number. */
export const countEventsIn = (db: Queryable, account: AccountId, range: EventRange, most: number) =>
  db.count(sql`select count(*) as "n" from (select 1 from ${eventsIn(account, range)} limit ${most}) as found`)

/** Writes deliveries of the events of a time, in no order. They are found first: Citus refuses an insert whose view turns out to be empty. */
export const insertDeliveriesOf = (tx: Transaction, webhookId: Id, range: EventRange) =>
  tx.rows(
    ofQuery(sql`
    with found as materialized (select e.event_id, e.type, e.record_id from ${eventsIn(tx.account, range)})
    insert into webhook_deliveries (account_id, webhook_id, event_id, type, record_id, is_ordered)
    select ${tx.account}, ${webhookId}, f.event_id, f.type, f.record_id, false from found f order by f.event_id`),
  )

/** A delivery as it is shown. */
export interface Delivery extends NewDelivery {
  id: Id
  type: EventType
  state: DeliveryState
  tries: number
  /** Status of the last answer; null where none came. */
  lastStatus: number | null
  lastTryAt: Instant | null
  nextTryAt: Instant | null
}

const SHOWN = fragment`
  delivery_id as "id", webhook_id as "webhookId", event_id as "eventId", type, state, tries, last_status as "lastStatus",
  last_try_at as "lastTryAt", case when state = 'waiting' then greatest(next_try_at, created_at) end as "nextTryAt"`

const of = (account: AccountId, webhookId: Id) => fragment`account_id = ${account} and webhook_id = ${webhookId}`

export const findDelivery = (db: Queryable, account: AccountId, webhookId: Id, id: Id) =>
  db.first<Delivery>(sql`
    select ${SHOWN} from webhook_deliveries where ${of(account, webhookId)} and delivery_id = ${id}`)

export interface DeliveryFilter {
  webhookId: Id
}

/** Lists the deliveries of an endpoint in the order in which they were written. */
export const listDeliveries = (
  db: Queryable,
  account: AccountId,
  { webhookId }: DeliveryFilter,
  start: PageStart,
  limit: number,
) =>
  db.rows<Delivery>(sql`
    select ${SHOWN} from webhook_deliveries where ${of(account, webhookId)} order by delivery_id ${inPage(start, limit)}`)

export const countDeliveries = (db: Queryable, account: AccountId, { webhookId }: DeliveryFilter) =>
  db.count(sql`select count(*) as "n" from webhook_deliveries where ${of(account, webhookId)}`)

/** A delivery that is due, or one that turned out to wait for an earlier event of its record. */
export interface DueDelivery {
  id: Id
  eventId: Id
  type: EventType
  recordId: Id
  /** Tries so far. */
  tries: number
  isBehind: boolean
  /** Of one that is behind: the first try of the earlier event; null where there was none yet. */
  heldSince: Instant | null
}

/**
 * Lists due deliveries of a locked endpoint that nobody holds, and finds which of them have to wait for an earlier event of their record: one that
 * was tried fewer than five times, and first after `heldAfter`.
 */
export const listDueDeliveries = (
  tx: Transaction,
  webhookId: Id,
  { now, heldAfter, limit }: { now: Instant; heldAfter: Instant; limit: number },
) =>
  tx.rows<DueDelivery>(sql`
    select due.delivery_id as "id", due.event_id as "eventId", due.type, due.record_id as "recordId", due.tries,
           b.event_id is not null as "isBehind", b.first_try_at as "heldSince"
      from (select delivery_id, event_id, type, record_id, is_ordered, tries from webhook_deliveries
             where ${of(tx.account, webhookId)} and state = 'waiting' and next_try_at <= ${now}
               and ${isOver('leased_until')}
             order by next_try_at, delivery_id limit ${limit}) as due
      left join lateral (
        select e.event_id, e.first_try_at from webhook_deliveries e
         where e.account_id = ${tx.account} and e.webhook_id = ${webhookId} and e.state = 'waiting' and e.record_id = due.record_id
           and e.event_id < due.event_id and e.is_ordered and due.is_ordered and e.tries < ${TRIES_IN_ORDER}
           and split_part(e.type, '.', 1) = split_part(due.type, '.', 1)
           and (e.first_try_at is null or e.first_try_at > ${heldAfter})
         order by e.event_id limit 1) as b on true`)

/*
 * Few of an endpoint's many rows are changed below. They are named as one list, not joined: the planner, who knows nothing of a table that was
 * empty a moment ago, would walk through all of them for a join.
 */
const among = (tx: Transaction, webhookId: Id, rows: readonly { id: Id }[]): Fragment =>
  fragment`${of(tx.account, webhookId)} and delivery_id = any (${bigints(rows, 'id')}::bigint[])`

const placeIn = (rows: readonly { id: Id }[]): Fragment =>
  fragment`array_position(${bigints(rows, 'id')}::bigint[], delivery_id)`

/** Takes deliveries of a locked endpoint under a lease. */
export const claimDeliveries = (tx: Transaction, webhookId: Id, due: readonly DueDelivery[]): void =>
  tx.send(sql`update webhook_deliveries set leased_until = ${UNTIL} where ${among(tx, webhookId, due)}`)

/**
 * Puts off deliveries that are behind to the moment at which they wait no longer whatever happens; `wakeFollowers` brings them forward. The
 * endpoint is locked, so that neither misses the other.
 */
export const putOffDeliveries = (tx: Transaction, webhookId: Id, behind: readonly { id: Id; until: Instant }[]): void =>
  tx.send(sql`
    update webhook_deliveries
       set next_try_at = coalesce((${column(behind, 'until')}::timestamptz[])[${placeIn(behind)}], next_try_at)
     where ${among(tx, webhookId, behind)}`)

/** Lets go of deliveries that were taken and not tried. */
export const releaseDeliveries = (tx: Transaction, webhookId: Id, taken: readonly DueDelivery[]): void =>
  tx.send(sql`update webhook_deliveries set leased_until = null where ${among(tx, webhookId, taken)}`)

/** A try that is over, and what follows from it. */
export interface EndedTry extends Pick<DueDelivery, 'id' | 'eventId' | 'type' | 'recordId'> {
  /** Tries with this one. */
  tries: number
  state: DeliveryState
  /** Null where no answer came. */
  status: number | null
  at: Instant
  /** Null unless it waits. */
  nextTryAt: Instant | null
}

/** Writes what came of tries of one endpoint. */
export const finishTries = (tx: Transaction, webhookId: Id, ended: readonly EndedTry[]): void => {
  const place = placeIn(ended)
  // No subscript stands alone behind a SET, which not every server takes (decision 13).
  tx.send(sql`
    update webhook_deliveries
       set state = coalesce((${column(ended, 'state')}::text[])[${place}], state),
           tries = coalesce((${column(ended, 'tries')}::smallint[])[${place}], tries),
           last_status = coalesce((${column(ended, 'status')}::smallint[])[${place}], null),
           last_try_at = coalesce((${column(ended, 'at')}::timestamptz[])[${place}], last_try_at),
           first_try_at = coalesce(first_try_at, (${column(ended, 'at')}::timestamptz[])[${place}]),
           next_try_at = coalesce((${column(ended, 'nextTryAt')}::timestamptz[])[${place}], next_try_at), leased_until = null
     where ${among(tx, webhookId, ended)} and state = 'waiting'`)
}

/** Makes due what waits next behind events of its record that hold nothing up any more. */
export const wakeFollowers = (tx: Transaction, webhookId: Id, ended: readonly EndedTry[], now: Instant): void =>
  tx.send(sql`
    update webhook_deliveries d set next_try_at = ${now}
     where d.account_id = ${tx.account} and d.webhook_id = ${webhookId} and d.tries = 0 and d.next_try_at > ${now} and d.state = 'waiting'
       and d.delivery_id = any (array(
         select next.delivery_id
           from unnest(${bigints(ended, 'eventId')}::bigint[], ${bigints(ended, 'recordId')}::bigint[], ${column(ended, 'type')}::text[])
             as r(event, record, type)
           cross join lateral (
             select f.delivery_id from webhook_deliveries f
              where f.account_id = ${tx.account} and f.webhook_id = ${webhookId} and f.state = 'waiting' and f.record_id = r.record
                and f.event_id > r.event and f.is_ordered and split_part(f.type, '.', 1) = split_part(r.type, '.', 1)
              order by f.event_id limit 1) as next))`)

/** Gives up everything that waits for an endpoint. */
export const giveUpDeliveries = (tx: Transaction, webhookId: Id) =>
  tx.rows(sql`
    update webhook_deliveries set state = 'failed', leased_until = null
     where ${of(tx.account, webhookId)} and state = 'waiting'`)

/** Deletes what waits for an endpoint that is deleted; what is over is forgotten in its time. */
export const deleteWaitingDeliveries = (tx: Transaction, webhookId: Id) =>
  tx.rows(sql`delete from webhook_deliveries where ${of(tx.account, webhookId)} and state = 'waiting'`)

/** Lists the endpoints of the whole database that something is due to. */
export const listWebhooksToServe = (db: Queryable, now: Instant) =>
  db.rows<{ account: AccountId; id: Id }>(
    sql`select account_id as "account", webhook_id as "id" from list_webhooks_to_serve(${now}::timestamptz)`,
  )

/** Forgets deliveries of the whole database that are older than promised, whatever became of them. */
export const deleteOldDeliveries = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_webhook_deliveries(${before}::timestamptz) as "n"`)
