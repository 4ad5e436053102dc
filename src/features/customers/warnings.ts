import type { Transaction } from '../../platform/database/database.ts'
import { glyphWarnings } from '../../platform/pdf/glyph-warnings.ts'
import { warningOf } from '../../platform/http/warnings.ts'
import type { CustomerInput, FrozenCustomer } from './fields.ts'
import { hasPlacedTaxRules } from './warning-queries.ts'

/** Returns what a caller is to know of the fields of a customer that was added or edited, as texts of the header Perennial-Warning. */
export async function warningsOfCustomer(tx: Transaction, customer: CustomerInput): Promise<string[]> {
  return [...(await ofCountry(tx, customer)), ...ofGlyphs(customer)]
}

const ofGlyphs = (c: CustomerInput): string[] =>
  glyphWarnings('Customer', { ...ofReceiver(c), Tel: c.tel, CountryState: c.countryState })

/** Returns the warnings of those fields of a customer that papers show; of one that was made anonymous few are left. */
export const glyphWarningsOfReceiver = (c: FrozenCustomer): string[] => glyphWarnings('Customer', ofReceiver(c))

const ofReceiver = (c: FrozenCustomer) => ({
  ...{ Name: c.name, LastName: c.lastName, Company: c.company, Email: c.email },
  ...{ Address1: c.address1, Address2: c.address2, City: c.city, State: c.state, ZipCode: c.zipCode },
  ...{ Country: c.country, RegistrationNumber: c.registrationNumber, VatNo: c.vatNumber },
})

/** Rule: a Country that names none sets no countryID, so that no rule with a place is the customer's; where there is such a rule this decides its tax. */
async function ofCountry(tx: Transaction, { country, countryId }: CustomerInput): Promise<string[]> {
  if (country === null || countryId !== null || !(await hasPlacedTaxRules(tx))) return []
  return [warningOf('country_unknown', 'value', country)]
}
