import { filter, LEFT_OUT } from '../../platform/wire/left-out.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { reference } from '../../platform/wire/fields.ts'
import { optional, type Properties, word } from '../../platform/wire/read.ts'
import { orNull, outId, outInstant, outText, outWord } from '../../platform/wire/write.ts'
import { type Mail, type MailStatus, TEMPLATES } from './queries.ts'

export const STATUS_WORDS = {
  queued: 'Queued',
  sending: 'Sending',
  sent: 'Sent',
  failed: 'Failed',
  unknown: 'Unknown',
  held: 'Held',
} as const satisfies Record<MailStatus, string>

const WORDS = Object.keys(STATUS_WORDS) as MailStatus[]

/** Returns the status that a word of the interface names. */
export const statusOfWord = (word: (typeof STATUS_WORDS)[MailStatus]): MailStatus =>
  WORDS.find((status) => STATUS_WORDS[status] === word) as MailStatus

export const mailFilters = {
  Status: filter(word(Object.values(STATUS_WORDS), { anyCase: true }), 'mails in this state'),
  customerID: optional(reference(), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
} satisfies Properties

export const mailShape = recordShape<Mail>()('OutboxMail', {
  outboxID: [outId(identifies('mail')), ({ id }) => id],
  customerID: [orNull(outId(identifies('customer'))), ({ customerId }) => customerId],
  To: [outText('Whom the mail goes to.'), ({ to }) => to],
  Template: [outWord(TEMPLATES, 'What the mail is about.'), ({ template }) => template],
  Subject: [outText('The subject of the mail.'), ({ subject }) => subject],
  Text: [outText('The text of the mail.'), ({ text }) => text],
  Html: [outText('The text as HTML.'), ({ html }) => html],
  Status: [
    outWord(
      Object.values(STATUS_WORDS),
      'Whether it waits, is being sent, was sent, failed for good, is held until a person sends it, or may or may not have arrived.',
    ),
    ({ status }) => STATUS_WORDS[status],
  ],
  LastReply: [
    orNull(outText('What the mail server replied last; null where it was not asked.')),
    ({ lastReply }) => lastReply,
  ],
  CreatedDate: [outInstant('When the mail was written.'), ({ createdAt }) => createdAt],
  SentDate: [orNull(outInstant('When it left; null until then.')), ({ sentAt }) => sentAt],
})
