import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import { invalid } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable, Snapshot } from '../database/database.ts'
import type { SettledUpdates } from '../database/updates.ts'
import type { CountedList } from '../packed/declare.ts'
import type { BodyOf, Field, Properties } from '../wire/read.ts'
import type { ListShape, RecordShape } from '../wire/columns.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { type Operation, type PathParams, readOperation, type ReadOperation } from './operation.ts'
import { countList, pageAnswer, type PageStart, pageStart, startAfter, startOf } from './paging.ts'
import { type ListWish, isFirstPage, listQuery, pageOf, updateFilter, type UpdateWish } from './query.ts'
import type { Answer } from './answer.ts'

/** A list of records, declared: its filters, its rows and their columns. Paging, links and the counting of deep pages follow from that. */
export interface ListDeclaration<Row, Filter extends object, Filters extends Properties, Item> {
  id: string
  path: string
  tag: string
  summary: string
  /** The columns of a record of the list. */
  out: { list: Pick<ListShape<Item>, 'schema' | 'bytes'> }
  /** Filters of the query string, beside page and page_size. */
  filters?: Filters
  /** Turns the query into conditions; throws 400 where they contradict each other, 404 where they name what does not exist. */
  filterOf?(query: BodyOf<Filters>, context: RequestContext, db: Queryable): Filter | Promise<Filter>
  refusals?: ReadOperation['refusals']
  hasStrictQuery?: ReadOperation['hasStrictQuery']
  /** Finds the record that the list belongs to (404) and returns the conditions that it adds. */
  parent?(db: Queryable, context: RequestContext, params: PathParams): Promise<Partial<Filter>>
  /** The list can be asked for what was updated since an instant: its conditions take it as `since`. */
  knowsUpdates?: Filter extends { since?: Instant | null } ? true : never
  /** The list whose blocks are counted, so that deep pages of the whole list are fast. */
  blocks?: CountedList
  rows(
    db: Queryable,
    account: AccountId,
    filter: Filter,
    start: PageStart,
    limit: number,
    today: IsoDate,
  ): Promise<Row[]>
  count(db: Queryable, account: AccountId, filter: Filter, today: IsoDate): Promise<number>
  /** Completes the rows of one page by what belongs to them. Left out: a row is the record. */
  complete?(db: Queryable, context: RequestContext, rows: Row[], query: BodyOf<Filters>): Promise<Item[]>
  /** Writes the rows of one page in pieces instead, while what belongs to them is read: for records too long to be in memory together. */
  pieces?(db: Snapshot, context: RequestContext, rows: Row[]): AsyncGenerator<string> | AsyncGenerator<Buffer>
}

/** Number of records of a filtered list up to which they are counted exactly. */
const TOTAL_MAX = 10_000

const isWhole = (filter: object): boolean => Object.values(filter).every((value) => value == null)

/** Declares the operation of one list. */
export function listOperation<
  Row,
  Filter extends object = object,
  Filters extends Properties = Record<never, never>,
  Item = Row,
