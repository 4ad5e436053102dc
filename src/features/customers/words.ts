import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sendChangedWords, sendNewWords } from '../finding/words.ts'
import type { CustomerInput } from './fields.ts'

/** Words of customers, written with them. */

type Named = Pick<CustomerInput, 'name' | 'lastName' | 'company' | 'email' | 'vatNumber' | 'tel' | 'cell' | 'fax'> & {
  reference: string | null
}

const withoutSpaces = (text: string | null): string | null => text && text.replaceAll(/\s/g, '')
const digits = (text: string | null): string | null => text && text.replaceAll(/\D/g, '')

const textsOf = (c: Named): (string | null)[] => [
  ...[c.name, c.lastName, c.company, c.reference, c.email, c.vatNumber, withoutSpaces(c.vatNumber)],
  ...[c.tel, c.cell, c.fax, digits(c.tel), digits(c.cell), digits(c.fax)],
]

/** Writes the words of a new customer. */
export const sendWordsOfCustomer = (tx: Transaction, id: CustomerId, customer: Named): void =>
  sendNewWords(tx, 'customers', [{ id, texts: textsOf(customer) }])

/** Replaces the words of a customer whose fields have changed. */
export const sendWordsOfChange = (tx: Transaction, id: CustomerId, before: Named, after: Named): void =>
  sendChangedWords(tx, 'customers', id, textsOf(before), textsOf(after))
