import { type Decimal, divideHalfAway, powerOfTen } from './decimal.ts'

/**
 * Money is counted: a bigint of minor units (cents, yen, fils) of a currency that is known from its record.
 * Prices are finer and are Decimals. Fractions of a minor unit are settled in this file and nowhere else.
 */

/** Computed and received amounts stay below 10^12 major units in either direction. */
export const AMOUNT_BOUND_MAJOR = 10n ** 12n

export const isAmountInBounds = (amountMinor: bigint, digits: number): boolean => {
  const bound = AMOUNT_BOUND_MAJOR * powerOfTen(digits)
  return amountMinor < bound && amountMinor > -bound
}

/**
 * Returns price × quantity × part ÷ whole, rounded once to the minor unit, halves away from zero. Takes the exact price: rounding it first
 * would be a second rounding (half of JPY 100.5 is 50, not 51).
 */
export function amountOf(price: Decimal, quantity: Decimal, part: bigint, whole: bigint, digits: number): bigint {
  const numerator = price.coefficient * quantity.coefficient * part * powerOfTen(digits)
  return divideHalfAway(numerator, powerOfTen(price.scale + quantity.scale) * whole)
}

/** Returns an exact amount as it stands, rounded to the minor unit. */
export const roundToMinor = (value: Decimal, digits: number): bigint =>
  divideHalfAway(value.coefficient * powerOfTen(digits), powerOfTen(value.scale))

/** Returns a rate (a fraction of 1) of an amount: Σ net × rate for taxes. */
export const rateOf = (amountMinor: bigint, rate: Decimal): bigint =>
  divideHalfAway(amountMinor * rate.coefficient, powerOfTen(rate.scale))

/** Sums minor units over records: their `amountMinor`, or another field of theirs. */
export const sumMinor = <Field extends string = 'amountMinor'>(
  records: readonly Readonly<Record<NoInfer<Field>, bigint>>[],
  field = 'amountMinor' as Field,
): bigint => records.reduce((sum, record) => sum + record[field], 0n)

/** Digits with exactly the decimals of the currency ("1000.00", "7", "-0.500"). */
export function minorText(amountMinor: bigint, digits: number): string {
  if (digits === 0) return amountMinor.toString()
  const sign = amountMinor < 0n ? '-' : ''
  const text = (amountMinor < 0n ? -amountMinor : amountMinor).toString().padStart(digits + 1, '0')
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}

export const minorToDecimal = (amountMinor: bigint, digits: number): Decimal => {
  let coefficient = amountMinor
  let scale = digits
  while (scale > 0 && coefficient % 10n === 0n) {
    coefficient /= 10n
    scale -= 1
  }
  return { coefficient, scale }
}

/** Returns the minor units of a decimal that must not have more decimals than its currency; undefined when it has. */
export function decimalToMinor(value: Decimal, digits: number): bigint | undefined {
  if (value.scale > digits) return undefined
  return value.coefficient * powerOfTen(digits - value.scale)
}
