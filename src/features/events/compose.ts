import type { Instant } from '../../kernel/calendar.ts'
import type { Account, Moment } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RecordedEvent } from './queries.ts'

/**
 * Completing events: that of an issued invoice keeps only what can change later, and the rest is read from the frozen rows of the invoice; that of plain usage
 * names the row that its reports share with others.
 */

interface IssuedEvent<Kept> {
  invoiceId: Id
  happenedAt: Instant
  kept: Kept
}

/** An event of usage, and the row that has its reports. */
interface UsageEvent {
  eventId: Id
  subscriptionId: Id
  firstUsageId: Id
}

export interface ComposeDeps<Kept> {
  /** Composes the records of issued invoices from their frozen rows; given by the feature that owns them. */
  writeIssuedRecords(
    db: Queryable,
    whose: { account: Account; moment: Moment },
    events: readonly IssuedEvent<Kept>[],
  ): Promise<Map<Id, string>>
  /** Writes the records of events of usage, by event, from the rows that their reports share; given by the feature that owns them. */
  writeUsageRecords(db: Queryable, account: Account['id'], events: readonly UsageEvent[]): Promise<Map<Id, string>>
}

/** Returns what is kept of an issued invoice; undefined for every other event. */
function keptOf<Kept>({ type, record }: RecordedEvent): Kept | undefined {
  return type === 'invoice.issued' && record !== null ? (JSON.parse(record) as Kept) : undefined
}

/** The record of an event of usage that names a row: no event that holds its reports looks like that. */
const NAMES_ROW = /^\{"firstUsageID": (\d+)\}$/

function usageOf({ id, type, recordId, record }: RecordedEvent): UsageEvent[] {
  const named = type === 'usage.recorded' && record !== null ? NAMES_ROW.exec(record) : null
  return named ? [{ eventId: id, subscriptionId: recordId, firstUsageId: BigInt(named[1] as string) }] : []
}

/** Rows of reports that are read together: one holds all that a request has of one subscription, which may be thousands. */
const USAGE_ROWS = 16

/** Returns how many events stand before the first whose row of reports would be one too many. */
function countWithinRows(events: readonly RecordedEvent[]): number {
  const rows = new Set<Id>()
  const end = events.findIndex((event) => {
    for (const { firstUsageId } of usageOf(event)) rows.add(firstUsageId)
    return rows.size > USAGE_ROWS
  })
  return end < 0 ? events.length : end
}

/**
 * Reads events with their whole records, in their order: those of issued invoices with many lines, and those of usage, some at a time, so that what they hold is
 * never in memory together.
 */
export async function* eventPortions<Kept>(
  { writeIssuedRecords, writeUsageRecords }: ComposeDeps<Kept>,
  db: Queryable,
  whose: { account: Account; moment: Moment },
  shown: readonly RecordedEvent[],
): AsyncGenerator<RecordedEvent[]> {
  const issuedOf = (events: readonly RecordedEvent[]) =>
    events.flatMap((event) => {
      const kept = keptOf<Kept>(event)
      return kept === undefined ? [] : [{ invoiceId: event.recordId, happenedAt: event.happenedAt, kept }]
    })
  for (let rest = shown; rest.length > 0;) {
    const together = rest.slice(0, countWithinRows(rest))
    const issued = issuedOf(together)
    let composed = await writeIssuedRecords(db, whose, issued)
    const [next] = issued
    if (next && !composed.has(next.invoiceId)) composed = await writeIssuedRecords(db, whose, [next])
    const waiting = new Set(issued.slice(1).flatMap(({ invoiceId: id }) => (composed.has(id) ? [] : [id])))
    const end = together.findIndex((event) => keptOf(event) !== undefined && waiting.has(event.recordId))
    const portion = end < 0 ? together : together.slice(0, end)
    const usage = portion.flatMap(usageOf)
    const reported = usage.length === 0 ? undefined : await writeUsageRecords(db, whose.account.id, usage)
    yield portion.map((event) => {
      const record = event.type === 'invoice.issued' ? composed.get(event.recordId) : reported?.get(event.id)
      return record === undefined ? event : { ...event, record }
    })
    rest = rest.slice(portion.length)
  }
}
