import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addBankDays, BANK_CALENDARS, isBankDay } from '../../kernel/bank-days.ts'
import { type BatchDays, lastMoment } from '../../kernel/batch-days.ts'
import { addDays } from '../../kernel/calendar.ts'
import { dateIn, instantOf } from '../../kernel/zone.ts'
import { actionDateOf, entryDayOf, isTooLate, nextOpenDay } from './batch-days.ts'

const two = (value: number) => String(value).padStart(2, '0')

const gateways = fc.record<BatchDays>({
  calendar: fc.constantFrom(...BANK_CALENDARS),
  leadDays: fc.integer({ min: 0, max: 6 }),
  submitDays: fc.integer({ min: 0, max: 6 }),
  cutOff: fc
    .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map((time) => time.map(two).join(':')),
})

const moments = fc
  .record({
    at: fc.integer({ min: Date.parse('2025-01-01T00:00:00Z'), max: Date.parse('2029-12-31T00:00:00Z') }),
    timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'Pacific/Auckland', 'America/Los_Angeles'),
  })
  .map(({ at, timeZone }) => ({ now: instantOf(at), today: dateIn(at, timeZone), timeZone }))

const wishes = fc.record({
  days: fc.integer({ min: -30, max: 60 }),
  noticeDays: fc.option(fc.integer({ min: 0, max: 30 })),
})

test('a debit is on the first bank day that is wanted, far enough away, announced in time, and can still be submitted', () => {
  fc.assert(
    fc.property(gateways, moments, wishes, (days, at, wish) => {
      const wanted = { wantedOn: addDays(at.today, wish.days), noticeDays: wish.noticeDays }
      const isRight = (day: string) =>
        isBankDay(days.calendar, day) &&
        day >= wanted.wantedOn &&
        day >= addBankDays(days.calendar, at.today, days.leadDays) &&
        day >= addDays(at.today, wish.noticeDays ?? 0) &&
        at.now <= lastMoment(days, day, at.timeZone)
      const found = actionDateOf(days, wanted, at)
      expect(isRight(found)).toBe(true)
      for (let day = addDays(at.today, -1); day < found; day = addDays(day, 1)) expect(isRight(day)).toBe(false)
    }),
    { numRuns: 500 },
  )
})

test('who enters on his day is debited on the bank day that was wanted, and nobody on an earlier one', () => {
  fc.assert(
    fc.property(gateways, moments, wishes, (given, { timeZone, today }, wish) => {
      // Whoever enters LeadDays before can be submitted, where submitting takes no longer.
      const days = { ...given, submitDays: Math.min(given.submitDays, given.leadDays), cutOff: '23:59' }
      const wanted = { wantedOn: addDays(today, wish.days), noticeDays: wish.noticeDays }
      const entersOn = entryDayOf(days, wanted)
      const at = { now: `${entersOn}T00:00:00.000Z`, today: entersOn, timeZone: 'UTC' }
      const debit = actionDateOf(days, wanted, at)
      expect(debit >= wanted.wantedOn).toBe(true)
      for (let day = wanted.wantedOn; day < debit; day = addDays(day, 1))
        expect(isBankDay(days.calendar, day)).toBe(false)
      // Later entry brings no earlier debit.
      const tomorrow = addDays(entersOn, 1)
      const next = actionDateOf(days, wanted, { now: `${tomorrow}T00:00:00.000Z`, today: tomorrow, timeZone })
      expect(next >= debit).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test('a batch moves to the next bank day that can be submitted, always later', () => {
  fc.assert(
    fc.property(gateways, moments, fc.integer({ min: -10, max: 10 }), (days, at, ahead) => {
      const actionDate = addBankDays(days.calendar, at.today, ahead)
      const moved = nextOpenDay(days, actionDate, at)
      expect(moved > actionDate && isBankDay(days.calendar, moved)).toBe(true)
      expect(isTooLate(days, moved, at)).toBe(false)
      for (let day = addBankDays(days.calendar, actionDate, 1); day < moved; day = addBankDays(days.calendar, day, 1))
        expect(isTooLate(days, day, at)).toBe(true)
    }),
    { numRuns: 500 },
  )
})
