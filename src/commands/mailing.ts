import type { Drawing } from '../features/documents/draw.ts'
import type { MailDutyDeps } from '../features/mailing/duty.ts'
import type { Config } from '../platform/config.ts'
import type { Envelope } from '../platform/envelope/envelope.ts'
import { makeLinks } from '../platform/page/links.ts'
import { smtpSettings } from '../platform/smtp/settings.ts'

/** Returns what sending mail needs; undefined where the settings name no mail server or no sender: then mail stays in the outbox. */
export function mailingOf(
  { smtpUrl, mailFrom, mailDomains, publicUrl }: Pick<Config, 'smtpUrl' | 'mailFrom' | 'mailDomains' | 'publicUrl'>,
  { envelope, drawing }: { envelope: Envelope; drawing: Drawing },
): MailDutyDeps | undefined {
  const settings = smtpUrl === undefined ? undefined : smtpSettings(smtpUrl)
  if (settings === undefined || mailFrom === undefined) return undefined
  const secrets = { sealer: envelope.under('outbox'), links: makeLinks(envelope, publicUrl) }
  return { server: { settings }, from: mailFrom, domains: mailDomains ?? [], drawing, secrets }
}
