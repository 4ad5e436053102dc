import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addDays } from '../../kernel/calendar.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { readDate, readInstant } from './dates.ts'

const ZONES = [
  'UTC',
  'Africa/Johannesburg',
  'America/New_York',
  'America/Sao_Paulo',
  'Asia/Beirut',
  'Pacific/Apia',
  'Asia/Kolkata',
  'Europe/Berlin',
]

describe('a calendar date that arrives', () => {
  test('is read in every form of the interface', () => {
    const forms = [
      '2026-04-03',
      '20260403',
      '03 Apr 2026',
      '3 apr 2026',
      '03 APRIL 2026',
      ' 2026-04-03 ',
      '2026-04-03T00:00:00',
      '2026-04-03T23:59:59.999',
      '2026-04-03T10:30',
      '20260403T103000',
    ]
    for (const form of forms) expect(readDate(form, 'America/New_York'), form).toBe('2026-04-03')
  })

  test('an instant becomes the day it falls on in the zone of the account', () => {
    expect(readDate('2026-04-03T22:30:00Z', 'Africa/Johannesburg')).toBe('2026-04-04')
    expect(readDate('2026-04-03T02:00:00+02:00', 'America/New_York')).toBe('2026-04-02')
    expect(readDate('2026-04-03T02:00:00+0200', 'UTC')).toBe('2026-04-03')
    expect(readDate('2026-04-03T24:00:00Z', 'UTC')).toBe('2026-04-04')
  })

  test('that does not exist, or lies outside 1900 to 2999, is none', () => {
    const wrong = [
      '31 Feb 2026',
      '2026-02-29',
      '2026-13-01',
      '2026-00-10',
      '2026-04-31',
      '1899-12-31',
      '3000-01-01',
      '2026-04-03T25:00',
      '2026-04-03T10:60',
      '2026-04-03T10:00:60',
      '2026-04-03T10:00+16:00',
      '2999-12-31T23:30:00-01:00',
      'tomorrow',
      '2026-4-3',
      '3 Xyz 2026',
      '',
      '0',
      '1775174400',
      '2026-04-03\u0000',
      '2026-04-03T10',
    ]
    for (const text of wrong) expect(readDate(text, 'UTC'), text).toBeUndefined()
  })

  test('comes back as the same date that was answered, in every zone and on every day of twenty years', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 7300 }), fc.constantFrom(...ZONES), (days, zone) => {
        const date = addDays('2011-01-01', days)
        // Samoa went from the 29th to the 31st: the day in between is answered as the next.
        fc.pre(!(date === '2011-12-30' && zone === 'Pacific/Apia'))
        expect(readDate(dateWithOffset(date, zone), zone)).toBe(date)
        expect(readDate(date, zone)).toBe(date)
        expect(readDate(`${date}T00:00:00`, zone)).toBe(date)
      }),
      { numRuns: 500 },
    )
  })

  test('a midnight that the zone skips, and a day that it skips altogether, keep their date', () => {
    expect(dateWithOffset('2018-11-04', 'America/Sao_Paulo')).toBe('2018-11-04T00:00:00-03:00')
    expect(readDate('2018-11-04T00:00:00', 'America/Sao_Paulo')).toBe('2018-11-04')
    expect(readDate('2011-12-30', 'Pacific/Apia')).toBe('2011-12-30')
  })
})

describe('an instant that arrives', () => {
  test('a date without a time is midnight of the account’s zone', () => {
    expect(readInstant('2026-04-03', 'Africa/Johannesburg')).toBe('2026-04-02T22:00:00.000Z')
    expect(readInstant('03 Apr 2026', 'UTC')).toBe('2026-04-03T00:00:00.000Z')
  })

  test('a time without an offset is of the account’s zone, one with an offset of its own', () => {
    expect(readInstant('2026-07-01T12:00:00', 'America/New_York')).toBe('2026-07-01T16:00:00.000Z')
    expect(readInstant('2026-01-01T12:00:00', 'America/New_York')).toBe('2026-01-01T17:00:00.000Z')
    expect(readInstant('2026-07-01T12:00:00.25+05:30', 'America/New_York')).toBe('2026-07-01T06:30:00.250Z')
  })

  test('impossible ones are none', () => {
    for (const text of ['2026-02-30T00:00:00Z', '1899-12-31T23:00:00Z', '3000-01-01', 'now'])
      expect(readInstant(text, 'UTC'), text).toBeUndefined()
  })
})
