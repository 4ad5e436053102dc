import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addDays } from '../../kernel/calendar.ts'
import { endsTries, type SentDebit, repeatStanding } from './repeats.ts'

const on = (day: number) => addDays('2027-01-05', day)
const sent = (day: number, code: string | null, amountMinor = 11_500n, account = 'a'): SentDebit => ({
  actionDate: on(day),
  code,
  amountMinor,
  account,
})
const next = (day: number, amountMinor = 11_500n, account = 'a') => ({ actionDate: on(day), amountMinor, account })

test.each<[string, SentDebit[], ReturnType<typeof next>, string]>([
  ['the first', [], next(0), 'new'],
  ['after one that was paid', [sent(0, null)], next(5), 'new'],
  ['after R01', [sent(0, 'R01')], next(5), 'repeat'],
  ['after R09', [sent(0, 'R09')], next(5), 'repeat'],
  ['of another amount after R01', [sent(0, 'R01')], next(5, 11_000n), 'new'],
  ['after another code', [sent(0, 'R02')], next(5), 'new'],
  ['after two of R01', [sent(0, 'R01'), sent(5, 'R01')], next(10), 'repeat'],
  ['after three of R01', [sent(0, 'R01'), sent(5, 'R01'), sent(10, 'R01')], next(15), 'too_many'],
  [
    'after three, whatever the amounts',
    [sent(0, 'R01'), sent(5, 'R01', 1n), sent(10, 'R09', 2n)],
    next(15, 3n),
    'too_many',
  ],
  ['on the 180th day', [sent(0, 'R01'), sent(5, 'R01'), sent(10, 'R01')], next(180), 'too_many'],
  ['on the 181st day', [sent(0, 'R01'), sent(5, 'R01'), sent(10, 'R01')], next(181), 'new'],
  ['of another account', [sent(0, 'R01'), sent(5, 'R01'), sent(10, 'R01')], next(15, 11_500n, 'b'), 'new'],
  ['after one that was paid between', [sent(0, 'R01'), sent(5, null), sent(40, 'R01')], next(45), 'repeat'],
])('a debit %s', (_what, debits, debit, standing) => {
  expect(repeatStanding(debits, debit)).toBe(standing)
})

test.each<[SentDebit[], boolean]>([
  [[], false],
  [[sent(0, null)], false],
  [[sent(0, 'R01')], false],
  [[sent(0, 'R01'), sent(5, 'R09')], false],
  [[sent(0, 'R01'), sent(5, 'R01'), sent(10, 'R01')], true],
  [[sent(0, 'R01'), sent(5, 'R01'), sent(181, 'R01')], false],
  [[sent(0, 'R23')], true],
  [[sent(0, 'R99')], true],
  [[sent(0, 'R01'), sent(5, 'R06')], true],
  // No code of ACH: a person has recorded it in words.
  [[sent(0, 'AM04')], false],
])('tries end or go on by the newest debit, case %#', (debits, ends) => {
  expect(endsTries(debits)).toBe(ends)
})

test('whatever comes back, of an account no debit is made a third time again within 180 days', () => {
  const answer = fc.constantFrom('R01', 'R09', 'R01', null)
  fc.assert(
    fc.property(
      fc.array(fc.record({ days: fc.integer({ min: 1, max: 90 }), code: answer }), { maxLength: 12 }),
      (steps) => {
        const debits: SentDebit[] = []
        let day = 0
        for (const { days, code } of steps) {
          day += days
          if (repeatStanding(debits, next(day)) !== 'too_many') debits.push(sent(day, code))
        }
        for (const [index, first] of debits.entries()) {
          if (index > 0 && debits[index - 1]?.code !== null) continue
          let [repeats, place] = [0, index]
          while (
            debits[place]?.code != null &&
            debits[place + 1] &&
            debits[place + 1]!.actionDate <= addDays(first.actionDate, 180)
          ) {
            repeats += 1
            place += 1
          }
          expect(repeats).toBeLessThanOrEqual(2)
        }
      },
    ),
  )
})
