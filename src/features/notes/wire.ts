import { etagOf } from '../../platform/http/etag.ts'
import { longText, requiredReference } from '../../platform/wire/fields.ts'
import {
  type BodyOf,
  namesOfInputs,
  objectOf,
  optional,
  type Properties,
  required,
  word,
} from '../../platform/wire/read.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { outDate, outId, outText, outWord } from '../../platform/wire/write.ts'
import { type Note, NOTE_TYPES, type NoteInput } from './queries.ts'

export const noteShape = recordShape<Note>()('CustomerNote', {
  customerNoteID: [outId(), ({ id }) => id],
  customerID: [outId(), ({ customerId }) => customerId],
  DateUTC: [outDate('Instant'), ({ createdAt }) => createdAt],
  Note: [outText(), ({ text }) => text],
  NoteType: [outWord(NOTE_TYPES), ({ type }) => type],
})

const inputs = {
  customerID: required(requiredReference()),
  Note: required(longText()),
  NoteType: optional(word(NOTE_TYPES)),
} satisfies Properties

export const NoteIn = objectOf(inputs, { name: 'CustomerNoteInput', ignored: ['customerNoteID', 'DateUTC'] })
export type NoteBody = BodyOf<typeof inputs>

export const noteFromWire = (body: NoteBody): NoteInput => ({
  customerId: body.customerID,
  text: body.Note,
  type: body.NoteType ?? 'General',
})

const textOfSet = noteShape.writerOf(namesOfInputs(inputs))

/** Changes with whatever a PUT would replace. */
export const noteEtag = (note: Note): string => etagOf(note.id, textOfSet(note))
