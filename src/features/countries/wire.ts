import type { Country, CountryState } from '../../kernel/countries.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { outId, outText } from '../../platform/wire/write.ts'

export const countryShape = recordShape<Country>()('Country', {
  countryID: [outId(), ({ countryId }) => BigInt(countryId)],
  Name: [outText(), ({ name }) => name],
  Code: [outText(), ({ code }) => code],
})

export const stateShape = recordShape<CountryState>()('CountryState', {
  countryStateID: [outId(), ({ countryStateId }) => BigInt(countryStateId)],
  Name: [outText(), ({ name }) => name],
})
