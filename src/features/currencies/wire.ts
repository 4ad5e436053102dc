import { SHARED } from '../../platform/wire/shared-sentences.ts'
import { findCurrency } from '../../kernel/currencies.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { currencyCode } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import { outText } from '../../platform/wire/write.ts'

export const currencyShape = recordShape<{ currency: string }>()('Currency', {
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Name: [outText('The name of the currency in English.'), ({ currency }) => findCurrency(currency)?.name ?? currency],
})

export const CurrencyIn = objectOf(
  { CurrencyCode: required(currencyCode(), SHARED.CurrencyCode) },
  { name: 'CurrencyInput', ignored: ['Name'] },
)
