import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { deferredByMonth } from './deferred.ts'

/** Deferred amounts by month, figure by figure. */

const GOLDEN = `
  net     credited  from        until       given back  date        months                              why
  129000  0         2026-10-01  2027-10-01  -           2026-10-31  334 days                            1,180.44 of 1,290.00: 334 of 365 days
  31000   0         2026-10-01  2026-11-01  -           2026-10-15  2026-10 16000                       the 16th until the 31st
  31000   17000     2026-10-01  2026-11-01  2026-10-15  2026-10-31  -                                   cancelled on the 15th: 140.00 belongs to 1 to 14 October
  31000   17000     2026-10-01  2026-11-01  2026-10-15  2026-10-15  -                                   the same on the day itself
  31000   17000     2026-10-01  2026-11-01  2026-10-15  2026-10-10  2026-10 4000                        4 of 14 days are left
  31000   3100      2026-10-01  2026-11-01  -           2026-10-15  2026-10 14400                       a credit without days lowers every day
  31000   31000     2026-10-01  2026-11-01  2026-10-01  2026-10-15  -                                   all of it was given back
  31000   0         2026-11-01  2026-12-01  -           2026-10-15  2026-11 31000                       invoiced ahead
  31000   0         2026-09-01  2026-10-01  -           2026-09-30  -                                   all days have passed
  100     0         2026-10-31  2026-12-01  -           2026-10-31  2026-11 97                          97 of 100: 30 of 31 days, 96.77
  3       0         2026-10-31  2027-01-01  -           2026-10-30  2026-11 1, 2026-12 2                31 days of 62 are 1.5, a half away from zero: 2 are left
  -31000  0         2026-10-01  2026-11-01  -           2026-10-15  2026-10 -16000                      a discount is deferred as a charge is
  0       0         2026-10-01  2026-11-01  -           2026-10-15  -                                   nothing of nothing`

const rows = GOLDEN.trim()
  .split('\n')
  .slice(1)
  .map((line) => line.trim().split(/\s{2,}/) as [string, string, string, string, string, string, string, string])

const monthsOf = (charge: Parameters<typeof deferredByMonth>[0], date: IsoDate): string =>
  deferredByMonth(charge, date)
    .map(({ month, amountMinor }) => `${month} ${amountMinor}`)
    .join(', ') || '-'

describe('deferred', () => {
  test.each(rows)(
    '%s less %s of %s to %s, given back %s, on %s: %s (%s)',
    (net, credited, from, until, back, date, months) => {
      const givenBackFrom = back === '-' ? null : back
      const charge = { netMinor: BigInt(net), creditedMinor: BigInt(credited), from, until, givenBackFrom }
      const expected =
        months === '334 days'
          ? '2026-11 10603, 2026-12 10956, 2027-01 10956, 2027-02 9896, 2027-03 10956, 2027-04 10603, 2027-05 10956, 2027-06 10603, 2027-07 10956, 2027-08 10956, 2027-09 10603'
          : months
      expect(monthsOf(charge, date)).toBe(expected)
    },
  )
})

const day = fc.integer({ min: 0, max: 900 }).map((number) => addDays('2026-01-01', number))

test('months come to round(what is left × days after ÷ days), and later dates only take away months that have passed', () => {
  const property = fc.property(
    fc.record({ net: fc.bigInt({ min: -99_999n, max: 999_999n }), credited: fc.bigInt({ min: 0n, max: 9999n }) }),
    day,
    fc.integer({ min: 1, max: 800 }),
    fc.option(fc.integer({ min: 0, max: 800 })),
    day,
    ({ net, credited }, from, days, back, date) => {
      const givenBackFrom = back === null ? null : addDays(from, back)
      const charge = { netMinor: net, creditedMinor: credited, from, until: addDays(from, days), givenBackFrom }
      const until = givenBackFrom !== null && back! < days ? back! : days
      const months = deferredByMonth(charge, date)
      const sum = months.reduce((all, { amountMinor }) => all + amountMinor, 0n)
      const passed = Math.min(Math.max((Date.parse(date) - Date.parse(from)) / 86_400_000 + 1, 0), until)
      const exact = until === 0 ? 0 : (Number(net - credited) * (until - passed)) / until
      expect(Math.abs(Number(sum) - exact)).toBeLessThanOrEqual(0.5)
      const endOfMonth = addDays(`${date.slice(0, 7)}-01`, 45).slice(0, 8) + '01'
      const later = deferredByMonth(charge, addDays(endOfMonth, -1))
      expect(later).toEqual(months.filter(({ month }) => `${month}-01` >= endOfMonth))
    },
  )
  fc.assert(property, { numRuns: 500, seed: 12 })
})
