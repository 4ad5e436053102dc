import { describe, expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import { Problems } from '../../kernel/fault.ts'
import type { VersionCurrency } from './queries.ts'
import { type BracketInput, planPrices, readCurrencies } from './rules.ts'

const PATH = 'ComponentVersion.ComponentVersionCurrencies'

/** Brackets as [QtyFrom, QtyTill], absent where undefined. */
type Span = [number | undefined, (number | null)?]

const bodyOf = ([from, till]: Span) => ({
  Price: decimal('1'),
  ...(from === undefined ? {} : { QtyFrom: from }),
  ...(till === undefined ? {} : { QtyTill: till }),
})

function problemsOf(...spans: Span[]): string[] {
  const problems = new Problems()
  readCurrencies([{ CurrencyCode: 'USD', ComponentBracketPrices: spans.map(bodyOf) as never }], PATH, problems)
  const within = `${PATH}[0].ComponentBracketPrices`
  return problems.found.map(({ code, field }) => `${field?.replace(within, '')} ${code}`)
}

describe('brackets follow one another', () => {
  test.each<[string, Span[]]>([
    ['one open from 0', [[0, null]]],
    ['one open from 1', [[1, null]]],
    ['one whose end is left out', [[1]]],
    ['one closed: what is above is priced by it', [[1, 10]]],
    [
      'closed ones and an open one',
      [
        [0, 10],
        [11, 20],
        [21, null],
      ],
    ],
    [
      'one of a single unit',
      [
        [1, 1],
        [2, null],
      ],
    ],
    [
      'nothing for the first 0',
      [
        [0, 0],
        [1, null],
      ],
    ],
  ])('%s', (_what, spans) => {
    expect(problemsOf(...spans)).toEqual([])
  })

  test.each<[string, Span[], string[]]>([
    ['a first that begins later', [[2, null]], ['[0].QtyFrom bracket_begin']],
    [
      'a gap',
      [
        [1, 10],
        [12, null],
      ],
      ['[1].QtyFrom bracket_sequence'],
    ],
    [
      'an overlap',
      [
        [1, 10],
        [10, null],
      ],
      ['[1].QtyFrom bracket_sequence'],
    ],
    [
      'the same twice',
      [
        [1, 10],
        [1, 10],
      ],
      ['[1].QtyFrom bracket_sequence'],
    ],
    [
      'an open one that is not the last',
      [
        [1, null],
        [11, null],
      ],
      ['[0].QtyTill bracket_open'],
    ],
    [
      'an end before the begin, which the next is not held against',
      [
        [1, 10],
        [11, 5],
        [6, null],
      ],
      ['[1].QtyTill bracket_end'],
    ],
    [
      'each of several, by its own place',
      [
        [3, 4],
        [6, null],
        [8, 7],
      ],
      [
        '[0].QtyFrom bracket_begin',
        '[1].QtyFrom bracket_sequence',
        '[1].QtyTill bracket_open',
        '[2].QtyTill bracket_end',
      ],
    ],
  ])('%s is told', (_what, spans, told) => {
    expect(problemsOf(...spans)).toEqual(told)
  })

  test('a field that has a problem of its own is told once, and nothing is held against it', () => {
    const problems = new Problems()
    problems.add('wrong_type', `${PATH}[0].ComponentBracketPrices[0].QtyTill`, 'QtyTill must be a whole number.')
    const list = [bodyOf([1]), bodyOf([50, 60]), bodyOf([undefined, 70]), bodyOf([71, null])]
    readCurrencies([{ CurrencyCode: 'USD', ComponentBracketPrices: list as never }], PATH, problems)
    expect(problems.found).toHaveLength(1)
  })

  test('a currency is there once', () => {
    const problems = new Problems()
    const body = { CurrencyCode: 'USD', ComponentBracketPrices: [bodyOf([1])] as never }
    readCurrencies([body, body], PATH, problems)
    expect(problems.found).toMatchObject([{ code: 'duplicate_currency', field: `${PATH}[1].CurrencyCode` }])
  })
})

const bracket = (from: number, till: number | null, price: string): BracketInput => ({
  price: decimal(price),
  from: BigInt(from),
  till: till === null ? null : BigInt(till),
})

const present = (id: bigint, currency: string, brackets: BracketInput[]): VersionCurrency => ({
  id,
  currency,
  brackets: brackets.map((one, index) => ({ ...one, id: id * 10n + BigInt(index) })),
})

const UNCHANGED = {
  addCurrencies: [],
  dropCurrencies: [],
  addBrackets: [],
  editBrackets: [],
  dropBrackets: [],
  frozen: [],
}

describe('what an edit changes of the prices', () => {
  const tiers = [bracket(1, 10, '5'), bracket(11, null, '4')]

  test('the same prices, currencies in another order and a price written otherwise, change nothing', () => {
    const both = [present(1n, 'USD', tiers), present(2n, 'EUR', tiers)]
    const same = [
      { currency: 'EUR', brackets: [bracket(1, 10, '5.00'), bracket(11, null, '4')] },
      { currency: 'USD', brackets: tiers },
    ]
    expect(planPrices(both, same)).toEqual(UNCHANGED)
  })

  test('a first bracket from 0 is the one from 1: it keeps its identifier, and a version in use takes the change', () => {
    const wanted = bracket(0, 10, '5')
    const plan = planPrices([present(1n, 'USD', tiers)], [{ currency: 'USD', brackets: [wanted, tiers[1]!] }])
    expect(plan).toEqual({ ...UNCHANGED, editBrackets: [{ ...wanted, id: 10n }] })
  })

  test('a bracket from 0 before one from 1 is a new one', () => {
    const zero = bracket(0, 0, '0')
    const plan = planPrices([present(1n, 'USD', tiers)], [{ currency: 'USD', brackets: [zero, ...tiers] }])
    expect(plan.addBrackets).toEqual([{ ...zero, currencyId: 1n }])
    expect(plan.editBrackets).toEqual([])
    const back = planPrices([present(1n, 'USD', [zero, ...tiers])], [{ currency: 'USD', brackets: tiers }])
    expect([back.dropBrackets, back.editBrackets]).toEqual([[10n], []])
  })

  test('a new currency is allowed in a version in use, and brackets that are not sent stay', () => {
    const plan = planPrices(
      [present(1n, 'USD', tiers)],
      [
        { currency: 'USD', brackets: undefined },
        { currency: 'EUR', brackets: tiers },
      ],
    )
    expect(plan).toEqual({ ...UNCHANGED, addCurrencies: [{ currency: 'EUR', brackets: tiers }] })
  })

  test('prices, ends, and what is added or left out are frozen in a version in use, each named', () => {
    const plan = planPrices(
      [
        present(1n, 'USD', [...tiers.slice(0, 1), bracket(11, 20, '4'), bracket(21, null, '3')]),
        present(2n, 'EUR', tiers),
      ],
      [{ currency: 'USD', brackets: [bracket(1, 10, '6'), bracket(11, 30, '4'), bracket(31, null, '3')] }],
    )
    expect(plan.editBrackets.map(({ id }) => id)).toEqual([10n, 11n])
    expect(plan.dropBrackets).toEqual([12n])
    expect(plan.addBrackets).toEqual([{ ...bracket(31, null, '3'), currencyId: 1n }])
    expect(plan.dropCurrencies).toEqual([2n])
    expect(plan.frozen).toEqual([
      'the price from 1 in USD',
      'the QtyTill of the bracket from 11 in USD',
      'the bracket from 21 in USD',
      'the list of brackets in USD',
      'the brackets in EUR',
    ])
  })

  test('a bracket above a closed last one changes what quantities there cost, so it is frozen too', () => {
    const closed = [bracket(1, 10, '5')]
    const plan = planPrices(
      [present(1n, 'USD', closed)],
      [{ currency: 'USD', brackets: [...closed, bracket(11, null, '4')] }],
    )
    expect(plan.frozen).toEqual(['the list of brackets in USD'])
  })
})
