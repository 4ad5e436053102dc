import { expect, test } from 'vitest'
import type { MethodKind } from '../../kernel/rails.ts'
import type { Gateway } from './queries.ts'
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
