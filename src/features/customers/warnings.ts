import type { Transaction } from '../../platform/database/database.ts'
import { glyphWarnings } from '../../platform/pdf/glyph-warnings.ts'
import { warningOf } from '../../platform/http/warnings.ts'
import type { CustomerInput } from './fields.ts'
import { hasPlacedTaxRules } from './warning-queries.ts'

/** Returns what a caller is to know of the fields of a customer that was added or edited, as texts of the header Perennial-Warning. */
export async function warningsOfCustomer(tx: Transaction, customer: CustomerInput): Promise<string[]> {
  return [...(await ofCountry(tx, customer)), ...ofGlyphs(customer)]
}

const ofGlyphs = (c: CustomerInput): string[] =>
  glyphWarnings('Customer', {
    ...{ Name: c.name, LastName: c.lastName, Company: c.company, Email: c.email, Tel: c.tel },
    ...{ Address1: c.address1, Address2: c.address2, City: c.city, State: c.state, ZipCode: c.zipCode },
    ...{
      CountryState: c.countryState,
      Country: c.country,
      RegistrationNumber: c.registrationNumber,
      VatNo: c.vatNumber,
    },
  })

/** Rule: a Country that names none sets no countryID, so that no rule with a place is the customer's; where there is such a rule this decides its tax. */
async function ofCountry(tx: Transaction, { country, countryId }: CustomerInput): Promise<string[]> {
  if (country === null || countryId !== null || !(await hasPlacedTaxRules(tx))) return []
  return [warningOf('country_unknown', 'value', country)]
}
