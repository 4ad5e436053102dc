import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import { oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, sql } from '../../platform/database/sql.ts'
import { type Customer, CUSTOMER_COLUMNS } from './queries.ts'

/** Whose automatic statement is due: what the run that makes them asks, and where it leaves them. */

/** The next customers, in identifier order, with a statement due on a day that this run has not given up on; paused ones too. */
export const listStatementCustomers = async (
  db: Queryable,
  account: AccountId,
  due: { day: IsoDate; after: CustomerId; limit: number; runId: bigint },
): Promise<CustomerId[]> =>
  (
    await db.rows<{ id: CustomerId }>(sql`
      select c.customer_id as "id" from customers c
       where c.account_id = ${account} and c.statement_due_on = ${due.day} and c.customer_id > ${due.after}
         and not exists (select 1 from billing_run_failures f where f.account_id = ${account} and f.billing_run_id = ${due.runId}
                           and f.record_type = 'statement' and f.record_id = c.customer_id)
       order by c.customer_id limit ${due.limit}`)
  ).map(({ id }) => id)

/** A customer whose statement is due. */
export interface DueStatement extends Customer {
  customerId: CustomerId
  dueOn: IsoDate
}

/** Whose statements are due on a day, of some customers. */
export const listDueStatements = (
  db: Queryable,
  account: AccountId,
  customerIds: readonly CustomerId[],
  due: { day: IsoDate; runId: bigint },
) =>
  db.rows<DueStatement>(sql`
    select ${CUSTOMER_COLUMNS}, c.customer_id as "customerId", c.statement_due_on as "dueOn" from customers c
     where c.account_id = ${account} and c.statement_due_on = ${due.day} and c.customer_id = any(${arrayLiteral(customerIds)}::bigint[])
       and not exists (select 1 from billing_run_failures f where f.account_id = ${account} and f.billing_run_id = ${due.runId}
                         and f.record_type = 'statement' and f.record_id = c.customer_id)
     order by c.customer_id`)

/** The first day after another with a statement to make. */
export const findStatementDueAfter = async (
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> =>
  (
    await oneRow<{ day: IsoDate | null }>(
      db,
      sql`select (select c.statement_due_on from customers c
                   where c.account_id = ${account} and c.statement_due_on > ${day} and c.statement_due_on <= ${until} and c.paused_on is null
                   order by c.account_id, c.statement_due_on limit 1) as "day"`,
    )
  ).day

export const countStatementsDueBy = async (db: Queryable, account: AccountId, until: IsoDate): Promise<number> =>
  Number(
    (
      await oneRow<{ n: bigint }>(
        db,
        sql`select count(*) as "n" from customers c
             where c.account_id = ${account} and c.statement_due_on <= ${until} and c.paused_on is null`,
      )
    ).n,
  )

/** Where a customer's automatic statements stand after one was due. */
export interface StatementMove {
  id: CustomerId
  /** What was read before, so that a move is made once. */
  wasDueOn: IsoDate
  dueOn: IsoDate
  /** The day on which one was made; null where there was nothing to tell. */
  sentOn: IsoDate | null
}

/** Moves the days of the next statements; answers how many were still as they had been read. */
export const moveStatementDays = async (tx: Transaction, moves: readonly StatementMove[]): Promise<number> =>
  (
    await tx.rows(sql`
    update customers c set statement_due_on = m.due_on, statement_last_sent_on = coalesce(m.sent_on, c.statement_last_sent_on)
      from unnest(${column(moves, 'id')}::bigint[], ${column(moves, 'wasDueOn')}::date[], ${column(moves, 'dueOn')}::date[],
        ${column(moves, 'sentOn')}::date[]) as m(id, was_due_on, due_on, sent_on)
     where c.account_id = ${tx.account} and c.customer_id = m.id and c.statement_due_on = m.was_due_on
    returning 1`)
  ).length
