import { digitsOf } from '../../kernel/currencies.ts'
import { type Decimal, decimalText } from '../../kernel/decimal.ts'
import type { Problems } from '../../kernel/fault.ts'
import { decimalToMinor } from '../../kernel/money.ts'

/** Reads a received amount in minor units of its currency; one with more decimals than the currency has is a problem, and undefined. */
export function amountIn(
  problems: Problems,
  field: string,
  amount: Decimal | undefined,
  currency: string | undefined,
): bigint | undefined {
  if (amount === undefined || currency === undefined) return undefined
  const digits = digitsOf(currency)
  const minor = decimalToMinor(amount, digits)
  if (minor === undefined) {
    const allowed = digits === 0 ? 'no decimals' : `at most ${digits} decimals`
    problems.add(
      'too_many_decimals',
      field,
      `${field} is an amount in ${currency}, which has ${allowed}; ${decimalText(amount)} was sent.`,
    )
  }
  return minor
}
