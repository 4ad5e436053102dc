import { formatsOf, type Language } from '../../platform/locale/format.ts'
import { type Rendered, render, type Writer } from '../outbox/templates.ts'

/** The mail to the account itself when one of its webhooks was disabled. */

export interface WebhookDisabledFacts extends Writer {
  url: string
  /** 'gone': it answered 410; 'failing': no event was taken for days. */
  cause: 'gone' | 'failing'
}

interface WebhookWords {
  subject: string
  greeting: string
  lead: string
  address: string
  reason: string
  causes: Record<WebhookDisabledFacts['cause'], string>
  wish: string
  footer: string
}

const WORDS: Record<Language, WebhookWords> = {
  en: {
    subject: 'A webhook has been disabled',
    greeting: 'Hello,',
    lead: 'one of your webhooks has been disabled, and is sent no more events:',
    address: 'Address',
    reason: 'Reason',
    causes: {
      gone: 'it answered 410 (gone)',
      failing: 'it has taken no event for five days',
    },
    wish: 'When it works again, set isActive true, and replay the events of the time in between.',
    footer: 'This mail was sent because your account has this webhook.',
  },
  de: {
    subject: 'Ein Webhook wurde abgeschaltet',
    greeting: 'Guten Tag,',
    lead: 'einer Ihrer Webhooks wurde abgeschaltet und erhält keine Ereignisse mehr:',
    address: 'Adresse',
    reason: 'Grund',
    causes: {
      gone: 'er hat mit 410 (gone) geantwortet',
      failing: 'er hat seit fünf Tagen kein Ereignis angenommen',
    },
    wish: 'Wenn er wieder erreichbar ist, setzen Sie isActive auf true und lassen Sie die Ereignisse der Zwischenzeit erneut senden.',
    footer: 'Sie erhalten diese Nachricht, weil Ihr Konto diesen Webhook hat.',
  },
}

export function webhookDisabledMail({ accountName, colour, locale, url, cause }: WebhookDisabledFacts): Rendered {
  const { language } = formatsOf(locale)
  const { subject, greeting, lead, address, reason, causes, wish, footer } = WORDS[language]
  const named = [
    [address, url],
    [reason, causes[cause]],
  ] as const
  return render({
    language,
    accountName,
    colour,
    subject: `${subject} (${accountName})`,
    parts: [greeting, lead, named, wish],
    footer,
  })
}
