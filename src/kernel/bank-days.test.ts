import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addBankDays, BANK_CALENDARS, bankDayOnOrAfter, isBankDay } from './bank-days.ts'
import { addDays, daysBetween } from './calendar.ts'

/** Known years are rows in test/golden. */

const DAYS = daysBetween('2020-01-01', '2100-01-01')
const aDay = fc.nat(DAYS - 1).map((index) => addDays('2020-01-01', index))
const aCalendar = fc.constantFrom(...BANK_CALENDARS)

describe('for every day from 2020 to 2099', () => {
  test('weekends are closed, a weekday only for a holiday, and no gap is longer than five days', () => {
    for (const calendar of BANK_CALENDARS) {
      let closedInRow = 0
      for (let index = 0; index < DAYS; index += 1) {
        const day = addDays('2020-01-01', index)
        const isWeekend = new Date(day).getUTCDay() % 6 === 0
        if (isWeekend) expect(isBankDay(calendar, day), `${calendar} ${day}`).toBe(false)
        closedInRow = isBankDay(calendar, day) ? 0 : closedInRow + 1
        if (closedInRow > 5) expect.fail(`${calendar} is closed for more than five days before ${day}`)
      }
    }
  })

  test('in spring TARGET closes on a Friday and on the Monday after it', () => {
    for (let year = 2020; year < 2100; year += 1) {
      const spring = Array.from({ length: 40 }, (_, index) => addDays(`${year}-03-20`, index))
      const closed = spring.filter((day) => isBankDay('weekdays', day) && !isBankDay('target', day))
      expect(
        closed.map((day) => new Date(day).getUTCDay()),
        `${year}`,
      ).toEqual([5, 1])
      expect(daysBetween(closed[0]!, closed[1]!)).toBe(3)
    }
  })
})

test('counting forth and back from a bank day comes back to it, and the steps are those days', () => {
  fc.assert(
    fc.property(aCalendar, aDay, fc.nat(60), (calendar, day, count) => {
      const start = bankDayOnOrAfter(calendar, day)
      const end = addBankDays(calendar, start, count)
      expect(isBankDay(calendar, end)).toBe(true)
      expect(addBankDays(calendar, end, -count)).toBe(start)
      const between = Array.from({ length: daysBetween(start, end) }, (_, index) => addDays(start, index + 1))
      expect(between.filter((each) => isBankDay(calendar, each))).toHaveLength(count)
    }),
  )
})
