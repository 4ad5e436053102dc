import { assert } from './assert.ts'

/** An exact decimal: coefficient ÷ 10^scale. Used for unit prices, quantities and tax rates, never for amounts of money. */
export interface Decimal {
  readonly coefficient: bigint
  readonly scale: number
}

const PATTERN = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Reads decimal digits ("19.99", "-0.5", "1e-3"); undefined when the text is no number. Trailing zeros are dropped, so equal values look equal. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = PATTERN.exec(text)
  if (!match) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const power = Number(exponent)
  if (Math.abs(power) > 400) return undefined
  const digits = BigInt(`${sign}${whole}${fraction}`)
  const scale = fraction.length - power
  return scale >= 0 ? normalise(digits, scale) : { coefficient: digits * powerOfTen(-scale), scale: 0 }
}

/** Makes a decimal from digits that are known to be right: a literal, or a numeric column. */
export function decimal(text: string | number): Decimal {
  const value = parseDecimal(String(text))
  assert(value, `"${text}" is a decimal`)
  return value
}

export const ZERO: Decimal = { coefficient: 0n, scale: 0 }
export const ONE: Decimal = { coefficient: 1n, scale: 0 }

function normalise(coefficient: bigint, scale: number): Decimal {
  let digits = coefficient
  let places = scale
  while (places > 0 && digits % 10n === 0n) {
    digits /= 10n
    places -= 1
  }
  return { coefficient: digits, scale: places }
}

const POWERS = Array.from({ length: 40 }, (_, exponent) => 10n ** BigInt(exponent))

export const powerOfTen = (exponent: number): bigint => POWERS[exponent] ?? 10n ** BigInt(exponent)

/** Returns plain digits without exponent and without trailing zeros: what the wire and the database are given. */
export function decimalText({ coefficient, scale }: Decimal): string {
  if (scale === 0) return coefficient.toString()
  const sign = coefficient < 0n ? '-' : ''
  const digits = (coefficient < 0n ? -coefficient : coefficient).toString().padStart(scale + 1, '0')
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return normalise(a.coefficient * b.coefficient, a.scale + b.scale)
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return normalise(a.coefficient * powerOfTen(scale - a.scale) + b.coefficient * powerOfTen(scale - b.scale), scale)
}

export const negate = (a: Decimal): Decimal => ({ coefficient: -a.coefficient, scale: a.scale })

export const subtract = (a: Decimal, b: Decimal): Decimal => add(a, negate(b))

/** Returns a number that is negative, zero or positive as a is below, equal to or above b. */
export function compare(a: Decimal, b: Decimal): number {
  const left = a.coefficient * powerOfTen(b.scale)
  const right = b.coefficient * powerOfTen(a.scale)
  return left < right ? -1 : left > right ? 1 : 0
}

export const equals = (a: Decimal, b: Decimal): boolean => compare(a, b) === 0

/** Divides integers with halves away from zero: the one rounding rule of the service. */
export function divideHalfAway(numerator: bigint, denominator: bigint): bigint {
  assert(denominator > 0n, 'shares divide by a positive base')
  const doubled = (numerator < 0n ? -numerator : numerator) * 2n + denominator
  const rounded = doubled / (denominator * 2n)
  return numerator < 0n ? -rounded : rounded
}
