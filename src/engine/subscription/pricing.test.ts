import fc from 'fast-check'
import { expect, test } from 'vitest'
import { add, compare, decimal, type Decimal, equals, ONE, ZERO } from '../../kernel/decimal.ts'
import { type Bracket, exactPrice, priceQuantity, type Scheme } from './pricing.ts'

const scheme = fc.constantFrom<Scheme>('unit', 'tiered', 'volume', 'stairstep')
const price = fc.bigInt({ min: 0n, max: 10n ** 6n }).map((coefficient): Decimal => ({ coefficient, scale: 4 }))
const quantity = fc.bigInt({ min: 1n, max: 10n ** 6n }).map((coefficient): Decimal => ({ coefficient, scale: 3 }))
const brackets = fc
  .tuple(fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), price), { minLength: 1, maxLength: 5 }), fc.boolean())
  .map(([steps, isOpen]): Bracket[] => {
    let till = 0
    return steps.map(([width, each], index) => {
      const from = decimal(till === 0 ? 0 : till + 1)
      till += width
      return { from, till: isOpen && index === steps.length - 1 ? null : decimal(till), price: each }
    })
  })

test('every unit is priced by exactly one bracket', () => {
  fc.assert(
    fc.property(scheme, brackets, quantity, (kind, list, units) => {
      const lines = priceQuantity(kind, list, units)
      const priced = lines.reduce((sum, line) => add(sum, line.quantity), ZERO)
      expect(equals(priced, units)).toBe(true)
      expect(lines.every((line) => compare(line.quantity, ZERO) > 0)).toBe(true)
      expect(lines.length === 1 || kind === 'unit' || kind === 'tiered').toBe(true)
    }),
  )
})

test('graduated prices never fall when the quantity rises', () => {
  fc.assert(
    fc.property(brackets, quantity, quantity, (list, units, more) => {
      expect(compare(exactPrice('tiered', list, add(units, more)), exactPrice('tiered', list, units)) >= 0).toBe(true)
    }),
  )
})

test('a quantity below zero or a price without brackets is a bug, not an amount', () => {
  const open = [{ from: ZERO, till: null, price: ONE }]
  expect(() => priceQuantity('unit', open, decimal('-1'))).toThrow('assertion failed')
  expect(() => priceQuantity('unit', [], ONE)).toThrow('assertion failed')
})
