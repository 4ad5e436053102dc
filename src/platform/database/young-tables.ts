import type { Duty } from '../duty.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

/**
 * Young tables: PostgreSQL plans for a table that it has never analyzed as if it were nearly empty, and for one that has grown as it was. Its own look comes
 * a minute later at the earliest, and not at all on a server that does not look. Analyzing a table drops the prepared plans that read it, on all connections.
 */

/**
 * Notes for PostgreSQL that all rows of a table which it has never analyzed are of one account. It would guess that an account has one row in two hundred, so that
 * any index that begins with the account seems as good as the one that leads to the wanted row, and go through the whole account for each row of another
 * table. Forgotten with the first analysis. PostgreSQL before 18 takes no such note.
 */
export const OF_ONE_ACCOUNT = `
  do $$ begin
    if current_setting('server_version_num')::integer >= 180000 then
      perform pg_restore_attribute_stats('schemaname', 'perennial', 'relname', c.relname::text, 'attname', 'account_id', 'inherited', false,
          'null_frac', 0::real, 'avg_width', 8, 'n_distinct', 1::real)
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
       where c.relnamespace = 'perennial'::regnamespace and c.relkind = 'r' and c.reltuples < 0;
    end if;
  end $$`

const LOOK_EVERY_MS = 3_000

const listYoungTables = (db: Pick<Database, 'unscoped'>): Promise<string[]> =>
  db.unscoped.values<string>(sql`select name from list_young_tables()`)

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
