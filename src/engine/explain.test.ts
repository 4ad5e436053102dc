import { describe, expect, test } from 'vitest'
import { decimal, ONE, ZERO } from '../kernel/decimal.ts'
import {
  type ChargeFacts,
  describeCharge,
  explainCharge,
  explainCredit,
  explainTax,
  recomputeCharge,
} from './explain.ts'

const february: ChargeFacts = {
  kind: 'package',
  from: '2027-02-01',
  until: '2027-03-01',
  wholeFrom: '2027-02-01',
  wholeUntil: '2027-03-01',
  price: decimal('31'),
  quantity: ONE,
  unitPrice: decimal('31'),
  netMinor: 3100n,
  digits: 2,
  currency: 'ZAR',
  name: 'Basic',
  brackets: null,
}
const cut: ChargeFacts = {
  ...february,
  from: '2027-01-11',
  until: '2027-02-01',
  wholeFrom: '2027-01-01',
  wholeUntil: '2027-02-01',
  netMinor: 2100n,
}
const setup: ChargeFacts = {
  ...february,
  kind: 'setup',
  name: 'Set-up fee',
  from: null,
  until: null,
  wholeFrom: null,
  wholeUntil: null,
  price: decimal('5'),
  netMinor: 500n,
}

describe('a line says which days it covers', () => {
  test.each([
    [february, '2027-02-01 to 2027-02-28'],
    [cut, '2027-01-11 to 2027-01-31, 21 of 31 days'],
    [setup, ''],
  ])('%#', (facts, text) => {
    expect(describeCharge(facts)).toBe(text)
  })
})

describe('an amount is explained by formula and sentence', () => {
  test('of a whole period', () => {
    const { formula, sentence } = explainCharge(february)
    expect(formula).toBe('31.00')
    expect(sentence).toBe('Basic for the whole period from 2027-02-01 to 2027-02-28: 31.00 ZAR.')
  })

  test('of a part that comes out even', () => {
    const { facts, formula, sentence } = explainCharge(cut)
    expect(facts).toMatchObject({
      from: '2027-01-11',
      to: '2027-01-31',
      wholeFrom: '2027-01-01',
      wholeTo: '2027-01-31',
      days: 21,
      wholeDays: 31,
    })
    expect(formula).toBe('31.00 × 21 ÷ 31 = 21.00')
    expect(sentence).toBe(
      'Basic from 2027-01-11 to 2027-01-31: 21 of the 31 days of the period from 2027-01-01 to 2027-01-31 are charged, so 31.00 × 21 ÷ 31 = 21.00 ZAR.',
    )
  })

  test('of a part that is rounded, from a price finer than a cent', () => {
    const facts = { ...cut, price: decimal('0.0035'), quantity: decimal('1000'), netMinor: 237n }
    expect(explainCharge(facts).formula).toBe('0.0035 × 1000 × 21 ÷ 31, rounded to 2.37')
    expect(recomputeCharge(facts)).toBe(237n)
  })

  test('of fees and of lines by hand', () => {
    expect(explainCharge(setup)).toMatchObject({
      facts: { from: null, days: null },
      sentence: 'The set-up fee of 5.00 ZAR is charged once, when the subscription starts.',
    })
    expect(explainCharge({ ...setup, kind: 'trial' }).sentence).toBe(
      'The trial fee of 5.00 ZAR is charged once, when the trial starts.',
    )
    expect(
      explainCharge({ ...setup, kind: 'manual', name: 'Visit', quantity: decimal('1.5'), netMinor: 750n }).sentence,
    ).toBe('Visit: 5.00 × 1.5 = 7.50 ZAR, as it was entered.')
  })

  test('of a tax', () => {
    const tax = { name: 'VAT', rate: decimal('0.15'), digits: 2, currency: 'ZAR' }
    expect(explainTax({ ...tax, baseMinor: 677n, amountMinor: 102n }).sentence).toBe(
      'VAT is 15 % of 6.77 ZAR, the sum of the lines: 6.77 × 15 %, rounded to 1.02 ZAR.',
    )
    expect(explainTax({ ...tax, baseMinor: 1000n, amountMinor: 150n }).formula).toBe('10.00 × 15 % = 1.50')
  })
})

