import type { IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, ComponentId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import type { Span } from './pages-queries.ts'

/** A usage cycle whose stored invoiced units differ from those that its last charge priced. */
export interface UsageDifference {
  subscriptionId: SubscriptionId
  customerId: CustomerId
  componentId: ComponentId
  from: IsoDate
  invoiced: Decimal
  charged: Decimal | null
}

/**
 * Lists cycles whose invoiced units differ from their charges. Lines of several brackets have a share of the units each; what brackets
 * price as one line stands in them whole. Lines of usage are always rows.
 */
export const listUsageDifferences = (db: Queryable, account: AccountId, { after, upTo }: Span) =>
  db.rows<UsageDifference>(sql`
    select u.subscription_id as "subscriptionId", s.customer_id as "customerId", u.component_id as "componentId", u.cycle_from as "from", u.invoiced, c.units as "charged"
      from usage_cycles u
      join subscriptions s on s.account_id = ${account} and s.subscription_id = u.subscription_id
      left join lateral (
        select part, stretch from charge_rows
         where account_id = ${account} and subscription_id = u.subscription_id and item_id = u.component_id and period_from = u.cycle_from
           and kind in ('metered', 'late_usage') order by charge_id desc limit 1) last on true
      left join lateral (
        select coalesce(max((brackets ->> 'quantity')::numeric), sum(quantity)) as units from charge_rows
         where account_id = ${account} and subscription_id = u.subscription_id and item_id = u.component_id and period_from = u.cycle_from
           and kind in ('metered', 'late_usage') and part = last.part and stretch = last.stretch) c on true
     where u.account_id = ${account} and u.subscription_id > ${after} and u.subscription_id <= ${upTo}
       and u.invoiced is not null and not u.is_free and u.invoiced is distinct from c.units
     order by u.subscription_id, u.component_id, u.cycle_from`)
