import { describe, expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import type { BookAccount } from './codes.ts'
import { grossRowsOf, taxWithin } from './gross-rows.ts'
import type { Leg, RevenuePart } from './journals.ts'

const SETTINGS = { keyWithoutTax: '40', automaticAccounts: ['4400'], rates: new Map([['4300', decimal('0.07')]]) }
const leg = (account: BookAccount, code: string, amountMinor: bigint): Leg => ({
  account,
  code,
  taxName: null,
  amountMinor,
})
const part = (code: string, netMinor: bigint, tax: bigint, key: string | null = null): RevenuePart => ({
  code,
  netMinor,
  taxes: tax === 0n ? [] : [leg('tax', '3806', tax)],
  first: { key, rate: decimal('0.19'), euVatNumber: null, isOfOtherState: false },
})
const linesOf = (legs: readonly Leg[], revenue: readonly RevenuePart[]) =>
  grossRowsOf({ legs, revenue }, SETTINGS).map(({ account, contra, amountMinor, key, tax }) =>
    [account, contra, amountMinor, key ?? '', ...(tax ? [tax.ownMinor, tax.computedMinor] : [])].join(' '),
  )

describe('rows', () => {
  test('of an invoice are gross, without a key on an automatic account and with that of the rule on another', () => {
    const debtor = leg('receivable', '10042', 238_000n)
    expect(linesOf([debtor], [part('4400', -100_000n, -19_000n, '3'), part('4410', -100_000n, -19_000n, '3')])).toEqual(
      ['10042 4400 119000  19000 19000', '10042 4410 119000 3 19000 19000'],
    )
  })

  test('of small notes have a tax other than the one that is computed', () => {
    expect(linesOf([leg('unsettled', '1499', -100n)], [part('4400', 86n, 14n)])).toEqual(['1499 4400 -100  -14 -16'])
  })

  test('of a payment, a relief, and a tax without its base', () => {
    expect(linesOf([leg('cash', '1800', 4000n), leg('unapplied', '10042', -4000n)], [])).toEqual(['10042 1800 -4000 '])
    expect(linesOf([leg('tax', '3806', 306n), leg('bad_debt', '6930', -306n)], [])).toEqual(['6930 3806 -306 40'])
    expect(linesOf([], [part('4400', -14n, 14n)])).toEqual(['3806 4400 14 40'])
  })
})

test('the tax within a gross amount is rounded once', () => {
  expect(taxWithin(100n, decimal('0.15'))).toBe(13n)
  expect(taxWithin(-119_000n, decimal('0.19'))).toBe(-19_000n)
})