describe('an amount is recomputed from its facts alone', () => {
  test.each([february, cut, setup])('%#', (facts) => {
    expect(recomputeCharge(facts)).toBe(facts.netMinor)
    expect(recomputeCharge({ ...facts, netMinor: 0n })).toBe(facts.netMinor)
  })

  test('also where several brackets make one amount', () => {
    const brackets = {
      scheme: 'tiered' as const,
      list: [
        { from: ZERO, till: decimal('10'), price: decimal('5') },
        { from: decimal('11'), till: null, price: decimal('4') },
      ],
    }
    const facts: ChargeFacts = {
      ...cut,
      kind: 'component',
      name: 'Seats',
      brackets: { ...brackets, quantity: decimal('13'), before: null },
      netMinor: 4200n,
    }
    expect(recomputeCharge(facts)).toBe(4200n)
    expect(explainCharge(facts).formula).toBe('price of 13 units (62.00) × 21 ÷ 31 = 42.00')
    expect(explainCharge(facts).facts.quantity).toEqual(decimal('13'))

    const rise: ChargeFacts = {
      ...facts,
      kind: 'rise',
      brackets: { ...brackets, quantity: decimal('13'), before: decimal('8') },
      netMinor: 1490n,
    }
    expect(recomputeCharge(rise)).toBe(1490n)
    expect(explainCharge(rise).formula).toBe(
      '(price of 13 units (62.00) − price of 8 units (40.00)) × 21 ÷ 31, rounded to 14.90',
    )
    expect(explainCharge(rise).sentence).toBe(
      'Seats, rise in quantity, from 2027-01-11 to 2027-01-31: 21 of the 31 days of the period from 2027-01-01 to 2027-01-31 are ' +
        'charged, so (price of 13 units (62.00) − price of 8 units (40.00)) × 21 ÷ 31, rounded to 14.90 ZAR.',
    )

    const late: ChargeFacts = {
      ...rise,
      kind: 'late_usage',
      from: '2027-01-01',
      netMinor: 2200n,
    }
    expect(recomputeCharge(late)).toBe(2200n)
    expect(explainCharge(late).sentence).toBe(
      'Seats, usage that was reported after the cycle had been invoiced, of the cycle from 2027-01-01 to 2027-01-31: ' +
        'price of 13 units (62.00) − price of 8 units (40.00) = 22.00 ZAR.',
    )
  })
})

describe('a credit is explained by what was unused', () => {
  const line = {
    chargeId: 1n,
    kind: 'package' as const,
    name: 'Basic',
    from: '2027-01-26',
    until: '2027-02-01',
    wholeFrom: '2027-01-01',
    wholeUntil: '2027-02-01',
    price: decimal('31'),
    creditedBeforeMinor: 0n,
    mostMinor: 3100n,
    netMinor: 600n,
  }

  test('of a part of a period', () => {
    const { facts, sentence } = explainCredit(line, 2, 'ZAR')
    expect(facts).toMatchObject({ to: '2027-01-31', wholeTo: '2027-01-31', unusedDays: 6, wholeDays: 31 })
    expect(sentence).toBe(
      'Basic from 2027-01-26 to 2027-01-31 is given back: 6 of the 31 days of the period from 2027-01-01 to 2027-01-31 are unused, ' +
        'so 31.00 × 6 ÷ 31 = 6.00 ZAR.',
    )
  })

  test('of usage that was corrected to less', () => {
    const usage = { ...line, kind: 'metered' as const, name: 'Calls', from: '2027-01-01', mostMinor: 600n }
    expect(explainCredit(usage, 2, 'ZAR').sentence).toBe(
      'Usage of Calls from 2027-01-01 to 2027-01-31 was corrected to less: 6.00 ZAR is given back.',
    )
    // 3.00 of the 31.00 were given back before.
    expect(explainCredit({ ...usage, creditedBeforeMinor: 300n }, 2, 'ZAR').formula).toBe('28.00 − 22.00 = 6.00')
  })

  test('of a fee, and where less was left than was unused', () => {
    const fee = { ...line, from: null, until: null, wholeFrom: null, wholeUntil: null, name: 'Trial fee' }
    expect(explainCredit({ ...fee, netMinor: 3100n }, 2, 'ZAR').sentence).toBe('Trial fee is given back: 31.00 ZAR.')
    const capped = { ...line, creditedBeforeMinor: 2700n, mostMinor: 400n, netMinor: 400n }
    expect(explainCredit(capped, 2, 'ZAR').formula).toBe('31.00 × 6 ÷ 31 = 6.00, at most what was left: 4.00')
  })
})
