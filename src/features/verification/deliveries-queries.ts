import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

export interface CheckedDelivery {
  id: Id
  eventId: Id
  /** Type and record, as the delivery has them. */
  about: string
  /** The same of its event; null where there is no such event. */
  eventAbout: string | null
}

/** Lists deliveries of webhooks whose event is not there, or is another than the one they name. */
export const listDeliveryDifferences = (db: Queryable, account: AccountId) =>
  db.rows<CheckedDelivery>(sql`
    select d.delivery_id as "id", d.event_id as "eventId", d.type || ' ' || d.record_id as "about", e.type || ' ' || e.record_id as "eventAbout"
      from webhook_deliveries d left join events e on e.account_id = ${account} and e.event_id = d.event_id
     where d.account_id = ${account} and (e.type is distinct from d.type or e.record_id is distinct from d.record_id)
     order by d.delivery_id limit 1000`)
