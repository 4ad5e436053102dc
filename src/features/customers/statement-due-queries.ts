import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type DueDay, dueStatements, notFailed } from '../../platform/database/due.ts'
import { arrayLiteral, column, sql } from '../../platform/database/sql.ts'
import { type Customer, CUSTOMER_COLUMNS } from './queries.ts'

/** Customers whose automatic statement is due, and where making it leaves them. */

export const dueStatementDays = dueStatements({
  relation: 'customers',
  id: 'customer_id',
  day: 'statement_due_on',
  recordType: 'statement',
})

/** A customer whose statement is due. */
export interface DueStatement extends Customer {
  customerId: CustomerId
  dueOn: IsoDate
}

/** Lists those of some customers whose statements are due on a day. */
export const listDueStatements = (db: Queryable, account: AccountId, customerIds: readonly CustomerId[], due: DueDay) =>
  db.rows<DueStatement>(sql`
    select ${CUSTOMER_COLUMNS}, c.customer_id as "customerId", c.statement_due_on as "dueOn" from customers c
     where c.account_id = ${account} and c.statement_due_on = ${due.day} and c.customer_id = any(${arrayLiteral(customerIds)}::bigint[])
       and ${notFailed(account, due.runId, 'statement', 'c.customer_id')}
     order by c.customer_id`)

/** State of a customer's automatic statements after one was due. */
export interface StatementMove {
  id: CustomerId
  /** The due day as it was read before; the move is made only where it still stands, thus once. */
  wasDueOn: IsoDate
  dueOn: IsoDate
  /** The day on which a statement was made; null where it would have been empty. */
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
