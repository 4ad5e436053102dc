import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { oneRow, type Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import type { frozenOfAccount } from '../accounts/rules.ts'
import type { FrozenCustomer } from '../customers/rules.ts'

export type FrozenAccount = ReturnType<typeof frozenOfAccount>

/** What an invoice froze of its account and customer, where those were edited since; null where they are as they were. */
export const getFrozenParties = (db: Queryable, account: AccountId, id: InvoiceId) =>
  oneRow<{ account: FrozenAccount | null; customer: FrozenCustomer | null }>(
    db,
    sql`select v.document as "account", w.document as "customer"
          from invoices i
          left join account_versions v on v.account_id = i.account_id and v.version = i.account_version
          left join customer_versions w
            on w.account_id = i.account_id and w.customer_id = i.customer_id and w.version = i.customer_version
         where i.account_id = ${account} and i.invoice_id = ${id}`,
  )

/** Credit notes that pay of an invoice, in the order in which they were applied. */
export const listAppliedCredits = (db: Queryable, account: AccountId, id: InvoiceId) =>
  db.rows<{ date: IsoDate; reference: string; amountMinor: bigint }>(sql`
    select n.note_date as "date", n.number as "reference", a.applied_minor as "amountMinor"
      from allocations a join credit_notes n on n.account_id = a.account_id and n.credit_note_id = a.given_id
     where a.account_id = ${account} and a.owed_kind = 'invoice' and a.owed_id = ${id} and a.given_kind = 'negative_adjustment'
     order by a.allocation_id`)
