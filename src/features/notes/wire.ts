import { etagOf } from '../../platform/http/etag.ts'
import { longText, requiredReference } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import { outDate, outId, outList, outObject, outText, outWord } from '../../platform/wire/write.ts'
import { type Note, NOTE_TYPES, type NoteInput } from './queries.ts'

export const NoteOut = outObject(
  {
    customerNoteID: outId(),
    customerID: outId(),
    DateUTC: outDate('Instant'),
    Note: outText(),
    NoteType: outWord(NOTE_TYPES),
  },
  'CustomerNote',
)
export const NotesOut = outList(NoteOut)

const inputs = {
  customerID: required(requiredReference()),
  Note: required(longText()),
  NoteType: optional(word(NOTE_TYPES)),
} satisfies Properties

export const NoteIn = objectOf(inputs, { ignored: ['customerNoteID', 'DateUTC'] })
export type NoteBody = BodyOf<typeof inputs>

export const noteFromWire = (body: NoteBody): NoteInput => ({
  customerId: body.customerID,
  text: body.Note,
  type: body.NoteType ?? 'General',
})

export const noteToWire = (note: Note) => ({
  customerNoteID: note.id,
  customerID: note.customerId,
  DateUTC: note.createdAt,
  Note: note.text,
  NoteType: note.type,
})

/** Changes with whatever a PUT would replace. */
export const noteEtag = ({ id, customerId, text, type }: Note): string => etagOf(id, customerId, text, type)
