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
