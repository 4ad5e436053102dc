import { missing, type Problems } from '../../kernel/fault.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import {
  type Answer,
  noContent,
  type Operation,
  type PathParams,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, type Page, pageOf } from '../../platform/http/query.ts'
import { checkCustomerReference, foundCustomerId } from '../customers/actions.ts'
import type { EventType } from '../events/queries.ts'
import { recordEvent } from '../events/record.ts'
import {
  countNotes,
  deleteNote,
  findNote,
  insertNote,
  listNotes,
  lockNote,
  type Note,
  type NoteInput,
  updateNote,
} from './queries.ts'
import { type NoteBody, noteEtag, noteFromWire, NoteIn, NoteOut, NotesOut, noteToWire } from './wire.ts'

const tag = 'Customer notes'

const unknownNote = (id: bigint | string) =>
  missing('customer_note_unknown', `There is no customer note ${id}.`, 'customerNoteID')

async function lockedNote(tx: Transaction, params: PathParams): Promise<Note> {
  const id = pathId(params, 'customerNoteID', unknownNote)
  const note = await lockNote(tx, tx.account, id)
  if (!note) throw unknownNote(id)
  return note
}

async function recordNote(tx: Transaction, context: RequestContext, type: EventType, note: Note): Promise<string> {
  const record = NoteOut.write(noteToWire(note))
  await recordEvent(tx, context, { type, recordId: note.id, customerId: note.customerId, record })
  return record
}

async function answerNotes(
  db: Queryable,
  { account }: RequestContext,
  customerId: CustomerId | null,
  asked: { page: Page; url: string },
  publicUrl: string | undefined,
): Promise<Answer> {
  const { page, url } = asked
  const rows = await listNotes(db, account.id, customerId, (page.page - 1) * page.size, page.size + 1)
  return listAnswer(
    { rows, page, url, count: () => countNotes(db, account.id, customerId) },
    (some) => NotesOut.write(some.map(noteToWire)),
    publicUrl,
  )
}

const reading = (publicUrl: string | undefined): Operation[] => [
  readOperation({
    id: 'listCustomerNotes',
    method: 'GET',
    path: '/v1/customers/{customerID}/customernotes',
    tag,
    summary: 'List the notes of a customer',
    query: listQuery({}),
    success: { status: 200, schema: NotesOut.schema },
    record: (db, { account }, params) => foundCustomerId(db, account.id, params),
    read: async (db, context, { params, query, url }) => {
      const customerId = await foundCustomerId(db, context.account.id, params)
      return answerNotes(db, context, customerId, { page: pageOf(query), url }, publicUrl)
    },
  }),
  readOperation({
    id: 'listNotes',
    method: 'GET',
    path: '/v1/customernotes',
    tag,
    summary: 'List the notes of all customers',
    query: listQuery({}),
    success: { status: 200, schema: NotesOut.schema },
    read: (db, context, { query, url }) => answerNotes(db, context, null, { page: pageOf(query), url }, publicUrl),
  }),
  readOperation({
    id: 'getNote',
    method: 'GET',
    path: '/v1/customernotes/{customerNoteID}',
    tag,
    summary: 'Read a customer note',
    success: { status: 200, schema: NoteOut.schema },
    read: async (db, { account }, { params }) => {
      const id = pathId(params, 'customerNoteID', unknownNote)
      const note = await findNote(db, account.id, id)
      if (!note) throw unknownNote(id)
      return { status: 200, body: NoteOut.write(noteToWire(note)), etag: noteEtag(note) }
    },
  }),
]

const checkBody = (tx: Transaction, body: Partial<NoteBody>, problems: Problems) =>
  checkCustomerReference(tx, body.customerID, problems)

const writing = (): Operation[] => [
  writeOperation({
    id: 'addNote',
    method: 'POST',
    path: '/v1/customernotes',
    tag,
    summary: 'Write a note about a customer',
    body: NoteIn,
    success: { status: 201, schema: NoteOut.schema },
    references: (tx, _context, { body }, problems) => checkBody(tx, body, problems),
    write: async (tx, context, { body }) => {
      const wanted: NoteInput = noteFromWire(body)
      const note = await insertNote(tx, tx.account, wanted, context.moment.now)
      return {
        status: 201,
        body: await recordNote(tx, context, 'customer_note.created', note),
        etag: noteEtag(note),
        headers: { location: `/v1/customernotes/${note.id}` },
      }
    },
  }),
  writeOperation({
    id: 'editNote',
    method: 'PUT',
    path: '/v1/customernotes/{customerNoteID}',
    tag,
    summary: 'Replace a note about a customer',
    body: NoteIn,
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedNote(tx, params),
    etag: noteEtag,
    references: (tx, _context, { body }, problems) => checkBody(tx, body, problems),
    write: async (tx, context, { body }, present) => {
      const note: Note = { ...present, ...noteFromWire(body) }
      await updateNote(tx, tx.account, note)
      await recordNote(tx, context, 'customer_note.updated', note)
      return noContent(noteEtag(note))
    },
  }),
  writeOperation({
    id: 'deleteNote',
    method: 'DELETE',
    path: '/v1/customernotes/{customerNoteID}',
    tag,
    summary: 'Delete a note about a customer',
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedNote(tx, params),
    etag: noteEtag,
    write: async (tx, context, _input, note: Note) => {
      await deleteNote(tx, tx.account, note.id)
      await recordNote(tx, context, 'customer_note.deleted', note)
      return noContent()
    },
  }),
]

export const noteOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  ...reading(deps.publicUrl),
  ...writing(),
]
