import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addDays } from '../kernel/calendar.ts'
import { cycleFrom } from './subscription/period.ts'
import {
  changedCycle,
  countRecurringDue,
  nextRecurringInvoice,
  planNextRecurring,
  planRecurringDue,
  planRecurringThroughGaps,
  recurringStatus,
  type RecurringTerms,
  resumeRecurring,
} from './recurring.ts'

const monthly = (start: string, more: Partial<RecurringTerms> = {}): RecurringTerms => ({
  cycle: cycleFrom(start, 1, 'months'),
  endDate: null,
  leadDays: 0,
  ...more,
})
const first = (start: string) => ({ nextFrom: start, lastFrom: null })
const starts = (plan: { periods: { period: { from: string } }[] }) => plan.periods.map(({ period }) => period.from)

describe('what is due', () => {
  test('every period begun is due once, counted from the anchor without drift', () => {
    const plan = planRecurringDue(monthly('2027-01-31'), first('2027-01-31'), '2027-04-30')
    expect(starts(plan)).toEqual(['2027-01-31', '2027-02-28', '2027-03-31', '2027-04-30'])
    expect(plan.cursor).toEqual({ nextFrom: '2027-05-31', lastFrom: '2027-04-30' })
    expect(planRecurringDue(monthly('2027-01-31'), plan.cursor, '2027-04-30').periods).toEqual([])
  })

  test('late periods are dated today, and payment terms count from then', () => {
    const [late] = planRecurringDue(monthly('2027-01-01'), first('2027-01-01'), '2027-01-20').periods
    expect(late).toMatchObject({ scheduledOn: '2027-01-01', invoiceDate: '2027-01-20', dueFrom: '2027-01-20' })
  })

  test('a period that begins before the end is never cut, one that begins on it is not invoiced', () => {
    const cut = planRecurringDue(monthly('2027-01-01', { endDate: '2027-02-02' }), first('2027-01-01'), '2027-12-31')
    expect(cut.periods.at(-1)?.period).toEqual({ from: '2027-02-01', until: '2027-03-01' })
    const even = planRecurringDue(monthly('2027-01-01', { endDate: '2027-02-01' }), first('2027-01-01'), '2027-12-31')
    expect(starts(even)).toEqual(['2027-01-01'])
  })

  test('lead days move renewals, not the first invoice, and never before the period before begins', () => {
    const terms = monthly('2027-01-01', { leadDays: 7 })
    expect(nextRecurringInvoice(terms, first('2027-01-01'))).toBe('2027-01-01')
    const ahead = planNextRecurring(terms, { nextFrom: '2027-02-01', lastFrom: '2027-01-01' }, '2027-01-02')
    expect(ahead).toMatchObject({ invoiceDate: '2027-01-25', dueFrom: '2027-02-01' })
    const daily = { ...terms, cycle: cycleFrom('2027-01-01', 3, 'days') }
    expect(nextRecurringInvoice(daily, { nextFrom: '2027-01-07', lastFrom: '2027-01-04' })).toBe('2027-01-04')
  })

  test('counting stops one beyond the bound', () => {
    const terms = { ...monthly('2000-01-01'), cycle: cycleFrom('2000-01-01', 1, 'days') }
    expect(countRecurringDue(terms, first('2000-01-01'), '2027-01-01', 1000)).toBe(1001)
    expect(countRecurringDue(terms, first('2026-12-31'), '2027-01-01', 1000)).toBe(2)
  })
})

