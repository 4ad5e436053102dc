import type { Country, CountryState } from '../../kernel/countries.ts'
import { outInteger, outList, outObject, outText } from '../../platform/wire/write.ts'

export const CountriesOut = outList(outObject({ countryID: outInteger(), Name: outText(), Code: outText() }, 'Country'))
export const StatesOut = outList(outObject({ countryStateID: outInteger(), Name: outText() }, 'CountryState'))

export const countryToWire = ({ countryId, name, code }: Country) => ({ countryID: countryId, Name: name, Code: code })
export const stateToWire = ({ countryStateId, name }: CountryState) => ({ countryStateID: countryStateId, Name: name })
