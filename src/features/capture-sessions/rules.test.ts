import { describe, expect, test } from 'vitest'
import { bankKindOf, giveBackAfter, isSaleHeld, kindsOnPages, readSpan, sessionState } from './rules.ts'

test.each([
  ['00:00:01', 1_000],
  ['1:00:00', 3_600_000],
  ['24:00:00', 86_400_000],
  ['00:00:00', undefined],
  ['24:00:01', undefined],
  ['01:60:00', undefined],
  ['90', undefined],
])('a span of %s is %s milliseconds', (text, ms) => {
  expect(readSpan(text)).toBe(ms)
})

test.each([
  ['VaultSale', 'by_hand', true],
  ['SaleOnly', 'by_hand', true],
  ['VaultOnly', 'by_hand', false],
  ['VaultSale', null, false],
] as const)('a session of %s whose gateway is held for %s takes nothing: %s', (saleType, heldFor, isHeld) => {
  expect(isSaleHeld({ saleType }, { heldFor })).toBe(isHeld)
})

test.each([
  ['sandbox', ['credit_card', 'debit_order', 'ach', 'sepa']],
  ['manual', ['debit_order', 'ach', 'sepa']],
  ['stripe', ['credit_card']],
  // It keeps accounts itself: a form of ours is of no use to it.
  ['gocardless', []],
] as const)('pages take for a gateway of type %s: %j', (type, kinds) => {
  expect(kindsOnPages({ type, debitMethods: null, currencies: ['USD'] })).toEqual(kinds)
})

describe('a session', () => {
  const session = {
    expiresAt: '2027-01-01T01:00:00.000Z',
    isReallyOver: false,
    refusedTries: 0,
    capturedAt: null,
    giveBackAt: null,
    completedAt: null,
    givenBackAt: null,
    giveBackRefusedAt: null,
    sale: null,
  }

  test('is open before its end, and expired at it', () => {
    expect(sessionState(session, '2027-01-01T00:59:59.999Z')).toBe('open')
    expect(sessionState(session, '2027-01-01T01:00:00.000Z')).toBe('expired')
    expect(sessionState({ ...session, refusedTries: 4 }, '2027-01-01T00:00:00.000Z')).toBe('open')
    expect(sessionState({ ...session, refusedTries: 5 }, '2027-01-01T00:00:00.000Z')).toBe('failed')
  })

  test('ends by real time where that comes first', () => {
    const over = { ...session, isReallyOver: true }
    expect(sessionState(over, '2027-01-01T00:00:00.000Z')).toBe('expired')
    const captured = { ...over, capturedAt: '2027-01-01T00:10:00.000Z', giveBackAt: '2027-01-02T01:00:00.000Z' }
    expect(sessionState(captured, '2027-01-01T00:20:00.000Z')).toBe('expired')
    expect(sessionState({ ...captured, completedAt: '2027-01-01T00:15:00.000Z' }, '2027-01-01T00:20:00.000Z')).toBe(
      'completed',
    )
    expect(
      sessionState({ ...captured, giveBackRefusedAt: '2027-01-02T01:00:00.000Z' }, '2027-01-03T00:00:00.000Z'),
    ).toBe('captured')
  })

  test('that was captured has 24 hours beyond its end, or from then where it was found later', () => {
    expect(giveBackAfter(session, '2027-01-01T00:10:00.000Z')).toBe('2027-01-02T01:00:00.000Z')
    expect(giveBackAfter(session, '2027-01-01T01:30:00.000Z')).toBe('2027-01-02T01:30:00.000Z')
    const captured = { ...session, capturedAt: '2027-01-01T00:10:00.000Z', giveBackAt: '2027-01-02T01:00:00.000Z' }
    expect(sessionState(captured, '2027-01-02T00:59:59.000Z')).toBe('captured')
    expect(sessionState(captured, '2027-01-02T01:00:00.000Z')).toBe('expired')
    expect(sessionState({ ...captured, completedAt: '2027-01-01T02:00:00.000Z' }, '2028-01-01T00:00:00.000Z')).toBe(
      'completed',
    )
  })
})

test('a bank account is sepa for EUR, ach for USD and a debit order else, where the gateway takes it', () => {
  const all = ['credit_card', 'debit_order', 'ach', 'sepa'] as const
  expect(['EUR', 'USD', 'ZAR'].map((currency) => bankKindOf(currency, all))).toEqual(['sepa', 'ach', 'debit_order'])
  expect(bankKindOf('EUR', ['credit_card', 'ach'])).toBeUndefined()
})
