import type { Duty } from '../duty.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

/**
 * Young tables: PostgreSQL plans for a table that it has never analyzed as if it were nearly empty, and for one that has grown as it was. Its own look comes
 * a minute later at the earliest, and not at all on a server that does not look. Analyzing a table drops the prepared plans that read it, on all connections.
 */

const LOOK_EVERY_MS = 3_000

const listYoungTables = async (db: Pick<Database, 'unscoped'>): Promise<string[]> =>
  (await db.unscoped.rows<{ name: string }>(sql`select name from list_young_tables()`)).map(({ name }) => name)

/** Analyzes every table that has 500 rows and never was, or ten times as many as when it was. Each is a transaction of its own. */
export async function analyzeYoungTables(db: Pick<Database, 'unscoped'>, goOn: () => void = () => {}): Promise<void> {
  for (const name of await listYoungTables(db)) {
    goOn()
    await db.unscoped.rows(sql`select analyze_table(${name})`)
  }
}

export const youngTablesDuty: Duty = {
  name: 'analyze young tables',
  everyMs: LOOK_EVERY_MS,
  run: ({ db }, goOn) => analyzeYoungTables(db, goOn),
}
