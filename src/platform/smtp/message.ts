import MailComposer from 'nodemailer/lib/mail-composer'
import { straight } from '../../kernel/text.ts'

/** Mail as the bytes that a mail server is handed. */

export interface Mailbox {
  name: string
  address: string
}

export interface MailMessage {
  from: Mailbox
  replyTo: string | null
  to: string
  cc: string | null
  subject: string
  messageId: string
  date: Date
  text: string
  html: string
  /** Further headers, each of one line. */
  headers: Readonly<Record<string, string>>
  attachments: readonly { filename: string; content: Buffer; contentType: string }[]
}

/** Returns a text on one line, without signs that turn its direction. */
const oneLine = (text: string): string =>
  straight(text)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()

const mailbox = (address: string, name = ''): Mailbox => ({ name: oneLine(name), address })

/**
 * Writes a message: text and HTML as alternatives, then the attachments. Every header is one line whatever it is made of, and nothing is
 * fetched or read from a file. The addresses are plain ones.
 */
export function writeMessage({ from, replyTo, to, cc, subject, headers, ...rest }: MailMessage): Promise<Buffer> {
  const composer = new MailComposer({
    ...rest,
    from: mailbox(from.address, from.name),
    ...(replyTo === null ? {} : { replyTo: mailbox(replyTo) }),
    to: mailbox(to),
    ...(cc === null ? {} : { cc: mailbox(cc) }),
    subject: oneLine(subject),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, oneLine(value)])),
    attachments: [...rest.attachments],
    newline: 'windows',
    disableUrlAccess: true,
    disableFileAccess: true,
  })
  return new Promise((resolve, reject) => {
    composer.compile().build((error, bytes) => (error || !bytes ? reject(error as Error) : resolve(bytes as Buffer)))
  })
}