describe('gaps and changes', () => {
  test('periods that begin in a gap are dropped whole, those before it stay due', () => {
    const terms = monthly('2027-01-01')
    const through = (until: string, dueBy = until) =>
      planRecurringThroughGaps(terms, first('2027-01-01'), [{ from: '2027-02-01', until }], dueBy, dueBy)
    expect(starts(through('2027-04-10'))).toEqual(['2027-01-01'])
    expect(through('2027-04-10').cursor).toEqual({ nextFrom: '2027-05-01', lastFrom: '2027-01-01' })
    expect(starts(through('2027-04-01'))).toEqual(['2027-01-01', '2027-04-01'])
  })

  test('billed later, what a return would have brought is due, then what fell due since; a day inside the gap brings only what began before', () => {
    const gaps = [
      { from: '2027-02-10', until: '2027-04-10' },
      { from: '2027-05-20', until: '2027-07-01' },
    ]
    const through = (dueBy: string) =>
      planRecurringThroughGaps(monthly('2027-01-01'), first('2027-01-01'), gaps, dueBy, '2027-08-15')
    expect(starts(through('2027-02-05'))).toEqual(['2027-01-01', '2027-02-01'])
    expect(starts(through('2027-03-05'))).toEqual(['2027-01-01', '2027-02-01'])
    expect(through('2027-03-05').cursor.nextFrom).toBe('2027-03-01')
    expect(starts(through('2027-08-15'))).toEqual([
      '2027-01-01',
      '2027-02-01',
      '2027-05-01',
      '2027-07-01',
      '2027-08-01',
    ])
    expect(through('2027-08-15').periods.every(({ invoiceDate }) => invoiceDate === '2027-08-15')).toBe(true)
  })

  test('what was invoiced ahead is not invoiced again after a gap', () => {
    const cursor = { nextFrom: '2027-06-01', lastFrom: '2027-05-01' }
    expect(resumeRecurring(monthly('2027-01-01'), cursor, '2027-04-10')).toBe(cursor)
  })

  test('another term counts from the next renewal and keeps the day of the month', () => {
    const cycle = changedCycle(cycleFrom('2027-01-31', 1, 'months'), '2027-02-28', { term: 3, termType: 'months' })
    expect(
      starts(
        planRecurringDue(
          { ...monthly('2027-01-31'), cycle },
          { nextFrom: '2027-02-28', lastFrom: '2027-01-31' },
          '2027-08-31',
        ),
      ),
    ).toEqual(['2027-02-28', '2027-05-31', '2027-08-31'])
    expect(
      changedCycle(cycleFrom('2027-01-31', 10, 'days'), '2027-02-10', { term: 1, termType: 'months' }).dayOfMonth,
    ).toBe(10)
  })
})

test('the status is told from dates, a cancellation first', () => {
  const facts = { today: '2027-02-01', startDate: '2027-01-01', endDate: null, cancelledOn: null }
  expect(recurringStatus(facts)).toBe('Active')
  expect(recurringStatus({ ...facts, startDate: '2027-02-02' })).toBe('Future')
  expect(recurringStatus({ ...facts, endDate: '2027-02-01' })).toBe('Expired')
  expect(recurringStatus({ ...facts, endDate: '2027-02-01', cancelledOn: '2027-01-15' })).toBe('Cancelled')
})

test('living through days one by one makes what one late run makes, and no day is covered twice or left out', () => {
  const day = fc.integer({ min: 0, max: 400 }).map((days) => addDays('2027-01-01', days))
  const cycle = fc.record({
    term: fc.integer({ min: 1, max: 40 }),
    termType: fc.constantFrom('months' as const, 'days' as const),
  })
  fc.assert(
    fc.property(
      day,
      cycle,
      fc.integer({ min: 0, max: 90 }),
      fc.integer({ min: 1, max: 200 }),
      (start, { term, termType }, leadDays, length) => {
        const terms: RecurringTerms = {
          cycle: cycleFrom(start, term, termType),
          leadDays,
          endDate: addDays(start, length),
        }
        const lastDay = addDays(start, length + 10)
        const late = planRecurringDue(terms, first(start), lastDay)
        const lived: string[] = []
        let cursor: Parameters<typeof planRecurringDue>[1] = first(start)
        for (let today = start; today <= lastDay; today = addDays(today, 1)) {
          const plan = planRecurringDue(terms, cursor, today)
          lived.push(...starts(plan))
          cursor = plan.cursor
        }
        expect(lived).toEqual(starts(late))
        late.periods.forEach(({ period }, index) => {
          expect(period.from).toBe(index === 0 ? start : late.periods[index - 1]?.period.until)
          expect(period.from < (terms.endDate as string)).toBe(true)
        })
      },
    ),
    { numRuns: 200 },
  )
})
