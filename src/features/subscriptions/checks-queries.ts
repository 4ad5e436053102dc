import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A subscription that a run would not find on its day. */
interface LostSubscription {
  id: SubscriptionId
  customerId: CustomerId
  /** Null where it is not in cycle. */
  cycleOn: IsoDate | null
  cycleDay: number | null
  sweptOn: IsoDate | null
  /** The day on which its next period is invoiced. */
  nextOn: IsoDate
}

/**
 * Lists subscriptions that are due on no day though nothing ends them, and those in cycle whose day is over, comes after that of their next period, or which are
 * kept under another day of the month than theirs.
 */
export const listLostSubscriptions = (db: Queryable, account: AccountId) =>
  db.rows<LostSubscription>(sql`
    select b.subscription_id as "id", b.customer_id as "customerId", b.due_in_cycle_on as "cycleOn", b.cycle_day as "cycleDay", y.swept_on as "sweptOn",
           b.next_from - s.lead_days as "nextOn"
      from subscription_billing b
      join subscriptions s on s.account_id = ${account} and s.subscription_id = b.subscription_id
      left join billing_cycles y on y.account_id = ${account}
     where b.account_id = ${account}
       and (b.due_on is null and b.cycle_day is null and not s.is_end_recorded and s.cancelled_on is null and s.end_date is null
              and s.pending_kind is distinct from 'cancellation'
            or b.due_in_cycle_on <= y.swept_on or b.cycle_day <> extract(day from b.due_in_cycle_on) or b.due_in_cycle_on > b.next_from - s.lead_days)
     order by b.subscription_id limit 1000`)
