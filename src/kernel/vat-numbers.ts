import { compactNumber } from './bank-numbers.ts'
import { asTaxCountry, EU_COUNTRIES, isInEu } from './tax-areas.ts'
import { VAT_NUMBER_CHECKS } from './vat-number-checks.ts'

/** VAT numbers as customers write them: whether they are right in form. No register is asked. */

export const VAT_NUMBER_STATUSES = ['valid', 'invalid', 'unknown'] as const
export type VatNumberStatus = (typeof VAT_NUMBER_STATUSES)[number]

/** Longer texts are no numbers, and are not looked at any closer. */
const LENGTH_MAX = 60

const PREFIX_OF: ReadonlyMap<number, string> = new Map([
  ...EU_COUNTRIES.map(([countryId, code]): [number, string] => [countryId, code]),
  [826, 'GB'],
  [756, 'CH'],
  [578, 'NO'],
  [710, 'ZA'],
])
const COUNTRY_OF = new Map([...PREFIX_OF].map(([countryId, prefix]) => [prefix, countryId]))

/** Returns the number without separators and with capital letters. */
const bareNumber = (text: string): string => compactNumber(text).replace(/[/,:()]/g, '')

/** Returns the prefix of the country whose prefix a bare number has, and what follows; undefined where it has none that is known. */
function prefixed(bare: string): { prefix: string; rest: string } | undefined {
  if (bare.startsWith('CHE')) return { prefix: 'CH', rest: bare }
  const letters = bare.slice(0, 2)
  const prefix = letters === 'EL' ? 'GR' : letters
  if (prefix === 'CH' || VAT_NUMBER_CHECKS[prefix] === undefined) return undefined
  return { prefix, rest: bare.slice(2) }
}

const passes = (prefix: string, number: string): boolean => VAT_NUMBER_CHECKS[prefix]?.(number) === true

/** Returns whether a number with this prefix counts for a customer of a country. Rule: inside of the EU it is of the customer's own country. */
function fits(prefix: string, countryId: number | null): boolean {
  if (countryId === null || !isInEu(countryId)) return true
  return COUNTRY_OF.get(prefix) === countryId
}

/**
 * Returns whether a VAT number is right for a customer of a country. Rule: form and check digits of the country of its prefix, else of the
 * customer's; inside of the EU a number of another country is invalid. Unknown is a number of a country whose numbers are not known here.
 */
export function vatNumberStatus(text: string, ofCountry: number | null): VatNumberStatus {
  if (text.length > LENGTH_MAX) return 'invalid'
  const countryId = ofCountry === null ? null : asTaxCountry(ofCountry)
  const bare = bareNumber(text)
  const own = countryId === null ? undefined : PREFIX_OF.get(countryId)
  const found = prefixed(bare)
  if (found && fits(found.prefix, countryId) && passes(found.prefix, found.rest)) return 'valid'
  // Without a prefix it is of the customer's country; letters that look like a prefix may belong to the number.
  if (own !== undefined && passes(own, bare)) return 'valid'
  return found === undefined && own === undefined ? 'unknown' : 'invalid'
}
