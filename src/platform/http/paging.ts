import type { Instant } from '../../kernel/calendar.ts'
import type { Queryable } from '../database/database.ts'
import { type Fragment, fragment, namesOf, NOTHING, sql } from '../database/sql.ts'
import { countedFrom, type CountedList } from '../packed/declare.ts'
import type { Answer } from './answer.ts'
import type { Page } from './query.ts'

/**
 * Lists in the order of creation, or the other way round. Page n keeps its exact meaning at any depth: whole blocks of identifiers whose records are counted
 * (list_blocks) are skipped, and the rest of the offset is walked inside one block.
 */

/** Start of a page: the first identifier from `fromId` on, after passing over `skip` records. */
export interface PageStart {
  fromId: bigint
  skip: number
  /** The list runs from the newest to the oldest: its page begins with the newest identifier below `fromId`. */
  isNewestFirst?: boolean
  /** It follows a record, whatever stands before that. */
  isAfter?: boolean
  /** Nothing of the list is filtered out: a page is the next identifiers of the account, as they come. */
  isWhole?: boolean
}

/** Above every identifier there can be. */
const ABOVE_ALL = 2n ** 63n - 1n

/** Returns the condition of a page on the identifier of its list: the column as it stands in the code. */
export const onward = ({ fromId, isNewestFirst }: PageStart, id: string): Fragment =>
  isNewestFirst ? fragment`and ${namesOf(id)} < ${fromId}` : fragment`and ${namesOf(id)} >= ${fromId}`

const DESCENDING = fragment`desc`

/** Returns the direction of a list, which stands behind each column that it is ordered by. */
export const direction = ({ isNewestFirst }: Pick<PageStart, 'isNewestFirst'>): Fragment =>
  isNewestFirst ? DESCENDING : NOTHING

/** Limits that stand in the text of a statement: of usual sizes, each with the one row more that shows whether there is a next page. */
const WRITTEN_LIMITS = new Map([10, 20, 25, 50, 100, 200].map((size) => [size + 1, namesOf(`limit ${size + 1}`)]))

/**
 * Returns what stands behind the only column that a list is ordered by: the direction, and the rows of the page. A limit that is a parameter makes PostgreSQL
 * plan the statement anew each time, because a plan for the rows that it is asked for seems cheaper than one for a tenth of all; of a page of 100 customers that was a
 * quarter. Where a list is filtered it is right: the plan for few records that are found is another one.
 */
export function inPage(start: PageStart, limit: number): Fragment {
  const written = start.isWhole && start.skip === 0 ? WRITTEN_LIMITS.get(limit) : undefined
  return written
    ? fragment`${direction(start)} ${written}`
    : fragment`${direction(start)} offset ${start.skip} limit ${limit}`
}

const BLOCK = 4096n

/** Returns the start of a page of a list that is filtered: everything before it is walked. */
export const startOf = ({ page, size, isNewestFirst }: Page): PageStart => ({
  fromId: isNewestFirst ? ABOVE_ALL : 0n,
  skip: (page - 1) * size,
  isNewestFirst,
})

/** Returns the start of the page that follows a record: whatever was added or deleted meanwhile, no record is passed over and none comes twice. */
export const startAfter = (id: bigint, { isNewestFirst }: Page): PageStart => ({
  fromId: isNewestFirst ? id : id + 1n,
  skip: 0,
  isNewestFirst,
  isAfter: true,
})

/** Returns the start of a page of an account-wide, unfiltered list. */
export async function pageStart(db: Queryable, account: bigint, list: CountedList, page: Page): Promise<PageStart> {
  const start = startOf(page)
  const offset = start.skip
  if (offset < Number(BLOCK)) return start
  if (page.isNewestFirst) return newestStart(db, account, list, start)
  const found = await db.first<{ block: bigint; before: bigint; isBeyond: boolean }>(sql`
    with sums as (
      select block, records, sum(records) over (order by block)::bigint as through
        from list_blocks where account_id = ${account} and list = ${list.list})
    (select block, through - records as "before", false as "isBeyond" from sums where through > ${offset} order by block limit 1)
    union all
    (select block + 1, through, true from sums order by block desc limit 1)
    order by "isBeyond" limit 1`)
  return found ? { fromId: found.block * BLOCK, skip: offset - Number(found.before) } : start
}

