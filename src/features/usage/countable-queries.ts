import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import { bigintList } from '../../platform/database/columns.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { namesOf, sql } from '../../platform/database/sql.ts'
import { DUE_ON } from '../subscriptions/state-queries.ts'
import type { StateFields, Subscription } from '../subscriptions/queries.ts'

/**
 * Facts of subscriptions that counting their usage needs, which many have in common: nothing of their customers, and nothing that only invoices show. The
 * lists name the subscriptions that have them, and the customer of each.
 */
export interface AlikeCountable extends StateFields, Pick<Subscription, 'isEndRecorded' | 'cancelledAt' | 'dueOn'> {
  ids: SubscriptionId[]
  customerIds: CustomerId[]
}

const FACTS =
  namesOf(`"isEndRecorded", "dueOn", "packageId", "rateTermId", stretch, currency, "startDate", "trialEndDate", "syncDate", "endDate", "cancelledOn", "cancelledAt",
  "pendingKind", "pendingOn", anchor, "anchorDay", term, "termType", "componentAnchor", "isProRata", "leadDays", "feesOn", "nextFrom", "lastFrom"`)

/** Lists subscriptions whose usage is counted by their facts: a row for each combination that there is. */
export const listCountableSubscriptions = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<AlikeCountable>(sql`
    select g.*, p.name as "packageName", t.price, r.setup_fee_minor as "setupFeeMinor", r.trial_fee_minor as "trialFeeMinor"
      from (select ${FACTS}, array_agg(id) as "ids", array_agg(customer) as "customerIds"
              from (select s.subscription_id as id, s.customer_id as customer, s.is_end_recorded as "isEndRecorded", ${DUE_ON} as "dueOn",
                           s.package_id as "packageId", s.package_rate_term_id as "rateTermId", s.stretch, s.currency, s.start_date as "startDate",
                           s.trial_end_date as "trialEndDate", s.sync_date as "syncDate", s.end_date as "endDate", s.cancelled_on as "cancelledOn",
                           s.cancelled_at as "cancelledAt",
                           s.pending_kind as "pendingKind", s.pending_on as "pendingOn", s.anchor, s.anchor_day as "anchorDay", s.term,
                           s.term_type as "termType", coalesce(s.component_anchor, s.anchor) as "componentAnchor", s.is_pro_rata as "isProRata",
                           s.lead_days as "leadDays", b.fees_on as "feesOn", b.next_from as "nextFrom", b.last_from as "lastFrom"
                      from subscriptions s
                      join subscription_billing b on b.account_id = ${account} and b.subscription_id = s.subscription_id
                     where s.account_id = ${account} and s.subscription_id = any(${bigintList(ids)}::bigint[])) x
             group by ${FACTS}) g
      join packages p on p.account_id = ${account} and p.package_id = g."packageId"
      join package_rate_terms t on t.account_id = ${account} and t.package_rate_term_id = g."rateTermId"
      join package_rates r on r.account_id = ${account} and r.package_rate_id = t.package_rate_id`)
