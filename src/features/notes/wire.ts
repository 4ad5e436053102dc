import { identifies } from '../../platform/wire/shared-sentences.ts'
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
import { outId, outInstant, outText, outWord } from '../../platform/wire/write.ts'
import { type Note, NOTE_TYPES, type NoteInput } from './queries.ts'

export const noteShape = recordShape<Note>()('CustomerNote', {
  customerNoteID: [outId(identifies('note')), ({ id }) => id],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  DateUTC: [outInstant('When the note was written.'), ({ createdAt }) => createdAt],
  Note: [outText('The text of the note.'), ({ text }) => text],
  NoteType: [outWord(NOTE_TYPES, 'What the note is about.'), ({ type }) => type],
})

const inputs = {
  customerID: required(requiredReference(), identifies('customer')),
  Note: required(longText(), 'The text of the note.'),
  NoteType: optional(word(NOTE_TYPES), 'What the note is about.', 'Left out, it is `General`.'),
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
