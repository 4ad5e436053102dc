import { filter, LEFT_OUT } from '../../platform/wire/left-out.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { addDays, type Instant } from '../../kernel/calendar.ts'
import { instantOf } from '../../kernel/zone.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { readDate, readInstant } from '../../platform/wire/dates.ts'
import { instant, reference } from '../../platform/wire/fields.ts'
import { type Field, optional, type Properties, REFUSED, word } from '../../platform/wire/read.ts'
import { orNull, outId, outInstant, outText, outWord, type Shape } from '../../platform/wire/write.ts'
import type { RecordedEvent } from './queries.ts'
import { EVENT_TYPES, type EventType } from './types.ts'
import { fromFilter, toFilter } from '../../platform/http/query.ts'
import type { Account, Moment } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'

/** A record that is JSON text already: it goes out as it was written. */
const outRecord: Shape<string | null> = {
  schema: { type: ['object', 'null'], description: 'The record as it was at commit; its fields are those of its type' },
  write: (text) => text ?? 'null',
}

const recordTypeOf = (type: EventType): string => type.split('.')[0] ?? ''
const RECORD_TYPES = [...new Set(EVENT_TYPES.map(recordTypeOf))]

/** Returns the types of events that records of a kind have; null for any. */
export const typesOfRecord = (recordType: string | null | undefined): EventType[] | null =>
  recordType == null ? null : EVENT_TYPES.filter((type) => recordTypeOf(type) === recordType)

export const eventShape = recordShape<RecordedEvent>()('RecordedEvent', {
  eventID: [outId(identifies('event')), ({ id }) => id],
  Type: [outWord(EVENT_TYPES, 'What happened.'), ({ type }) => type],
  RecordType: [outWord(RECORD_TYPES, 'The kind of record that the event is about.'), ({ type }) => recordTypeOf(type)],
  RecordID: [outId(identifies('record that the event is about')), ({ recordId }) => recordId],
  customerID: [orNull(outId(identifies('customer'))), ({ customerId }) => customerId],
  Date: [outInstant('When it happened, by the clock of the account.'), ({ happenedAt }) => happenedAt],
  Actor: [outText('Who did it: a key, a billing run, a command'), ({ actor }) => actor],
  Reason: [orNull(outText('Why it happened, where the request said so; else null.')), ({ reason }) => reason],
  Record: [outRecord, ({ record }) => record],
})

const DAY_ALONE = /^\s*(\d{4}-\d{2}-\d{2}|\d{8}|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4})\s*$/

/** Returns the instant before which a period ends: a day without a time is meant to its end, a moment includes itself. */
export const endOfPeriod = (): Field<Instant> => {
  const moment = instant()
  return {
    ...moment,
    read(value, path, context) {
      const read = moment.read(value, path, context)
      if (read === REFUSED || typeof value !== 'string') return read
      const day = DAY_ALONE.test(value) ? readDate(value, context.timeZone) : undefined
      if (day !== undefined) return readInstant(addDays(day, 1), context.timeZone) ?? read
      return instantOf(Date.parse(read) + 1)
    },
  }
}

export const eventFilters = {
  type: filter(word(EVENT_TYPES), 'events of this type'),
  customerID: optional(reference(), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
  RecordType: optional(
    word(RECORD_TYPES),
    'Limits the list to events of records of this kind, with RecordID or without.',
    LEFT_OUT.ofAll,
  ),
  RecordID: filter(reference(), 'one record, by its identifier'),
  from: fromFilter(instant()),
  to: toFilter(endOfPeriod()),
} satisfies Properties

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
