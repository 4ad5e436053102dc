import { expect, test } from 'vitest'
import type { MethodKind } from '../../kernel/rails.ts'
import type { Gateway, RatesReported } from './queries.ts'
import { boundsToReport } from './return-rates.ts'
import { kindsOf, primaryGateway, primaryKindsAfter } from './rules.ts'

const gateway = (id: bigint, fields: Partial<Gateway> = {}): Gateway => ({
  id,
  token: '',
  type: 'manual',
  name: '',
  friendlyName: '',
  isActive: true,
  isFourEyes: false,
  currencies: null,
  debitMethods: null,
  settings: null,
  settingNames: [],
  primaryKinds: [],
  accountCurrencies: ['USD'],
  isOfTestAccount: true,
  heldFor: null,
  releasedAt: null,
  keyState: null,
  keyEnding: null,
  accountThere: null,
  version: 1,
  ...fields,
})
const choice = (gateways: Gateway[], kind: MethodKind, currency: string | null = null) =>
  primaryGateway(gateways, kind, currency)?.id

test('a gateway takes the kinds of its type, bank accounts as far as DebitMethods names them', () => {
  expect(kindsOf(gateway(1n))).toEqual(['debit_order', 'ach', 'sepa'])
  expect(kindsOf(gateway(1n, { type: 'sandbox', debitMethods: [] }))).toEqual(['credit_card'])
  expect(kindsOf(gateway(1n, { debitMethods: ['sepa'] }))).toEqual(['sepa'])
})

test('the first choice is the flagged gateway of the kind, else the only ready one', () => {
  const [sandbox, bank] = [gateway(1n, { type: 'sandbox' }), gateway(2n)]
  expect(choice([sandbox, bank], 'credit_card')).toBe(1n)
  expect(choice([sandbox, bank], 'sepa')).toBeUndefined()
  expect(choice([sandbox, { ...bank, primaryKinds: ['sepa'] }], 'sepa')).toBe(2n)
  expect(choice([{ ...sandbox, isActive: false }, bank], 'sepa')).toBe(2n)
  // Switched off, a flagged one is passed over.
  expect(choice([sandbox, { ...bank, primaryKinds: ['sepa'], isActive: false }], 'sepa')).toBe(1n)
  expect(choice([bank], 'credit_card')).toBeUndefined()
})

test('a default falls on the first choice only when it takes the currency', () => {
  const bank = gateway(2n, { currencies: ['EUR'] })
  expect([choice([bank], 'sepa', 'EUR'), choice([bank], 'sepa', 'USD')]).toEqual([2n, undefined])
})

test('an edited primary keeps the kinds that it still takes, and gains others only by becoming primary', () => {
  const bank = gateway(2n, { debitMethods: ['sepa', 'ach'] })
  expect(primaryKindsAfter(bank, ['sepa', 'debit_order'], null)).toEqual(['sepa'])
  expect(primaryKindsAfter(bank, ['sepa'], true)).toEqual(['sepa'])
  expect(primaryKindsAfter(bank, [], true)).toEqual(['ach', 'sepa'])
  expect(primaryKindsAfter(bank, ['sepa'], false)).toEqual([])
})

/** Returns what is told on 1 March 2027 of so many debits, as `all half`. */
function told(
  debits: number,
  [unauthorised, administrative, all]: [number, number, number],
  before: RatesReported = {},
) {
  const rates = { from: '2027-01-01', to: '2027-03-01', debits, counts: { unauthorised, administrative, all } } as const
  return boundsToReport(rates, before).map(({ kind, bound }) => `${kind} ${bound}`)
}

test('rates of returns are told from half of each limit on, and from five returns of a kind on', () => {
  // 5 of 2,000 are 0.25 %, 5 of 2,001 less; 10 of 2,000 are 0.5 %.
  expect(told(2_000, [5, 0, 5])).toEqual(['unauthorised half'])
  expect(told(2_001, [5, 0, 5])).toEqual([])
  expect(told(2_001, [10, 0, 10])).toEqual(['unauthorised half'])
  expect(told(2_000, [10, 0, 10])).toEqual(['unauthorised limit'])
  // 30 of 2,000 are 1.5 %, 60 are 3 %.
  expect(told(2_000, [0, 29, 29])).toEqual([])
  expect(told(2_000, [0, 30, 30])).toEqual(['administrative half'])
  expect(told(2_000, [0, 60, 60])).toEqual(['administrative limit'])
  // 150 of 2,000 are 7.5 %, 300 are 15 %.
  expect(told(2_000, [0, 0, 149])).toEqual([])
  expect(told(2_000, [0, 0, 150])).toEqual(['all half'])
  expect(told(2_000, [0, 0, 299])).toEqual(['all half'])
  expect(told(2_000, [10, 60, 300])).toEqual(['unauthorised limit', 'administrative limit', 'all limit'])
  expect(told(4, [4, 0, 4])).toEqual([])
  expect(told(5, [4, 1, 5])).toEqual(['all limit'])
})

test('a rate that was told is not told again within 30 days, unless its limit is reached after half of it', () => {
  // 30 days before 1 March is 30 January.
  const half = (on: string) => ({ all: { bound: 'half', on } }) as RatesReported
  const limit = (on: string) => ({ all: { bound: 'limit', on } }) as RatesReported
  expect(told(2_000, [0, 0, 150], half('2027-01-31'))).toEqual([])
  expect(told(2_000, [0, 0, 150], half('2027-01-30'))).toEqual(['all half'])
  expect(told(2_000, [0, 0, 300], half('2027-01-31'))).toEqual(['all limit'])
  expect(told(2_000, [0, 0, 300], limit('2027-01-31'))).toEqual([])
  expect(told(2_000, [0, 0, 300], limit('2027-01-30'))).toEqual(['all limit'])
  expect(told(2_000, [0, 0, 150], limit('2027-01-31'))).toEqual([])
  expect(told(2_000, [5, 0, 150], limit('2027-01-31'))).toEqual(['unauthorised half'])
})
