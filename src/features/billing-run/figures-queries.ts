import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { DueTable } from '../../platform/database/due.ts'
import { column, sql } from '../../platform/database/sql.ts'
import type { Figure } from '../../platform/metrics.ts'

/** A figure stops counting here: more waiting records are reported as this many. */
const COUNT_MAX = 10_000

/** Lists the figures of /metrics that only the database knows, summed over all accounts: runs, records due, accounts to schedule, mail. */
export const listFigures = (
  db: Queryable,
  zones: string[],
  days: IsoDate[],
  at: Instant,
  tables: readonly DueTable[],
) =>
  db.rows<Figure>(sql`
    select name, label, value from service_figures(${zones}::text[], ${days}::date[], ${at}::timestamptz, ${COUNT_MAX}::integer)
    union all
    select name, label, value from list_failing_figures(${COUNT_MAX}::bigint)
    union all
    select 'due', kind, least(sum(
             count_due(relation, day, ${zones}::text[], ${days}::date[], ${COUNT_MAX}::integer)
             + case when has_cycles then count_due_in_cycle(${zones}::text[], ${days}::date[], ${COUNT_MAX}::integer) else 0 end),
             ${COUNT_MAX}::bigint)::double precision
      from unnest(${column(tables, 'recordType')}::text[], ${column(tables, 'relation')}::text[], ${column(tables, 'day')}::text[],
             ${column(tables, 'hasCycles')}::boolean[]) as due_tables(kind, relation, day, has_cycles)
     group by kind`)
