import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, ComponentId, CustomerId, Id, SubscriptionId } from '../../kernel/ids.ts'
import { bigints, dates, positionsColumn } from '../../platform/database/columns.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { column, type Fragment, fragment, listed, namesOf, NOTHING, sql } from '../../platform/database/sql.ts'
import { eventsFrom, type NewEvent } from '../events/queries.ts'
import { USAGE } from './packed.ts'

/** Reports of usage of plain requests: how they are written, and how the events of them are read (decision 38). */

/** Reports of a request that are alike except for their units, keys and memos: of one component, subscription and day. */
export interface UsageGroup {
  subscriptionId: SubscriptionId
  componentId: ComponentId
  day: IsoDate
  cycleFrom: IsoDate | null
  part: number | null
}

/** Reports that share a row: those of some subscriptions, all that the request has of them. Places are counted from 1. */
export interface UsageBatch {
  events: number
  firstReport: number
  lastReport: number
  firstGroup: number
  lastGroup: number
}

/** Signs between two reports, between two rows, and in the place of a memo that is none: no text of a report has one of these. */
export const [LINE_END, BATCH_END, NO_TEXT] = ['\n', '\f', '\t'] as const

/** The reports of a request by columns, those of one subscription after each other. Each key stands once. */
export interface UsageColumns {
  batches: readonly UsageBatch[]
  /** Place of the group of each report among those of its row, counted from 1. */
  places: readonly number[]
  /** Digits, with commas between them. */
  units: string
  keys: string
  /** Left out where no report has one. */
  memos?: string
}

/** The texts of an event between the values that the database puts in: a text before each of them, and one behind the last. */
export interface UsageTexts {
  /** Of one report: its identifier, component, units, day, key, and memo as JSON. */
  report: readonly string[]
  /** Of the record: the subscription, and its reports. */
  record: readonly string[]
}

/** `concat` wants one argument at least. */
const EMPTY = fragment`''`

/** Puts values between texts. */
const woven = (texts: readonly string[], names: readonly string[]): Fragment =>
  fragment`concat(${listed([EMPTY, ...texts.map((text, index) => (index < names.length ? fragment`${text}::text, ${namesOf(names[index] as string)}` : fragment`${text}::text`))])})`

/** The index that finds keys by their hash. */
export const KEY_HASH = 'usage_rows_hash'

const parted = (texts: string): Fragment => fragment`string_to_array(${texts}, ${BATCH_END})`

/** Returns what makes rows of their own of the reports of a row `c`. */
export const reportsOf = (hasMemos: boolean): Fragment => fragment`
  unnest(('{' || c.units || '}')::numeric[], string_to_array(c.keys, ${LINE_END})${hasMemos ? fragment`, string_to_array(c.memos, ${LINE_END}, ${NO_TEXT})` : NOTHING}, c.groups)`

/**
 * Writes adding reports with an event for each subscription, in one statement. Fails on `KEY_HASH` where a key is stored already, or has the hash of another
 * one.
 */
