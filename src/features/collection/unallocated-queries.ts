import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, type Fragment, sql } from '../../platform/database/sql.ts'

/** Statements that find what unallocated money of customers can pay. */

/**
 * Builds the SQL of whether an invoice `i` of a customer `c` is due by a day and not paid. What is pending does not pay it; what is on hold, on its own
 * or with the customer, does not count.
 */
const isUnpaid = (today: IsoDate): Fragment => fragment`
  i.issued_at is not null and i.cancelled_at is null and not i.is_collection_hold and not c.is_collection_hold
  and i.due_date <= ${today}
  and i.total_minor > i.negative_minor + i.paid_minor`

/** Builds the SQL of whether the customer of an invoice `i` has unallocated money in its currency. */
const hasFree = (account: AccountId): Fragment => fragment`
  (exists (select 1 from payments p where p.account_id = ${account} and p.customer_id = i.customer_id and p.currency = i.currency
            and p.failed_on is null and not p.gives_way and p.amount_minor > p.applied_minor + p.held_minor)
    or exists (select 1 from negative_adjustments n where n.account_id = ${account} and n.customer_id = i.customer_id and n.currency = i.currency
                and n.kind = 'credit_note' and n.amount_minor > n.applied_minor))`

/** Lists the unpaid invoices of a customer that are due and that they have unallocated money for, the oldest first. */
export const listPayablePastDue = (tx: Transaction, customerId: CustomerId, today: IsoDate) =>
  tx.rows<{ id: InvoiceId; customerId: CustomerId; currency: string }>(sql`
    select i.invoice_id as "id", i.customer_id as "customerId", i.currency
      from invoices i join customers c on c.account_id = ${tx.account} and c.customer_id = i.customer_id
     where i.account_id = ${tx.account} and i.customer_id = ${customerId} and ${isUnpaid(today)} and ${hasFree(tx.account)}
     order by i.invoice_date, i.number`)

/** Lists customers whom a rule has suspended and who have unallocated money for what is due. */
export const listSuspendedWithMoney = (db: Queryable, account: AccountId, today: IsoDate): Promise<CustomerId[]> =>
  db.values<CustomerId>(sql`
    select c.customer_id as "id" from customers c
     where c.account_id = ${account} and c.is_suspended_by_rule and c.suspended_at is not null and c.archived_at is null
       and exists (select 1 from invoices i where i.account_id = ${account} and i.customer_id = c.customer_id and ${isUnpaid(today)}
                     and ${hasFree(account)})
     order by c.customer_id limit 1000`)
