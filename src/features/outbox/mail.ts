import { randomUUID } from 'node:crypto'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { SealedPlace, Sealer } from '../../platform/envelope/envelope.ts'
import {
  type AttachedDocument,
  getSender,
  insertMail,
  type Mail,
  sendMails,
  type Sender,
  type Template,
} from './queries.ts'
import { type Rendered, type WelcomeFacts, welcomeMail } from './templates.ts'

/** Mail is written to the outbox in the transaction that causes it; a rollback takes it back, and nothing is sent before the commit. */

/** Stands for a secret wherever a mail is read by somebody who is not its receiver. */
export const HIDDEN = '••••'

/** Stays one line: a name with a line break must not become a header. */
const oneLine = (subject: string): string => subject.replace(/\s+/g, ' ').trim()

function newMessageId({ mailFrom, email }: Sender): string {
  const domain = (mailFrom ?? email)
    ?.split('@')
    .at(-1)
    ?.replace(/[^A-Za-z0-9.-]/g, '')
  return `<${randomUUID()}@${domain || 'perennial.invalid'}>`
}

const placeOf = (messageId: string): SealedPlace => ({ table: 'outbox', column: 'sealed_bodies', row: messageId })

/** Puts the mail with a contact's credentials into the outbox. The password is kept encrypted, and only until the mail is sent. */
export async function queueWelcomeMail(
  tx: Transaction,
  context: RequestContext,
  sealer: Sealer,
  mail: { customerId: CustomerId; to: string } & Omit<WelcomeFacts, 'accountName' | 'locale'>,
): Promise<void> {
  const sender = await getSender(tx, tx.account, mail.customerId)
  const facts = { ...mail, accountName: sender.name, locale: sender.locale }
  const { subject, text, html } = welcomeMail({ ...facts, password: mail.password === null ? null : HIDDEN })
  const full = mail.password === null ? null : welcomeMail(facts)
  const messageId = newMessageId(sender)
  await insertMail(tx, tx.account, {
    customerId: mail.customerId,
    template: 'welcome',
    to: mail.to,
    cc: null,
    messageId,
    subject: oneLine(subject),
    text,
    html,
    sealed: full && sealer.seal(tx.account, placeOf(messageId), JSON.stringify({ text: full.text, html: full.html })),
    document: null,
    isHeld: context.moment.isPassing === true,
    createdAt: context.moment.now,
  })
}

export interface DocumentMail {
  /** Null for a mail to the account itself. */
  customerId: CustomerId | null
  /** The customer's language; null: the account's. */
  locale: string | null
  to: string
  cc: string | null
  template: Template
  /** Null: everything stands in the mail itself. */
  document: AttachedDocument | null
  write(sender: { accountName: string; locale: string }): Rendered
}

/** Puts mails about documents into the outbox. A row only names its document: the PDF is made when the mail is sent. */
export async function queueDocumentMails(
  tx: Transaction,
  context: Pick<RequestContext, 'moment'>,
  mails: readonly DocumentMail[],
): Promise<void> {
  if (mails.length > 0) sendDocumentMails(tx, context, await getSender(tx, tx.account, null), mails)
}

/** Puts mails about documents into the outbox without waiting, for those who have read the sender with other facts. */
export function sendDocumentMails(
  tx: Transaction,
  { moment }: Pick<RequestContext, 'moment'>,
  sender: Sender,
  mails: readonly DocumentMail[],
): void {
  const rows = mails.map(({ write, locale, ...mail }) => {
    const { subject, text, html } = write({ accountName: sender.name, locale: locale ?? sender.locale })
    return { ...mail, messageId: newMessageId(sender), subject: oneLine(subject), text, html }
  })
  sendMails(tx, rows, { at: moment.now, isHeld: moment.isPassing === true })
}

/** Returns the texts of a mail with their secrets. Throws where they cannot be opened. */
export const fullTexts = (
  account: AccountId,
  { text, html, sealed, messageId }: Pick<Mail, 'text' | 'html' | 'sealed' | 'messageId'>,
  sealer: Sealer,
): { text: string; html: string } =>
  sealed === null ? { text, html } : JSON.parse(sealer.open(account, placeOf(messageId), sealed))

/** Returns a mail as it may be shown: with its secrets only where nothing leaves the house, in a test account without a mail server. */
export function readableMail(account: AccountId, mail: Mail, sealer: Sealer, showsSecrets: boolean): Mail {
  if (mail.sealed === null || !showsSecrets) return mail
  try {
    return { ...mail, ...fullTexts(account, mail, sealer) }
  } catch {
    // One secret that cannot be opened must not make the whole outbox unreadable.
    return mail
  }
}
