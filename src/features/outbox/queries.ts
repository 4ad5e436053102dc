import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { texts } from '../../platform/database/columns.ts'
import {
  arrayLiteral,
  column,
  type Fragment,
  fragment,
  NOTHING,
  ofQuery,
  onlyWith,
  sql,
} from '../../platform/database/sql.ts'
import { REMINDER_KINDS } from '../../engine/collection/rules.ts'
import { CARD_LOST, DEBIT_NOTICE, DUNNING_KINDS } from './collection-templates.ts'
import { type Stored, withTexts } from './invoice-mail.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'

export const SIGNED_MANDATE = 'signed_mandate'

export const TEMPLATES = [
  'welcome',
  'invoice',
  'credit_note',
  'statement',
  'payment_receipt',
  ...DUNNING_KINDS,
  ...REMINDER_KINDS,
  DEBIT_NOTICE,
  CARD_LOST,
  SIGNED_MANDATE,
  'webhook_disabled',
] as const
export type Template = (typeof TEMPLATES)[number]

/** Domain of a Message-ID whose account has no address; a sender of mail puts its own in its place. */
export const NO_DOMAIN = 'perennial.invalid'

/**
 * queued: waits for a try; sending: a try is on its way; unknown: the answer never came, so a person decides whether to send it again; failed:
 * refused for good, or tried for long enough; held: leaves when a person sends it.
 */
export const MAIL_STATUSES = ['queued', 'sending', 'sent', 'failed', 'unknown', 'held'] as const
export type MailStatus = (typeof MAIL_STATUSES)[number]

/** Document that a mail is about: attached as a PDF, which is made when the mail is sent; a mandate is linked only. */
export interface AttachedDocument {
  kind: 'invoice' | 'credit_note' | 'statement' | 'emandate'
  id: Id
}

export interface NewMail {
  customerId: CustomerId | null
  template: Template
  to: string
  cc: string | null
  messageId: string
  subject: string
  /** As a person may read them: without secrets. */
  text: string
  html: string
  /** JSON of the texts with their secrets, encrypted; null where there are none. */
  sealed: Buffer | null
  document: AttachedDocument | null
  /** It waits for a person. */
  isHeld: boolean
  createdAt: Instant
}

export interface Mail extends Omit<NewMail, 'cc' | 'document' | 'isHeld'> {
  id: Id
  status: MailStatus
  /** Last reply of the receiver's server; null before a try. */
  lastReply: string | null
  sentAt: Instant | null
}

const COLUMNS = fragment`
  outbox_id as "id", customer_id as "customerId", template, to_address as "to", message_id as "messageId", subject, text_body as "text", html_body as "html", facts, sealed_bodies as "sealed", status, last_reply as "lastReply",
  created_at as "createdAt", sent_at as "sentAt"`

export async function findMail(db: Queryable, account: AccountId, id: Id): Promise<Mail | undefined> {
  const found = await db.first<Stored<Mail>>(sql`
    select ${COLUMNS} from outbox where account_id = ${account} and outbox_id = ${id}`)
  return found && withTexts(found)
}

export type LockedMail = Pick<Mail, 'id' | 'customerId' | 'template' | 'status'>

/** Locks a mail whose status is to be changed by hand. */
export const lockMail = (tx: Transaction, id: Id) =>
  tx.first<LockedMail>(sql`
    select outbox_id as "id", customer_id as "customerId", template, status from outbox
     where account_id = ${tx.account} and outbox_id = ${id} for update`)

/** Conditions of the list of mails; what is null or left out is none. */
export interface MailFilter {
  status?: MailStatus | null
  customerId?: CustomerId | null
}

// The index of the others holds few of them.
const conditions = ({ status, customerId }: MailFilter): Fragment => fragment`
  ${onlyWith('status', status)} ${status == null || status === 'sent' ? NOTHING : fragment`and status <> 'sent'`} ${onlyWith('customer_id', customerId)}`

export const listMails = async (
  db: Queryable,
  account: AccountId,
  filter: MailFilter,
  start: PageStart,
  limit: number,
): Promise<Mail[]> =>
  (
    await db.rows<Stored<Mail>>(
      sql`select ${COLUMNS} from outbox where account_id = ${account} ${conditions(filter)} order by outbox_id ${inPage(start, limit)}`,
    )
  ).map((row) => withTexts(row))

export const countMails = (db: Queryable, account: AccountId, filter: MailFilter) =>
  db.count(sql`select count(*) as "n" from outbox where account_id = ${account} ${conditions(filter)}`)

/** Returns status and next try of a new mail. */
export const firstState = (isHeld: boolean) =>
  isHeld ? fragment`'held', null::timestamptz` : fragment`'queued', moment()`

/** Counts the mail of an account by status. */
export const countMailsByStatus = (db: Queryable, account: AccountId) =>
  db.rows<{ status: MailStatus; count: bigint }>(
    sql`select status, count(*) as "count" from outbox where account_id = ${account} group by status`,
  )

