import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { holdsEvent, invoiceOfEvent, TYPE_OF_ROW } from '../events/issued-place-queries.ts'

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
      from webhook_deliveries d
      left join lateral (
        select v.type, v.record_id from event_rows v where v.account_id = ${account} and v.event_id = d.event_id
        union all
        select ${TYPE_OF_ROW}, ${invoiceOfEvent(fragment`d.event_id`)} from event_packs s
         where ${holdsEvent(account, 's', fragment`d.event_id`)}) e on true
     where d.account_id = ${account} and (e.type is distinct from d.type or e.record_id is distinct from d.record_id)
     order by d.delivery_id limit 1000`)
