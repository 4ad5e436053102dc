import type { Queryable } from '../database/database.ts'
import { firstRow, oneRow } from '../database/database.ts'
import type { SEALED_LISTS } from '../database/housekeeping.ts'
import { sql } from '../database/sql.ts'
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

/** The start of a page of a list that is filtered: everything before it is walked. */
export const startOf = ({ page, size }: Page): PageStart => ({ fromId: 0n, skip: (page - 1) * size })

/** The start of a page of an account-wide, unfiltered list. */
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

/** Lists whose blocks of identifiers are counted. */
export type CountedList = (typeof SEALED_LISTS)[number]

/** Records of an account-wide list: counted blocks plus an index-only walk of the newest. */
export async function countList(db: Queryable, account: bigint, list: CountedList): Promise<number> {
  const { counted, fromBlock } = await oneRow<{ counted: bigint; fromBlock: bigint }>(
    db,
    sql`select coalesce(sum(records), 0)::bigint as "counted", coalesce(max(block) + 1, 0) as "fromBlock"
          from list_blocks where account_id = ${account} and list = ${list}`,
  )
  const from = fromBlock * BLOCK
  const tail = {
    customers: sql`select count(*) as "n" from customers where account_id = ${account} and customer_id >= ${from}`,
    subscriptions: sql`select count(*) as "n" from subscriptions where account_id = ${account} and subscription_id >= ${from}`,
    invoices: sql`select count(*) as "n" from invoices where account_id = ${account} and invoice_id >= ${from}`,
    events: sql`select count(*) as "n" from events where account_id = ${account} and event_id >= ${from}`,
    payments: sql`select count(*) as "n" from payments where account_id = ${account} and payment_id >= ${from}`,
    ledger_entries: sql`select count(*) as "n" from ledger_entries where account_id = ${account} and entry_id >= ${from}`,
  }[list]
  const { n } = await oneRow<{ n: bigint }>(db, tail)
  return Number(counted + n)
}
