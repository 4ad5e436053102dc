import { findCountry, findCountryById } from '../../kernel/countries.ts'
import { countryIn, languageOf, localeOfAccount } from '../../platform/locale/format.ts'
import type { Paper } from '../../platform/pdf/sheet.ts'
import type { FrozenCustomer } from '../customers/fields.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import type { Party } from './document.ts'
import type { FrozenAccount } from './queries.ts'

/** Accounts and customers as documents show them. */

interface Address {
  address1: string | null
  address2: string | null
  city: string | null
  state: string | null
  country: string | null
  zipCode: string | null
}

const joined = (parts: readonly (string | null | undefined)[], between: string): string =>
  parts.filter((part) => part != null && part !== '').join(between)

function addressOf({ address1, address2, city, state, zipCode, country }: Address, locale: string): string[] {
  const place = languageOf(locale) === 'de' ? joined([zipCode, city], ' ') : joined([city, zipCode], ' ')
  const land = country == null ? country : countryIn(locale, country)
  return [address1, address2, place, state, land].filter((line) => line != null && line !== '') as string[]
}

/** Returns the customer's own language, else the account's; plain English as it is written in the country of the account. */
export const localeOf = (account: FrozenAccount, customer: FrozenCustomer): string =>
  localeOfAccount(customer.locale ?? account.locale, account.country)

export const accountParty = (account: FrozenAccount, locale: string): Party => ({
  name: account.name,
  address: addressOf(account, locale),
  registrationNumber: null,
  vatNumber: account.vatNumber,
  tel: account.tel,
  email: account.email,
  webPage: account.webPage,
})

/**
 * Returns the customer of a document. Rule: without a text, the country is that by which they are taxed. What an anonymised customer froze has only a
 * name: the other fields are then absent, and the country stays away.
 */
export const customerParty = (customer: FrozenCustomer, locale: string, countryId: bigint | null): Party => ({
  name: customerNameOf(customer),
  address: [
    ...(customer.company ? [customer.company] : []),
    ...addressOf({ ...customer, country: countryOf(customer, countryId) }, locale),
  ],
  registrationNumber: customer.registrationNumber ?? null,
  vatNumber: customer.vatNumber ?? null,
  tel: null,
  email: customer.email ?? null,
  webPage: null,
})

const countryOf = ({ country }: FrozenCustomer, countryId: bigint | null): string | null =>
  country === null && countryId !== null ? (findCountryById(Number(countryId))?.name ?? null) : country

/** Countries that print on Letter, after the Unicode CLDR; all others take A4. */
const LETTER = new Set(['BZ', 'CA', 'CL', 'CO', 'CR', 'GT', 'MX', 'NI', 'PA', 'PH', 'PR', 'SV', 'US', 'VE'])

export function paperOf(country: string | null): Paper {
  const code = country === null ? undefined : findCountry(country)?.code
  return code !== undefined && LETTER.has(code) ? 'LETTER' : 'A4'
}
