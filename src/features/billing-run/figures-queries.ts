import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import type { Figure } from '../../platform/metrics.ts'

/** More waiting records than this are told as this many. */
const COUNT_MAX = 10_000

/** What waits and what runs in the whole database, for /metrics; sums over all accounts. */
export const listFigures = (db: Queryable, zones: string[], days: IsoDate[], at: Instant) =>
  db.rows<Figure>(sql`
    select name, label, value from service_figures(${zones}::text[], ${days}::date[], ${at}::timestamptz, ${COUNT_MAX}::integer)`)
