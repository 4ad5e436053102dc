import { type Fragment, fragment, namesOf } from '../database/sql.ts'
import { inPage, type PageStart } from '../http/paging.ts'

/** Returns the condition that a pack, or a row of its view, may reach a page: `column` has the first identifier of the pack. */
export const packsOnward = (
  { maxIds }: { maxIds: number },
  { fromId, isNewestFirst }: PageStart,
  column: string,
): Fragment =>
  isNewestFirst
    ? fragment`${namesOf(column)} < ${fromId}`
    : fragment`${namesOf(column)} > ${fromId}::bigint - ${maxIds}`

/** The records of a list from the start of a page on, in its direction, by the columns that both forms have. */
interface BothForms {
  /** Those in rows of their own, no more than the page and what it passes over. */
  own: Fragment
  /** Those in packs, each with the column of its identifier; left out where none can be meant. */
  inPacks: Fragment | undefined
  id: string
}

/** Returns the page of a list that both forms have records of. */
export const mergedPage = ({ own, inPacks, id }: BothForms, start: PageStart, limit: number): Fragment => {
  const all = inPacks ? fragment`(${own}) union all (${inPacks} limit ${start.skip + limit})` : own
  return fragment`select * from (${all}) o order by ${namesOf(id)} ${inPage(start, limit)}`
}
