import type pg from 'pg'
import { hasFunction } from '../database/is-there.ts'
import { findCountry } from '../../kernel/countries.ts'
import { type CountryLanguages, languagesMissing } from '../../kernel/country-names.ts'
import { doubtful, fine, type Finding } from './finding.ts'

/** Countries of customers: whether their names can be read by this runtime, and which customers of former versions have one that is not read yet. */

/** Checks that the runtime has the languages in which names of countries are known. */
export function checkLanguages(languages?: CountryLanguages): Finding {
  const missing = languagesMissing(languages)
  return missing === undefined
    ? fine('languages', 'this Node.js has the names of countries in all languages that are read')
    : doubtful('languages', missing, 'use a Node.js with full ICU, as nodejs.org and its images have it')
}

/** Counts the customers with a Country in words that now names one and has no countryID: sent back by PUT they get it, and with it their taxes. */
export async function checkCountries(client: pg.Client): Promise<Finding[]> {
  if (!(await hasFunction(client, 'perennial.list_countries_in_words()'))) return []
  const { rows } = await client.query<{ country: string; customers: string }>(
    'select country, customers from perennial.list_countries_in_words()',
  )
  const count = rows
    .filter(({ country }) => findCountry(country) !== undefined)
    .reduce((sum, { customers }) => sum + Number(customers), 0)
  if (count === 0) return []
  const who = count === 1 ? '1 customer has' : `${count} customers have`
  return [
    doubtful(
      'countries',
      `${who} a Country that names one, and no countryID: no tax rule with a place counts`,
      'list them with GET /v1/customers?hasCountry=false; PUT of what GET answers fills it in, and changes the tax of invoices from then on',
    ),
  ]
}
