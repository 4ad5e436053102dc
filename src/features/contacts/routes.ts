import { introduced } from '../../platform/http/tags.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import type { Sealer } from '../../platform/envelope/envelope.ts'
import { checkCustomerReference, ofCustomerInPath } from '../customers/record.ts'
import { addContact, contactKind, editContact, preparePassword, removeContact } from './actions.ts'
import type { Hashing } from './hashing.ts'
import { countContacts, listContacts } from './queries.ts'
import { checkPassword } from './rules.ts'
import { type ContactBody, ContactEditIn, ContactIn, contactShape } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced(
  'Customer contacts',
  'Further people of a customer, who may have a username and password of their own.',
)

interface Deps {
  sealer: Sealer
  hashing: Hashing
}

const list = { tag, out: contactShape, rows: listContacts, count: countContacts }

const reading: Operation[] = [
  listOperation({
    ...list,
    id: 'listCustomerContacts',
    path: '/v1/customers/{customerID}/contacts',
    summary: 'List the contacts of a customer',
    parent: ofCustomerInPath,
  }),
  listOperation({
    ...list,
    id: 'listContacts',
    path: '/v1/customercontacts',
    summary: 'List the contacts of all customers',
  }),
  contactKind.readOperation({ id: 'getContact', tag, summary: 'Read a customer contact' }),
]

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
    success: { status: 201, schema: contactShape.schema },
    refusals: { 409: 'Another contact has the Username' },
    prepare: (db, context, { body }) => preparePassword(db, context, hashing, body),
    references: (tx, _context, { body }, problems) => checkBody(tx, body, problems),
    write: async (tx, context, { body }, _record, _found, prepared) =>
      contactKind.created(await addContact(tx, context, sealer, { body, prepared }), context),
  }),
  writeOperation({
    ...contactKind.editing,
    id: 'editContact',
    tag,
    summary: 'Replace the fields of a contact; an active one is mailed credentials that changed',
    body: ContactEditIn,
    refusals: { 409: 'Another contact has the Username' },
    prepare: (db, context, { params, body }) => preparePassword(db, context, hashing, body, contactKind.pathId(params)),
    references: (tx, _context, { body }, problems) => checkBody(tx, body, problems),
    write: async (tx, context, { body }, present, _found, prepared) =>
      contactKind.edited(await editContact(tx, context, sealer, present, { body, prepared })),
  }),
  writeOperation({
    ...contactKind.deleting,
    id: 'deleteContact',
    tag,
    summary: 'Delete a contact',
    write: async (tx, context, _input, contact) => {
      await removeContact(tx, context, contact)
      return noContent()
    },
  }),
]

export const contactOperations = (deps: Deps): Operation[] => [...reading, ...writing(deps)]
