import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { reference } from '../../platform/wire/fields.ts'
import { optional, type Properties, word } from '../../platform/wire/read.ts'
import { orNull, outDate, outId, outText, outWord } from '../../platform/wire/write.ts'
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
  Status: described(
    optional(word(Object.values(STATUS_WORDS), { anyCase: true })),
    'Limits the list to mails in this state.',
    LEFT_OUT.all,
  ),
  customerID: described(optional(reference()), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
} satisfies Properties

export const mailShape = recordShape<Mail>()('OutboxMail', {
  outboxID: [described(outId(), identifies('mail')), ({ id }) => id],
  customerID: [described(orNull(outId()), identifies('customer')), ({ customerId }) => customerId],
  To: [described(outText(), 'Whom the mail goes to.'), ({ to }) => to],
  Template: [described(outWord(TEMPLATES), 'What the mail is about.'), ({ template }) => template],
  Subject: [described(outText(), 'The subject of the mail.'), ({ subject }) => subject],
  Text: [described(outText(), 'The text of the mail.'), ({ text }) => text],
  Html: [described(outText(), 'The text as HTML.'), ({ html }) => html],
  Status: [
    described(
      outWord(Object.values(STATUS_WORDS)),
      'Whether it waits, is being sent, was sent, failed for good, is held until a person sends it, or may or may not have arrived.',
    ),
    ({ status }) => STATUS_WORDS[status],
  ],
  LastReply: [
    described(orNull(outText()), 'What the mail server replied last; null where it was not asked.'),
    ({ lastReply }) => lastReply,
  ],
  CreatedDate: [described(outDate('Instant'), 'When the mail was written.'), ({ createdAt }) => createdAt],
  SentDate: [described(orNull(outDate('Instant')), 'When it left; null until then.'), ({ sentAt }) => sentAt],
})
