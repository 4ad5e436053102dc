import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import { type Decimal, decimalText } from '../../kernel/decimal.ts'
import type { AccountId, ComponentId, Id, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import { type OfMany, type Queryable, rowsOfMany, type Transaction } from '../../platform/database/database.ts'
import { bigintList, bigints, dates } from '../../platform/database/columns.ts'
import { drawIds, idsOfRanges } from '../../platform/database/draw-ids.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import { arrayLiteral, column, fragment, type Fragment, NOTHING, ofQuery, sql } from '../../platform/database/sql.ts'
import { chargesOfSubscriptions } from '../invoices/state-queries.ts'

/** Reports of usage as they came. */

export interface UsageEntry {
  subscriptionId: SubscriptionId
  componentId: ComponentId
  units: Decimal
  isSet: boolean
  day: IsoDate
  key: string | null
  memo: string | null
  /** The cycle it counts for, and the part of its charges that invoices it; null for what is not metered. */
  cycleFrom: IsoDate | null
  part: number | null
}

/** Returns the expression that keys are found by: equal keys have it equal, and of others hardly any two. */
const hashOf = (key: Fragment): Fragment => fragment`hashtextextended(${key}, 0)`

/**
 * Returns the condition that rows of usage have the hash of a key. The text decides whether it is the same key; the index finds both, and keeps two of one
 * hash apart by their numbers.
 */
const ofHash = (account: AccountId, of: Fragment): Fragment => fragment`
  u.account_id = ${account} and u.subscription_id = ${of}.subscription and u.component_id = ${of}.component
    and ${hashOf(fragment`u.usage_key`)} = ${hashOf(fragment`${of}.key`)}`

/** Returns the number of a new key among those of its hash: those that are stored, and those before it in the request. Nearly always 0. */
const keyNumber = (account: AccountId): Fragment => fragment`
  case when r.key is null then 0 else
    (select coalesce(max(u.key_no) + 1, 0) from usage_rows u where ${ofHash(account, fragment`r`)})
    + row_number() over (partition by r.subscription, r.component, ${hashOf(fragment`r.key`)} order by r.place) - 1 end`

/** Returns the insert of reports, in their order; `id` and `at` may name the `place` of one. */
const insertion = (
  account: AccountId,
  entries: readonly UsageEntry[],
  { id, at }: { id: Fragment; at: Fragment },
): Fragment => fragment`
      insert into usage_rows (account_id, usage_id, subscription_id, component_id, units, is_set, usage_date, usage_key, memo,
          recorded_at, cycle_from, part, key_no)
      select ${account}, ${id}, r.subscription, r.component, r.units, r.is_set, r.day, r.key, r.memo, ${at}, r.cycle_from, r.part,
             ${keyNumber(account)}
        from unnest(${bigints(entries, 'subscriptionId')}::bigint[], ${bigints(entries, 'componentId')}::bigint[],
          ${arrayLiteral(entries.map(({ units }) => decimalText(units)))}::numeric[], ${column(entries, 'isSet')}::boolean[],
          ${dates(entries, 'day')}::date[], ${column(entries, 'key')}::text[], ${column(entries, 'memo')}::text[],
          ${dates(entries, 'cycleFrom')}::date[], ${column(entries, 'part')}::smallint[])
          with ordinality as r(subscription, component, units, is_set, day, key, memo, cycle_from, part, place)
       order by r.place`

/** Draws identifiers of many reports. */
export async function drawManyUsageIds(tx: Transaction, count: number): Promise<Id[]> {
  const [drawn = []] = await drawIds(tx, [{ sequence: 'usage_rows_usage_id_seq', count }])
  return idsOfRanges(drawn)
}

/** Writes many reports, in order, under identifiers drawn ahead, without waiting. Keys are new ones, each once. */
export const sendManyUsage = (
  tx: Transaction,
  entries: readonly UsageEntry[],
  ids: readonly Id[],
  at: Instant,
): void => {
  const written = { id: fragment`(${bigintList(ids)}::bigint[])[r.place]`, at: fragment`${at}::timestamptz` }
  tx.send(ofQuery(sql`${insertion(tx.account, entries, written)}`))
}

const drawing: OfMany<null> = (_account, { length }) =>
  sql`select nextval('usage_rows_usage_id_seq') as "id" from generate_series(1, ${length})`

/** Draws identifiers of reports ahead, so that what names a report need not wait until it is written. */
export const drawUsageIds = async (tx: Transaction, count: number): Promise<Id[]> =>
  count === 0
    ? []
    : (
        await tx.grouped<null, { id: Id }>(
          drawing,
          Array.from({ length: count }, () => null),
        )
      ).map(({ id }) => id)

/** A report under the identifier that was drawn for it, with the moment at which it is recorded. */
type DrawnEntry = UsageEntry & { id: Id; at: Instant }

const insertionOfDrawn: OfMany<DrawnEntry> = (account, entries) =>
  sql`${insertion(account, entries, {
    id: fragment`(${bigints(entries, 'id')}::bigint[])[r.place]`,
    at: fragment`(${column(entries, 'at')}::timestamptz[])[r.place]`,
  })} returning 1`

/** Writes reports, in order, under identifiers drawn ahead, without waiting. Keys are new ones, each once. */
export const sendUsage = (tx: Transaction, entries: readonly UsageEntry[], ids: readonly Id[], at: Instant): void =>
  tx.sendGrouped(
    insertionOfDrawn,
    entries.map((entry, place) => ({ ...entry, id: ids[place] as Id, at })),
  )

/** Usage that a component had opened with, and the cycle that it counted for. */
export interface OpeningReport {
  componentId: ComponentId
  from: IsoDate
}

/** Moves reports of opening usage to the cycle and day that they belong to now. */
export const moveOpening = (
  tx: Transaction,
  id: SubscriptionId,
  moved: readonly (OpeningReport & { cycleFrom: IsoDate; day: IsoDate })[],
) =>
  tx.rows(sql`
    update usage_rows u set cycle_from = w.cycle_from, usage_date = w.day
      from unnest(${bigints(moved, 'componentId')}::bigint[], ${dates(moved, 'from')}::date[], ${dates(moved, 'cycleFrom')}::date[],
             ${dates(moved, 'day')}::date[]) as w(component_id, was_from, cycle_from, day)
     where u.account_id = ${tx.account} and u.subscription_id = ${id} and u.component_id = w.component_id and u.cycle_from = w.was_from
       and u.part = 0`)

/** Deletes reports of opening usage that was dropped with its component. */
export const deleteOpening = (tx: Transaction, id: SubscriptionId, dropped: readonly OpeningReport[]) =>
  tx.rows(sql`
    delete from usage_rows u
     using unnest(${bigints(dropped, 'componentId')}::bigint[], ${dates(dropped, 'from')}::date[]) as w(component_id, was_from)
     where u.account_id = ${tx.account} and u.subscription_id = ${id} and u.component_id = w.component_id and u.cycle_from = w.was_from
       and u.part = 0`)

export interface KnownKey {
  subscriptionId: SubscriptionId
  componentId: ComponentId
  key: string
  units: Decimal
  isSet: boolean
  day: IsoDate
}

type ReportedKey = Pick<KnownKey, 'subscriptionId' | 'componentId' | 'key'>

/** Lists those of some keys that were used before, with what was then reported. */
export const listKnownKeys = (
  db: Queryable,
  account: AccountId,
  keys: readonly ReportedKey[],
): Promise<KnownKey[]> | KnownKey[] =>
  keys.length === 0
    ? []
    : rowsOfMany<ReportedKey, KnownKey>(db, account, knownKeys, keys, (known, own) =>
        own.some(({ subscriptionId }) => subscriptionId === known.subscriptionId),
      )

const knownKeys: OfMany<ReportedKey> = (account, keys) => sql`
    select u.subscription_id as "subscriptionId", u.component_id as "componentId", u.usage_key as "key", u.units, u.is_set as "isSet",
           u.usage_date as "day"
      from unnest(${bigints(keys, 'subscriptionId')}::bigint[], ${bigints(keys, 'componentId')}::bigint[], ${column(keys, 'key')}::text[])
             as w(subscription, component, key)
      join usage_rows u on ${ofHash(account, fragment`w`)} and u.usage_key = w.key`

export interface ReadUsage extends Omit<UsageEntry, 'cycleFrom' | 'part' | 'subscriptionId'> {
  id: Id
  recordedAt: Instant
  invoiceId: InvoiceId | null
}

export interface UsageFilter {
  subscriptionId: SubscriptionId
  from?: IsoDate | null
  to?: IsoDate | null
  componentId?: ComponentId | null
}

const conditions = ({ subscriptionId, from, to, componentId }: UsageFilter): Fragment => fragment`
  and u.subscription_id = ${subscriptionId}
  ${from == null ? NOTHING : fragment`and u.usage_date >= ${from}`}
  ${to == null ? NOTHING : fragment`and u.usage_date <= ${to}`}
  ${componentId == null ? NOTHING : fragment`and u.component_id = ${componentId}`}`

/** Reports of a subscription, each with the invoice that charged it. */
export const listUsage = (db: Queryable, account: AccountId, filter: UsageFilter, start: PageStart, limit: number) =>
  db.rows<ReadUsage>(sql`
    with charged as materialized (
      select c.item_id, c.period_from, c.part, max(c.invoice_id) as invoice_id
        from (${chargesOfSubscriptions(account, fragment`array[${filter.subscriptionId}::bigint]`)}) c
       where c.kind in ('metered', 'late_usage') group by c.item_id, c.period_from, c.part)
    select u.usage_id as "id", u.component_id as "componentId", u.units, u.is_set as "isSet", u.usage_date as "day", u.usage_key as "key", u.memo,
           u.recorded_at as "recordedAt",
           (select c.invoice_id from charged c
             where c.item_id = u.component_id and c.period_from = u.cycle_from and c.part = u.part) as "invoiceId"
      from usage_rows u
     where u.account_id = ${account} ${conditions(filter)}
     order by u.usage_id ${inPage(start, limit)}`)

export const countUsage = (db: Queryable, account: AccountId, filter: UsageFilter) =>
  db.count(sql`select count(*) as "n" from usage_rows u where u.account_id = ${account} ${conditions(filter)}`)

/** Lists which of some components exist. */
export const listComponentIds = async (
  db: Queryable,
  account: AccountId,
  ids: readonly ComponentId[],
): Promise<Set<ComponentId>> =>
  new Set(
    await db.values<ComponentId>(
      sql`select component_id as "id" from components where account_id = ${account} and component_id = any(${arrayLiteral(ids)}::bigint[])`,
    ),
  )

/** Deletes all reports of some subscriptions, which have no foreign key that would take them along. */
export const deleteUsage = (tx: Transaction, account: AccountId, ids: readonly SubscriptionId[]) =>
  tx.rows(
    sql`delete from usage_rows where account_id = ${account} and subscription_id = any(${arrayLiteral(ids)}::bigint[])`,
  )
