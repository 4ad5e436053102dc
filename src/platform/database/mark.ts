import { fragment, sql } from './sql.ts'

/**
 * Tells a running database from any other, and nothing about what is in it: made of the moment in which its server started and its
 * number there. The service answers it beside its readiness, so that the doctor knows whose database stands behind a port.
 */
export const DATABASE_MARK = fragment`md5(extract(epoch from pg_postmaster_start_time())::text || '/' ||
  (select oid from pg_database where datname = current_database())::text)`

/** Asks for the mark alone; it takes no rights. */
export const READ_MARK = sql`select ${DATABASE_MARK} as "mark"`.text

export const MARK_HEADER = 'x-perennial-database'
