import type { Country, CountryState } from '../../kernel/countries.ts'
import { outId, outList, outObject, outText } from '../../platform/wire/write.ts'

export const CountriesOut = outList(outObject({ countryID: outId(), Name: outText(), Code: outText() }, 'Country'))
export const StatesOut = outList(outObject({ countryStateID: outId(), Name: outText() }, 'CountryState'))

export const countryToWire = ({ countryId, name, code }: Country) => ({
  countryID: BigInt(countryId),
  Name: name,
  Code: code,
})
export const stateToWire = ({ countryStateId, name }: CountryState) => ({
  countryStateID: BigInt(countryStateId),
  Name: name,
})
