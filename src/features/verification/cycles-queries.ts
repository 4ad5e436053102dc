import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A subscription in cycle that a run would not find on its day. */
interface LostInCycle {
  id: SubscriptionId
  customerId: CustomerId
  cycleOn: IsoDate
  cycleDay: number
  sweptOn: IsoDate | null
}

/** Lists subscriptions in cycle whose day is over, or which are kept under another day of the month than theirs. */
export const listLostInCycle = (db: Queryable, account: AccountId) =>
  db.rows<LostInCycle>(sql`
    select b.subscription_id as "id", b.customer_id as "customerId", b.cycle_on as "cycleOn", b.cycle_day as "cycleDay", y.swept_on as "sweptOn"
      from subscription_billing b left join billing_cycles y on y.account_id = ${account}
     where b.account_id = ${account} and b.cycle_day is not null
       and (b.cycle_on <= y.swept_on or b.cycle_day <> extract(day from b.cycle_on))
     order by b.subscription_id limit 1000`)
