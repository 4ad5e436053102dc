import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'

/** The fields of a contact. The password's hash is in no answer and no event; only hasPassword is read with the rest. */
export interface ContactInput {
  customerId: CustomerId
  name: string
  lastName: string
  email: string
  cell: string | null
  username: string | null
  isActive: boolean
}

export interface Contact extends ContactInput {
  id: Id
  hasPassword: boolean
}

const COLUMNS = fragment`
  contact_id as "id", customer_id as "customerId", name, last_name as "lastName", email, cell, username, is_active as "isActive",
  password_hash is not null as "hasPassword"`

export const findContact = (db: Queryable, account: AccountId, id: Id) =>
  db.first<Contact>(sql`
    select ${COLUMNS} from customer_contacts where account_id = ${account} and contact_id = ${id}`)

export const lockContact = (tx: Transaction, account: AccountId, id: Id) =>
  tx.first<Contact>(sql`
    select ${COLUMNS} from customer_contacts where account_id = ${account} and contact_id = ${id} for update`)

/** Conditions of a list of contacts; left out: those of all customers. */
export interface ContactFilter {
  customerId?: CustomerId
}

const conditions = ({ customerId }: ContactFilter) =>
  customerId === undefined ? NOTHING : fragment`and customer_id = ${customerId}`

/** Lists contacts in the order of creation. */
export const listContacts = (
  db: Queryable,
  account: AccountId,
  filter: ContactFilter,
  start: PageStart,
  limit: number,
) =>
  db.rows<Contact>(sql`
    select ${COLUMNS} from customer_contacts where account_id = ${account} ${conditions(filter)}
     order by contact_id ${inPage(start, limit)}`)

export const countContacts = (db: Queryable, account: AccountId, filter: ContactFilter) =>
  db.count(sql`select count(*) as "n" from customer_contacts where account_id = ${account} ${conditions(filter)}`)

// Any constant will do, as long as no other lock of this database uses it with an account.
const USERNAMES = 7306

/** Lets the usernames of an account be chosen one transaction after the other: a generated one stays free until the commit. */
export const lockUsernames = (tx: Transaction, account: AccountId) =>
  tx.rows(sql`select pg_advisory_xact_lock(hashtextextended(${String(account)}, ${USERNAMES}))`)

/** Lists the taken usernames with a beginning, in the form in which they are compared, except that of one contact. */
export const listUsernameKeys = (tx: Transaction, account: AccountId, beginning: string, exceptId: Id | null) =>
  tx.rows<{ key: string }>(sql`
    select username_key as "key" from customer_contacts
     where account_id = ${account} and starts_with(username_key, ${beginning}) and contact_id is distinct from ${exceptId}`)

/** The hash of the password to be written; null when it stays as it is. */
export type PasswordChange = { hash: string } | null

export const insertContact = (
  tx: Transaction,
  account: AccountId,
  contact: ContactInput,
  usernameKey: string | null,
  password: PasswordChange,
) =>
  tx.one<Contact>(sql`
    insert into customer_contacts (account_id, customer_id, name, last_name, email, cell, username, username_key, password_hash, is_active)
    values (${account}, ${contact.customerId}, ${contact.name}, ${contact.lastName}, ${contact.email}, ${contact.cell},
      ${contact.username}, ${usernameKey}, ${password?.hash ?? null}, ${contact.isActive})
    returning ${COLUMNS}`)

export const updateContact = (
  tx: Transaction,
  account: AccountId,
  contact: ContactInput & { id: Id },
  usernameKey: string | null,
  password: PasswordChange,
) =>
  tx.rows(sql`
    update customer_contacts set customer_id = ${contact.customerId}, name = ${contact.name}, last_name = ${contact.lastName},
      email = ${contact.email}, cell = ${contact.cell}, username = ${contact.username}, username_key = ${usernameKey},
      password_hash = coalesce(${password?.hash ?? null}, password_hash), is_active = ${contact.isActive}
    where account_id = ${account} and contact_id = ${contact.id}`)

export const deleteContact = (tx: Transaction, account: AccountId, id: Id) =>
  tx.rows(sql`delete from customer_contacts where account_id = ${account} and contact_id = ${id}`)

/** Replaces who the contacts of a customer are by neutral text; nobody signs in as one of them any more. */
export const anonymiseContacts = (
  tx: Transaction,
  account: AccountId,
  customerId: CustomerId,
  neutral: { text: string; email: string },
) =>
  tx.rows(sql`
    update customer_contacts set name = ${neutral.text}, last_name = ${neutral.text}, email = ${neutral.email}, cell = null,
      username = null, username_key = null, password_hash = null, is_active = false
    where account_id = ${account} and customer_id = ${customerId}`)
