import type { ChargeKind } from '../../engine/subscription/charges.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, sql } from '../../platform/database/sql.ts'
import { chargedOf, linesOfSubscriptions } from '../invoices/group-by-facts-queries.ts'
import { PAGE_ENDS, type PageEnds, type Span } from '../../platform/checks/pages-queries.ts'

export const findSubscriptions = (db: Queryable, account: AccountId, after: SubscriptionId, limit: number) =>
  db.one<PageEnds>(sql`
    select ${PAGE_ENDS} from (
  select subscription_id as id from subscriptions where account_id = ${account} and subscription_id > ${after} order by subscription_id limit ${limit}) p`)

const COVERING = fragment`period_from is not null and kind in ('package', 'package_extension', 'component', 'component_extension', 'metered', 'rise')`

/**
 * Lists the subscriptions of a span of which charges may cover a day together: all of which they do, and those whose lines overlap where days were given back or
 * another stretch took over. Lines of several brackets of the same days count as one. Rises lie on other charges and may overlap: of them only the same one is
 * there twice.
 */
export const listOverlapping = (db: Queryable, account: AccountId, span: Span) =>
  db.rows<{ id: SubscriptionId; customerId: CustomerId }>(sql`
    with ${chargedOf(account, span, COVERING)},
    covering as (
      select subscription_id, case when kind = 'rise' then 3 when kind = 'metered' then 2 when kind in ('component', 'component_extension') then 1 else 0 end as class,
             case when kind in ('package', 'package_extension') then 0 else item_id end as item, period_from, period_until,
             kind in ('package', 'package_extension') as is_package, kind, stretch, part, bracket_index from charged),
    lines as (
      select subscription_id, class, item, period_from, period_until, false as is_double from covering where is_package
      union all
      select subscription_id, class, item, period_from, period_until,
             count(*) <> bit_count(bit_or(1::bigint << least(bracket_index, 62))::bit(64)) from covering where not is_package
       group by subscription_id, class, item, period_from, period_until, kind, stretch, part),
    placed as (
      select subscription_id, class, is_double, period_from, period_until,
             lag(period_until) over (partition by subscription_id, class, item order by period_from, period_until desc) as before
        from lines)
    select s.subscription_id as "id", s.customer_id as "customerId" from subscriptions s
     where s.account_id = ${account} and s.subscription_id = any(array(
             select p.subscription_id from placed p where p.is_double or p.class < 3 and (p.period_until is null or p.period_from < p.before)))
     order by s.subscription_id`)

/** Charge with the days that it covers. */
export interface CoveringCharge {
  id: Id
  subscriptionId: SubscriptionId
  kind: ChargeKind
  itemId: Id
  stretch: number
  part: number
  bracketIndex: number
  from: IsoDate
  until: IsoDate
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  creditedFrom: IsoDate | null
}

/** Lists the charges of subscriptions that cover days on their own, in the order in which they were made. */
export const listCoveringCharges = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<CoveringCharge>(sql`
    select charge_id as "id", subscription_id as "subscriptionId", kind, item_id as "itemId", stretch, part, bracket_index as "bracketIndex",
           period_from as "from", period_until as "until", whole_from as "wholeFrom", whole_until as "wholeUntil", credited_from as "creditedFrom"
      from (${linesOfSubscriptions(account, fragment`${arrayLiteral(ids)}::bigint[]`)}) c
     where ${COVERING}
     order by subscription_id, charge_id`)
