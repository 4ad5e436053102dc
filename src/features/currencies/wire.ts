import { findCurrency } from '../../kernel/currencies.ts'
import { recordShape } from '../../platform/wire/columns.ts'
import { currencyCode } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import { outText } from '../../platform/wire/write.ts'

export const currencyShape = recordShape<{ currency: string }>()('Currency', {
  CurrencyCode: [outText(), ({ currency }) => currency],
  Name: [outText(), ({ currency }) => findCurrency(currency)?.name ?? currency],
})

export const CurrencyIn = objectOf(
  { CurrencyCode: required(currencyCode()) },
  { name: 'CurrencyInput', ignored: ['Name'] },
)
