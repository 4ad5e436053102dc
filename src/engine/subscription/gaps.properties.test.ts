import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { decimal } from '../../kernel/decimal.ts'
import type { BillingGap } from './gaps.ts'
import { planThroughGaps } from './gaps.ts'
import { freeSubscription, Life } from './life.testing.ts'
import { cycleFrom } from './period.ts'
import { planSubscriptionDue, type SubscriptionPlan } from './plan-due.ts'
import { planReturn } from './resume.ts'

/**
 * Subscriptions that could not be billed when their customer came back: whenever and however often they are billed later, they owe the same.
 * Without lead days: a period that begins in a gap and was to be invoiced before it is dropped, as in a return that comes on its day.
 */

const START = '2027-01-31'

const term = fc.constantFrom(
  { term: 1, termType: 'months' as const },
  { term: 3, termType: 'months' as const },
  { term: 10, termType: 'days' as const },
)
const given = fc.record({
  shape: term,
  seats: term,
  usage: term,
  runDays: fc.option(fc.integer({ min: 20, max: 300 }), { freq: 3 }),
  isProRata: fc.boolean(),
  // The days before each gap, of it, and until the record is mended.
  waits: fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 3, maxLength: 5 }),
  tries: fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 6 }),
})

function lifeOf({ shape, seats, usage, runDays, isProRata }: typeof given extends fc.Arbitrary<infer T> ? T : never) {
  const price = [{ from: decimal(0), till: null, price: decimal('3.1') }]
  const state = freeSubscription({
    startDate: START,
    cycle: cycleFrom(START, shape.term, shape.termType),
    componentAnchor: START,
    price: decimal(31),
    endDate: runDays === null ? null : addDays(START, runDays),
    isProRata,
    cursor: { feesOn: null, nextFrom: START, lastFrom: null },
  })
  const offer = (componentId: bigint, type: 'quantity' | 'metered', of: typeof seats) => ({
    componentId,
    name: `C${componentId}`,
    type,
    ...of,
    version: { versionId: componentId, scheme: 'unit' as const, list: price },
    quantity: decimal(type === 'metered' ? 0 : 5),
  })
  const life = new Life(state, [offer(21n, 'quantity', seats), offer(22n, 'metered', usage)])
  life.on(START)
  life.use(1, '7')
  return life
}

const chargesOf = (plans: readonly SubscriptionPlan[]): string[] =>
  plans
    .flatMap(({ invoices, credited }) => [...invoices.flatMap(({ charges }) => charges), ...credited])
    .filter(({ netMinor }) => netMinor !== 0n)
    .map(({ kind, itemId, from, until, netMinor }) => `${kind} ${itemId} ${from} ${until} ${netMinor}`)
    .toSorted()

test('through gaps is charged what would have been charged on the days of the returns, in one step or in many', () => {
  fc.assert(
    fc.property(given, (wish) => {
      const { facts } = lifeOf(wish)
      const gaps: BillingGap[] = []
      let day: IsoDate = START
      for (let at = 0; at + 1 < wish.waits.length; at += 2) {
        const from = addDays(day, wish.waits[at]! + 1)
        day = addDays(from, wish.waits[at + 1]!)
        gaps.push({ from, until: day })
      }
      const today = addDays(day, wish.waits.at(-1)!)
      const onTime: SubscriptionPlan[] = []
      const last = () => onTime.at(-1) ?? facts
      for (const { from, until } of gaps) {
        onTime.push(planSubscriptionDue(last(), addDays(from, -1)))
        onTime.push(planReturn(last(), from, until))
      }
      onTime.push(planSubscriptionDue(last(), today))

      const stepwise: SubscriptionPlan[] = []
      let left: readonly BillingGap[] = gaps
      const days = [...wish.tries.map((n) => addDays(START, n)).filter((tried) => tried < today), today].toSorted()
      for (const tried of days) {
        stepwise.push(planThroughGaps(stepwise.at(-1) ?? facts, tried, left))
        left = left.filter(({ until }) => until > tried)
      }
      const inOne = planThroughGaps(facts, today, gaps)
      expect(chargesOf(stepwise)).toEqual(chargesOf(onTime))
      expect(chargesOf([inOne])).toEqual(chargesOf(onTime))
      expect(stepwise.at(-1)!.state).toEqual(inOne.state)
    }),
    { numRuns: 400 },
  )
})
