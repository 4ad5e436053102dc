import { randomUUID } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { AccountId, CustomerId, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { localeOfAccount } from '../../platform/locale/format.ts'
import type { Links } from '../../platform/page/links.ts'
import type { SealedPlace, Sealer } from '../../platform/envelope/envelope.ts'
import {
  type AttachedDocument,
  getSender,
  insertMail,
  listLinkCounters,
  type Mail,
  NO_DOMAIN,
  sendMails,
  type Sender,
  type Template,
} from './queries.ts'
import {
  type AttachmentMarks,
  attachmentMarksOf,
  drawnPartOf,
  type MailLink,
  markOf,
  withAttachment,
  withLinks,
} from './links.ts'
import { oneLine, type Rendered, type WelcomeFacts, welcomeMail, type Writer } from './templates.ts'

/** Mail is written to the outbox in the transaction that causes it; a rollback takes it back, and nothing is sent before the commit. */

/** Stands for a secret wherever a mail is read by somebody who is not its receiver. */
export const HIDDEN = '••••'

/** Returns the domain of an address as a Message-ID can name it. */
export function messageDomainOf(address: string): string {
  const domain = domainToASCII(address.slice(address.lastIndexOf('@') + 1)).replace(/[^A-Za-z0-9.-]/g, '')
  return domain === '' ? NO_DOMAIN : domain
}

/** Returns the domain of the Message-IDs of a sender. */
export function domainOf({ mailFrom, email }: Sender): string {
  const address = mailFrom ?? email
  return address === null ? NO_DOMAIN : messageDomainOf(address)
}

const newMessageId = (domain: string): string => `<${randomUUID()}@${domain}>`

/** Returns the place of the secrets of a mail. The domain of its Message-ID, which a sender may give it later, is no part of that. */
const placeOf = (messageId: string): SealedPlace => ({
  table: 'outbox',
  column: 'sealed_bodies',
  row: drawnPartOf(messageId),
})

/** Puts the mail with a contact's credentials into the outbox. The password is kept encrypted, and only until the mail is sent. */
export async function queueWelcomeMail(
  tx: Transaction,
  context: RequestContext,
  sealer: Sealer,
  mail: { customerId: CustomerId; to: string } & Omit<WelcomeFacts, keyof Writer>,
): Promise<void> {
  const sender = await getSender(tx, tx.account, mail.customerId)
  const facts = {
    ...mail,
    accountName: sender.name,
    colour: sender.colour,
    locale: localeOfAccount(sender.locale, sender.country),
  }
  const { subject, text, html } = welcomeMail({ ...facts, password: mail.password === null ? null : HIDDEN })
  const full = mail.password === null ? null : welcomeMail(facts)
  const messageId = newMessageId(domainOf(sender))
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
  /** Invoices whose pages it links. */
  links?: readonly InvoiceId[]
  write(sender: Writer & MailMarks): Rendered
}

/** Marks of what is known only when a mail leaves. */
export interface MailMarks {
  /** Marks a link to the page of an invoice. */
  linkTo(invoice: InvoiceId): string
  /** Marks any other link. */
  linkBy(link: MailLink): string
  attachment: AttachmentMarks
}

/** Puts mails about documents into the outbox. A row only names its document: the PDF is made when the mail is sent. */
export async function queueDocumentMails(
  tx: Transaction,
  context: Pick<RequestContext, 'moment'>,
  mails: readonly DocumentMail[],
): Promise<void> {
  if (mails.length === 0) return
  const linked = mails.flatMap(({ links }) => links ?? [])
  const [sender, links] = await Promise.all([
    getSender(tx, tx.account, null),
    linked.length === 0 ? [] : listLinkCounters(tx, linked),
  ])
  sendDocumentMails(tx, context, sender, mails, links)
}

/** Puts mails about documents into the outbox without waiting, for those who have read the sender with other facts. */
export function sendDocumentMails(
  tx: Transaction,
  { moment }: Pick<RequestContext, 'moment'>,
  sender: Sender,
  mails: readonly DocumentMail[],
  links: readonly { id: InvoiceId; counter: number }[] = [],
): void {
  const counters = new Map(links.map(({ id, counter }) => [id, counter]))
  const { name: accountName, colour, country } = sender
  const domain = domainOf(sender)
  // Thousands of mails are in a few languages.
  const writers = new Map<string | null, Writer>()
  const writerIn = (locale: string | null): Writer => {
    const writer = writers.get(locale) ?? {
      accountName,
      colour,
      locale: localeOfAccount(locale ?? sender.locale, country),
    }
    writers.set(locale, writer)
    return writer
  }
  const rows = mails.map(({ write, locale, ...mail }) => {
    const messageId = newMessageId(domain)
    const linkTo = (record: InvoiceId) => markOf(messageId, { kind: 'i', record, counter: counters.get(record) ?? 0 })
    const linkBy = (link: MailLink) => markOf(messageId, link)
    const attachment = attachmentMarksOf(messageId)
    const { subject, text, html } = write({ ...writerIn(locale), linkTo, linkBy, attachment })
    return { ...mail, messageId, subject: oneLine(subject), text, html }
  })
  sendMails(tx, rows, { at: moment.now, isHeld: moment.isPassing === true })
}

/** Means of showing the secrets of a mail. */
export interface MailSecrets {
  sealer: Sealer
  links: Pick<Links, 'url'>
}

/** Texts of a mail as they are stored. */
type StoredTexts = Pick<Mail, 'text' | 'html' | 'sealed' | 'messageId'>

/** Returns a mail whose texts are true of its attachment. */
export const settleAttachment = <M extends StoredTexts>(mail: M, isAttached: boolean): M => ({
  ...mail,
  text: withAttachment(mail.text, mail.messageId, isAttached),
  html: withAttachment(mail.html, mail.messageId, isAttached),
})

/** Returns the texts of a mail with its secrets and links. Throws where they cannot be opened. */
export function fullTexts(
  account: AccountId,
  { text, html, sealed, messageId }: StoredTexts,
  { sealer, links }: MailSecrets,
): { text: string; html: string } {
  const urlOf = (link: MailLink) => links.url({ ...link, account })
  const escapedUrlOf = (link: MailLink) => urlOf(link)?.replaceAll('&', '&amp;').replaceAll('"', '&quot;') ?? null
  const open: { text: string; html: string } =
    sealed === null ? { text, html } : JSON.parse(sealer.open(account, placeOf(messageId), sealed))
  return { text: withLinks(open.text, messageId, urlOf), html: withLinks(open.html, messageId, escapedUrlOf) }
}

/** Returns a mail as it may be shown: with its secrets only where nothing leaves, else with dots in their places. */
export function readableMail(account: AccountId, stored: Mail, secrets: MailSecrets, showsSecrets: boolean): Mail {
  const { messageId } = stored
  const mail = settleAttachment(stored, true)
  const dotted = {
    ...mail,
    text: withLinks(mail.text, messageId, () => HIDDEN),
    html: withLinks(mail.html, messageId, () => HIDDEN),
  }
  if (!showsSecrets) return dotted
  try {
    return { ...mail, ...fullTexts(account, mail, secrets) }
  } catch {
    // One secret that cannot be opened must not make the whole outbox unreadable.
    return dotted
  }
}
