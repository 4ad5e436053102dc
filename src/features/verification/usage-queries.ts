import type { IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, ComponentId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { hashedRows } from '../../platform/database/planner-hints.ts'
import { chargedOf } from '../invoices/group-by-facts-queries.ts'
import type { Span } from '../../platform/checks/pages-queries.ts'

/** A usage cycle whose stored invoiced units differ from those that its last charge priced. */
export interface UsageDifference {
  subscriptionId: SubscriptionId
  customerId: CustomerId
  componentId: ComponentId
  from: IsoDate
  invoiced: Decimal
  charged: Decimal | null
}

const OF_USAGE = fragment`kind in ('metered', 'late_usage')`

/**
 * Lists cycles whose invoiced units differ from their charges. Lines of several brackets have a share of the units each; what brackets
 * price as one line stands in them whole. Charges of a whole span are gathered at once, because no index leads to those that are kept with shapes.
 */
export const listUsageDifferences = (db: Queryable, account: AccountId, span: Span) => {
  const { after, upTo } = span
  const theirs = fragment`account_id = ${account} and subscription_id > ${after} and subscription_id <= ${upTo}`
  return hashedRows<UsageDifference>(
    db,
    sql`
    with ${chargedOf(account, span, OF_USAGE)},
    parts as (
      select subscription_id, item_id, period_from, max(charge_id) as last, coalesce(max((brackets ->> 'quantity')::numeric), sum(quantity)) as units
        from charged group by subscription_id, item_id, period_from, part, stretch),
    latest as materialized (
      select distinct on (subscription_id, item_id, period_from) subscription_id, item_id, period_from, units from parts
       order by subscription_id, item_id, period_from, last desc)
    select u.subscription_id as "subscriptionId", s.customer_id as "customerId", u.component_id as "componentId", u.cycle_from as "from", u.invoiced, c.units as "charged"
      from (select * from usage_cycles where ${theirs} and invoiced is not null and not is_free offset 0) u
      join (select subscription_id, customer_id from subscriptions where ${theirs} offset 0) s on s.subscription_id = u.subscription_id
      left join latest c on c.subscription_id = u.subscription_id and c.item_id = u.component_id and c.period_from = u.cycle_from
     where u.invoiced is distinct from c.units
     order by u.subscription_id, u.component_id, u.cycle_from`,
  )
}
