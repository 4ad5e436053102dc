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
  Status: optional(word(Object.values(STATUS_WORDS), { anyCase: true })),
  customerID: optional(reference()),
} satisfies Properties

export const mailShape = recordShape<Mail>()('OutboxMail', {
  outboxID: [outId(), ({ id }) => id],
  customerID: [orNull(outId()), ({ customerId }) => customerId],
  To: [outText(), ({ to }) => to],
  Template: [outWord(TEMPLATES), ({ template }) => template],
  Subject: [outText(), ({ subject }) => subject],
  Text: [outText(), ({ text }) => text],
  Html: [outText(), ({ html }) => html],
  Status: [outWord(Object.values(STATUS_WORDS)), ({ status }) => STATUS_WORDS[status]],
  LastReply: [orNull(outText()), ({ lastReply }) => lastReply],
  CreatedDate: [outDate('Instant'), ({ createdAt }) => createdAt],
  SentDate: [orNull(outDate('Instant')), ({ sentAt }) => sentAt],
})
