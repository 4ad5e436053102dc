import { describe, expect, test } from 'vitest'
import { factsOf } from './life.testing.ts'
import { planNextInvoice } from './plan-due.ts'
import { decimal } from '../../kernel/decimal.ts'
import {
  type Cursor,
  countDuePeriods,
  firstCursor,
  nextInvoiceDate,
  nextRenewDate,
  resumeAfterGap,
  type SubscriptionTerms,
} from './renewal.ts'
import { planDue } from './renewal.testing.ts'
import { planBeforeGap } from './gap.testing.ts'
import { cycleFrom } from './period.ts'

/** A package of 31.00 a month, so that a day of a long month is 1.00. */
const P31: SubscriptionTerms = {
  startDate: '2027-01-01',
  trialEndDate: null,
  cycle: cycleFrom('2027-01-01', 1, 'months'),
  endDate: null,
  isProRata: true,
  leadDays: 0,
  stretch: 1,
  packageId: 7n,
  packageName: 'Basic',
  price: decimal('31'),
  setupFeeMinor: 0n,
  trialFeeMinor: 0n,
  digits: 2,
}

/** Every invoice until a day, one row each: scheduled day, then kind, days and amount of each charge. */
function rowsOf(terms: SubscriptionTerms, today: string, cursor: Cursor = firstCursor(terms)): string[] {
  return planDue(terms, cursor, today).invoices.map(
    ({ scheduledOn, charges }) =>
      `${scheduledOn}: ` +
      charges
        .map(({ kind, from, until, netMinor }) =>
          from === null ? `${kind} ${netMinor}` : `${from}..${until} ${netMinor}`,
        )
        .join(' + '),
  )
}

describe('a subscription in time', () => {
  test('every period that is due gets an invoice of its own, dated today when it is late', () => {
    const { invoices, cursor } = planDue(P31, firstCursor(P31), '2027-03-15')
    expect(invoices.map(({ scheduledOn, invoiceDate, dueFrom }) => [scheduledOn, invoiceDate, dueFrom])).toEqual([
      ['2027-01-01', '2027-03-15', '2027-03-15'],
      ['2027-02-01', '2027-03-15', '2027-03-15'],
      ['2027-03-01', '2027-03-15', '2027-03-15'],
    ])
    expect(cursor).toEqual({ feesOn: null, nextFrom: '2027-04-01', lastFrom: '2027-03-01' })
  })

  test('set-up fee and first period stand on one invoice', () => {
    expect(rowsOf({ ...P31, setupFeeMinor: 500n, trialFeeMinor: 900n }, '2027-02-01')).toEqual([
      '2027-01-01: setup 500 + 2027-01-01..2027-02-01 3100',
      '2027-02-01: 2027-02-01..2027-03-01 3100',
    ])
  })

  test('in a trial only fees are charged until it ends', () => {
    const trial = {
      ...P31,
      trialEndDate: '2027-01-15',
      cycle: cycleFrom('2027-01-15', 1, 'months'),
      setupFeeMinor: 500n,
      trialFeeMinor: 900n,
    }
    expect(rowsOf(trial, '2027-01-14')).toEqual(['2027-01-01: setup 500 + trial 900'])
    expect(rowsOf(trial, '2027-02-14')).toEqual([
      '2027-01-01: setup 500 + trial 900',
      '2027-01-15: 2027-01-15..2027-02-15 3100',
    ])
    expect(rowsOf({ ...trial, endDate: '2027-01-10' }, '2028-01-01')).toEqual(['2027-01-01: setup 500 + trial 900'])
  })

  test('days before the sync date are a part of the whole period counted back from it', () => {
    const synced = {
      ...P31,
      startDate: '2027-02-11',
      cycle: cycleFrom('2027-03-01', 1, 'months'),
      price: decimal('28'),
    }
    expect(rowsOf(synced, '2027-03-01')).toEqual([
      '2027-02-11: 2027-02-11..2027-03-01 1800',
      '2027-03-01: 2027-03-01..2027-04-01 2800',
    ])
    expect(rowsOf({ ...synced, endDate: '2027-02-20' }, '2027-12-01')).toEqual([
      '2027-02-11: 2027-02-11..2027-02-20 900',
    ])
  })

  test('an end date cuts the charge by the day when pro rata, and not at all otherwise', () => {
    expect(rowsOf({ ...P31, endDate: '2027-01-11' }, '2027-12-01')).toEqual(['2027-01-01: 2027-01-01..2027-01-11 1000'])
    expect(rowsOf({ ...P31, endDate: '2027-01-11', isProRata: false }, '2027-12-01')).toEqual([
      '2027-01-01: 2027-01-01..2027-02-01 3100',
    ])
  })

  test('lead days bring renewals forward, never the first period and never before the period before', () => {
    expect(rowsOf({ ...P31, leadDays: 7 }, '2027-02-22')).toEqual([
      '2027-01-01: 2027-01-01..2027-02-01 3100',
      '2027-01-25: 2027-02-01..2027-03-01 3100',
      '2027-02-22: 2027-03-01..2027-04-01 3100',
    ])
    expect(rowsOf({ ...P31, leadDays: 90 }, '2027-02-01')).toEqual([
      '2027-01-01: 2027-01-01..2027-02-01 3100',
      '2027-01-01: 2027-02-01..2027-03-01 3100',
      '2027-02-01: 2027-03-01..2027-04-01 3100',
    ])
    const ahead = planDue({ ...P31, leadDays: 7 }, firstCursor(P31), '2027-01-25').invoices.at(-1)
    expect(ahead).toMatchObject({ invoiceDate: '2027-01-25', dueFrom: '2027-02-01' })
  })

  test('a subscription that starts again is invoiced on its day, although older periods were invoiced before', () => {
    const again = { ...P31, leadDays: 7 }
    expect(nextInvoiceDate(again, { feesOn: null, nextFrom: '2027-01-01', lastFrom: '2026-12-01' })).toBe('2027-01-01')
  })

  test('a period invoiced ahead has its own invoice, also on a day on which fees come', () => {
    const cursor: Cursor = { feesOn: '2027-01-25', nextFrom: '2027-02-01', lastFrom: '2027-01-01' }
    expect(rowsOf({ ...P31, leadDays: 7, setupFeeMinor: 500n }, '2027-01-25', cursor)).toEqual([
      '2027-01-25: setup 500',
      '2027-01-25: 2027-02-01..2027-03-01 3100',
    ])
  })

  test('a period of price zero counts as billed', () => {
    const free = { ...P31, price: decimal('0') }
    expect(rowsOf(free, '2027-02-01')).toEqual([
      '2027-01-01: 2027-01-01..2027-02-01 0',
      '2027-02-01: 2027-02-01..2027-03-01 0',
    ])
  })

  test('the next dates are null once nothing will follow', () => {
    const ended = { ...P31, endDate: '2027-02-01' }
    const { cursor } = planDue(ended, firstCursor(ended), '2027-01-01')
    expect(nextInvoiceDate(ended, cursor)).toBeNull()
    expect(nextRenewDate(ended, cursor)).toBeNull()
    expect(planNextInvoice(factsOf(ended, cursor), '2027-01-01')).toBeUndefined()
    expect(
      nextInvoiceDate({ ...P31, setupFeeMinor: 1n, endDate: '2026-12-01' }, firstCursor({ ...P31, setupFeeMinor: 1n })),
    ).toBeNull()
  })

  test('a preview shows the next invoice with its own date, or today when that has passed', () => {
    const cursor = planDue(P31, firstCursor(P31), '2027-01-01').cursor
    expect(planNextInvoice(factsOf({ ...P31, leadDays: 7 }, cursor), '2027-01-02')).toMatchObject({
      scheduledOn: '2027-01-25',
      invoiceDate: '2027-01-25',
      dueFrom: '2027-02-01',
    })
    expect(planNextInvoice(factsOf(P31, cursor), '2027-02-05')).toMatchObject({
      scheduledOn: '2027-02-01',
      invoiceDate: '2027-02-05',
    })
  })

  test('counting due periods stops one beyond the bound', () => {
    const daily = { ...P31, cycle: cycleFrom('2027-01-01', 1, 'days') }
    expect(countDuePeriods(daily, firstCursor(daily), '2027-01-10', 1000)).toBe(10)
    expect(countDuePeriods(daily, firstCursor(daily), '2037-01-10', 1000)).toBe(1001)
  })
})

