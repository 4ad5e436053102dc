import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addDays, dateOfDayNumber, dayNumberOf, type IsoDate } from './calendar.ts'
import { dateIn, dateWithOffset, instantOfLocal, isZone, midnightOf } from './zone.ts'

const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC')
const dayBetween = (first: IsoDate, last: IsoDate): fc.Arbitrary<IsoDate> =>
  fc.integer({ min: dayNumberOf(first), max: dayNumberOf(last) }).map(dateOfDayNumber)

/** Whether a zone really had a day: at the date line a few places skipped one. */
function hasDay(date: IsoDate, name: string): boolean {
  const utcMidnight = Date.parse(`${date}T00:00:00Z`)
  for (let hours = -14; hours <= 36; hours += 2) if (dateIn(utcMidnight + hours * 3_600_000, name) === date) return true
  return false
}

describe('a calendar day in a zone', () => {
  test('written with its offset it is read back as the same day, in every zone and century', () => {
    fc.assert(
      fc.property(zone, dayBetween('1900-01-01', '2999-12-31'), (name, date) => {
        fc.pre(hasDay(date, name))
        const text = dateWithOffset(date, name)
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT00:00:00(Z|[+-]\d\d:\d\d)$/)
        expect(text.slice(0, 10)).toBe(date)
        expect(dateIn(Date.parse(text), name)).toBe(date)
      }),
      { numRuns: 400 },
    )
  })

  test('from its midnight to the last millisecond before the next it never slips', () => {
    fc.assert(
      fc.property(zone, dayBetween('2015-01-01', '2037-12-31'), (name, date) => {
        const begins = Date.parse(midnightOf(date, name))
        const ends = Date.parse(midnightOf(addDays(date, 1), name))
        expect(dateIn(begins, name)).toBe(date)
        expect(dateIn(ends - 1, name)).toBe(date)
        expect(dateIn(begins - 1, name)).toBe(addDays(date, -1))
      }),
      { numRuns: 400 },
    )
  })

  test('moving an account to another zone moves no stored day', () => {
    fc.assert(
      fc.property(zone, zone, dayBetween('2015-01-01', '2037-12-31'), (before, after, date) => {
        expect(dateWithOffset(date, before).slice(0, 10)).toBe(dateWithOffset(date, after).slice(0, 10))
      }),
    )
  })

  test('where clocks change it is still the day, whether midnight is skipped or comes twice', () => {
    expect(dateWithOffset('2024-09-08', 'America/Santiago')).toBe('2024-09-08T00:00:00-04:00')
    expect(midnightOf('2024-09-08', 'America/Santiago')).toBe('2024-09-08T04:00:00.000Z')
    expect(midnightOf('2023-11-05', 'America/Havana')).toBe('2023-11-05T04:00:00.000Z')
    expect(dateWithOffset('2026-04-03', 'Africa/Johannesburg')).toBe('2026-04-03T00:00:00+02:00')
    expect(dateWithOffset('1930-06-15', 'Africa/Monrovia')).toBe('1930-06-15T00:00:00-00:45')
  })

  test('a local time that is skipped is read with the offset before, one that comes twice is the earlier', () => {
    const at = (date: IsoDate, hours: number): string =>
      new Date(instantOfLocal(date, hours * 3_600_000, 'America/New_York')).toISOString()
    expect(at('2024-03-10', 2.5)).toBe('2024-03-10T07:30:00.000Z')
    expect(at('2024-11-03', 1.5)).toBe('2024-11-03T05:30:00.000Z')
    expect(at('2024-07-01', 12)).toBe('2024-07-01T16:00:00.000Z')
  })
})

test('zones are names, not offsets', () => {
  for (const name of ['UTC', 'Africa/Johannesburg', 'Etc/GMT+5']) expect(isZone(name), name).toBe(true)
  for (const name of ['+02:00', 'Africa/Nowhere', '', ' UTC']) expect(isZone(name), name).toBe(false)
})
