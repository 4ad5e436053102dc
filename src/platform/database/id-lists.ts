import type { Id } from '../../kernel/ids.ts'
import type { Queryable } from './database.ts'
import { type Fragment, sql } from './sql.ts'

/** Lists the column `id` of a query, in its order, as one row: thousands of rows cost more to send and to read than to find. */
export async function listIds(db: Queryable, query: Fragment): Promise<Id[]> {
  const { ids } = await db.one<{ ids: string | null }>(sql`
    select string_agg(id::text, ',') as "ids" from (${query}) found`)
  return idsOfText(ids)
}

/** Returns identifiers that stand in a text with commas between them; none of null. */
export const idsOfText = (text: string | null): Id[] => text?.split(',').map(BigInt) ?? []
