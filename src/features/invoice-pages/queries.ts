import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** An invoice as far as its link goes. */
export interface LinkedInvoice {
  id: InvoiceId
  customerId: CustomerId
  /** The customer's language. */
  locale: string | null
  isDraft: boolean
  dueDate: IsoDate
  /** How often the link was revoked. */
  linkCounter: number
  /** The day of what paid the last of it, or of its cancellation; null while something is open or only pending. */
  settledOn: IsoDate | null
}

export const findLinkedInvoice = (db: Queryable, account: AccountId, id: InvoiceId) =>
  db.first<LinkedInvoice>(sql`
    select i.invoice_id as "id", i.customer_id as "customerId", c.locale, i.issued_at is null as "isDraft", i.due_date as "dueDate",
           i.link_counter as "linkCounter",
           case when i.cancelled_at is not null then (i.cancelled_at at time zone a.time_zone)::date
                when i.total_minor > i.negative_minor + i.paid_minor then null
                else coalesce((select max(l.dated) from allocations l
                       where l.account_id = ${account} and l.owed_kind = 'invoice' and l.owed_id = i.invoice_id and l.ended_on is null),
                     i.due_date) end as "settledOn"
      from invoices i
      join customers c on c.account_id = ${account} and c.customer_id = i.customer_id
      join accounts a on a.account_id = ${account}
     where i.account_id = ${account} and i.invoice_id = ${id}`)
