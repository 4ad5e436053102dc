import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { invalid } from '../../kernel/fault.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { Answer } from '../../platform/http/operation.ts'
import { countList, listAnswer, type PageStart, pageStart, startOf } from '../../platform/http/paging.ts'
import { listQuery, pageOf } from '../../platform/http/query.ts'
import { date, reference } from '../../platform/wire/fields.ts'
import { type Field, optional, word } from '../../platform/wire/read.ts'
import type { GivenFilter } from './adjustment-queries.ts'
import { mapAllocationsOfGiven } from './allocation-queries.ts'
import { GIVEN_STATUSES } from './rules.ts'

/** Lists of payments and of credit notes: the same filters, each record with what is allocated of it. */

export const GivenQuery = listQuery({
  startDate: optional(date()),
  endDate: optional(date()),
  status: optional(word(GIVEN_STATUSES, { anyCase: true })),
  customerID: optional(reference()),
})
export type GivenQueryBody = typeof GivenQuery extends Field<infer Query> ? Query : never

interface GivenList<Row> {
  kind: AllocationState['givenKind']
  /** The list whose blocks are counted, where it holds nothing else. */
  counted?: 'payments'
  list(filter: GivenFilter, start: PageStart, limit: number): Promise<Row[]>
  count(filter: GivenFilter): Promise<number>
  write(rows: Row[], allocationsOf: (id: Id) => readonly AllocationState[]): string
}

/** One page. Throws 400 where startDate lies after endDate. */
export async function answerGiven<Row extends { id: Id }>(
  db: Queryable,
  account: AccountId,
  { query, url, publicUrl }: { query: GivenQueryBody; url: string; publicUrl: string | undefined },
  customerId: CustomerId | null,
  given: GivenList<Row>,
): Promise<Answer> {
  const { startDate = null, endDate = null, status = null } = query
  if (startDate && endDate && startDate > endDate)
    throw invalid('dates_reversed', `startDate ${startDate} is after endDate ${endDate}.`, 'startDate')
  const filter: GivenFilter = { customerId: customerId ?? query.customerID ?? null, startDate, endDate, status }
  const page = pageOf(query)
  const isFiltered = Object.values(filter).some((value) => value !== null)
  const counted = isFiltered ? undefined : given.counted
  const start = counted ? await pageStart(db, account, counted, page) : startOf(page)
  const rows = await given.list(filter, start, page.size + 1)
  const allocations = await mapAllocationsOfGiven(
    db,
    account,
    given.kind,
    rows.map(({ id }) => id),
  )
  return listAnswer(
    { rows, page, url, count: () => (counted ? countList(db, account, counted) : given.count(filter)) },
    (some) => given.write(some, (id) => allocations.get(id) ?? []),
    publicUrl,
  )
}
