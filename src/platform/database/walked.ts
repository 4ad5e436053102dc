import type { Transaction } from './database.ts'
import { type Statement, sql } from './sql.ts'

/**
 * Runs a statement that groups what it reads of ranges, of its tables side by side where most of a range is wanted. Returns its rows.
 * How many rows lie between two identifiers is not known when a plan is made that serves any range, and PostgreSQL guesses few: it would sort a thousand rows
 * before it groups them, and look up each of them by itself. So that is closed to it while it plans this one. Plans are kept by text: one that is dense has
 * another text than one that is not.
 */
export async function walkedRows<Row>(tx: Transaction, statement: Statement, isDense: boolean): Promise<Row[]> {
  sendPlanning(tx, { sort: 'off', nestloop: isDense ? 'off' : 'on' })
  const rows = tx.rows<Row>(statement)
  sendPlanning(tx, { sort: 'on', nestloop: 'on' })
  return rows
}

const sendPlanning = (tx: Transaction, { sort, nestloop }: Record<'sort' | 'nestloop', 'on' | 'off'>): void =>
  tx.send(sql`select set_config('enable_sort', ${sort}, true), set_config('enable_nestloop', ${nestloop}, true)`)
