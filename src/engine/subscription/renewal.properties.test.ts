import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addDays,
  addMonths,
  dateOfDayNumber,
  dayNumberOf,
  daysBetween,
  daysInMonth,
  type IsoDate,
  partsOf,
  type TermType,
} from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { PlannedCharge } from './charges.ts'
import { recomputeCharge } from '../explain.ts'
import { type Cycle, cycleFrom, nextRenewalOnOrAfter, periodContaining, renewalOf } from './period.ts'
import {
  countDuePeriods,
  type Cursor,
  firstCursor,
  nextInvoiceDate,
  type PlannedInvoice,
  resumeAfterGap,
  type SubscriptionTerms,
} from './renewal.ts'
import { planDue } from './renewal.testing.ts'
import { planBeforeGap } from './gap.testing.ts'
import { factsOf } from './life.testing.ts'
import { planNextInvoice } from './plan-due.ts'

const day = fc.integer({ min: dayNumberOf('2024-01-01'), max: dayNumberOf('2029-12-31') }).map(dateOfDayNumber)
const cycle: fc.Arbitrary<Cycle> = fc
  .record({ anchor: day, term: fc.integer({ min: 1, max: 13 }), termType: fc.constantFrom<TermType>('months', 'days') })
  .map(({ anchor, term, termType }) => cycleFrom(anchor, termType === 'days' ? term * 5 : term, termType))

/** Subscriptions of every shape: with and without trial, sync date, end, lead days, fees. */
const subscription: fc.Arbitrary<SubscriptionTerms> = fc
  .record({
    startDate: day,
    trialDays: fc.constantFrom(0, 0, 7, 30),
    syncDays: fc.constantFrom(0, 0, 1, 17, 45, 400),
    runDays: fc.option(fc.integer({ min: 1, max: 900 })),
    isProRata: fc.boolean(),
    leadDays: fc.constantFrom(0, 0, 3, 14, 90),
    shape: cycle,
    coefficient: fc.bigInt({ min: 0n, max: 10n ** 9n }),
    setupFeeMinor: fc.constantFrom(0n, 500n),
    digits: fc.constantFrom(0, 2, 3),
  })
  .map(
    ({ startDate, trialDays, syncDays, runDays, isProRata, leadDays, shape, coefficient, setupFeeMinor, digits }) => {
      const trialEndDate = trialDays === 0 ? null : addDays(startDate, trialDays)
      const isSynced = syncDays > 0 && isProRata
      const anchor = addDays(trialEndDate ?? startDate, isSynced ? syncDays : 0)
      return {
        startDate,
        trialEndDate,
        cycle: cycleFrom(anchor, shape.term, shape.termType),
        endDate: runDays === null ? null : addDays(startDate, runDays),
        isProRata,
        leadDays,
        stretch: 1,
        packageId: 1n,
        packageName: 'Basic',
        price: { coefficient, scale: 4 },
        setupFeeMinor,
        trialFeeMinor: 100n,
        digits,
      }
    },
  )

const horizonOf = (terms: SubscriptionTerms): IsoDate => addDays(terms.startDate, 1_000)

const packageChargesOf = (invoices: readonly PlannedInvoice[]): PlannedCharge[] =>
  invoices.flatMap(({ charges }) => charges).filter(({ kind }) => kind === 'package')

test('whole periods tile: every day lies in exactly one, in both directions from the anchor', () => {
  fc.assert(
    fc.property(cycle, day, (shape, date) => {
      const period = periodContaining(shape, date)
      expect(period.from <= date && date < period.until).toBe(true)
      expect(renewalOf(shape, period.index)).toBe(period.from)
      expect(periodContaining(shape, period.until)).toMatchObject({ from: period.until, index: period.index + 1 })
      expect(periodContaining(shape, addDays(period.from, -1))).toMatchObject({
        until: period.from,
        index: period.index - 1,
      })
      expect(nextRenewalOnOrAfter(shape, date)).toBe(period.from === date ? date : period.until)
    }),
  )
})

