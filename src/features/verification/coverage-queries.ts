import type { ChargeKind } from '../../engine/subscription/charges.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, fragment, sql } from '../../platform/database/sql.ts'
import { chargesOfSubscriptions } from '../invoices/kept-line-queries.ts'

export const listSubscriptionPage = (db: Queryable, account: AccountId, after: SubscriptionId, limit: number) =>
  db.rows<{ id: SubscriptionId; customerId: CustomerId }>(sql`
    select subscription_id as "id", customer_id as "customerId" from subscriptions
     where account_id = ${account} and subscription_id > ${after} order by subscription_id limit ${limit}`)

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

/** Lists the charges of subscriptions that cover days by themselves, in the order in which they were made. */
export const listCoveringCharges = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<CoveringCharge>(sql`
    select charge_id as "id", subscription_id as "subscriptionId", kind, item_id as "itemId", stretch, part, bracket_index as "bracketIndex",
           period_from as "from", period_until as "until", whole_from as "wholeFrom", whole_until as "wholeUntil", credited_from as "creditedFrom"
      from (${chargesOfSubscriptions(account, fragment`${arrayLiteral(ids)}::bigint[]`)}) c
     where period_from is not null and kind in ('package', 'package_extension', 'component', 'component_extension', 'metered')
     order by subscription_id, charge_id`)
