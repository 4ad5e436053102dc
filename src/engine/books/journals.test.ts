import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { decimal } from '../../kernel/decimal.ts'
import { composeJournal, type JournalCodes, type Move, netRowsOf, type RevenueSource, shareOut } from './journals.ts'

const VAT = { taxName: 'VAT', taxRate: decimal('0.23') }
/** Move with the key of what its revenue is of. */
interface KeyedMove extends Move {
  source: string
}
const move = (
  debit: Move['debit'],
  credit: Move['credit'],
  amountMinor: bigint,
  more: Partial<KeyedMove> = {},
): KeyedMove => ({
  debit,
  credit,
  amountMinor,
  ...(debit === 'tax' || credit === 'tax' ? VAT : { taxName: null, taxRate: null }),
  source: '1',
  ...more,
})

const LINES = [
  { code: '4400', netMinor: 6000n },
  { code: '4410', netMinor: 4000n },
]
const sourceOf = () => ({ lines: LINES, taxCodeOf: () => 'vat', first: null })
const SOURCES: Record<string, RevenueSource> = { 1: sourceOf(), none: sourceOf() }
const CODES: JournalCodes<KeyedMove> = {
  codeOf: (account) => (account === 'unapplied' ? 'receivable' : account),
  sourceOf: ({ source }) => SOURCES[source] as RevenueSource,
}
const rowsOf = (moves: readonly KeyedMove[]) =>
  netRowsOf(composeJournal(moves, CODES)).map(({ code, amountMinor }) => [code, amountMinor])

describe('a journal', () => {
  test('shares the revenue of an invoice among the codes of its lines', () => {
    expect(rowsOf([move('receivable', 'revenue', 10_000n), move('receivable', 'tax', 2300n)])).toEqual([
      ['receivable', 12_300n],
      ['4400', -6000n],
      ['vat', -2300n],
      ['4410', -4000n],
    ])
  })

  test('is empty where the sides have one code, and where what was made is taken back', () => {
    expect(rowsOf([move('unapplied', 'receivable', 500n)])).toEqual([])
    expect(rowsOf([move('receivable', 'revenue', 500n), move('revenue', 'receivable', 500n)])).toEqual([])
  })

  test('of a note that is settled on its day has no side that is unsettled', () => {
    const made = [
      move('revenue', 'unapplied', 6000n, { source: 'none' }),
      move('unsettled', 'revenue', 6000n, { source: 'none' }),
    ]
    expect(rowsOf(made)).toEqual([
      ['receivable', -6000n],
      ['unsettled', 6000n],
    ])
    const settled = [move('tax', 'revenue', 1122n), move('revenue', 'unsettled', 6000n)]
    expect(rowsOf([...made, ...settled])).toEqual([
      ['receivable', -6000n],
      ['4400', 2927n],
      ['vat', 1122n],
      ['4410', 1951n],
    ])
  })

  test('keeps a tax that was relieved of bad debt apart from revenue', () => {
    const { legs, revenue } = composeJournal([move('tax', 'bad_debt', 306n)], CODES)
    expect([legs.map(({ code }) => code), revenue]).toEqual([['vat', 'bad_debt'], []])
  })
})

test('shares come to the whole, and to the weights where they are the whole', () => {
  const weights = fc.array(fc.bigInt(-1000n, 1000n), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(weights, fc.bigInt(-5000n, 5000n), (some, amount) => {
      const total = some.reduce((sum, one) => sum + one, 0n)
      expect(shareOut(amount, some).reduce((sum, one) => sum + one, 0n)).toBe(amount)
      if (total !== 0n) expect(shareOut(total, some)).toEqual(some)
    }),
  )
})
