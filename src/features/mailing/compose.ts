import { isPlainAddress, needsSmtpUtf8 } from '../../platform/smtp/address.ts'
import type { Mailbox, MailMessage } from '../../platform/smtp/message.ts'
import type { AccountSettings } from '../accounts/queries.ts'
import { html as markup } from '../../platform/page/html.ts'
import { LETTERS } from '../outbox/templates.ts'

/** Who a mail is from, whom it goes to, and what it reads like then. Pure. */

/** The operator's part of a sender. */
export interface MailSender {
  /** MAIL_FROM: the return path, and the sender unless an account has its own. */
  from: string
  /** MAIL_DOMAINS: domains of which an account's own address is shown as the sender. */
  domains: readonly string[]
}

type Sending = Pick<AccountSettings, 'name' | 'mailFrom' | 'email'>

/** Returns the sender that a customer sees, and where answers go; null: to the sender. */
export function senderOf(
  { name, mailFrom, email }: Sending,
  { from, domains }: MailSender,
): { from: Mailbox; replyTo: string | null } {
  const domain = mailFrom?.split('@').at(-1)?.toLowerCase()
  return mailFrom !== null && domain !== undefined && domains.includes(domain)
    ? { from: { name, address: mailFrom }, replyTo: null }
    : { from: { name, address: from }, replyTo: mailFrom ?? email }
}

/** Receivers and texts of a mail. */
export type Addressed = Pick<MailMessage, 'to' | 'cc' | 'subject' | 'text' | 'html'>

/**
 * Returns a mail of a test account as it goes to its TestMailTo alone: marked, with the receivers that it would have had in its text.
 */
export function forTest({ to, cc, subject, text, html }: Addressed, testMailTo: string): Addressed {
  const note = `This is a mail of a test account. It would have gone to ${cc === null ? to : `${to}, with a copy to ${cc}`}.`
  return {
    to: testMailTo,
    cc: null,
    subject: `[TEST] ${subject}`,
    text: `${note}\n\n${text}`,
    html: html.replace(
      /<body[^>]*>/,
      (body) =>
        `${body}\n${markup`<header><p style="margin:0;padding:8px 16px;background:#ffe08a;color:#3d2c00;font-size:14px;line-height:20px;font-family:${LETTERS};overflow-wrap:anywhere">${note}</p></header>`.markup}`,
    ),
  }
}

type Heads = Pick<MailMessage, 'from' | 'replyTo' | 'to' | 'cc'>

/**
 * Returns who a mail is from and to for a server that does not offer SMTPUTF8; undefined where it needs none. Rule: a sender or an address for answers beyond ASCII
 * is left out, the operator's address standing in for the sender; so is a receiver, whom the mail does not reach there.
 */
export function headsInAscii({ from, replyTo, to, cc }: Heads, sender: Pick<MailSender, 'from'>): Heads | undefined {
  const needs = (address: string | null): boolean => address !== null && needsSmtpUtf8(address)
  if (![from.address, replyTo, to, cc].some(needs)) return undefined
  const copy = needs(cc) ? null : cc
  return {
    from: needs(from.address) ? { ...from, address: sender.from } : from,
    replyTo: needs(replyTo) ? null : replyTo,
    to: needs(to) ? (copy ?? sender.from) : to,
    cc: needs(to) ? null : copy,
  }
}

/** Returns the first address that cannot stand in a header or a command; null where all can. */
export const badAddressOf = (addresses: readonly (string | null)[]): string | null =>
  addresses.find((address) => address !== null && !isPlainAddress(address)) ?? null
