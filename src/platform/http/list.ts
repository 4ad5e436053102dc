import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable } from '../database/database.ts'
import type { Snapshot } from '../database/reads.ts'
import type { CountedList } from '../database/housekeeping.ts'
import type { BodyOf, Field, Properties } from '../wire/read.ts'
import type { ListShape, RecordShape } from '../wire/columns.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { type Answer, type Operation, type PathParams, readOperation, type ReadOperation } from './operation.ts'
import { countList, pageAnswer, type PageStart, pageStart, startOf } from './paging.ts'
import { isFirstPage, listQuery, pageOf } from './query.ts'

/** A list of records, declared: its filters, its rows and their columns. Paging, links and the counting of deep pages follow from that. */
export interface ListDeclaration<Row, Filter extends object, Filters extends Properties, Item> {
  id: string
  path: string
  tag: string
  summary: string
  /** The columns of a record of the list. */
  out: { list: Pick<ListShape<Item>, 'schema' | 'write'> }
  /** Filters of the query string, beside page and page_size. */
  filters?: Filters
  /** Turns the query into conditions; throws 400 where they contradict each other, 404 where they name what does not exist. */
  filterOf?(query: BodyOf<Filters>, context: RequestContext, db: Queryable): Filter | Promise<Filter>
  refusals?: ReadOperation['refusals']
  hasStrictQuery?: ReadOperation['hasStrictQuery']
  /** Finds the record that the list belongs to (404) and returns the conditions that it adds. */
  parent?(db: Queryable, context: RequestContext, params: PathParams): Promise<Partial<Filter>>
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
  complete?(db: Queryable, context: RequestContext, rows: Row[]): Promise<Item[]>
  /** Writes the rows of one page in pieces instead, while what belongs to them is read: for records too long to be in memory together. */
  pieces?(db: Snapshot, context: RequestContext, rows: Row[]): AsyncGenerator<string>
}

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
    method: 'GET',
    path,
    tag,
    summary,
    query: listQuery(list.filters ?? {}) as Field<BodyOf<Properties>>,
    success: { status: 200, schema: list.out.list.schema },
    // One statement then, which walks no further than its page: nothing is looked for before it, completed after it, or counted.
    ...(list.blocks && !parent && !list.complete && !list.pieces ? { isLookup: isFirstPage } : {}),
    ...(list.refusals ? { refusals: list.refusals } : {}),
    ...(list.hasStrictQuery ? { hasStrictQuery: true } : {}),
    ...(parent ? { record: (db, context, params) => parent(db, context, params) } : {}),
    read: async (db, context, { params, query, url }) => {
      const { account, moment } = context
      const page = pageOf(query)
      const parentFilter = await parent?.(db, context, params)
      const ownFilter = await list.filterOf?.(query as BodyOf<Filters>, context, db)
      const filter = { ...ownFilter, ...parentFilter } as Filter
      const blocks = isWhole(filter) ? list.blocks : undefined
      const start = blocks ? await pageStart(db, account.id, blocks, page) : startOf(page)
      const rows = await list.rows(db, account.id, filter, start, page.size + 1, moment.today)
      const shown = rows.slice(0, page.size)
      const body = list.pieces
        ? list.pieces(db, context, shown)
        : list.out.list.write(
            list.complete ? await list.complete(db, context, shown) : (shown as unknown as Item[]),
            writingOf(context),
          )
      return pageAnswer(
        {
          hasNext: rows.length > page.size,
          isEmpty: rows.length === 0,
          page,
          url,
          count: () => (blocks ? countList(db, account.id, blocks) : list.count(db, account.id, filter, moment.today)),
        },
        body,
        context.publicUrl,
      )
    },
  })
}

/** Answers a list that lies in memory: all of it, unless a page is asked for. */
export function memoryAnswer<Row>(
  all: readonly Row[],
  out: RecordShape<Row>,
  context: RequestContext,
  asked: { page?: number | null; page_size?: number | null },
  url: string,
): Promise<Answer> {
  const isPaged = asked.page != null || asked.page_size != null
  const page = isPaged ? pageOf(asked) : { page: 1, size: all.length }
  const rows = all.slice((page.page - 1) * page.size)
  const shown = rows.slice(0, page.size)
  return pageAnswer(
    { hasNext: rows.length > page.size, isEmpty: rows.length === 0, page, url, count: async () => all.length },
    out.list.write(shown, writingOf(context)),
    context.publicUrl,
  )
}
