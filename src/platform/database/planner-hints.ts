import type { Queryable, Transaction } from './database.ts'
import { type Statement, sql } from './sql.ts'

/**
 * Runs a statement that groups what it reads of ranges, of its tables side by side where most of a range is wanted. Returns its rows.
 * How many rows lie between two identifiers is not known when a plan is made that serves any range, and PostgreSQL guesses few: it would sort a thousand rows
 * before it groups them, and look up each of them on its own. So that is closed to it while it plans this one. Plans are kept by text: one that is dense has
 * another text than one that is not.
 */
export async function walkedRows<Row>(tx: Transaction, statement: Statement, isDense: boolean): Promise<Row[]> {
  sendPlanning(tx, { sort: 'off', nestloop: isDense ? 'off' : 'on' })
  const rows = tx.rows<Row>(statement)
  sendPlanning(tx, { sort: 'on', nestloop: 'on' })
  return rows
}

/**
 * Runs a statement that joins what it has gathered in parts of its own, or ranges most of which are wanted, within a transaction. Returns its rows. PostgreSQL guesses few rows in them, fewer
 * still where tables were never analyzed, and would go through all of one part for each row of another.
 */
export const hashedRows = <Row>(tx: Queryable, statement: Statement): Promise<Row[]> =>
  rowsWithout('enable_nestloop', tx, statement)

/**
 * Runs a statement that takes the first rows of ranges in the order in which an index has them, within a transaction. Returns its rows. What a range opens into
 * is not known before, and PostgreSQL guesses so little that it would open all ranges of an account and sort them, from some hundred wanted rows on.
 */
export const orderedRows = <Row>(tx: Queryable, statement: Statement): Promise<Row[]> =>
  rowsWithout('enable_sort', tx, statement)

async function rowsWithout<Row>(
  way: 'enable_nestloop' | 'enable_sort',
  tx: Queryable,
  statement: Statement,
): Promise<Row[]> {
  await tx.rows(sql`select set_config(${way}, 'off', true)`)
  const rows = await tx.rows<Row>(statement)
  await tx.rows(sql`select set_config(${way}, 'on', true)`)
  return rows
}

const sendPlanning = (tx: Transaction, { sort, nestloop }: Record<'sort' | 'nestloop', 'on' | 'off'>): void =>
  tx.send(sql`select set_config('enable_sort', ${sort}, true), set_config('enable_nestloop', ${nestloop}, true)`)