test('fifty years of month ends never drift from the anchor', () => {
  for (const start of ['2024-01-31', '2024-02-29', '2025-01-30', '2027-12-28']) {
    const wanted = partsOf(start).day
    for (let k = 0; k <= 600; k += 1) {
      const { year, month, day: found } = partsOf(renewalOf(cycleFrom(start, 1, 'months'), k))
      expect(found).toBe(Math.min(wanted, daysInMonth(year, month)))
      expect(year * 12 + month).toBe(partsOf(start).year * 12 + partsOf(start).month + k)
    }
  }
})

test('what is charged tiles from the first day to the end, without gap or overlap', () => {
  fc.assert(
    fc.property(subscription, (terms) => {
      const { invoices, cursor } = planDue(terms, firstCursor(terms), horizonOf(terms))
      let reached = terms.trialEndDate ?? terms.startDate
      for (const charge of packageChargesOf(invoices)) {
        expect(charge.from).toBe(reached)
        expect(charge.from! < charge.until!).toBe(true)
        expect(charge.wholeFrom! <= charge.from! && charge.until! <= charge.wholeUntil!).toBe(true)
        reached = charge.until!
      }
      expect(cursor.nextFrom).toBe(reached)
      const isOver = terms.endDate !== null && terms.endDate <= reached
      // What ends exactly where its charges end, was charged to the day; without pro rata the last period may reach beyond.
      if (isOver && terms.isProRata && invoices.length > 0 && cursor.lastFrom !== null)
        expect(reached).toBe(terms.endDate)
      if (!isOver) expect(nextInvoiceDate(terms, cursor)! > horizonOf(terms)).toBe(true)
    }),
  )
})

test('a suspension drops days only inside itself, and nothing is charged twice', () => {
  const gap = fc.record({ gapAfter: fc.integer({ min: 0, max: 500 }), gapDays: fc.integer({ min: 0, max: 300 }) })
  fc.assert(
    fc.property(subscription, gap, (terms, { gapAfter, gapDays }) => {
      const gapFrom = addDays(terms.startDate, gapAfter)
      const returnsOn = addDays(gapFrom, gapDays)
      const before = planDue(terms, firstCursor(terms), addDays(gapFrom, -1))
      const owed = planBeforeGap(terms, before.cursor, gapFrom, returnsOn)
      const after = planDue(terms, resumeAfterGap(terms, owed.cursor, gapFrom, returnsOn), horizonOf(terms))
      const invoices = [...before.invoices, ...owed.invoices, ...after.invoices]
      let reached: IsoDate | undefined
      for (const charge of packageChargesOf(invoices)) {
        if (reached !== undefined && charge.from !== reached) {
          expect(charge.from! > reached && reached < returnsOn && charge.from! >= returnsOn).toBe(true)
          expect(reached >= gapFrom, 'a period that began before the gap was charged').toBe(true)
        }
        reached = charge.until!
      }
      expect(invoices.filter(({ charges }) => charges.some(({ kind }) => kind === 'setup')).length <= 1).toBe(true)
    }),
  )
})

test('planning again never bills twice: any sequence of days gives what planning day by day gives', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 8 })
  const withoutDates = (invoices: readonly PlannedInvoice[]) =>
    invoices.map(({ scheduledOn, charges }) => ({ scheduledOn, charges }))
  fc.assert(
    fc.property(subscription, steps, (terms, jumps) => {
      const planned: PlannedInvoice[] = []
      let cursor: Cursor = firstCursor(terms)
      let today = terms.startDate
      const planOn = (date: IsoDate): void => {
        const plan = planDue(terms, cursor, date)
        planned.push(...plan.invoices)
        cursor = plan.cursor
        expect(planDue(terms, cursor, date).invoices).toEqual([])
      }
      for (const jump of jumps) planOn((today = addDays(today, jump)))

      const daily: PlannedInvoice[] = []
      let dailyCursor: Cursor = firstCursor(terms)
      for (let date = terms.startDate; date <= today && jumps.length > 0; date = addDays(date, 1)) {
        const plan = planDue(terms, dailyCursor, date)
        for (const invoice of plan.invoices) expect(invoice.invoiceDate).toBe(invoice.scheduledOn)
        daily.push(...plan.invoices)
        dailyCursor = plan.cursor
      }
      expect(withoutDates(planned)).toEqual(withoutDates(daily))
      expect(cursor).toEqual(dailyCursor)
    }),
    { numRuns: 60 },
  )
})

