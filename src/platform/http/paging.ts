import { assert } from '../../kernel/assert.ts'
import type { Queryable } from '../database/database.ts'
import { countOf, firstRow, oneRow } from '../database/database.ts'
import { COUNTED_LISTS, type CountedList } from '../database/housekeeping.ts'
import { namesOf, sql } from '../database/sql.ts'
import type { Answer } from './operation.ts'
import type { Page } from './query.ts'

/**
 * Lists in the order of creation. Page n keeps its exact meaning at any depth: whole blocks of identifiers whose records are counted
 * (list_blocks) are skipped, and the rest of the offset is walked inside one block.
 */

/** Start of a page: the first identifier from `fromId` on, after passing over `skip` records. */
export interface PageStart {
  fromId: bigint
  skip: number
}

const BLOCK = 4096n

/** Returns the start of a page of a list that is filtered: everything before it is walked. */
export const startOf = ({ page, size }: Page): PageStart => ({ fromId: 0n, skip: (page - 1) * size })

/** Returns the start of a page of an account-wide, unfiltered list. */
export async function pageStart(
  db: Queryable,
  account: bigint,
  list: CountedList,
  { page, size }: Page,
): Promise<PageStart> {
  const offset = (page - 1) * size
  if (offset < Number(BLOCK)) return { fromId: 0n, skip: offset }
  const found = await firstRow<{ block: bigint; before: bigint; isBeyond: boolean }>(
    db,
    sql`
    with sums as (
      select block, records, sum(records) over (order by block)::bigint as through
        from list_blocks where account_id = ${account} and list = ${list})
    (select block, through - records as "before", false as "isBeyond" from sums where through > ${offset} order by block limit 1)
    union all
    (select block + 1, through, true from sums order by block desc limit 1)
    order by "isBeyond" limit 1`,
  )
  return found ? { fromId: found.block * BLOCK, skip: offset - Number(found.before) } : { fromId: 0n, skip: offset }
}

/** Answers one page of a list with the links to its neighbours. */
export async function pageAnswer(
  /** The count of all its records is asked for only when a page lies past the end. */
  list: { hasNext: boolean; isEmpty: boolean; page: Page; url: string; count(): Promise<number> },
  body: string | AsyncGenerator<string>,
  publicUrl: string | undefined,
): Promise<Answer> {
  const { page, size } = list.page
  const links: string[] = []
  const link = (target: number, rel: string) =>
    links.push(`<${pageUrl(list.url, target, size, publicUrl)}>; rel="${rel}"`)
  if (list.hasNext) link(page + 1, 'next')
  if (page > 1) {
    const previous = list.isEmpty ? Math.min(page - 1, Math.ceil((await list.count()) / size)) : page - 1
    if (previous >= 1) link(previous, 'prev')
  }
  const written = typeof body === 'string' ? { body } : { pieces: body }
  return { status: 200, ...written, ...(links.length > 0 ? { headers: { link: links.join(', ') } } : {}) }
}

function pageUrl(url: string, page: number, size: number, publicUrl: string | undefined): string {
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
  query.set('page', String(page))
  query.set('page_size', String(size))
  return `${publicUrl?.replace(/\/$/, '') ?? ''}${path}?${query}`
}

/** Records of an account-wide list: counted blocks plus an index-only walk of the newest. */
export async function countList(db: Queryable, account: bigint, list: CountedList): Promise<number> {
  const { counted, fromBlock } = await oneRow<{ counted: bigint; fromBlock: bigint }>(
    db,
    sql`select coalesce(sum(records), 0)::bigint as "counted", coalesce(max(block) + 1, 0) as "fromBlock"
          from list_blocks where account_id = ${account} and list = ${list}`,
  )
  const from = fromBlock * BLOCK
  assert(Object.hasOwn(COUNTED_LISTS, list), `${list} is a counted list`)
  const [relation, id] = [namesOf(list), namesOf(COUNTED_LISTS[list])]
  const n = await countOf(
    db,
    sql`select count(*) as "n" from ${relation} where account_id = ${account} and ${id} >= ${from}`,
  )
  return Number(counted) + n
}
