import { addDays, type Instant } from '../../kernel/calendar.ts'
import { instantOf } from '../../kernel/zone.ts'
import { listQuery } from '../../platform/http/query.ts'
import { readDate, readInstant } from '../../platform/wire/dates.ts'
import { instant, reference } from '../../platform/wire/fields.ts'
import { type BodyOf, type Field, optional, type Properties, REFUSED, word } from '../../platform/wire/read.ts'
import { orNull, outDate, outId, outList, outObject, outText, outWord, type Shape } from '../../platform/wire/write.ts'
import { EVENT_TYPES, type EventFilter, type EventType, type RecordedEvent } from './queries.ts'

/** A record that is JSON text already: it goes out as it was written. */
const outRecord: Shape<string | null> = {
  schema: { type: ['object', 'null'], description: 'The record as it was at commit; its fields are those of its type' },
  write: (text) => text ?? 'null',
}

const recordTypeOf = (type: EventType): string => type.split('.')[0] ?? ''
const RECORD_TYPES = [...new Set(EVENT_TYPES.map(recordTypeOf))]

export const EventOut = outObject(
  {
    eventID: outId(),
    Type: outWord(EVENT_TYPES),
    RecordType: outWord(RECORD_TYPES),
    RecordID: outId(),
    customerID: orNull(outId()),
    Date: outDate('Instant'),
    Actor: outText({ description: 'Who did it: a key, a billing run, a command' }),
    Reason: orNull(outText()),
    Record: outRecord,
  },
  'RecordedEvent',
)
export const EventsOut = outList(EventOut)

const DAY_ALONE = /^\s*(\d{4}-\d{2}-\d{2}|\d{8}|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4})\s*$/

/** The instant before which a period ends: a day without a time is meant to its end, a moment includes itself. */
const endOfPeriod = (): Field<Instant> => {
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

const filters = {
  type: optional(word(EVENT_TYPES)),
  customerID: optional(reference()),
  from: optional(instant()),
  to: optional(endOfPeriod()),
} satisfies Properties

export const EventQuery = listQuery(filters)

export const filterOf = (query: BodyOf<typeof filters>): EventFilter => ({
  type: query.type,
  customerId: query.customerID,
  from: query.from,
  before: query.to,
})

export const eventToWire = (event: RecordedEvent, record: string | null) => ({
  eventID: event.id,
  Type: event.type,
  RecordType: recordTypeOf(event.type),
  RecordID: event.recordId,
  customerID: event.customerId,
  Date: event.happenedAt,
  Actor: event.actor,
  Reason: event.reason,
  Record: record,
})
