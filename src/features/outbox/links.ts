import type { InvoiceId } from '../../kernel/ids.ts'

/**
 * Links in mails. A row of the outbox holds a mark in the place of each, which nobody can guess before the mail is written, so that no name and no
 * memo can hold one. The link is derived when the mail is sent, and is stored nowhere.
 */

/** The link of an invoice: its page, by how often its links were revoked when the mail was written. */
export interface MailLink {
  invoiceId: InvoiceId
  counter: number
}

/** Returns the part of a Message-ID that is drawn for it. */
const drawnPartOf = (messageId: string): string => messageId.slice(1).split('@')[0] ?? ''

export const markOf = (messageId: string, { invoiceId, counter }: MailLink): string =>
  `${drawnPartOf(messageId)}:i:${invoiceId}:${counter}`

/**
 * Puts what stands for links into a text of a mail. Rule: a link stands in a line with nothing that the mail needs without it; where there is none
 * (null) the line is left out.
 */
export function withLinks(text: string, messageId: string, linkOf: (link: MailLink) => string | null): string {
  const drawn = drawnPartOf(messageId)
  if (drawn === '' || !text.includes(`${drawn}:i:`)) return text
  return text
    .split('\n')
    .flatMap((line) => {
      let isWhole = true
      const shown = line.replaceAll(
        new RegExp(`${drawn}:i:(\\d+):(\\d+)`, 'g'),
        (_mark, id: string, counter: string) => {
          const link = linkOf({ invoiceId: BigInt(id), counter: Number(counter) })
          if (link === null) isWhole = false
          return link ?? ''
        },
      )
      return isWhole ? [shown] : []
    })
    .join('\n')
}
