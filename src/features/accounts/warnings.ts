import { glyphWarnings } from '../../platform/pdf/glyph-warnings.ts'
import { needsSmtpUtf8 } from '../../platform/smtp/address.ts'
import type { AccountSettings } from './queries.ts'
import { frozenOfAccount } from './rules.ts'
import { paperTextOf, textsByField } from './texts.ts'

/** Returns what a caller is to know of the settings of an account, as texts of the header Perennial-Warning. */
export function warningsOfAccount(account: AccountSettings): string[] {
  const addresses = [account.email, account.mailFrom, account.testMailTo].filter((address) => address !== null)
  return [...(addresses.some(needsSmtpUtf8) ? ['mail_needs_smtputf8'] : []), ...ofGlyphs(account)]
}

/**
 * Returns the warnings of those fields of an account that papers in a locale show of it as it is, or as they froze it: of all but the texts that
 * an invoice has of its own.
 */
export function glyphWarningsOfSender(a: FrozenAccount, locale: string): string[] {
  const { field, text } = paperTextOf(a, locale, 'bankDetails')
  return glyphWarnings('Account', { ...ofSender(a), [field]: text })
}

type FrozenAccount = ReturnType<typeof frozenOfAccount>

const ofSender = (a: FrozenAccount) => ({
  ...{ Name: a.name, Email: a.email, Tel: a.tel, WebPage: a.webPage, Address1: a.address1, Address2: a.address2 },
  ...{ City: a.city, State: a.state, Country: a.country, ZipCode: a.zipCode, VatNo: a.vatNumber },
})

const ofGlyphs = (a: AccountSettings): string[] =>
  glyphWarnings('Account', { ...ofSender(frozenOfAccount(a)), ...textsByField(a) })
