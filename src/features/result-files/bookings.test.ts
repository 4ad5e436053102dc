import { describe, expect, test } from 'vitest'
import { type SentPayment, stateOfPayment, verdictOn, verdictOnCollection, withBooking } from './bookings.ts'

/** The table of one credit and one return a payment, row by row. */

const FILE = 9n
const waiting: SentPayment = {
  id: 7n,
  customerId: 5n,
  gatewayId: 1n,
  batchToken: 'T',
  amountMinor: 11_500n,
  currency: 'EUR',
  actionDate: '2027-01-13',
  result: null,
  failedOn: null,
  failedBy: null,
  credit: null,
  return: null,
}
const kept = (on: string, fileId: bigint | null = 1n, hasChanged = true) => ({ on, fileId, hasChanged })
const received: SentPayment = { ...waiting, result: 'success' }
const credited: SentPayment = { ...received, credit: kept('2027-01-13') }
const failed = { failedOn: '2027-01-20', failedBy: 'file' } as const

const STATES: [string, SentPayment, string, string][] = [
  ['waits', waiting, 'changes', 'changes'],
  ['counts as received', received, 'passed', 'changes'],
  ['was received, then taken back by hand', { ...received, ...failed, failedBy: 'hand' }, 'passed', 'passed'],
  ['failed by a status before it was received', { ...waiting, ...failed, result: 'failed' }, 'listed', 'listed'],
  [
    'failed by hand before it was received',
    { ...waiting, ...failed, failedBy: 'hand', result: 'failed' },
    'listed',
    'listed',
  ],
  ['was received by days and failed by a status', { ...received, ...failed }, 'listed', 'listed'],
]

describe('a payment that', () => {
  test.each(STATES)('%s', (_name, payment, credit, back) => {
    const verdict = (isCredit: boolean) => verdictOn(payment, { isCredit, on: '2027-01-19', fileId: FILE })
    expect([verdict(true), verdict(false)]).toEqual([credit, back])
  })

  test.each([
    ['waited', 'failed' as const],
    ['was received', 'success' as const],
  ])('%s and was failed by a return that is kept: a credit until that day is passed', (_name, result) => {
    const payment: SentPayment = { ...waiting, ...failed, result, return: kept('2027-01-20') }
    const verdict = (on: string) => verdictOn(payment, { isCredit: true, on, fileId: FILE })
    expect(['2027-01-13', '2027-01-20', '2027-01-21'].map(verdict)).toEqual(['passed', 'passed', 'listed'])
  })

  test('was failed by a status after a kept credit: a return is passed', () => {
    const payment: SentPayment = { ...credited, ...failed }
    expect(stateOfPayment(payment)).toBe('rejected_late')
    expect(verdictOn(payment, { isCredit: false, on: '2027-01-21', fileId: FILE })).toBe('passed')
  })

  test.each([
    ['of another file and the same day is that one again', '2027-01-13', 2n, 'again'],
    ['that was read before files were kept is that one again', '2027-01-13', null, 'again'],
    ['of another day is one more', '2027-01-14', 2n, 'listed'],
    ['of the same file is one more', '2027-01-13', FILE, 'listed'],
  ])('has a kept one: a booking %s', (_name, on, fileId, verdict) => {
    const one = kept('2027-01-13', fileId)
    const asCredit = { ...received, credit: one }
    const asReturn = { ...waiting, ...failed, result: 'failed' as const, return: one }
    expect(verdictOn(asCredit, { isCredit: true, on, fileId: FILE })).toBe(verdict)
    expect(verdictOn(asReturn, { isCredit: false, on, fileId: FILE })).toBe(verdict)
    expect(verdictOn(asReturn, { isCredit: false, on, fileId: FILE, isOther: true })).toBe('listed')
  })
})

test('a booking that changes a payment changes what is known of it, and one that does not is kept', () => {
  const settled = withBooking(waiting, { isCredit: true, kept: kept('2027-01-13', FILE) })
  expect([stateOfPayment(settled), settled.credit?.on]).toEqual(['received', '2027-01-13'])
  const returned = withBooking(settled, { isCredit: false, kept: kept('2027-01-20', FILE) })
  expect([stateOfPayment(returned), returned.failedOn]).toEqual(['returned', '2027-01-20'])
  expect(stateOfPayment(withBooking(waiting, { isCredit: false, kept: kept('2027-01-20', FILE) }))).toBe('returned')
  const passed = withBooking(received, { isCredit: true, kept: kept('2027-01-13', FILE, false) })
  expect(passed).toEqual({ ...received, credit: kept('2027-01-13', FILE, false) })
})

describe('a booking of a whole collection', () => {
  const one = { amountMinor: 11_500n, failedOn: null, credit: null }
  const booked = { ...one, credit: kept('2027-01-13') }
  const gone = { failedOn: '2027-01-20' }
  const verdict = (payments: (typeof one | typeof booked | any)[], amountMinor: bigint, fileId = FILE) =>
    verdictOnCollection(payments, { amountMinor, on: '2027-01-13', fileId })

  test('settles those that have not failed, and comes again where each of its payments has one of that day', () => {
    expect(verdict([one, one], 23_000n)).toBe('changes')
    expect(verdict([one, { ...one, ...gone }], 11_500n)).toBe('changes')
    expect(verdict([booked, booked], 23_000n)).toBe('again')
    expect(verdict([booked, { ...booked, ...gone }], 23_000n)).toBe('again')
    expect(verdict([booked, booked, { ...one, ...gone }], 23_000n)).toBe('again')
  })

  test('is listed where some have one, where all have one of another day or of this file, and with another amount', () => {
    expect(verdict([booked, one], 23_000n)).toBe('listed')
    expect(verdict([booked, one], 11_500n)).toBe('listed')
    const other = { ...one, credit: kept('2027-01-14') }
    expect(verdict([other, other], 23_000n)).toBe('listed')
    expect(verdict([booked, booked], 23_000n, 1n)).toBe('listed')
    expect(verdict([booked, { ...booked, ...gone }], 11_500n)).toBe('listed')
    expect(verdict([], 0n)).toBe('listed')
    expect(verdict([{ ...one, ...gone }], 11_500n)).toBe('listed')
  })
})
