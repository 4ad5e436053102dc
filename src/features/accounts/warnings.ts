import { needsSmtpUtf8 } from '../../platform/smtp/address.ts'
import type { AccountSettings } from './queries.ts'

/** Returns what a caller is to know of the settings of an account, as texts of the header Perennial-Warning. */
export function warningsOfAccount({ email, mailFrom, testMailTo }: AccountSettings): string[] {
  const addresses = [email, mailFrom, testMailTo].filter((address) => address !== null)
  return addresses.some(needsSmtpUtf8) ? ['mail_needs_smtputf8'] : []
}
