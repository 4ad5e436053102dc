import type { Instant } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import type { Operation } from '../../platform/http/operation.ts'
import { countEvents, listEvents, type RecordedEvent } from './queries.ts'
import { eventFilters, eventShape } from './wire.ts'

/** An event of an issued invoice keeps only what can change later; `kept` is that part. */
interface IssuedEvent<Kept> {
  invoiceId: Id
  happenedAt: Instant
  kept: Kept
}

interface Deps<Kept> {
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

/**
 * Reads the events of a page with their records: of issued invoices with many lines some at a time, so that their lines are never in memory
 * together.
 */
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
    yield portion.map((event) => {
      const record = event.type === 'invoice.issued' ? composed.get(event.recordId) : undefined
      return record === undefined ? event : { ...event, record }
    })
    rest = rest.slice(portion.length)
  }
}

/** Declares the operations of the audit log: every change of the account, oldest first. */
export const eventOperations = <Kept>(deps: Deps<Kept>): Operation[] => [
  listOperation({
    id: 'listEvents',
    path: '/v1/events',
    tag: 'Events',
    summary: 'List events: what was changed, when and by whom',
    out: eventShape,
    filters: eventFilters,
    filterOf: ({ type, customerID, from, to }) => ({ type, customerId: customerID, from, before: to }),
    blocks: 'events',
    rows: listEvents,
    count: countEvents,
    pieces: (db, context, rows) => eventShape.list.pieces(eventPortions(deps, db, context, rows), writingOf(context)),
  }),
]
