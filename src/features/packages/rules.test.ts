import { describe, expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import type { Rate } from './types.ts'
import { becomesDefault, planRates, type RateInput, type TermInput } from './rules.ts'

const monthly = (price: string, term = 1): TermInput => ({ price: decimal(price), term, termType: 'months' })

const wanted = (currency: string, terms: TermInput[] | undefined, changes: Partial<RateInput> = {}): RateInput => ({
  currency,
  setupFeeMinor: 0n,
  trialFeeMinor: 0n,
  trialPeriod: 0,
  trialPeriodType: 'days',
  terms,
  ...changes,
})

const present = (id: bigint, currency: string, terms: TermInput[]): Rate => ({
  ...wanted(currency, terms),
  id,
  terms: terms.map((term, index) => ({ ...term, id: id * 10n + BigInt(index) })),
})

const UNCHANGED = { addRates: [], editRates: [], dropRates: [], addTerms: [], editTerms: [], dropTerms: [], frozen: [] }

describe('what an edit changes of the rates', () => {
  test('the same rates in another order, with a price written otherwise, change nothing', () => {
    const rates = [present(1n, 'USD', [monthly('31'), monthly('300', 12)]), present(2n, 'EUR', [monthly('29')])]
    const same = [wanted('EUR', [monthly('29.00')]), wanted('USD', [monthly('300', 12), monthly('31')])]
    expect(planRates(rates, same)).toEqual(UNCHANGED)
  })

  test('new currencies and new terms are allowed in a version in use: nothing of them is frozen', () => {
    const plan = planRates(
      [present(1n, 'USD', [monthly('31')])],
      [wanted('USD', [monthly('31'), monthly('300', 12)]), wanted('EUR', [monthly('29')])],
    )
    expect(plan.addTerms).toEqual([{ ...monthly('300', 12), rateId: 1n }])
    expect(plan.addRates.map(({ currency }) => currency)).toEqual(['EUR'])
    expect(plan.frozen).toEqual([])
  })

  test('prices, fees, trials and what is left out are frozen in a version in use, each named', () => {
    const plan = planRates(
      [present(1n, 'USD', [monthly('31'), monthly('300', 12)]), present(2n, 'EUR', [monthly('29')])],
      [wanted('USD', [monthly('32')], { setupFeeMinor: 1n, trialPeriod: 14 })],
    )
    expect(plan.editTerms).toEqual([{ id: 10n, price: decimal('32') }])
    expect(plan.dropTerms).toEqual([11n])
    expect(plan.dropRates).toEqual([2n])
    expect(plan.editRates).toMatchObject([{ id: 1n, setupFeeMinor: 1n, trialPeriod: 14 }])
    expect(plan.frozen).toEqual([
      'the SetupFee in USD',
      'the TrialPeriod in USD',
      'the price of 1 month in USD',
      'the term of 12 months in USD',
      'the rate in EUR',
    ])
  })

  test('terms that are not sent stay, one of days is not one of months', () => {
    const rates = [present(1n, 'USD', [monthly('31')])]
    expect(planRates(rates, [wanted('USD', undefined)])).toEqual(UNCHANGED)
    const plan = planRates(rates, [wanted('USD', [{ ...monthly('31'), termType: 'days' }])])
    expect([plan.dropTerms, plan.addTerms.length]).toEqual([[10n], 1])
  })
})

describe('which version becomes the default', () => {
  const held = ['USD', 'EUR']
  test.each([
    [true, true, true, ['USD', 'EUR', 'GBP'], 'wanted, active, and every currency of the present default is there'],
    [false, false, true, ['USD', 'EUR'], 'not wanted'],
    [false, true, false, ['USD', 'EUR'], 'inactive'],
    [false, true, true, ['USD', 'GBP'], 'a currency of the present default is missing'],
  ])('%s: %s/%s with %j, since %5$s', (expected, isDefault, isActive, currencies) => {
    expect(becomesDefault({ isDefault, isActive, currencies }, held)).toBe(expected)
  })
})
