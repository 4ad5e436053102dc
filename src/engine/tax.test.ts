import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decimal } from '../kernel/decimal.ts'
import { rateOf } from '../kernel/money.ts'
import { matchTaxes, taxInvoice, taxMatcher, type TaxRule } from './tax.ts'

const amounts = fc.array(fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n }), { minLength: 1, maxLength: 30 })
const rates = fc.array(
  fc.bigInt({ min: 0n, max: 10n ** 8n }).map((coefficient) => ({ coefficient, scale: 8 })),
  { maxLength: 4 },
)
const sumOf = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n)

test('tax shares add up exactly, on every tax, every line and the total', () => {
  fc.assert(
    fc.property(amounts, rates, (netMinor, given) => {
      const { taxes, grossMinor, totalMinor } = taxInvoice(netMinor, given)
      taxes.forEach((tax, index) => {
        expect(tax.baseMinor).toBe(sumOf(netMinor))
        expect(tax.amountMinor).toBe(rateOf(tax.baseMinor, given[index]!))
        expect(sumOf(tax.shares)).toBe(tax.amountMinor)
      })
      grossMinor.forEach((gross, line) => {
        expect(gross).toBe(netMinor[line]! + sumOf(taxes.map(({ shares }) => shares[line]!)))
      })
      expect(sumOf(grossMinor)).toBe(totalMinor)
    }),
  )
})

test('no line carries more than one minor unit more or less than its own tax', () => {
  fc.assert(
    fc.property(amounts, rates, (netMinor, given) => {
      taxInvoice(netMinor, given).taxes.forEach(({ shares }, index) => {
        const rate = given[index]!
        shares.forEach((share, line) => {
          const offBy = share * 10n ** 8n - netMinor[line]! * rate.coefficient
          expect(offBy <= 10n ** 8n && offBy >= -(10n ** 8n)).toBe(true)
          if (netMinor[line] === 0n) expect(share).toBe(0n)
        })
      })
    }),
  )
})

const rule = (settingId: bigint, countryId: number | null, countryStateId: number | null): TaxRule => ({
  settingId,
  settingName: `Tax ${settingId}`,
  rate: decimal('0.1'),
  countryId,
  countryStateId,
  taxNumber: null,
})

test('a kept answer for a place is the answer of the rules', () => {
  const rules = [rule(2n, 840, 6), rule(1n, null, null), rule(2n, 840, null), rule(1n, 710, null)]
  const match = taxMatcher(rules)
  for (const place of [840, 710, null].flatMap((countryId) =>
    [6, 7, null].map((countryStateId) => ({ countryId, countryStateId })),
  )) {
    expect(match(place)).toEqual(matchTaxes(rules, place))
    expect(match(place)).toBe(match(place))
  }
})
