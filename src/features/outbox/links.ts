import { LINK_KINDS, type Link } from '../../platform/page/links.ts'

/**
 * Links in mails. A row of the outbox holds a mark in the place of each, which nobody can guess before the mail is written, so that no name and no
 * memo can hold one. The link is derived when the mail is sent, and is stored nowhere.
 */

/** A link as it was when the mail was written: its account is that of the mail. */
export type MailLink = Omit<Link, 'account'>

/** Returns the part of a Message-ID that is drawn for it. */
export const drawnPartOf = (messageId: string): string => messageId.slice(1).split('@')[0] ?? ''

export const markOf = (messageId: string, { kind, record, counter }: MailLink): string =>
  `${drawnPartOf(messageId)}:${kind}:${record}:${counter}`

const kindOf = (letter: string) => LINK_KINDS.find((kind) => kind === letter) ?? 'i'

/** Marks of two sentences of which one stands in the mail: the PDF is attached, or it is too large for that. */
export interface AttachmentMarks {
  attached: string
  apart: string
}

export const attachmentMarksOf = (messageId: string): AttachmentMarks => ({
  attached: `${drawnPartOf(messageId)}:attached:`,
  apart: `${drawnPartOf(messageId)}:apart:`,
})

/** Rewrites the lines of a text. A line that becomes null is left out, with the empty one after it. */
function withLines(text: string, rewrite: (line: string) => string | null): string {
  let isAfterGap = false
  return text
    .split('\n')
    .flatMap((line) => {
      const isGap = isAfterGap && line === ''
      const shown = rewrite(line)
      isAfterGap = shown === null
      return shown === null || isGap ? [] : [shown]
    })
    .join('\n')
}

/**
 * Puts what stands for links into a text of a mail. Rule: a link stands in a line with nothing that the mail needs without it; where there is none
 * (null) the line is left out.
 */
export function withLinks(text: string, messageId: string, linkOf: (link: MailLink) => string | null): string {
  const drawn = drawnPartOf(messageId)
  if (drawn === '' || !text.includes(`${drawn}:`)) return text
  return withLines(text, (line) => {
    let isWhole = true
    const marks = new RegExp(`${drawn}:([${LINK_KINDS.join('')}]):(\\d+):(\\d+)`, 'g')
    const shown = line.replaceAll(marks, (_mark, letter: string, record: string, counter: string) => {
      const link = linkOf({ kind: kindOf(letter), record: BigInt(record), counter: Number(counter) })
      if (link === null) isWhole = false
      return link ?? ''
    })
    return isWhole ? shown : null
  })
}

/** Leaves the sentence of a text of a mail that is true of its attachment. */
export function withAttachment(text: string, messageId: string, isAttached: boolean): string {
  const { attached, apart } = attachmentMarksOf(messageId)
  const [kept, dropped] = isAttached ? [attached, apart] : [apart, attached]
  return withLines(text, (line) => (line.includes(dropped) ? null : line.replaceAll(kept, '')))
}
