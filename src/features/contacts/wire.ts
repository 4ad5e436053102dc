import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { email, flag, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, namesOfInputs, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { orNull, outFlag, outId, outText } from '../../platform/wire/write.ts'
import type { Contact, ContactInput } from './queries.ts'

export const contactShape = recordShape<Contact>()('CustomerContact', {
  customerContactID: [outId(identifies('contact')), ({ id }) => id],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  Name: [outText('The first name of the contact.'), ({ name }) => name],
  LastName: [outText(SHARED.LastName), ({ lastName }) => lastName],
  Email: [outText(SHARED.Email), (contact) => contact.email],
  Cell: [orNull(outText('The number of the mobile telephone.')), ({ cell }) => cell],
  Username: [orNull(outText('The name with which the contact signs in.')), ({ username }) => username],
  isActive: [outFlag('Whether the contact may sign in.'), ({ isActive }) => isActive],
})

const inputs = {
  customerID: required(requiredReference(), identifies('customer')),
  Name: required(text(), 'The first name of the contact.'),
  LastName: required(text(), SHARED.LastName),
  Email: required(email(), SHARED.Email),
  Username: optional(
    text(),
    'The name with which the contact signs in.',
    'Left out, one is generated where isActive is true.',
  ),
  Password: leftOut(
    optional(text({ description: 'At least 6 characters, at least one letter and one number; never answered' })),
    'Left out, one is generated where isActive is true.',
  ),
  Cell: optional(text(), 'The number of the mobile telephone.', LEFT_OUT.none),
  isActive: optional(
    flag(),
    'Whether the contact may sign in: then it is mailed its credentials, and what is not given of them is generated.',
    LEFT_OUT.false,
  ),
} satisfies Properties

const ignored = ['customerContactID']

export const ContactIn = objectOf(inputs, { name: 'CustomerContactAdd', ignored: [...ignored, 'changePassword'] })

const editInputs = {
  ...whenLeftOut(inputs, {
    Username: 'Left out, it stays as it is; one is generated where isActive is true and there is none.',
    Password: 'Left out, it stays as it is, unless changePassword is true.',
    Cell: LEFT_OUT.cleared,
  }),
  isActive: described(
    inputs.isActive,
    'Whether the contact may sign in: then it is mailed credentials that changed, and what is not given of them is generated.',
  ),
  changePassword: optional(
    flag(),
    'Whether the password is to change: without `Password` one is generated.',
    'Left out, a Password that is sent counts, and none is generated.',
  ),
} satisfies Properties
export const ContactEditIn = objectOf(editInputs, { name: 'CustomerContactEdit', ignored })

export type ContactBody = BodyOf<typeof inputs> & Pick<BodyOf<typeof editInputs>, 'changePassword'>

/** Returns the fields of a body; a blank username keeps the present one. */
export const contactFromWire = (body: ContactBody, present?: Contact): ContactInput => ({
  customerId: body.customerID,
  name: body.Name,
  lastName: body.LastName,
  email: body.Email,
  cell: body.Cell ?? null,
  username: body.Username ?? present?.username ?? null,
  isActive: body.isActive ?? false,
})

const textOfSet = contactShape.writerOf(namesOfInputs(inputs, 'Password'))

/** Changes with whatever a PUT would replace, except for the password, which nobody reads. */
export const contactEtag = (contact: Contact): string => etagOf(contact.id, textOfSet(contact))
