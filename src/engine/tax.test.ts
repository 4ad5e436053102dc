import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decimal } from '../kernel/decimal.ts'
import { rateOf } from '../kernel/money.ts'
import { matchTaxes, type Place, taxInvoice, taxMatcher, type TaxRule } from './tax.ts'

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
  id: settingId,
  settingId,
  settingName: `Tax ${settingId}`,
  rate: decimal('0.1'),
  countryId,
  countryStateId,
  area: null,
  appliesTo: 'all',
  taxNumber: null,
  category: 'S',
  reasonCode: null,
  reason: null,
})

/** The matcher that was used before rules had an area or were for some customers only. */
function matchedBefore(rules: readonly TaxRule[], place: Place): TaxRule[] {
  const fitOf = (one: TaxRule): number => {
    if (one.countryId === null) return 1
    if (one.countryId !== place.countryId) return 0
    if (one.countryStateId === null) return 2
    return one.countryStateId === place.countryStateId ? 3 : 0
  }
  const best = new Map<bigint, TaxRule>()
  for (const one of rules) {
    const found = best.get(one.settingId)
    if (fitOf(one) > 0 && (found === undefined || fitOf(one) > fitOf(found))) best.set(one.settingId, one)
  }
  return [...best.values()].toSorted((a, b) => (a.settingId < b.settingId ? -1 : 1))
}

test('rules without the fields of areas and of whom they are for match as they always did', () => {
  // Without Monaco, which counts as France since then.
  const country = fc.constantFrom(null, 276, 250, 840, 710, 826)
  const state = fc.constantFrom(null, 1, 2, 3)
  const someRules = fc.array(
    fc
      .tuple(fc.bigInt({ min: 1n, max: 4n }), country, state)
      .map(([setting, countryId, stateId]) => rule(setting, countryId, countryId === null ? null : stateId)),
    { maxLength: 20 },
  )
  const somePlace = fc.record({ countryId: country, countryStateId: state, isBusiness: fc.boolean() })
  fc.assert(
    fc.property(someRules, somePlace, country, (rules, place, homeCountryId) => {
      expect(matchTaxes({ rules, homeCountryId }, place)).toEqual(matchedBefore(rules, place))
    }),
    { numRuns: 1_000 },
  )
})

test('a kept answer for a place is the answer of the rules', () => {
  const list = [rule(2n, 840, 6), rule(1n, null, null), rule(2n, 840, null), rule(1n, 710, null)]
  const rules = { rules: [...list, { ...rule(1n, null, null), appliesTo: 'business' as const }], homeCountryId: null }
  const match = taxMatcher(rules)
  for (const place of [840, 710, null].flatMap((countryId) =>
    [6, 7, null].flatMap((countryStateId) =>
      [true, false].map((isBusiness) => ({ countryId, countryStateId, isBusiness })),
    ),
  )) {
    expect(match(place)).toEqual(matchTaxes(rules, place))
    expect(match(place)).toBe(match(place))
  }
})
