import type { Problems } from '../../kernel/fault.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import {
  type Answer,
  noContent,
  type Operation,
  type PathParams,
  lookupOperation,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, type Page, pageOf } from '../../platform/http/query.ts'
import type { Places } from '../../platform/places.ts'
import type { Sealer } from '../../platform/sealing.ts'
import { checkCustomerReference, foundCustomerId } from '../customers/record.ts'
import {
  addContact,
  type ChosenPassword,
  editContact,
  lockedContact,
  preparePassword,
  removeContact,
  unknownContact,
} from './actions.ts'
import { type Contact, countContacts, findContact, listContacts } from './queries.ts'
import { checkPassword } from './rules.ts'
import {
  type ContactBody,
  ContactEditIn,
  contactEtag,
  ContactIn,
  ContactOut,
  ContactsOut,
  contactToWire,
} from './wire.ts'

const tag = 'Customer contacts'

interface Deps {
  publicUrl: string | undefined
  sealer: Sealer
  /** Bounds how many passwords are hashed at a time. */
  hashing: Places
}

async function answerContacts(
  db: Queryable,
  { account }: RequestContext,
  customerId: CustomerId | null,
  asked: { page: Page; url: string },
  publicUrl: string | undefined,
): Promise<Answer> {
  const { page, url } = asked
  const rows = await listContacts(db, account.id, customerId, (page.page - 1) * page.size, page.size + 1)
  return listAnswer(
    { rows, page, url, count: () => countContacts(db, account.id, customerId) },
    (some) => ContactsOut.write(some.map(contactToWire)),
    publicUrl,
  )
}

const reading = ({ publicUrl }: Deps): Operation[] => [
  readOperation({
    id: 'listCustomerContacts',
    method: 'GET',
    path: '/v1/customers/{customerID}/contacts',
    tag,
    summary: 'List the contacts of a customer',
    query: listQuery({}),
    success: { status: 200, schema: ContactsOut.schema },
    record: (db, { account }, params) => foundCustomerId(db, account.id, params),
    read: async (db, context, { params, query, url }) => {
      const customerId = await foundCustomerId(db, context.account.id, params)
      return answerContacts(db, context, customerId, { page: pageOf(query), url }, publicUrl)
    },
  }),
  readOperation({
    id: 'listContacts',
    method: 'GET',
    path: '/v1/customercontacts',
    tag,
    summary: 'List the contacts of all customers',
    query: listQuery({}),
    success: { status: 200, schema: ContactsOut.schema },
    read: (db, context, { query, url }) => answerContacts(db, context, null, { page: pageOf(query), url }, publicUrl),
  }),
  lookupOperation({
    id: 'getContact',
    method: 'GET',
    path: '/v1/customercontacts/{customerContactID}',
    tag,
    summary: 'Read a customer contact',
    success: { status: 200, schema: ContactOut.schema },
    read: async (db, { account }, { params }) => {
      const id = contactIdIn(params)
      const contact = await findContact(db, account.id, id)
      if (!contact) throw unknownContact(id)
      return { status: 200, body: ContactOut.write(contactToWire(contact)), etag: contactEtag(contact) }
    },
  }),
]

const contactIdIn = (params: PathParams): Id => pathId(params, 'customerContactID', unknownContact)

const lockedByPath = (tx: Transaction, params: PathParams): Promise<Contact> => lockedContact(tx, contactIdIn(params))

async function checkBody(tx: Transaction, body: Partial<ContactBody>, problems: Problems): Promise<void> {
  checkPassword(body, problems)
  await checkCustomerReference(tx, body.customerID, problems)
}

const writing = ({ sealer, hashing }: Deps): Operation[] => [
  writeOperation({
    id: 'addContact',
    method: 'POST',
    path: '/v1/customercontacts',
    tag,
    summary: 'Add a contact of a customer; an active one is mailed its credentials',
    body: ContactIn,
    success: { status: 201, schema: ContactOut.schema },
    refusals: { 409: 'Another contact has the Username' },
    prepare: (db, context, { body }): Promise<ChosenPassword | null> => preparePassword(db, context, hashing, body),
    references: (tx, _context, { body }, problems) => checkBody(tx, body, problems),
    write: async (tx, context, { body }, _record, _found, prepared) => {
      const { contact, json } = await addContact(tx, context, sealer, { body, prepared })
      return {
        status: 201,
        body: json,
        etag: contactEtag(contact),
        headers: { location: `/v1/customercontacts/${contact.id}` },
      }
    },
  }),
  writeOperation({
    id: 'editContact',
    method: 'PUT',
    path: '/v1/customercontacts/{customerContactID}',
    tag,
    summary: 'Replace the fields of a contact; an active one is mailed credentials that changed',
    body: ContactEditIn,
    success: { status: 204 },
    refusals: { 409: 'Another contact has the Username' },
    prepare: (db, context, { params, body }): Promise<ChosenPassword | null> =>
      preparePassword(db, context, hashing, body, contactIdIn(params)),
    record: (tx, _context, { params }) => lockedByPath(tx, params),
    etag: contactEtag,
    references: (tx, _context, { body }, problems) => checkBody(tx, body, problems),
    write: async (tx, context, { body }, present, _found, prepared) =>
      noContent(contactEtag(await editContact(tx, context, sealer, present, { body, prepared }))),
  }),
  writeOperation({
    id: 'deleteContact',
    method: 'DELETE',
    path: '/v1/customercontacts/{customerContactID}',
    tag,
    summary: 'Delete a contact',
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedByPath(tx, params),
    etag: contactEtag,
    write: async (tx, context, _input, contact: Contact) => {
      await removeContact(tx, context, contact)
      return noContent()
    },
  }),
]

export const contactOperations = (deps: Deps): Operation[] => [...reading(deps), ...writing(deps)]
