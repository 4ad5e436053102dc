import type { CycleUsage } from '../../engine/subscription/components.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { AccountId, ComponentId, SubscriptionId } from '../../kernel/ids.ts'
import { bigints, dates, rangeOf, deduplicated } from '../../platform/database/columns.ts'
import { type OfMany, type Queryable, rowsOfMany, type Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, counted, type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { chargesOfSubscriptions } from '../invoices/state-queries.ts'

/** The usage of components by cycle: whole chunks a statement. */

export interface UsageCycleRow extends CycleUsage {
  subscriptionId: SubscriptionId
  componentId: ComponentId
}

/**
 * Returns a statement that lists cycles, a relation with the columns of `usage_cycles`, with the amounts that stand of their invoices and that were cancelled;
 * null where no invoice of a cycle was cancelled and no line of it credited. Only invoiced cycles have any, which mostly is none of them: nothing is looked for then. The charges of
 * all are gathered at once, because no index leads to those that are kept with shapes.
 */
const withCancelled = (account: AccountId, cycles: Fragment) => sql`
    with cycles as materialized (${cycles}),
    cancelled as materialized (
      select c.subscription_id, c.item_id, c.period_from,
             coalesce(sum(c.net_minor - c.credited_minor) filter (where i.cancelled_at is null and i.invoice_id is not null), 0)::bigint as standing,
             coalesce(sum(c.net_minor) filter (where i.cancelled_at is not null and c.net_minor > 0), 0)::bigint as cancelled
        from (${chargesOfSubscriptions(account, fragment`array(select distinct subscription_id from cycles where invoiced is not null)`)}) c
        left join invoices i on i.account_id = ${account} and i.invoice_id = c.invoice_id
       where c.kind in ('metered', 'late_usage') and c.period_from = any(array(select distinct cycle_from from cycles where invoiced is not null))
       group by c.subscription_id, c.item_id, c.period_from having bool_or(i.cancelled_at is not null or c.credited_minor > 0))
    select u.subscription_id as "subscriptionId", u.component_id as "componentId", u.cycle_from as "from", u.cycle_until as "until", u.total, u.invoiced,
           u.next_part as "nextPart", u.is_free as "isFree", x.standing as "standingMinor", x.cancelled as "cancelledMinor"
      from cycles u
      left join cancelled x on u.invoiced is not null and x.subscription_id = u.subscription_id and x.item_id = u.component_id and x.period_from = u.cycle_from
     order by u.cycle_from`

const openUsage: OfMany<SubscriptionId> = (account, ids) =>
  withCancelled(
    account,
    fragment`
      select * from usage_cycles
       where account_id = ${account} and subscription_id = any(${arrayLiteral(ids)}::bigint[]) and (invoiced is null or invoiced <> total)`,
  )

/** Lists the usage that is not invoiced yet, or differs from what was. */
export const listOpenUsage = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  rowsOfMany<SubscriptionId, UsageCycleRow>(db, account, openUsage, ids, isOfSubscription)

/** Returns whether a row is of one of some subscriptions. */
export const isOfSubscription = (
  { subscriptionId }: { subscriptionId: SubscriptionId },
  ids: readonly SubscriptionId[],
): boolean => ids.includes(subscriptionId)

/** Lists named cycles, invoiced ones too: what late reports change. */
export const listUsageCycles = (
  db: Queryable,
  account: AccountId,
  cycles: readonly { subscriptionId: SubscriptionId; componentId: ComponentId; from: IsoDate }[],
) =>
  db.rows<UsageCycleRow>(
    withCancelled(
      account,
      fragment`
      select u.*
        from unnest(${column(cycles, 'subscriptionId')}::bigint[], ${column(cycles, 'componentId')}::bigint[], ${column(cycles, 'from')}::date[])
               as w(subscription_id, component_id, cycle_from)
        join usage_cycles u on u.account_id = ${account} and u.subscription_id = w.subscription_id and u.component_id = w.component_id
                           and u.cycle_from = w.cycle_from`,
    ),
  )

const CYCLE_SHAPE = ['componentId', 'from', 'until', 'total', 'invoiced', 'nextPart', 'isFree'] as const

/** Returns the usage of a cycle as a statement takes it: numbers as texts. */
const usageTexts = (cycles: readonly UsageCycleRow[]) =>
  cycles.map(({ subscriptionId, componentId, from, until, total, invoiced, nextPart, isFree }) => ({
    subscriptionId,
    componentId,
    from,
    until,
    total: decimalText(total),
    invoiced: invoiced === null ? null : decimalText(invoiced),
    nextPart,
    isFree,
  }))

/** Writes cycles of usage that are open, one or thousands; answers how many were found open. */
export async function updateOpenUsage(
  tx: Transaction,
  account: AccountId,
  cycles: readonly UsageCycleRow[],
): Promise<number> {
  let written = 0
  for (const { rows, distinct: s, positions } of deduplicated(usageTexts(cycles), CYCLE_SHAPE)) {
    const range = rangeOf(rows, 'subscriptionId')
    // Asked for as what is open, so that its small index is walked and not the cycles of years.
    const { n } = await tx.one<{ n: number }>(sql`
      with written as (
        update usage_cycles u set cycle_until = r.cycle_until, total = r.total, invoiced = r.invoiced, next_part = r.next_part, is_free = r.is_free
          from (select p.subscription, p.component, p.cycle_from, (${dates(s, 'until')}::date[])[p.shape] as cycle_until,
                       (${column(s, 'total')}::numeric[])[p.shape] as total, (${column(s, 'invoiced')}::numeric[])[p.shape] as invoiced,
                       (${column(s, 'nextPart')}::smallint[])[p.shape] as next_part, (${column(s, 'isFree')}::boolean[])[p.shape] as is_free
                  from rows from (unnest(${bigints(rows, 'subscriptionId')}::bigint[]), unnest(${bigints(rows, 'componentId')}::bigint[]),
                    unnest(${dates(rows, 'from')}::date[]), unnest(${positions}::integer[])${range ? counted(rows) : NOTHING})
                    as p(subscription, component, cycle_from, shape)) r
         where u.account_id = ${account} and u.subscription_id = r.subscription and u.component_id = r.component and u.cycle_from = r.cycle_from
           ${range ? fragment`and u.subscription_id between ${range.first} and ${range.last} and (u.invoiced is null or u.invoiced <> u.total)` : NOTHING}
        returning 1)
      select count(*)::integer as "n" from written`)
    written += n
  }
  return written
}

/** A cycle with the total that reports have made of it. */
export interface CountedCycleRow extends UsageCycleRow {
  /** It was read, so there is a row of it. */
  isStored: boolean
}

/** Writes the totals of open cycles. Those that lie close together are walked along the small index of what is open, and not looked up one by one. */
export async function updateCountedCycles(tx: Transaction, account: AccountId, cycles: readonly CountedCycleRow[]) {
  const range = rangeOf(cycles, 'subscriptionId')
  const rows = usageTexts(cycles)
  await tx.rows(sql`
    update usage_cycles u set cycle_until = r.cycle_until, total = r.total, is_free = r.is_free
      from rows from (unnest(${bigints(rows, 'subscriptionId')}::bigint[]), unnest(${bigints(rows, 'componentId')}::bigint[]),
             unnest(${dates(rows, 'from')}::date[]), unnest(${dates(rows, 'until')}::date[]), unnest(${column(rows, 'total')}::numeric[]),
             unnest(${column(rows, 'isFree')}::boolean[])${range ? counted(rows) : NOTHING})
             as r(subscription, component, cycle_from, cycle_until, total, is_free)
     where u.account_id = ${account} and u.subscription_id = r.subscription and u.component_id = r.component and u.cycle_from = r.cycle_from
       ${range ? fragment`and u.subscription_id between ${range.first} and ${range.last} and (u.invoiced is null or u.invoiced <> u.total)` : NOTHING}`)
}

const writing: OfMany<UsageCycleRow> = (account, cycles) => {
  const rows = usageTexts(cycles)
  return sql`
    insert into usage_cycles (account_id, subscription_id, component_id, cycle_from, cycle_until, total, invoiced, next_part, is_free)
    select ${account}, * from unnest(${bigints(rows, 'subscriptionId')}::bigint[], ${bigints(rows, 'componentId')}::bigint[],
      ${dates(rows, 'from')}::date[], ${dates(rows, 'until')}::date[], ${column(rows, 'total')}::numeric[],
      ${column(rows, 'invoiced')}::numeric[], ${column(rows, 'nextPart')}::smallint[], ${column(rows, 'isFree')}::boolean[])
    on conflict (account_id, subscription_id, component_id, cycle_from) do update set cycle_until = excluded.cycle_until,
      total = excluded.total, invoiced = excluded.invoiced, next_part = excluded.next_part, is_free = excluded.is_free returning 1`
}

/** Writes usage by cycle, new cycles and known ones, without waiting. Each is named once in a transaction that several requests share. */
export function sendUsageCycles(tx: Transaction, cycles: readonly UsageCycleRow[]): void {
  if (cycles.length > 0) tx.sendGrouped(writing, cycles)
}

/** Forgets cycles of usage: of a start that is another now, nothing is counted any more. */
export const deleteUsageCycles = (
  tx: Transaction,
  account: AccountId,
  cycles: readonly { subscriptionId: SubscriptionId; componentId: ComponentId; from: IsoDate }[],
) =>
  tx.rows(sql`
    delete from usage_cycles u
     using unnest(${column(cycles, 'subscriptionId')}::bigint[], ${column(cycles, 'componentId')}::bigint[], ${column(cycles, 'from')}::date[])
             as w(subscription_id, component_id, cycle_from)
     where u.account_id = ${account} and u.subscription_id = w.subscription_id and u.component_id = w.component_id
       and u.cycle_from = w.cycle_from`)
