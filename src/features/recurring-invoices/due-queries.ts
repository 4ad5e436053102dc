import type { IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { dueStatements } from '../../platform/database/due.ts'
import { column, sql } from '../../platform/database/sql.ts'

/** Statements that find recurring invoices that are due, and that write the state in which billing leaves them. */

export const dueRecurringInvoices = dueStatements({
  relation: 'recurring_invoices',
  id: 'recurring_invoice_id',
  day: 'due_on',
  recordType: 'recurring_invoice',
})

/** State of billing of a recurring invoice, as billing leaves it. */
export interface RecurringState {
  id: Id
  /** The values that were read before: the row is written only if they still stand, so that a move is made once. */
  wasNextFrom: IsoDate
  wasDueOn: IsoDate | null
  nextFrom: IsoDate
  lastFrom: IsoDate | null
  lastInvoiceDate: IsoDate | null
  dueOn: IsoDate | null
  isEndRecorded: boolean
}

/** Writes billing states, one or thousands. Returns the number of those that were still as they had been read. */
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