>(list: ListDeclaration<Row, Filter, Filters, Item>): Operation {
  const { id, path, tag, summary, parent } = list
  return readOperation({
    id,
    path,
    tag,
    summary,
    query: listQuery({ ...list.filters, ...(list.knowsUpdates ? updateFilter : {}) }) as Field<BodyOf<Properties>>,
    success: { status: 200, schema: list.out.list.schema },
    // One statement then, which walks no further than its page: nothing is looked for before it, completed after it, or counted.
    ...(list.blocks && !parent && !list.complete && !list.pieces ? { isLookup: isFirstPage } : {}),
    ...(list.knowsUpdates ? { asksForUpdates: (query: UpdateWish) => query.updatedSince != null } : {}),
    ...(list.refusals ? { refusals: list.refusals } : {}),
    ...(list.hasStrictQuery ? { hasStrictQuery: true } : {}),
    ...(parent ? { record: (db, context, params) => parent(db, context, params) } : {}),
    read: async (db, context, { params, query, url, settled }) => {
      const { account, moment } = context
      const page = pageOf(query)
      const parentFilter = await parent?.(db, context, params)
      const ownFilter = await list.filterOf?.(query as BodyOf<Filters>, context, db)
      const since = settled ? sinceOf(query as UpdateWish, settled) : null
      const filter = { ...ownFilter, ...parentFilter, ...(since === null ? {} : { since }) } as Filter
      const blocks = isWhole(filter) ? list.blocks : undefined
      const { after } = query as UpdateWish
      const place =
        after != null ? startAfter(after, page) : blocks ? await pageStart(db, account.id, blocks, page) : startOf(page)
      const start = blocks ? { ...place, isWhole: true } : place
      const rows = await list.rows(db, account.id, filter, start, page.size + 1, moment.today)
      const shown = rows.slice(0, page.size)
      const body = list.pieces
        ? list.pieces(db, context, shown)
        : list.out.list.bytes(
            list.complete
              ? await list.complete(db, context, shown, query as BodyOf<Filters>)
              : (shown as unknown as Item[]),
            writingOf(context),
          )
      const count = () =>
        blocks ? countList(db, account.id, blocks) : list.count(db, account.id, filter, moment.today)
      const hasMore = async () => {
        const start = { ...startOf(page), skip: TOTAL_MAX }
        return !isWhole(filter) && (await list.rows(db, account.id, filter, start, 1, moment.today)).length > 0
      }
      const isTotalAsked = (query as ListWish).total === true
      const total = isTotalAsked ? { total: (await hasMore()) ? `${TOTAL_MAX}+` : String(await count()) } : {}
      return pageAnswer(
        {
          hasNext: rows.length > page.size,
          isEmpty: rows.length === 0,
          page,
          url,
          count,
          ...total,
          ...(settled ? { until: settled.until } : {}),
          ...(settled || after != null ? { last: idOf(shown.at(-1)) } : {}),
          hasNumber: settled !== undefined || after == null,
        },
        body,
        context.publicUrl,
      )
    },
  })
}

/** Returns the identifier of a record of a list that knows updates; undefined where its page is empty. */
const idOf = (row: unknown): bigint | undefined => (row as { id: bigint } | undefined)?.id

/** How far the clock of a caller may be ahead of that of the database. */
const AHEAD_MS = 5 * 60_000

/**
 * Returns the instant since which records of a list count as updated; null for all of them, where less is not known. Rule: a little ahead counts
 * as now, as a clock that is fast shows it. Throws 400 for one further ahead: a caller who sends it would miss what is changed until then.
 */
function sinceOf({ updatedSince }: UpdateWish, { floor, takenAt }: SettledUpdates): Instant | null {
  if (updatedSince == null || updatedSince < floor) return null
  if (updatedSince <= takenAt) return updatedSince
  if (Date.parse(updatedSince) - Date.parse(takenAt) <= AHEAD_MS) return takenAt
  throw invalid(
    'in_future',
    `updatedSince ${updatedSince} is more than 5 minutes ahead; it is ${takenAt}. Send what Perennial-Until answered.`,
    'updatedSince',
  )
}

/** Answers a list that lies in memory: all of it, unless a page is asked for. */
export function memoryAnswer<Row>(
  all: readonly Row[],
  out: RecordShape<Row>,
  context: RequestContext,
  asked: ListWish,
  url: string,
): Promise<Answer> {
  const isPaged = asked.page != null || asked.page_size != null
  const page = isPaged ? pageOf(asked) : { ...pageOf(asked), size: all.length }
  const sorted = page.isNewestFirst ? all.toReversed() : all
  const rows = sorted.slice((page.page - 1) * page.size)
  const shown = rows.slice(0, page.size)
  return pageAnswer(
    {
      hasNext: rows.length > page.size,
      isEmpty: rows.length === 0,
      page,
      url,
      count: async () => all.length,
      ...(asked.total === true ? { total: String(all.length) } : {}),
    },
    out.list.bytes(shown, writingOf(context)),
    context.publicUrl,
  )
}
