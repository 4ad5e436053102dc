import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** How long a mark waits for older writes, in milliseconds. */
export const MARK_PATIENCE_MS = 5000

/**
 * Takes the mark of the ledger: the identifier below which no entry can be posted any more. Entries below it are seen by statements that begin after
 * it was taken, so it comes before the snapshot of whoever reads them. Older writes that last longer leave their entries above it.
 */
export const takeLedgerMark = (db: Queryable, patienceMs = MARK_PATIENCE_MS): Promise<bigint> =>
  db.value<bigint>(sql`
    select take_ledger_mark(make_interval(secs => ${patienceMs}::float8 / 1000)) as "below"`)
