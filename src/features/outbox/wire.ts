import { orNull, outDate, outId, outList, outObject, outText, outWord } from '../../platform/wire/write.ts'
import { type Mail, type MailStatus, TEMPLATES } from './queries.ts'

const STATUS_WORDS = {
  queued: 'Queued',
  sending: 'Sending',
  sent: 'Sent',
  failed: 'Failed',
  unknown: 'Unknown',
} as const satisfies Record<MailStatus, string>

export const MailOut = outObject(
  {
    outboxID: outId(),
    To: outText(),
    Template: outWord(TEMPLATES),
    Subject: outText(),
    Text: outText(),
    Html: outText(),
    Status: outWord(Object.values(STATUS_WORDS)),
    CreatedDate: outDate('Instant'),
    SentDate: orNull(outDate('Instant')),
  },
  'OutboxMail',
)
export const MailsOut = outList(MailOut)

export const mailToWire = (mail: Mail) => ({
  outboxID: mail.id,
  To: mail.to,
  Template: mail.template,
  Subject: mail.subject,
  Text: mail.text,
  Html: mail.html,
  Status: STATUS_WORDS[mail.status],
  CreatedDate: mail.createdAt,
  SentDate: mail.sentAt,
})
