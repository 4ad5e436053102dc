import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { column, sql } from '../../platform/database/sql.ts'

/** What the billing run asks of recurring invoices, and where it leaves them. */

/** The next customers, in identifier order, with something due on a day that this run has not given up on; paused ones too. */
export const listDueRecurringCustomers = async (
  db: Queryable,
  account: AccountId,
  due: { day: IsoDate; after: CustomerId; limit: number; runId: Id },
): Promise<CustomerId[]> =>
  (
    await db.rows<{ id: CustomerId }>(sql`
      select r.customer_id as "id" from recurring_invoices r
       where r.account_id = ${account} and r.due_on = ${due.day} and r.customer_id > ${due.after}
         and not exists (select 1 from billing_run_failures f where f.account_id = ${account} and f.billing_run_id = ${due.runId}
                           and f.record_type = 'recurring_invoice' and f.record_id = r.recurring_invoice_id)
       group by r.customer_id order by r.customer_id limit ${due.limit}`)
  ).map(({ id }) => id)

/** The first day after another with something to do. */
export const findRecurringDueAfter = async (
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> =>
  (
    await oneRow<{ day: IsoDate | null }>(
      db,
      sql`select (select r.due_on from recurring_invoices r join customers c on c.account_id = ${account} and c.customer_id = r.customer_id
                   where r.account_id = ${account} and r.due_on > ${day} and r.due_on <= ${until} and c.paused_on is null
                   order by r.account_id, r.due_on limit 1) as "day"`,
    )
  ).day

export const countRecurringDueBy = async (db: Queryable, account: AccountId, until: IsoDate): Promise<number> =>
  Number(
    (
      await oneRow<{ n: bigint }>(
        db,
        sql`select count(*) as "n" from recurring_invoices r join customers c on c.account_id = ${account} and c.customer_id = r.customer_id
             where r.account_id = ${account} and r.due_on <= ${until} and c.paused_on is null`,
      )
    ).n,
  )

/** Where billing of a recurring invoice stands, as it is written after it has moved. */
export interface RecurringState {
  id: Id
  /** What was read before, so that a move is made once. */
  wasNextFrom: IsoDate
  wasDueOn: IsoDate | null
  nextFrom: IsoDate
  lastFrom: IsoDate | null
  lastInvoiceDate: IsoDate | null
  dueOn: IsoDate | null
  isEndRecorded: boolean
}

/** Moves billing states, one or thousands; answers how many were still as they had been read. */
export const updateRecurringStates = async (tx: Transaction, states: readonly RecurringState[]): Promise<number> =>
  (
    await tx.rows(sql`
    update recurring_invoices r set next_from = s.next_from, last_from = s.last_from, last_invoice_date = s.last_invoice_date, due_on = s.due_on,
      is_end_recorded = s.is_end_recorded
      from unnest(${column(states, 'id')}::bigint[], ${column(states, 'wasNextFrom')}::date[], ${column(states, 'wasDueOn')}::date[],
        ${column(states, 'nextFrom')}::date[], ${column(states, 'lastFrom')}::date[], ${column(states, 'lastInvoiceDate')}::date[],
        ${column(states, 'dueOn')}::date[], ${column(states, 'isEndRecorded')}::boolean[])
        as s(id, was_next_from, was_due_on, next_from, last_from, last_invoice_date, due_on, is_end_recorded)
     where r.account_id = ${tx.account} and r.recurring_invoice_id = s.id and r.next_from = s.was_next_from
       and r.due_on is not distinct from s.was_due_on
    returning 1`)
  ).length