describe('after a suspension', () => {
  const billed: Cursor = { feesOn: null, nextFrom: '2027-02-01', lastFrom: '2027-01-01' }

  test('periods that begin in it are dropped and billing goes on at the next renewal', () => {
    expect(resumeAfterGap(P31, billed, '2027-01-20', '2027-03-15')).toEqual({ ...billed, nextFrom: '2027-04-01' })
    expect(resumeAfterGap(P31, billed, '2027-01-20', '2027-03-01')).toEqual({ ...billed, nextFrom: '2027-03-01' })
    expect(resumeAfterGap(P31, billed, '2027-01-10', '2027-01-20')).toEqual(billed)
  })

  test('the rest of a long period is charged by the day, on the day of return whatever the lead days', () => {
    const yearly = { ...P31, cycle: cycleFrom('2027-01-01', 12, 'months'), leadDays: 30, price: decimal('366') }
    const cursor = resumeAfterGap(
      yearly,
      { feesOn: null, nextFrom: '2028-01-01', lastFrom: '2027-01-01' },
      '2027-12-01',
      '2028-12-22',
    )
    expect(cursor.nextFrom).toBe('2028-12-22')
    expect(nextInvoiceDate(yearly, cursor)).toBe('2028-12-22')
    expect(rowsOf(yearly, '2028-12-22', cursor)).toEqual([
      '2028-12-22: 2028-12-22..2029-01-01 1000',
      '2028-12-22: 2029-01-01..2030-01-01 36600',
    ])
  })

  test('fees not yet charged come on the day of return, with the period of that day', () => {
    const future = { ...P31, startDate: '2027-03-01', cycle: cycleFrom('2027-03-01', 1, 'months'), setupFeeMinor: 500n }
    expect(
      rowsOf(future, '2027-06-30', resumeAfterGap(future, firstCursor(future), '2027-02-01', '2027-05-10')),
    ).toEqual(['2027-05-10: setup 500', '2027-06-01: 2027-06-01..2027-07-01 3100'])
    expect(
      rowsOf(future, '2027-05-01', resumeAfterGap(future, firstCursor(future), '2027-02-01', '2027-05-01')),
    ).toEqual(['2027-05-01: setup 500 + 2027-05-01..2027-06-01 3100'])
  })

  test('what fell due before it and was not invoiced stays due', () => {
    const owed = planBeforeGap(
      { ...P31, setupFeeMinor: 500n },
      firstCursor({ ...P31, setupFeeMinor: 500n }),
      '2027-02-15',
      '2027-04-10',
    )
    expect(owed.invoices.map(({ scheduledOn, charges }) => [scheduledOn, charges.length])).toEqual([
      ['2027-01-01', 2],
      ['2027-02-01', 1],
    ])
    expect(resumeAfterGap(P31, owed.cursor, '2027-02-15', '2027-04-10').nextFrom).toBe('2027-05-01')
    expect(() => resumeAfterGap(P31, firstCursor(P31), '2027-02-15', '2027-04-10')).toThrow('assertion failed')
  })
})
