import { findCurrency } from '../../kernel/currencies.ts'
import { currencyCode } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import { outList, outObject, outText } from '../../platform/wire/write.ts'

export const CurrencyOut = outObject({ CurrencyCode: outText(), Name: outText() }, 'Currency')
export const CurrenciesOut = outList(CurrencyOut)

export const CurrencyIn = objectOf(
  { CurrencyCode: required(currencyCode()) },
  { name: 'CurrencyInput', ignored: ['Name'] },
)

export const currencyToWire = (code: string) => ({ CurrencyCode: code, Name: findCurrency(code)?.name ?? code })