/** Locks all mails of an account that are held. */
export const lockHeldMails = (tx: Transaction) =>
  tx.rows<LockedMail>(
    sql`select outbox_id as "id", customer_id as "customerId", template, status from outbox
         where account_id = ${tx.account} and status = 'held' order by outbox_id for update`,
  )

export const insertMail = (tx: Transaction, account: AccountId, mail: NewMail) =>
  tx.rows(sql`
    insert into outbox (account_id, customer_id, template, to_address, cc_address, message_id, subject, text_body, html_body, sealed_bodies,
      document_kind, document_id, status, next_try_at, created_at)
    values (${account}, ${mail.customerId}, ${mail.template}, ${mail.to}, ${mail.cc}, ${mail.messageId}, ${mail.subject}, ${mail.text},
      ${mail.html}, ${mail.sealed}, ${mail.document?.kind ?? null}, ${mail.document?.id ?? null},
      ${firstState(mail.isHeld)}, ${mail.createdAt})`)

/** Writes many mails at once, none of which holds a secret, without waiting. */
export const sendMails = (
  tx: Transaction,
  mails: readonly Omit<NewMail, 'sealed' | 'isHeld' | 'createdAt'>[],
  { at, isHeld }: { at: Instant; isHeld: boolean },
): void => {
  const rows = mails.map((mail) => ({
    ...mail,
    documentKind: mail.document?.kind ?? null,
    documentId: mail.document?.id ?? null,
  }))
  tx.send(
    ofQuery(sql`
    insert into outbox (account_id, created_at, status, next_try_at, customer_id, template, to_address, cc_address, message_id, subject, text_body, html_body,
      document_kind, document_id)
    select ${tx.account}, ${at}::timestamptz, ${firstState(isHeld)}, * from unnest(${column(rows, 'customerId')}::bigint[], ${column(rows, 'template')}::text[],
      ${column(rows, 'to')}::text[], ${column(rows, 'cc')}::text[], ${column(rows, 'messageId')}::text[], ${column(rows, 'subject')}::text[],
      ${texts(rows, 'text')}::text[], ${texts(rows, 'html')}::text[], ${column(rows, 'documentKind')}::text[],
      ${column(rows, 'documentId')}::bigint[])`),
  )
}

/** Lists how often the links of invoices were revoked. */
export const listLinkCounters = (tx: Transaction, ids: readonly InvoiceId[]) =>
  tx.rows<{ id: InvoiceId; counter: number }>(sql`
    select invoice_id as "id", link_counter as "counter" from invoices
     where account_id = ${tx.account} and invoice_id = any (${arrayLiteral(ids)}::bigint[])`)

/** Sender of a mail: its name, and the language of the mail. A customer's own language comes before the account's. */
export interface Sender {
  name: string
  colour: string | null
  locale: string
  country: string | null
  mailFrom: string | null
  email: string | null
}

export const getSender = (db: Queryable, account: AccountId, customerId: CustomerId | null) =>
  db.one<Sender>(sql`
    select a.name, a.colour, a.country, a.mail_from as "mailFrom", a.email,
           coalesce((select c.locale from customers c where c.account_id = ${account} and c.customer_id = ${customerId}), a.locale) as "locale"
      from accounts a where a.account_id = ${account}`)

/** Takes back mails that nobody has been handed yet: a sender that has begun with one finds that it is gone. */
export const deleteUnsentMail = (tx: Transaction, account: AccountId, customerId: CustomerId) =>
  tx.rows(sql`
    delete from outbox
     where account_id = ${account} and customer_id = ${customerId}
       and (status in ('queued', 'held', 'failed') or (status = 'sending' and handed_over_at is null)) and taken_at is null`)

/** Makes the mails about a mandate those of the customer whose method it became. */
export const giveMandateMails = (tx: Transaction, mandate: Id, customerId: CustomerId) =>
  tx.rows(sql`
    update outbox set customer_id = ${customerId}
     where account_id = ${tx.account} and document_kind = 'emandate' and document_id = ${mandate} and customer_id is distinct from ${customerId}`)

/** Removes the addresses and texts of a customer's mails; when each was sent, and by which template, stays as a fact. */
export const anonymiseMails = (tx: Transaction, account: AccountId, customerId: CustomerId, neutral: string) =>
  tx.rows(sql`
    update outbox set to_address = ${neutral}, cc_address = null, subject = ${neutral}, text_body = ${neutral}, html_body = ${neutral}, facts = null,
      sealed_bodies = null, open_addresses = null, last_reply = null
    where account_id = ${account} and customer_id = ${customerId}`)

/** Forgets mail of the whole database that is older than promised, whatever became of it. */
export const deleteOldMail = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_mail(${before}::timestamptz) as "n"`)
