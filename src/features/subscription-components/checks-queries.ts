import type { AccountId, Id, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'
import { writtenOutEvents } from '../events/queries.ts'

/** An event of usage that names the row of its reports. */
interface NamingEvent {
  id: Id
  subscriptionId: SubscriptionId
  customerId: Id
  firstUsageId: Id
  /** The row has reports of its subscription. */
  isThere: boolean
}

/** Lists events that name the row of their reports. */
export const listNamingEvents = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<NamingEvent>(sql`
    select e.event_id as "id", e.record_id as "subscriptionId", e.customer_id as "customerId", e.first as "firstUsageId",
           exists (select 1 from usage_packs c where c.account_id = ${account} and c.first_usage_id = e.first and e.record_id = any (c.subscription_ids))
             as "isThere"
      from (select event_id, record_id, customer_id, (record ->> 'firstUsageID')::bigint as first from ${writtenOutEvents}
             where account_id = ${account} and type = 'usage.recorded' and event_id > ${after} and record ? 'firstUsageID'
             order by event_id limit ${limit}) e
     order by e.event_id`)

export const listUsageBatches = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id }>(sql`
    select first_usage_id as "id" from usage_packs where account_id = ${account} and first_usage_id > ${after} order by first_usage_id limit ${limit}`)

/** A row of reports in which some are missing, or are not as the stored reports are. */
interface BatchDifference {
  id: Id
  reports: number
  /** Reports that have a key and units and are as they are stored, or whose stored ones were deleted with their subscription. */
  alike: number
}

/**
 * Lists the rows among some that differ from the stored reports. These are found by a list of identifiers: by what is computed of a row no index leads to them under
 * row security, and each page would read all earlier ones.
 */
export const listBatchDifferences = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<BatchDifference>(sql`
    with reports as materialized (
      select c.first_usage_id, cardinality(c.groups) as reports, coalesce(c.usage_ids[r.place], c.first_usage_id + r.place - 1) as usage_id,
             c.subscription_ids[r.shape] as subscription_id, c.component_ids[r.shape] as component_id, c.days[r.shape] as day, r.units, r.key, r.memo
        from usage_packs c
        cross join lateral unnest(('{' || c.units || '}')::numeric[], string_to_array(c.keys, chr(10)), string_to_array(c.memos, chr(10), chr(9)), c.groups)
          with ordinality as r(units, key, memo, shape, place)
       where c.account_id = ${account} and c.first_usage_id = any(${arrayLiteral(ids)}::bigint[])),
    compared as (
      select r.first_usage_id as id, r.reports,
             (count(*) filter (where r.key is not null and r.units is not null and r.subscription_id is not null and (
               u.usage_id is null or (u.subscription_id, u.component_id, u.usage_date, u.units, u.usage_key, u.memo)
                 is not distinct from (r.subscription_id, r.component_id, r.day, r.units, r.key, r.memo))))::integer as alike
        from reports r
        left join (select usage_id, subscription_id, component_id, usage_date, units, usage_key, memo from usage_rows
                    where account_id = ${account} and usage_id = any(array(select usage_id from reports)) offset 0) u on u.usage_id = r.usage_id
       group by r.first_usage_id, r.reports)
    select id as "id", reports as "reports", alike as "alike" from compared where alike <> reports order by id`)
