import { identifies } from '../../platform/wire/shared-sentences.ts'
import type { Country, CountryState } from '../../kernel/countries.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { outId, outText } from '../../platform/wire/write.ts'

export const countryShape = recordShape<Country>()('Country', {
  countryID: [outId(identifies('country (its numeric code of ISO 3166-1)')), ({ countryId }) => BigInt(countryId)],
  Name: [outText('The name of the country in English.'), ({ name }) => name],
  Code: [outText('The two letters of the country (ISO 3166-1).'), ({ code }) => code],
})

export const stateShape = recordShape<CountryState>()('CountryState', {
  countryStateID: [outId(identifies('subdivision of the country')), ({ countryStateId }) => BigInt(countryStateId)],
  Name: [outText('The name of the subdivision in English.'), ({ name }) => name],
})
