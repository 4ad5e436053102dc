import { etagOf } from '../../platform/http/etag.ts'
import { email, flag, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, namesOfInputs, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { orNull, outFlag, outId, outText } from '../../platform/wire/write.ts'
import type { Contact, ContactInput } from './queries.ts'

export const contactShape = recordShape<Contact>()('CustomerContact', {
  customerContactID: [outId(), ({ id }) => id],
  customerID: [outId(), ({ customerId }) => customerId],
  Name: [outText(), ({ name }) => name],
  LastName: [outText(), ({ lastName }) => lastName],
  Email: [outText(), (contact) => contact.email],
  Cell: [orNull(outText()), ({ cell }) => cell],
  Username: [orNull(outText()), ({ username }) => username],
  isActive: [outFlag(), ({ isActive }) => isActive],
})

const inputs = {
  customerID: required(requiredReference()),
  Name: required(text()),
  LastName: required(text()),
  Email: required(email()),
  Username: optional(text()),
  Password: optional(
    text({ description: 'At least 6 characters, at least one letter and one number; never answered' }),
  ),
  Cell: optional(text()),
  isActive: optional(flag()),
} satisfies Properties

const ignored = ['customerContactID']

export const ContactIn = objectOf(inputs, { name: 'CustomerContactAdd', ignored: [...ignored, 'changePassword'] })

const editInputs = { ...inputs, changePassword: optional(flag()) } satisfies Properties
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
