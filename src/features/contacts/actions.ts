import { conflict, Fault } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { recordKind } from '../../platform/http/record.ts'
import type { Sealer } from '../../platform/envelope/envelope.ts'
import { recordChange } from '../events/record.ts'
import { queueWelcomeMail } from '../outbox/mail.ts'
import type { Hashing } from './hashing.ts'
import { generatedPassword, isStrongEnough } from './password.ts'
import {
  type Contact,
  type ContactInput,
  deleteContact,
  findContact,
  insertContact,
  listUsernameKeys,
  lockContact,
  lockUsernames,
  updateContact,
} from './queries.ts'
import { givenPassword, needsPassword } from './rules.ts'
import { freeUsername, usernameBase, usernameKey } from './username.ts'
import { type ContactBody, contactEtag, contactFromWire, contactShape } from './wire.ts'

export const contactKind = recordKind({
  code: 'customer_contact',
  name: 'customer contact',
  identified: 'contact',
  param: 'customerContactID',
  path: '/v1/customercontacts',
  out: contactShape,
  idOf: ({ id }) => id,
  find: (db, { account }, id) => findContact(db, account.id, id),
  lock: (tx, { account }, id) => lockContact(tx, account.id, id),
  etag: contactEtag,
})

const usernameTaken = (username: string | null) => () =>
  conflict(
    'username_taken',
    `Another contact has the Username ${JSON.stringify(username)} (letter case does not count).`,
    'Username',
  )

/** The password to be written, and as text for the mail to its owner only. */
export interface PreparedPassword {
  plain: string
  hash: string
}

/** Returns the password that a body sets, '' where one has to be made, null where it stays as it is. */
function wishedPassword(body: ContactBody, present: Contact | undefined): string | null {
  const given = givenPassword(body)
  const asked = { given, hasPassword: present?.hasPassword ?? false, isChange: body.changePassword ?? false }
  return given ?? (needsPassword(contactFromWire(body, present), asked) ? '' : null)
}

/**
 * Hashes the password that a new contact, or one with an identifier, is to get. A hash takes long on purpose, so it is made before the
 * transaction and in a thread; null where none is needed, or where the request will be refused.
 */
export async function preparePassword(
  db: Queryable,
  { account }: RequestContext,
  hashing: Pick<Hashing, 'hash'>,
  body: ContactBody,
  id?: Id,
): Promise<PreparedPassword | null> {
  const present = id === undefined ? undefined : await findContact(db, account.id, id)
  if (id !== undefined && !present) return null
  const wished = wishedPassword(body, present)
  if (wished === null || (wished !== '' && !isStrongEnough(wished))) return null
  const plain = wished === '' ? generatedPassword() : wished
  return { plain, hash: await hashing.hash(account.id, plain) }
}

/** Returns the prepared password where the contact, locked by now, still needs it. Throws a Fault where it needs one only since a moment ago. */
function preparedPassword(
  body: ContactBody,
  present: Contact | undefined,
  prepared: PreparedPassword | null,
): PreparedPassword | null {
  if (wishedPassword(body, present) === null) return null
  if (prepared) return prepared
  const message = 'The contact is being changed by another request; try again.'
  throw new Fault('busy', [{ code: 'contact_changing', message, field: null }], 1)
}

/** Returns the given username, or a made one for an active contact that has none. A given one is checked by the schema. */
async function usernameOf(tx: Transaction, contact: ContactInput, id: Id | null): Promise<string | null> {
  if (contact.username === null && !contact.isActive) return null
  await lockUsernames(tx, tx.account)
  if (contact.username !== null) return contact.username
  const base = usernameBase(contact)
  const taken = await listUsernameKeys(tx, tx.account, base, id)
  return freeUsername(base, new Set(taken.map(({ key }) => key)))
}

const recordContactEvent = (
  tx: Transaction,
  context: RequestContext,
  type: 'customer_contact.created' | 'customer_contact.updated' | 'customer_contact.deleted',
  row: Contact,
) => recordChange(tx, context, contactKind, { type, row, customerId: row.customerId })

/** Mails its credentials to an active contact on add, and on edit when they changed. */
async function mailCredentials(
  tx: Transaction,
  context: RequestContext,
  sealer: Sealer,
  { contact, password, present }: { contact: Contact; password: PreparedPassword | null; present?: Contact },
): Promise<void> {
  const { customerId, email, name, lastName, username } = contact
  const isChanged = password !== null || username !== (present?.username ?? null)
  if (!contact.isActive || username === null || !isChanged) return
  const isChange = present?.username != null && present.hasPassword
  const about = { name, lastName, username, password: password?.plain ?? null, isChange }
  await queueWelcomeMail(tx, context, sealer, { customerId, to: email, ...about })
}

/** A body with the password that was prepared for it. */
interface PreparedContact {
  body: ContactBody
  prepared: PreparedPassword | null
}

/** Adds a contact, with username and password made where it is active and they are blank. Throws a Fault when the username is taken. */
export async function addContact(
  tx: Transaction,
  context: RequestContext,
  sealer: Sealer,
  { body, prepared }: PreparedContact,
): Promise<Contact> {
  const wanted = contactFromWire(body)
  const password = preparedPassword(body, undefined, prepared)
  const username = await usernameOf(tx, wanted, null)
  const key = username === null ? null : usernameKey(username)
  const contact = await refuseOn(insertContact(tx, tx.account, { ...wanted, username }, key, password), {
    customer_contacts_username_key: usernameTaken(username),
  })
  await mailCredentials(tx, context, sealer, { contact, password })
  await recordContactEvent(tx, context, 'customer_contact.created', contact)
  return contact
}

/** Replaces the fields of a locked contact. Throws a Fault when the username is taken. */
export async function editContact(
  tx: Transaction,
  context: RequestContext,
  sealer: Sealer,
  present: Contact,
  { body, prepared }: PreparedContact,
): Promise<Contact> {
  const wanted = contactFromWire(body, present)
  const password = preparedPassword(body, present, prepared)
  const username = await usernameOf(tx, wanted, present.id)
  const hasPassword = present.hasPassword || password !== null
  const contact: Contact = { ...wanted, id: present.id, username, hasPassword }
  const key = username === null ? null : usernameKey(username)
  await refuseOn(updateContact(tx, tx.account, contact, key, password), {
    customer_contacts_username_key: usernameTaken(username),
  })
  await mailCredentials(tx, context, sealer, { contact, password, present })
  await recordContactEvent(tx, context, 'customer_contact.updated', contact)
  return contact
}

/** Deletes a contact and records its last fields. */
export async function removeContact(tx: Transaction, context: RequestContext, contact: Contact): Promise<void> {
  await deleteContact(tx, tx.account, contact.id)
  await recordContactEvent(tx, context, 'customer_contact.deleted', contact)
}
