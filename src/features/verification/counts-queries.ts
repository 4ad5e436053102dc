import type { AccountId } from '../../kernel/ids.ts'
import { type Queryable } from '../../platform/database/database.ts'
import { COUNTED_LISTS, type CountedList, LIST_VIEWS, SHARED_ROWS } from '../../platform/database/housekeeping.ts'
import { fragment, type Fragment, namesOf, sql } from '../../platform/database/sql.ts'

const identifiersOf = (account: AccountId, list: CountedList, relation: Fragment, id: Fragment): Fragment => {
  const shared = SHARED_ROWS[list]
  const own = fragment`select ${id} as id from ${relation} where account_id = ${account}`
  if (!shared) return fragment`(${own}) r`
  const [first, last] = [namesOf(shared.first), namesOf(shared.last)]
  return fragment`
    (${own} union all select generate_series(${first}, ${last}) from ${namesOf(shared.relation)} where account_id = ${account}) r`
}

/** Counts the records of every counted list by block. */
const countedAnew = (account: AccountId): Fragment =>
  Object.entries(COUNTED_LISTS)
    .map(([list, id]) => {
      const relation = identifiersOf(
        account,
        list as CountedList,
        namesOf(LIST_VIEWS[list as CountedList]?.relation ?? list),
        namesOf(id),
      )
      return fragment`select '${namesOf(list)}' as list, id / 4096 as block, count(*) as n from ${relation} group by 2`
    })
    .reduce((some, next) => fragment`${some} union all ${next}`)

/** Lists the blocks of long lists whose count is not what is there. */
export const listCountDifferences = (db: Queryable, account: AccountId) =>
  db.rows<{ list: string; block: bigint; records: number; counted: bigint }>(sql`
    with counted as (${countedAnew(account)})
    select b.list, b.block, b.records, coalesce(c.n, 0) as "counted"
      from list_blocks b left join counted c on c.list = b.list and c.block = b.block
     where b.account_id = ${account} and b.records <> coalesce(c.n, 0) order by b.list, b.block limit 1000`)
