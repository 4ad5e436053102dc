import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addDays, type IsoDate, later } from '../../kernel/calendar.ts'
import { decimal } from '../../kernel/decimal.ts'
import type { ComponentOffer, SubscriptionFacts } from './components.ts'
import { nextInvoiceOn } from './deferred.ts'
import { freeSubscription, Life } from './life.testing.ts'
import { cycleFrom } from './period.ts'
import { planNextInvoice, planSubscriptionDue } from './plan-due.ts'
import type { PlannedInvoice } from './renewal.ts'

/** The next invoice is found by leaping over what costs nothing; here it is compared with looking at every day on which something falls due. */

const LOOKS_MAX = 300

function lookedFor(facts: SubscriptionFacts, today: IsoDate): PlannedInvoice | undefined {
  let reached = facts
  let on = today
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const next = nextInvoiceOn(reached, on)
    if (next === null) return undefined
    on = later(next, on)
    const plan = planSubscriptionDue(reached, on)
    const made = plan.invoices.find(({ charges }) => charges.some(({ netMinor }) => netMinor !== 0n))
    if (made) return made
    reached = plan
    if (plan.invoices.length === 0 && plan.credited.length === 0) on = addDays(on, 1)
  }
  return undefined
}

const offerOf = (
  id: bigint,
  wish: { term: number; type: 'quantity' | 'metered'; quantity: number },
): ComponentOffer => ({
  componentId: id,
  name: `C${id}`,
  type: wish.type,
  term: wish.term,
  termType: wish.term > 12 ? 'days' : 'months',
  version: { versionId: id, scheme: 'unit', list: [{ from: decimal('0'), till: null, price: decimal('3.1') }] },
  quantity: decimal(String(wish.quantity)),
})

const wishes = fc.record({
  term: fc.constantFrom(1, 3, 12, 20),
  type: fc.constantFrom('quantity' as const, 'metered' as const),
  quantity: fc.constantFrom(0, 0, 2),
})

test('leaping over what is free finds the invoice that looking at every day finds', () => {
  fc.assert(
    fc.property(
      fc.record({
        price: fc.constantFrom('0', '0', '31'),
        term: fc.constantFrom(1, 3, 12, 20),
        leadDays: fc.constantFrom(0, 7, 30, 90),
        isProRata: fc.boolean(),
        endsAfter: fc.option(fc.integer({ min: 10, max: 900 }), { nil: null }),
        days: fc.integer({ min: 0, max: 200 }),
        components: fc.array(wishes, { maxLength: 3 }),
        usage: fc.integer({ min: 0, max: 3 }),
      }),
      ({ price, term, leadDays, isProRata, endsAfter, days, components, usage }) => {
        const start = '2027-01-01'
        const life = new Life(
          freeSubscription({
            price: decimal(price),
            cycle: cycleFrom(start, term, term > 12 ? 'days' : 'months'),
            leadDays,
            isProRata,
            endDate: endsAfter === null ? null : addDays(start, endsAfter),
          }),
          components.map((wish, index) => offerOf(BigInt(index + 1), wish)),
        )
        life.on(start)
        const today = addDays(start, days)
        life.on(today)
        const metered = components.findIndex(({ type }) => type === 'metered')
        if (metered >= 0 && usage > 0 && (endsAfter === null || days < endsAfter)) life.use(metered, String(usage))
        expect(planNextInvoice(life.facts, today)).toEqual(lookedFor(life.facts, today))
      },
    ),
    { numRuns: 100 },
  )
})