/** Returns the start of a page from the newest on: the records that no block counts yet are passed over first, then whole blocks. */
async function newestStart(db: Queryable, account: bigint, list: CountedList, start: PageStart): Promise<PageStart> {
  const { fromBlock } = await countedBlocks(db, account, list)
  const newest = await countFrom(db, account, list, fromBlock)
  const rest = start.skip - newest
  if (rest < 0) return start
  const found = await db.first<{ block: bigint; before: bigint }>(sql`
    with sums as (
      select block, records, sum(records) over (order by block desc)::bigint as through
        from list_blocks where account_id = ${account} and list = ${list.list})
    (select block + 1 as "block", through - records as "before" from sums where through > ${rest} order by block desc limit 1)
    union all
    (select block, through from sums order by block limit 1)
    order by "block" desc limit 1`)
  return found ? { ...start, fromId: found.block * BLOCK, skip: rest - Number(found.before) } : start
}

/** Answers one page of a list with the links to its neighbours. */
export async function pageAnswer(
  /** The count of all its records is asked for only when a page lies past the end. */
  list: {
    hasNext: boolean
    isEmpty: boolean
    page: Page
    url: string
    count(): Promise<number>
    /** Left out: nobody asked how many records there are. */
    total?: string
    /** Left out: nobody asked what was updated. */
    until?: Instant
    /** The last record of this page, where the next one begins after it; left out: it is found by its number. */
    last?: bigint | undefined
    /** It is the page of its number; false where it follows a record that was named, whatever number that page has. */
    hasNumber?: boolean
  },
  body: Buffer | AsyncGenerator<string> | AsyncGenerator<Buffer>,
  publicUrl: string | undefined,
): Promise<Answer> {
  const { page, size } = list.page
  const links: string[] = []
  const { hasNumber = true } = list
  const link = (target: number, rel: string, after?: bigint) =>
    links.push(`<${pageUrl(list.url, { page: hasNumber ? target : undefined, size, after }, publicUrl)}>; rel="${rel}"`)
  if (list.hasNext) link(page + 1, 'next', list.last)
  if (page > 1 && hasNumber) {
    const previous = list.isEmpty ? Math.min(page - 1, Math.ceil((await list.count()) / size)) : page - 1
    if (previous >= 1) link(previous, 'prev')
  }
  const written = Buffer.isBuffer(body) ? { body } : { pieces: body }
  const headers = {
    ...(links.length > 0 ? { link: links.join(', ') } : {}),
    ...(list.total === undefined ? {} : { 'total-count': list.total }),
    ...(list.until === undefined ? {} : { 'perennial-until': list.until }),
  }
  return { status: 200, ...written, ...(Object.keys(headers).length > 0 ? { headers } : {}) }
}

function pageUrl(
  url: string,
  { page, size, after }: { page: number | undefined; size: number; after: bigint | undefined },
  publicUrl: string | undefined,
): string {
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
  if (page === undefined) query.delete('page')
  else query.set('page', String(page))
  query.set('page_size', String(size))
  query.delete('after')
  if (after !== undefined) query.set('after', String(after))
  return `${publicUrl?.replace(/\/$/, '') ?? ''}${path}?${query}`
}

/** Records of an account-wide list: counted blocks plus an index-only walk of the newest. */
export async function countList(db: Queryable, account: bigint, list: CountedList): Promise<number> {
  const { counted, fromBlock } = await countedBlocks(db, account, list)
  return Number(counted) + (await countFrom(db, account, list, fromBlock))
}

/** Returns how many records the blocks of a list count, and the first block that is not counted. */
const countedBlocks = (db: Queryable, account: bigint, list: CountedList) =>
  db.one<{ counted: bigint; fromBlock: bigint }>(sql`
    select coalesce(sum(records), 0)::bigint as "counted", coalesce(max(block) + 1, 0) as "fromBlock"
      from list_blocks where account_id = ${account} and list = ${list.list}`)

const countFrom = (db: Queryable, account: bigint, list: CountedList, block: bigint): Promise<number> =>
  db.count(sql`select ${countedFrom(account, list, block * BLOCK)} as "n"`)
