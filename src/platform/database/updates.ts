import type { Instant } from '../../kernel/calendar.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

/** How far changes are known: see decision 27. All instants are of the clock of the database. */
export interface SettledUpdates {
  /** No change can be committed any more that bears an earlier instant and is not seen by what begins after this was asked. */
  until: Instant
  /** All records count as changed here. */
  floor: Instant
  takenAt: Instant
}

/** Asks how far changes are known. It comes before the snapshot of whoever reads them, and waits for nobody. */
export const settleUpdates = (db: Pick<Database, 'unscoped'>, isRestored = false): Promise<SettledUpdates> =>
  db.unscoped.one<SettledUpdates>(sql`
    select until as "until", floor as "floor", taken_at as "takenAt" from settle_updates(${isRestored})`)
