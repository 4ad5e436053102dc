import { describe, expect, test } from 'vitest'
import { type BatchDays, isActionDay, lastMoment } from './batch-days.ts'

const SEPA: BatchDays = { calendar: 'target', leadDays: 2, submitDays: 1, cutOff: '16:00' }
const SANDBOX: BatchDays = { calendar: 'weekdays', leadDays: 2, submitDays: 0, cutOff: '23:59' }

describe('the last moment of a batch', () => {
  test('is the cut-off on the bank day before: of Tuesday after Easter the Thursday before it', () =>
    expect(lastMoment(SEPA, '2027-03-30', 'Europe/Berlin')).toBe('2027-03-25T15:00:00.000Z'))

  test('is on the day itself where no day is needed to submit', () =>
    expect(lastMoment(SANDBOX, '2027-03-30', 'UTC')).toBe('2027-03-30T23:59:00.000Z'))

  test('is a wall-clock time of the zone, also on the day its clocks change', () =>
    expect([
      lastMoment({ ...SANDBOX, calendar: 'weekdays' }, '2027-03-26', 'Europe/Berlin'),
      lastMoment(SANDBOX, '2027-03-29', 'Europe/Berlin'),
    ]).toEqual(['2027-03-26T22:59:00.000Z', '2027-03-29T21:59:00.000Z']))
})

test('a day of the debit is a bank day of the gateway', () =>
  expect([
    isActionDay(SEPA, '2027-03-26'),
    isActionDay(SANDBOX, '2027-03-26'),
    isActionDay(SANDBOX, '2027-03-27'),
  ]).toEqual([false, true, false]))