test('the preview is the invoice that comes on its day, and the shown date is that day', () => {
  fc.assert(
    fc.property(subscription, fc.integer({ min: 0, max: 400 }), (terms, after) => {
      const today = addDays(terms.startDate, after)
      const { cursor } = planDue(terms, firstCursor(terms), today)
      const dueOn = nextInvoiceDate(terms, cursor)
      const preview = planNextInvoice(factsOf(terms, cursor), today)
      if (dueOn === null) {
        expect(preview).toBeUndefined()
        return
      }
      expect(dueOn > today).toBe(true)
      expect(planDue(terms, cursor, addDays(dueOn, -1)).invoices).toEqual([])
      const [next] = planDue(terms, cursor, dueOn).invoices
      // One that comes to 0 is not made, so the preview looks further.
      if (next?.charges.some(({ netMinor }) => netMinor !== 0n)) expect(preview).toEqual(next)
    }),
  )
})

test('counting due periods agrees with planning them', () => {
  fc.assert(
    fc.property(subscription, fc.integer({ min: 0, max: 1_000 }), (terms, after) => {
      const today = addDays(terms.startDate, after)
      const planned = packageChargesOf(planDue(terms, firstCursor(terms), today).invoices).length
      expect(countDuePeriods(terms, firstCursor(terms), today, 1_000)).toBe(Math.min(planned, 1_001))
    }),
  )
})

/** A charge of [from, until) of the whole period, through the same door as every other. */
function partOf(price: Decimal, digits: number, from: IsoDate, until: IsoDate, shape: Cycle): bigint {
  const terms: SubscriptionTerms = {
    startDate: from,
    trialEndDate: null,
    cycle: shape,
    endDate: until,
    isProRata: true,
    leadDays: 0,
    stretch: 1,
    packageId: 1n,
    packageName: 'Basic',
    price,
    setupFeeMinor: 0n,
    trialFeeMinor: 0n,
    digits,
  }
  const charge = planDue(terms, firstCursor(terms), from).invoices[0]!.charges[0]!
  expect(recomputeCharge({ ...charge, digits, currency: 'XXX', brackets: null })).toBe(charge.netMinor)
  return charge.netMinor
}

const absolute = (value: bigint): bigint => (value < 0n ? -value : value)

test('n parts of a period differ from the whole by at most n half minor units, two parts by at most one', () => {
  const price = fc.record({
    coefficient: fc.bigInt({ min: 0n, max: 10n ** 10n }),
    scale: fc.integer({ min: 0, max: 8 }),
  })
  fc.assert(
    fc.property(
      cycle,
      price,
      fc.constantFrom(0, 2, 3),
      fc.array(fc.nat({ max: 400 }), { maxLength: 6 }),
      (shape, exact, digits, cuts) => {
        const whole = periodContaining(shape, shape.anchor)
        const days = daysBetween(whole.from, whole.until)
        const edges = [...new Set([0, ...cuts.map((cut) => cut % days), days])].toSorted((a, b) => a - b)
        const parts = edges
          .slice(1)
          .map((edge, index) =>
            partOf(exact, digits, addDays(whole.from, edges[index]!), addDays(whole.from, edge), shape),
          )
        const sum = parts.reduce((total, part) => total + part, 0n)
        const difference = absolute(sum - partOf(exact, digits, whole.from, whole.until, shape))
        // The whole is rounded too, which adds its own half unit to those of the parts.
        if (parts.length > 1) expect(difference * 2n <= BigInt(parts.length + 1)).toBe(true)
        if (parts.length === 2) expect(difference <= 1n).toBe(true)
      },
    ),
  )
})

test('a month added to a month end is what the calendar says, whatever lies between', () => {
  expect(addMonths('2024-01-31', 1)).toBe('2024-02-29')
  expect(addMonths('2024-01-31', 13)).toBe('2025-02-28')
})
