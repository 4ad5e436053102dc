import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decimal, decimalText, ONE } from './decimal.ts'
import { amountOf, decimalToMinor, isAmountInBounds, minorText, minorToDecimal, rateOf, roundToMinor } from './money.ts'

const minor = fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n })
const digits = fc.constantFrom(0, 2, 3)

test('an amount is written with exactly the decimals of its currency and read back as it was', () => {
  expect([minorText(100_000n, 2), minorText(7n, 0), minorText(-500n, 3), minorText(-5n, 2)]).toEqual([
    '1000.00',
    '7',
    '-0.500',
    '-0.05',
  ])
  fc.assert(
    fc.property(minor, digits, (amountMinor, places) => {
      expect(decimalToMinor(decimal(minorText(amountMinor, places)), places)).toBe(amountMinor)
      expect(decimalToMinor(minorToDecimal(amountMinor, places), places)).toBe(amountMinor)
    }),
  )
})

test('an amount with more decimals than its currency is not taken', () => {
  expect(decimalToMinor(decimal('1.005'), 2)).toBeUndefined()
  expect(decimalToMinor(decimal('1.5'), 0)).toBeUndefined()
  expect(decimalToMinor(decimal('1.500'), 2)).toBe(150n)
})

test('a part is computed from the exact price and rounded once', () => {
  expect(amountOf(decimal('100.5'), ONE, 1n, 2n, 0)).toBe(50n)
  expect(amountOf(decimal('0.0035'), decimal('1000'), 1n, 1n, 2)).toBe(350n)
  expect(amountOf(decimal('3.10'), decimal('5'), 21n, 31n, 2)).toBe(1050n)
  expect(roundToMinor(decimal('-14.995'), 2)).toBe(-1500n)
})

test('two parts of a price come to the whole within one minor unit', () => {
  const share = fc.record({ whole: fc.integer({ min: 1, max: 366 }), cut: fc.nat() })
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), share, digits, (coefficient, { whole, cut }, places) => {
      const price = { coefficient, scale: 4 }
      const part = BigInt(cut % (whole + 1))
      const of = BigInt(whole)
      const both = amountOf(price, ONE, part, of, places) + amountOf(price, ONE, of - part, of, places)
      const difference = both - roundToMinor(price, places)
      expect(difference >= -1n && difference <= 1n).toBe(true)
    }),
  )
})

test('a rate of an amount is rounded once', () => {
  expect(rateOf(677n, decimal('0.15'))).toBe(102n)
  expect(rateOf(-333n, decimal('0.15'))).toBe(-50n)
  expect(rateOf(-10n, decimal('0.05'))).toBe(-1n)
})

test('amounts stay below a million million major units', () => {
  expect(isAmountInBounds(10n ** 14n - 1n, 2)).toBe(true)
  expect(isAmountInBounds(10n ** 14n, 2)).toBe(false)
  expect(isAmountInBounds(-(10n ** 12n), 0)).toBe(false)
  expect(decimalText(minorToDecimal(1050n, 2))).toBe('10.5')
})
