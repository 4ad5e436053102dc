import type { Id } from '../../kernel/ids.ts'
import { fragment } from '../database/sql.ts'

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

/** The columns of the ends of a page, of which a relation lists the identifiers as `id`. */
export const PAGE_ENDS = fragment`min(id) as "first", max(id) as "last", count(*)::integer as "count"`
