import type { Instant } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { type Operation, readOperation } from '../../platform/http/operation.ts'
import { countList, listAnswer, pageStart } from '../../platform/http/paging.ts'
import { pageOf } from '../../platform/http/query.ts'
import { countEvents, listEvents, type RecordedEvent } from './queries.ts'
import { EventQuery, EventsOut, eventToWire, filterOf } from './wire.ts'

/** An event of an issued invoice keeps only what can change later; `kept` is that part. */
interface IssuedEvent<Kept> {
  invoiceId: Id
  happenedAt: Instant
  kept: Kept
}

interface Deps<Kept> {
  publicUrl: string | undefined
  /** Composes the records of issued invoices from their frozen rows; given by the feature that owns them. */
  writeIssuedRecords(
    db: Queryable,
    context: RequestContext,
    events: readonly IssuedEvent<Kept>[],
  ): Promise<Map<Id, string>>
}

/** Returns what is kept of an issued invoice; undefined for every other event, also an older one that holds its whole record. */
function keptOf<Kept>({ type, record }: RecordedEvent): Kept | undefined {
  if (type !== 'invoice.issued' || record === null) return undefined
  const kept = JSON.parse(record) as object
  return 'invoiceID' in kept ? undefined : (kept as Kept)
}

/** Events of a page with their records: of issued invoices with many lines some at a time, so that their lines are never in memory together. */
async function* eventPortions<Kept>(
  { writeIssuedRecords }: Deps<Kept>,
  db: Queryable,
  context: RequestContext,
  shown: readonly RecordedEvent[],
) {
  const issuedOf = (events: readonly RecordedEvent[]) =>
    events.flatMap((event) => {
      const kept = keptOf<Kept>(event)
      return kept === undefined ? [] : [{ invoiceId: event.recordId, happenedAt: event.happenedAt, kept }]
    })
  for (let rest = shown; rest.length > 0;) {
    const issued = issuedOf(rest)
    let composed = await writeIssuedRecords(db, context, issued)
    const [next] = issued
    if (next && !composed.has(next.invoiceId)) composed = await writeIssuedRecords(db, context, [next])
    const waiting = new Set(issued.slice(1).flatMap(({ invoiceId: id }) => (composed.has(id) ? [] : [id])))
    const end = rest.findIndex((event) => keptOf(event) !== undefined && waiting.has(event.recordId))
    const portion = end < 0 ? rest : rest.slice(0, end)
    yield portion.map((event) =>
      eventToWire(event, (event.type === 'invoice.issued' && composed.get(event.recordId)) || event.record),
    )
    rest = rest.slice(portion.length)
  }
}

/** The audit log: every change of the account, oldest first. */
export const eventOperations = <Kept>(deps: Deps<Kept>): Operation[] => [
  readOperation({
    id: 'listEvents',
    method: 'GET',
    path: '/v1/events',
    tag: 'Events',
    summary: 'List events: what was changed, when and by whom',
    query: EventQuery,
    success: { status: 200, schema: EventsOut.schema },
    read: async (db, context, { query, url }) => {
      const { account } = context
      const page = pageOf(query)
      const filter = filterOf(query)
      const isFiltered = Object.values(filter).some((value) => value != null)
      const start = isFiltered
        ? { fromId: 0n, skip: (page.page - 1) * page.size }
        : await pageStart(db, account.id, 'events', page)
      const rows = await listEvents(db, account.id, filter, start, page.size + 1)
      const count = () => (isFiltered ? countEvents(db, account.id, filter) : countList(db, account.id, 'events'))
      return listAnswer(
        { rows, page, url, count },
        (shown) => EventsOut.pieces(eventPortions(deps, db, context, shown)),
        deps.publicUrl,
      )
    },
  }),
]
