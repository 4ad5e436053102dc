import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addDays,
  addMonths,
  dateOf,
  dateOfDayNumber,
  dayNumberOf,
  daysBetween,
  daysInMonth,
  earliest,
  firstOfNextMonth,
  isDate,
  partsOf,
} from './calendar.ts'

const MS_PER_DAY = 86_400_000
const FIRST = Date.UTC(1900, 0, 1) / MS_PER_DAY
const LAST = Date.UTC(2999, 11, 31) / MS_PER_DAY
const anyDay = fc.integer({ min: FIRST, max: LAST }).map(dateOfDayNumber)

describe('calendar days', () => {
  test('every day from 1900 to 2999 is the same day that the platform calendar names', () => {
    for (let dayNumber = FIRST; dayNumber <= LAST; dayNumber += 1) {
      const date = dateOfDayNumber(dayNumber)
      // One comparison with a Date in seven keeps the test quick; the way back is checked for every day.
      const isWrong =
        dayNumberOf(date) !== dayNumber ||
        (dayNumber % 7 === 0 && date !== new Date(dayNumber * MS_PER_DAY).toISOString().slice(0, 10))
      if (isWrong) expect.fail(`day ${dayNumber} is not ${date}`)
    }
    expect([dateOfDayNumber(FIRST), dateOfDayNumber(LAST)]).toEqual(['1900-01-01', '2999-12-31'])
  })

  test('only days that exist between 1900 and 2999 are dates', () => {
    for (const good of ['2028-02-29', '1900-01-01', '2999-12-31', '2000-02-29']) expect(isDate(good), good).toBe(true)
    const bad = [
      '2027-02-29',
      '2100-02-29',
      '2027-02-31',
      '2027-04-31',
      '2027-13-01',
      '2027-00-10',
      '2027-01-00',
      '1899-12-31',
      '3000-01-01',
      '2027-1-01',
      '20270101',
      '',
    ]
    for (const text of bad) expect(isDate(text), text).toBe(false)
  })

  test('adding days and counting them are inverse', () => {
    fc.assert(
      fc.property(anyDay, fc.integer({ min: -50_000, max: 50_000 }), (date, days) => {
        expect(daysBetween(date, addDays(date, days))).toBe(days)
      }),
    )
  })

  test('adding months lands in the right month on the wanted day or the last one there is', () => {
    fc.assert(
      fc.property(anyDay, fc.integer({ min: -240, max: 240 }), (date, months) => {
        const before = partsOf(date)
        const after = partsOf(addMonths(date, months))
        expect(after.year * 12 + after.month - (before.year * 12 + before.month)).toBe(months)
        expect(after.day).toBe(Math.min(before.day, daysInMonth(after.year, after.month)))
      }),
    )
  })

  test('dates are ordered as text, also far from now', () => {
    expect(dateOf(987, 6, 5)).toBe('0987-06-05')
    fc.assert(fc.property(anyDay, anyDay, (a, b) => a < b === dayNumberOf(a) < dayNumberOf(b)))
  })

  test('the earliest of some dates skips what is not given', () => {
    expect(earliest('2027-02-01', null, '2027-01-31')).toBe('2027-01-31')
    expect(earliest(null, null)).toBeNull()
    expect(firstOfNextMonth('2027-12-31')).toBe('2028-01-01')
  })
})
