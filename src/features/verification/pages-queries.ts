import type { Id } from '../../kernel/ids.ts'
import { oneRow, type Queryable } from '../../platform/database/database.ts'
import { type Fragment, sql } from '../../platform/database/sql.ts'

/** Identifiers of a list: behind one, up to another. */
export interface Span {
  after: Id
  upTo: Id
}

/** Ends of a page of identifiers; null where there is none. */
export interface PageEnds {
  first: Id | null
  last: Id | null
  count: number
}

/** Finds the ends of a page, whose identifiers a statement lists as `id`. */
export const findPage = (db: Queryable, ids: Fragment) =>
  oneRow<PageEnds>(db, sql`select min(id) as "first", max(id) as "last", count(*)::integer as "count" from (${ids}) p`)
