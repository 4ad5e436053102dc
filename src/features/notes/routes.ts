import { introduced } from '../../platform/http/tags.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { recordKind } from '../../platform/http/record.ts'
import type { Problems } from '../../kernel/fault.ts'
import { checkCustomerReference, ofCustomerInPath } from '../customers/record.ts'
import { recordChange } from '../events/record.ts'
import { countNotes, deleteNote, findNote, insertNote, listNotes, lockNote, type Note, updateNote } from './queries.ts'
import { type NoteBody, noteEtag, noteFromWire, NoteIn, noteShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced(
  'Customer notes',
  'Notes about a customer for those who work with him; customers never see them.',
)

const note = recordKind({
  code: 'customer_note',
  name: 'customer note',
  identified: 'note',
  param: 'customerNoteID',
  path: '/v1/customernotes',
  out: noteShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findNote(db, account.id, id),
  lock: (tx, { account }, id) => lockNote(tx, account.id, id),
  etag: noteEtag,
})

const list = {
  tag,
  out: noteShape,
  rows: listNotes,
  count: countNotes,
}

const checkBody = (tx: Transaction, body: Partial<NoteBody>, problems: Problems) =>
  checkCustomerReference(tx, body.customerID, problems)

const recordNoteEvent = (
  tx: Transaction,
  context: RequestContext,
  type: 'customer_note.created' | 'customer_note.updated' | 'customer_note.deleted',
  row: Note,
) => recordChange(tx, context, note, { type, row, customerId: row.customerId })

const reading: Operation[] = [
  listOperation({
    ...list,
    id: 'listCustomerNotes',
    path: '/v1/customers/{customerID}/customernotes',
    summary: 'List the notes of a customer',
    parent: ofCustomerInPath,
  }),
  listOperation({
    ...list,
    id: 'listNotes',
    path: '/v1/customernotes',
    summary: 'List the notes of all customers',
  }),
  note.readOperation({ id: 'getNote', tag, summary: 'Read a customer note' }),
]

const writing: Operation[] = [
  writeOperation({
    id: 'addNote',
    method: 'POST',
    path: '/v1/customernotes',
    tag,
    summary: 'Write a note about a customer',
    body: NoteIn,
    success: { status: 201, schema: noteShape.schema },
    references: (tx, _context, { body }, problems) => checkBody(tx, body, problems),
    write: async (tx, context, { body }) => {
      const row = await insertNote(tx, tx.account, noteFromWire(body), context.moment.now)
      await recordNoteEvent(tx, context, 'customer_note.created', row)
      return note.created(row, context)
    },
  }),
  writeOperation({
    ...note.editing,
    id: 'editNote',
    tag,
    summary: 'Replace a note about a customer',
    body: NoteIn,
    references: (tx, _context, { body }, problems) => checkBody(tx, body, problems),
    write: async (tx, context, { body }, present) => {
      const row: Note = { ...present, ...noteFromWire(body) }
      await updateNote(tx, tx.account, row)
      await recordNoteEvent(tx, context, 'customer_note.updated', row)
      return note.edited(row)
    },
  }),
  writeOperation({
    ...note.deleting,
    id: 'deleteNote',
    tag,
    summary: 'Delete a note about a customer',
    write: async (tx, context, _input, row) => {
      await deleteNote(tx, tx.account, row.id)
      await recordNoteEvent(tx, context, 'customer_note.deleted', row)
      return noContent()
    },
  }),
]

export const noteOperations = (): Operation[] => [...reading, ...writing]
