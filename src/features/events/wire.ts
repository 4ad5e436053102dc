import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { addDays, type Instant } from '../../kernel/calendar.ts'
import { instantOf } from '../../kernel/zone.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { readDate, readInstant } from '../../platform/wire/dates.ts'
import { instant, reference } from '../../platform/wire/fields.ts'
import { type Field, optional, type Properties, REFUSED, word } from '../../platform/wire/read.ts'
import { orNull, outDate, outId, outText, outWord, type Shape } from '../../platform/wire/write.ts'
import type { RecordedEvent } from './queries.ts'
import { EVENT_TYPES, type EventType } from './types.ts'

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
  eventID: [described(outId(), identifies('event')), ({ id }) => id],
  Type: [described(outWord(EVENT_TYPES), 'What happened.'), ({ type }) => type],
  RecordType: [
    described(outWord(RECORD_TYPES), 'The kind of record that the event is about.'),
    ({ type }) => recordTypeOf(type),
  ],
  RecordID: [described(outId(), identifies('record that the event is about')), ({ recordId }) => recordId],
  customerID: [described(orNull(outId()), identifies('customer')), ({ customerId }) => customerId],
  Date: [
    described(outDate('Instant'), 'When it happened, by the clock of the account.'),
    ({ happenedAt }) => happenedAt,
  ],
  Actor: [outText({ description: 'Who did it: a key, a billing run, a command' }), ({ actor }) => actor],
  Reason: [
    described(orNull(outText()), 'Why it happened, where the request said so; else null.'),
    ({ reason }) => reason,
  ],
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
  type: described(optional(word(EVENT_TYPES)), 'Limits the list to events of this type.', LEFT_OUT.all),
  customerID: described(optional(reference()), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
  RecordType: described(
    optional(word(RECORD_TYPES)),
    'Limits the list to events of records of this kind, with RecordID or without.',
    LEFT_OUT.ofAll,
  ),
  RecordID: described(optional(reference()), 'Limits the list to one record, by its identifier.', LEFT_OUT.all),
  from: described(
    optional(instant()),
    'Limits the answer to what happened on this day or later.',
    'Left out, it begins with the oldest.',
  ),
  to: described(
    optional(endOfPeriod()),
    'Limits the answer to what happened on this day or earlier.',
    'Left out, it ends with the newest.',
  ),
} satisfies Properties