export const insertUsageInBatches = (
  tx: Transaction,
  { batches, places, units, keys, memos }: UsageColumns,
  of: readonly UsageGroup[],
  events: readonly { subscriptionId: SubscriptionId; customerId: CustomerId }[],
  event: Pick<NewEvent, 'type' | 'happenedAt' | 'actor' | 'reason'>,
) => {
  const hasMemos = memos !== undefined
  const memo = hasMemos ? fragment`, memo` : NOTHING
  return tx.rows(
    sql`${eventsFrom(tx.account, event, {
      with: fragment`
    given as materialized (
      select ${bigints(of, 'subscriptionId')}::bigint[] as subscriptions, ${bigints(of, 'componentId')}::bigint[] as components,
             ${dates(of, 'day')}::date[] as days, ${dates(of, 'cycleFrom')}::date[] as cycles, ${column(of, 'part')}::smallint[] as parts,
             ${positionsColumn(places)}::integer[] as groups),
    batches as materialized (
      select b.*, g.groups[b.first_report:b.last_report] as groups, g.subscriptions[b.first_group:b.last_group] as subscriptions,
             g.components[b.first_group:b.last_group] as components, g.days[b.first_group:b.last_group] as days,
             g.cycles[b.first_group:b.last_group] as cycles, g.parts[b.first_group:b.last_group] as parts
        from given g cross join lateral
             unnest(${column(batches, 'firstReport')}::integer[], ${column(batches, 'lastReport')}::integer[], ${column(batches, 'firstGroup')}::integer[],
               ${column(batches, 'lastGroup')}::integer[], ${column(batches, 'events')}::integer[], ${parted(units)}, ${parted(keys)}
               ${hasMemos ? fragment`, ${parted(memos)}` : NOTHING})
               with ordinality as b(first_report, last_report, first_group, last_group, events, units, keys${hasMemos ? fragment`, memos` : NOTHING}, place)),
    added as (
      insert into usage_rows (account_id, subscription_id, component_id, units, is_set, usage_date, usage_key, recorded_at, cycle_from, part${memo})
      select ${tx.account}, c.subscriptions[r.shape], c.components[r.shape], r.units, false, c.days[r.shape], r.key, ${event.happenedAt}::timestamptz,
             c.cycles[r.shape], c.parts[r.shape]${hasMemos ? fragment`, r.memo` : NOTHING}
        from batches c cross join lateral ${reportsOf(hasMemos)} as r(units, key${memo}, shape)
      returning usage_id),
    drawn as materialized (select array_agg(usage_id order by usage_id) as ids from added),
    shared as (
      insert into usage_packs (account_id, first_usage_id, subscription_ids, component_ids, days, groups, usage_ids, units, keys, memos)
      select ${tx.account}, d.ids[c.first_report], c.subscriptions, c.components, c.days, c.groups,
             case when d.ids[c.last_report] - d.ids[c.first_report] > c.last_report - c.first_report then d.ids[c.first_report:c.last_report] end,
             c.units, c.keys, ${hasMemos ? fragment`c.memos` : fragment`null`}
        from batches c cross join drawn d returning 1)`,
      rows: fragment`
      select e.subscription as record_id, e.customer as customer_id, jsonb_build_object('firstUsageID', d.ids[e.first_report]) as record
        from rows from (unnest(${bigints(events, 'subscriptionId')}::bigint[]), unnest(${bigints(events, 'customerId')}::bigint[]),
               unnest(${positionsColumn(batches.flatMap(({ events: n, firstReport }) => Array<number>(n).fill(firstReport)))}::integer[]))
               with ordinality as e(subscription, customer, first_report, place)
             cross join drawn d
       order by e.place`,
    })}`,
  )
}

/** An event of usage whose reports stand in a row that it shares with others. */
export interface SharedReports {
  firstUsageId: Id
  subscriptionId: SubscriptionId
}

/** Lists the records of events of usage, as JSON texts: each row is read once, however many events of it are asked for. */
export const listSharedRecords = (
  db: Queryable,
  account: AccountId,
  events: readonly SharedReports[],
  texts: UsageTexts,
) =>
  db.rows<SharedReports & { record: string }>(sql`
    select first_usage_id as "firstUsageId", subscription_id as "subscriptionId",
           ${woven(texts.record, ['subscription_id', 'reports'])}::jsonb::text as "record"
      from (
        select c.first_usage_id, c.subscription_ids[r.shape] as subscription_id,
               string_agg(${woven(texts.report, ['coalesce(c.usage_ids[r.place], c.first_usage_id + r.place - 1)', 'c.component_ids[r.shape]', 'r.units', 'c.days[r.shape]', 'r.key', `coalesce('"' || r.memo || '"', 'null')`])}, ','
                 order by r.place) as reports
          from ${namesOf(USAGE.packs)} c
          cross join lateral ${reportsOf(true)} with ordinality as r(units, key, memo, shape, place)
         where c.account_id = ${account} and ${USAGE.beginsWith('c', fragment`any(${bigints(events, 'firstUsageId')}::bigint[])`)}
           and c.subscription_ids[r.shape] = any(${bigints(events, 'subscriptionId')}::bigint[])
         group by 1, 2) as reported`)
