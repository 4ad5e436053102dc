import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'

export const NOTE_TYPES = [
  'General',
  'Follow Up',
  'Query',
  'Alert',
  'Dispute',
  'Issue',
  'Request',
  'Meeting',
  'Phone Call',
  'Email',
] as const
export type NoteType = (typeof NOTE_TYPES)[number]

/** Fields of a note that a caller can set. */
export interface NoteInput {
  customerId: CustomerId
  text: string
  type: NoteType
}

export interface Note extends NoteInput {
  id: Id
  createdAt: Instant
}

const COLUMNS = fragment`note_id as "id", customer_id as "customerId", created_at as "createdAt", note as "text", note_type as "type"`

export const findNote = (db: Queryable, account: AccountId, id: Id) =>
  db.first<Note>(sql`select ${COLUMNS} from customer_notes where account_id = ${account} and note_id = ${id}`)

export const lockNote = (tx: Transaction, account: AccountId, id: Id) =>
  tx.first<Note>(sql`
    select ${COLUMNS} from customer_notes where account_id = ${account} and note_id = ${id} for update`)

/** Conditions of a list of notes; null: those of all customers. */
export interface NoteFilter {
  customerId: CustomerId | null
}

const conditions = ({ customerId }: NoteFilter) =>
  customerId == null ? NOTHING : fragment`and customer_id = ${customerId}`

/** Notes in the order of creation. */
export const listNotes = (db: Queryable, account: AccountId, filter: NoteFilter, start: PageStart, limit: number) =>
  db.rows<Note>(sql`
    select ${COLUMNS} from customer_notes where account_id = ${account} ${conditions(filter)}
     order by note_id ${inPage(start, limit)}`)

export const countNotes = (db: Queryable, account: AccountId, filter: NoteFilter) =>
  db.count(sql`select count(*) as "n" from customer_notes where account_id = ${account} ${conditions(filter)}`)

export const insertNote = (tx: Transaction, account: AccountId, note: NoteInput, createdAt: Instant) =>
  tx.one<Note>(sql`
    insert into customer_notes (account_id, customer_id, created_at, note, note_type)
    values (${account}, ${note.customerId}, ${createdAt}, ${note.text}, ${note.type}) returning ${COLUMNS}`)

export const updateNote = (tx: Transaction, account: AccountId, { id, customerId, text, type }: Note) =>
  tx.rows(sql`
    update customer_notes set customer_id = ${customerId}, note = ${text}, note_type = ${type}
     where account_id = ${account} and note_id = ${id}`)

export const deleteNote = (tx: Transaction, account: AccountId, id: Id) =>
  tx.rows(sql`delete from customer_notes where account_id = ${account} and note_id = ${id}`)

/** Replaces what was written about a customer by neutral text. */
export const anonymiseNotes = (tx: Transaction, account: AccountId, customerId: CustomerId, neutral: string) =>
  tx.rows(
    sql`update customer_notes set note = ${neutral} where account_id = ${account} and customer_id = ${customerId}`,
  )
