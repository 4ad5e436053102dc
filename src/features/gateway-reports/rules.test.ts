import { describe, expect, test } from 'vitest'
import type { Payment } from '../money/payment-queries.ts'
import { isKeepable, lostShares, wasNeverReceived } from './rules.ts'
import { isGuid } from '../../platform/wire/fields.ts'

const payment = (amountMinor: bigint, more: Partial<Payment> = {}): Payment =>
  ({ amountMinor, origin: 'gateway', settledOn: '2027-01-01', failedOn: null, ...more }) as Payment

describe('an amount that a charge lost', () => {
  test.each([
    ['of the one payment that there is', [100n], 40n, [40n], 0n],
    ['of the next where the first is used up', [60n, 40n], 100n, [60n, 40n], 0n],
    ['of the first alone where it is enough', [60n, 40n], 60n, [60n], 0n],
    ['is beyond the books where they have less', [60n], 100n, [60n], 40n],
    ['is all beyond them where nothing is left', [], 100n, [], 100n],
    ['is nothing', [60n], 0n, [], 0n],
  ])('is taken %s', (_name, amounts, lost, shares, beyondMinor) => {
    const found = lostShares(
      amounts.map((amount) => payment(amount)),
      lost,
    )
    expect(found.shares.map(({ lostMinor }) => lostMinor)).toEqual(shares)
    expect(found.beyondMinor).toBe(beyondMinor)
  })

  test('is not taken of payments that have failed or are pending', () => {
    const payments = [payment(10n, { failedOn: '2027-01-02' }), payment(10n, { settledOn: null }), payment(10n)]
    expect(lostShares(payments, 10n).shares).toEqual([{ payment: payments[2], lostMinor: 10n }])
  })
})

test('a payment that failed was never received, unless it was settled before', () => {
  expect(wasNeverReceived(payment(1n, { failedOn: '2027-01-02', settledOn: null }))).toBe(true)
  expect(wasNeverReceived(payment(1n, { failedOn: '2027-01-02' }))).toBe(false)
  expect(wasNeverReceived(payment(1n))).toBe(false)
})

test('a token is a UUID in whatever case, and names are kept that are printable and not too long', () => {
  expect(isGuid('0A1b2c3d-0000-4000-8000-00000000000F')).toBe(true)
  for (const text of [
    '',
    '1',
    '0a1b2c3d000040008000000000000000',
    '{0a1b2c3d-0000-4000-8000-00000000000f}',
    'g'.repeat(36),
  ])
    expect(isGuid(text)).toBe(false)
  const named = (id: string, reference = 'r') => isKeepable({ id, about: 'charge', reference })
  expect([named('x'.repeat(255)), named('x'.repeat(256)), named(''), named('a b'), named('ä')]).toEqual([
    true,
    false,
    false,
    false,
    false,
  ])
  expect([named('x', ''), named('x', '\u0000'), named('x', 'y'.repeat(256))]).toEqual([false, false, false])
})
