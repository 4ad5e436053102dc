import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  add,
  compare,
  decimal,
  type Decimal,
  decimalText,
  divideHalfAway,
  equals,
  multiply,
  parseDecimal,
  subtract,
} from './decimal.ts'

const anyDecimal = fc
  .record({ coefficient: fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), scale: fc.integer({ min: 0, max: 9 }) })
  .map((value): Decimal => parseDecimal(decimalText(value))!)

describe('exact decimals', () => {
  test('digits survive reading and writing', () => {
    fc.assert(
      fc.property(anyDecimal, (value) => {
        expect(parseDecimal(decimalText(value))).toEqual(value)
      }),
    )
  })

  test.each([
    ['19.99', '19.99'],
    ['-0.50', '-0.5'],
    ['1000', '1000'],
    ['1e3', '1000'],
    ['1.5E-3', '0.0015'],
    ['0.00', '0'],
    ['007', '7'],
  ])('%s is read as %s', (text, plain) => {
    expect(decimalText(decimal(text))).toBe(plain)
  })

  test('what is no number is not read', () => {
    for (const text of ['', ' 1', '1.', '.5', '+1', '1,5', '0x1', 'NaN', 'Infinity', '1e9999'])
      expect(parseDecimal(text), text).toBeUndefined()
  })

  test('sums, products and order are those of arithmetic', () => {
    fc.assert(
      fc.property(anyDecimal, anyDecimal, anyDecimal, (a, b, c) => {
        expect(equals(subtract(add(a, b), b), a)).toBe(true)
        expect(equals(multiply(a, add(b, c)), add(multiply(a, b), multiply(a, c)))).toBe(true)
        expect(Math.sign(compare(a, b)) + Math.sign(compare(b, a))).toBe(0)
      }),
    )
  })

  test('equal values look equal, however they were written', () => {
    expect(decimal('1.50')).toEqual(decimal('1.5'))
    expect(decimal('100e-2')).toEqual(decimal('1'))
  })
})

test('halves go away from zero, on both sides', () => {
  expect([5n, 15n, -5n, -15n, 4n, -4n, 0n].map((value) => divideHalfAway(value, 10n))).toEqual([
    1n,
    2n,
    -1n,
    -2n,
    0n,
    0n,
    0n,
  ])
  fc.assert(
    fc.property(fc.bigInt(), fc.bigInt({ min: 1n, max: 10n ** 12n }), (numerator, denominator) => {
      const rounded = divideHalfAway(numerator, denominator)
      const doubledError = 2n * (rounded * denominator - numerator)
      expect(doubledError <= denominator && doubledError >= -denominator).toBe(true)
      expect(divideHalfAway(-numerator, denominator)).toBe(-rounded)
    }),
  )
})
