import type { Transaction } from '../../platform/database/database.ts'
import { glyphWarnings } from '../../platform/pdf/glyph-warnings.ts'
import { warningOf } from '../../platform/http/warnings.ts'
import { type CustomerInput, receiverTexts } from './fields.ts'
import { hasPlacedTaxRules } from './warning-queries.ts'

/** Returns what a caller is to know of the fields of a customer that was added or edited, as texts of the header Perennial-Warning. */
export async function warningsOfCustomer(tx: Transaction, customer: CustomerInput): Promise<string[]> {
  return [...(await ofCountry(tx, customer)), ...ofGlyphs(customer)]
}

const ofGlyphs = (c: CustomerInput): string[] =>
  glyphWarnings('Customer', { ...receiverTexts(c), Tel: c.tel, CountryState: c.countryState })

/** Rule: a Country that names none sets no countryID, so that no rule with a place is the customer's; where there is such a rule this decides its tax. */
async function ofCountry(tx: Transaction, { country, countryId }: CustomerInput): Promise<string[]> {
  if (country === null || countryId !== null || !(await hasPlacedTaxRules(tx))) return []
  return [warningOf('country_unknown', 'value', country)]
}
