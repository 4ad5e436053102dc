import { describe, expect, test } from 'vitest'
import { addDays } from '../../kernel/calendar.ts'
import { decimal, ONE, ZERO } from '../../kernel/decimal.ts'
import { Fault } from '../../kernel/fault.ts'
import { minorText } from '../../kernel/money.ts'
import { creditsText, keepCredits } from './book.testing.ts'
import { freeSubscription as subscription, Life, madeRows as rows } from './life.testing.ts'
import { changeAtRenewal, changeEndDate, changeNow, dropPending } from './changes.ts'
import { attachComponent, changeVersion, type ComponentOffer, leaveOut, reattachComponent } from './components.ts'
import { planCreditNotes } from './credits.ts'
import { givenBackAtEnd } from './cancel.ts'
import { nextInvoiceOn } from './deferred.ts'
import { cancelSubscription, modifyComponents, reactivateSubscription, withComponents } from './component-changes.ts'
import { cycleFrom } from './period.ts'
import { planNextInvoice, planSubscriptionDue } from './plan-due.ts'
import { planReturn } from './resume.ts'
import { cycleOfUsage, nextTotal } from './usage.ts'

const seats: ComponentOffer = {
  componentId: 21n,
  name: 'Seats',
  type: 'quantity',
  term: 1,
  termType: 'months',
  version: { versionId: 1n, scheme: 'unit', list: [{ from: ZERO, till: null, price: decimal('3.10') }] },
  quantity: decimal('5'),
}
const TIERS = [
  { from: ONE, till: decimal('10'), price: decimal('5') },
  { from: decimal('11'), till: null, price: decimal('4') },
]
const messages: ComponentOffer = {
  ...seats,
  componentId: 22n,
  name: 'Messages',
  type: 'metered',
  version: { versionId: 2n, scheme: 'tiered', list: TIERS },
  quantity: ZERO,
}

describe('a quantity', () => {
  test('is charged in advance; a rise from the highest so far, a fall from the next cycle', () => {
    const life = new Life(subscription(), [seats])
    expect(life.on('2027-01-01')).toEqual(['2027-01-01: component 01-01..02-01 15.50'])
    life.on('2027-01-11')
    life.quantity(0, '10')
    life.on('2027-01-15')
    life.quantity(0, '4')
    life.on('2027-01-20')
    life.quantity(0, '8')
    expect(life.on('2027-01-31')).toEqual([])
    expect(life.on('2027-02-01')).toEqual(['2027-02-01: component 02-01..03-01 24.80 + rise 01-11..02-01 10.50'])
  })

  test('that rises is charged for the whole cycle without pro rata, and for every cycle invoiced ahead', () => {
    const life = new Life(subscription({ isProRata: false, leadDays: 7 }), [seats])
    expect(life.on('2027-01-27')).toEqual([
      '2027-01-01: component 01-01..02-01 15.50',
      '2027-01-25: component 02-01..03-01 15.50',
    ])
    life.quantity(0, '10')
    expect(life.on('2027-01-27', { extrasNow: true })).toEqual([
      '2027-01-27: rise 01-01..02-01 15.50 + rise 02-01..03-01 15.50',
    ])
    expect(life.on('2027-02-22')).toEqual(['2027-02-22: component 03-01..04-01 31.00'])
  })

  test('owes at once when the next invoice is more than 31 days away', () => {
    const yearly = subscription({ cycle: cycleFrom('2027-01-01', 1, 'months'), price: ZERO })
    const life = new Life({ ...yearly, cycle: cycleFrom('2027-01-01', 12, 'months') }, [{ ...seats, term: 12 }])
    life.on('2027-01-01')
    life.on('2027-03-01')
    life.quantity(0, '6')
    expect(nextInvoiceOn(life.facts, '2027-03-01')).toBe('2027-03-01')
    expect(life.on('2027-03-01')).toEqual(['2027-03-01: rise 03-01..01-01 2.60'])
    life.on('2027-12-01')
    life.quantity(0, '7')
    expect(life.on('2027-12-01')).toEqual([])
    expect(life.on('2028-01-01')).toEqual(['2028-01-01: component 01-01..01-01 21.70 + rise 12-01..01-01 0.26'])
  })

  test('of a volume price that falls below what is charged owes nothing until it costs more', () => {
    const volume = {
      ...seats,
      version: { versionId: 9n, scheme: 'volume' as const, list: TIERS },
      quantity: decimal('10'),
    }
    const life = new Life(subscription(), [volume])
    life.on('2027-01-01')
    life.quantity(0, '11')
    life.quantity(0, '13')
    expect(life.on('2027-02-01')).toEqual(['2027-02-01: component 02-01..03-01 52.00 + rise 01-01..02-01 2.00'])
  })

  test('stands in one line a bracket, and in one line when it is cut or flat', () => {
    const tiered = { ...seats, version: messages.version, quantity: decimal('13') }
    const flat = {
      ...seats,
      componentId: 23n,
      version: { versionId: 3n, scheme: 'stairstep' as const, list: TIERS },
      quantity: decimal('13'),
    }
    const life = new Life(subscription({ endDate: '2027-02-15' }), [tiered, flat])
    expect(life.on('2027-02-01')).toEqual([
      '2027-01-01: component 01-01..02-01 50.00 + component 01-01..02-01 12.00 + component 01-01..02-01 4.00',
      '2027-02-01: component 02-01..02-15 31.00 + component 02-01..02-15 2.00',
    ])
    for (const { quantity, unitPrice, netMinor } of life.book.planned.filter(({ netMinor: net }) => net !== 0n))
      expect(
        minorText(
          (quantity.coefficient * unitPrice.coefficient * 100n) / 10n ** BigInt(quantity.scale + unitPrice.scale),
          2,
        ),
      ).toBe(minorText(netMinor, 2))
  })

  test('joins as a rise from 0 for the rest of its cycle, leaves as a fall, and comes back without paying twice', () => {
    const life = new Life(subscription(), [])
    life.on('2027-01-11')
    life.components = [attachComponent(life.state, seats, '2027-01-11')]
    life.on('2027-01-15')
    life.set(0, (component) => leaveOut(component, life.state, '2027-01-15'))
    life.on('2027-01-20')
    life.set(0, (component) =>
      reattachComponent(component, life.state, { ...seats, quantity: decimal('6') }, '2027-01-20'),
    )
    expect(life.on('2027-02-01')).toEqual([
      '2027-02-01: component 02-01..03-01 18.60 + rise 01-11..02-01 10.50 + rise 01-20..02-01 1.20',
    ])
    life.set(0, (component) => leaveOut(component, life.state, '2027-02-01'))
    expect(life.on('2027-03-10')).toEqual([])
    life.set(0, (component) => reattachComponent(component, life.state, seats, '2027-03-10'))
    expect(life.on('2027-04-01')).toEqual(['2027-04-01: component 04-01..05-01 15.50 + rise 03-10..04-01 11.00'])
  })

  test('is set by a list that is the whole set of components', () => {
    const life = new Life(subscription(), [seats, messages])
    life.on('2027-01-11')
    life.use(1, '8')
    const other = { ...seats, componentId: 30n, quantity: ONE }
    life.components = modifyComponents(life.facts, [{ ...seats, quantity: decimal('6') }, other], '2027-01-11')
    expect(life.components.map(({ leftOutOn }) => leftOutOn)).toEqual([null, '2027-01-11', null])
    expect(life.on('2027-02-01')).toEqual([
      '2027-02-01: component 02-01..03-01 18.60 + component 02-01..03-01 3.10 + rise 01-11..02-01 2.10 + ' +
        'rise 01-11..02-01 2.10 + metered 01-01..02-01 40.00',
    ])
  })

  test('that rises in a cycle which an earlier end then cuts off owes nothing, and waits no longer', () => {
    const life = new Life(subscription({ leadDays: 7 }), [seats])
    life.on('2027-01-27')
    life.quantity(0, '10')
    life.keep(withComponents(changeEndDate(life.state, '2027-01-27', life.changes), life.components))
    expect(life.on('2027-01-27')).toEqual([])
    expect(nextInvoiceOn(life.facts, '2027-01-27')).toBeNull()
  })

  test('has another version from the next cycle not yet invoiced', () => {
    const life = new Life(subscription(), [seats])
    life.on('2027-01-10')
    life.set(0, (component) => changeVersion(component, { ...seats.version, versionId: 5n, list: TIERS }, '2027-01-10'))
    life.quantity(0, '6')
    expect(life.on('2027-02-01')).toEqual(['2027-02-01: component 02-01..03-01 30.00 + rise 01-10..02-01 2.20'])
  })
})

describe('a cycle', () => {
  test('of its own term counts from the anchor, before it by the day, and shares the invoice of a renewal', () => {
    const state = subscription({
      startDate: '2027-01-11',
      syncDate: '2027-02-01',
      cycle: cycleFrom('2027-02-01', 1, 'months'),
      componentAnchor: '2027-02-01',
      price: decimal('31'),
    })
    const life = new Life(state, [
      { ...seats, term: 10, termType: 'days' },
      { ...seats, componentId: 30n, term: 2 },
    ])
    expect(life.on('2027-02-11')).toEqual([
      '2027-01-11: package 01-11..02-01 21.00 + component 01-11..01-12 1.55 + component 01-11..02-01 5.25',
      '2027-01-12: component 01-12..01-22 15.50',
      '2027-01-22: component 01-22..02-01 15.50',
      '2027-02-01: package 02-01..03-01 31.00 + component 02-01..02-11 15.50 + component 02-01..04-01 15.50',
      '2027-02-11: component 02-11..02-21 15.50',
    ])
  })

  test('moves with lead days only together with the renewal it falls on', () => {
    const life = new Life(subscription({ leadDays: 7, price: decimal('31') }), [
      seats,
      { ...seats, componentId: 30n, term: 15, termType: 'days' },
      messages,
    ])
    life.on('2027-01-20')
    life.use(2, '8')
    expect(life.on('2027-02-01')).toEqual([
      '2027-01-25: package 02-01..03-01 31.00 + component 02-01..03-01 15.50',
      '2027-01-31: component 01-31..02-15 15.50',
      '2027-02-01: metered 01-01..02-01 40.00',
    ])
  })

  test('that joins after its renewal was invoiced ahead has its own invoice', () => {
    const life = new Life(subscription({ leadDays: 7, price: decimal('31') }), [])
    life.on('2027-01-27')
    life.components = [attachComponent(life.state, seats, '2027-01-27')]
    expect(nextInvoiceOn(life.facts, '2027-01-27')).toBe('2027-02-01')
    expect(life.on('2027-02-01')).toEqual(['2027-02-01: component 02-01..03-01 15.50 + rise 01-27..02-01 2.50'])
  })

  test('keeps its anchor over a change of term of the package', () => {
    const life = new Life(subscription({ price: decimal('31') }), [seats])
    life.on('2027-01-11')
    const offer = { packageId: 8n, packageName: 'Plus', price: decimal('62'), term: 2, termType: 'months' as const }
    life.keep(withComponents(changeNow(life.state, offer, life.changes), life.components))
    expect(life.on('2027-03-11')).toEqual([
      '2027-02-01: component 02-01..03-01 15.50',
      '2027-03-01: component 03-01..04-01 15.50',
      '2027-03-11: package 03-11..05-11 62.00',
    ])
  })

  test('begins after the trial, which costs nothing but its fee', () => {
    const life = new Life(
      subscription({
        trialEndDate: '2027-01-15',
        cycle: cycleFrom('2027-01-15', 1, 'months'),
        componentAnchor: '2027-01-15',
        trialFeeMinor: 900n,
      }),
      [seats, messages],
    )
    expect(life.on('2027-01-10')).toEqual(['2027-01-01: trial 9.00'])
    expect(cycleOfUsage(life.components[1]!, life.state, '2027-01-10')).toBeNull()
    life.quantity(0, '8')
    expect(life.on('2027-01-15')).toEqual(['2027-01-15: component 01-15..02-15 24.80'])
  })
})

describe('usage', () => {
  test('is invoiced on the day its cycle ends; what comes later as the difference with the next invoice', () => {
    const life = new Life(subscription(), [messages])
    life.on('2027-01-20')
    life.use(0, '8')
    expect(life.on('2027-02-01')).toEqual(['2027-02-01: metered 01-01..02-01 40.00'])
    life.on('2027-02-03')
    life.use(0, '5', '2027-01-31')
    life.use(0, '1')
    expect(life.on('2027-02-03')).toEqual([])
    expect(nextInvoiceOn(life.facts, '2027-02-03')).toBe('2027-03-01')
    expect(life.on('2027-03-01')).toEqual(['2027-03-01: metered 02-01..03-01 5.00 + late_usage 01-01..02-01 22.00'])
    life.use(0, '-6', '2027-01-05')
    expect(life.on('2027-04-01')).toEqual([])
  })

  test('corrected downward gives a negative line, which becomes a credit when the invoice would be negative', () => {
    const life = new Life(subscription({ price: decimal('31') }), [messages])
    life.on('2027-01-20')
    life.use(0, '8')
    life.on('2027-02-03')
    life.use(0, '-2', '2027-01-20')
    expect(life.on('2027-03-01')).toEqual(['2027-03-01: package 03-01..04-01 31.00 + late_usage 01-01..02-01 -10.00'])
    life.use(0, '-6', '2027-01-20')
    life.state = { ...life.state, price: ZERO }
    const plan = planSubscriptionDue(life.facts, '2027-04-01')
    expect(rows(plan.invoices)).toEqual([])
    expect(plan.credited.map(({ kind, netMinor }) => [kind, netMinor])).toEqual([['late_usage', -3000n]])
    const cycle = life.book.charges.filter(({ kind, from }) => kind === 'metered' && from === '2027-01-01')
    expect(planCreditNotes([], life.book.invoices, 2, [{ amountMinor: 3000n, charges: cycle }])).toMatchObject([
      { netMinor: 3000n },
    ])
  })

  test('never falls below 0, may be set, and does not depend on the order of reports that add', () => {
    expect(() => nextTotal(decimal('2'), decimal('-3'), false)).toThrow(Fault)
    expect(nextTotal(decimal('2'), decimal('7'), true)).toEqual(decimal('7'))
    expect(nextTotal(decimal('2'), decimal('-2'), false)).toEqual(ZERO)
  })

  test('of a component that is left out is invoiced at the end of its cycle', () => {
    const life = new Life(subscription(), [messages])
    life.on('2027-01-10')
    life.use(0, '8')
    life.set(0, (component) => leaveOut(component, life.state, '2027-01-10'))
    expect(life.on('2027-01-31')).toEqual([])
    expect(life.on('2027-05-01')).toEqual(['2027-02-01: metered 01-01..02-01 40.00'])
    expect(nextInvoiceOn({ ...life.facts, state: { ...life.state, endDate: '2027-06-01' } }, '2027-05-01')).toBeNull()
  })

  test('after the end is invoiced by the next run', () => {
    const life = new Life(subscription({ endDate: '2027-01-21' }), [messages])
    life.on('2027-01-10')
    life.use(0, '8')
    expect(life.on('2027-01-21')).toEqual(['2027-01-21: metered 01-01..01-21 40.00'])
    life.today = '2027-01-25'
    life.use(0, '5', '2027-01-20')
    expect(nextInvoiceOn(life.facts, '2027-01-25')).toBe('2027-01-25')
    expect(life.on('2027-01-25')).toEqual(['2027-01-25: late_usage 01-01..01-21 22.00'])
    expect(nextInvoiceOn(life.facts, '2027-01-25')).toBeNull()
  })
})

describe('an end', () => {
  test('that is known cuts the cycle by the day, in full without pro rata; a rise is owed up to it', () => {
    const life = new Life(subscription({ endDate: '2027-01-21' }), [seats])
    expect(life.on('2027-01-01')).toEqual(['2027-01-01: component 01-01..01-21 10.00'])
    life.on('2027-01-11')
    life.quantity(0, '10')
    expect(life.on('2027-01-20')).toEqual([])
    expect(nextInvoiceOn(life.facts, '2027-01-20')).toBe('2027-01-21')
    expect(life.on('2027-01-21')).toEqual(['2027-01-21: rise 01-11..01-21 5.00'])
    const whole = new Life(subscription({ endDate: '2027-01-21', isProRata: false }), [seats])
    expect(whole.on('2027-01-21')).toEqual(['2027-01-01: component 01-01..02-01 15.50'])
  })

  test('set later gives back; moved out again it charges the days again, rises included', () => {
    const life = new Life(subscription(), [seats])
    life.on('2027-01-11')
    life.quantity(0, '10')
    expect(life.on('2027-01-11', { extrasNow: true })).toEqual(['2027-01-11: rise 01-11..02-01 10.50'])
    const inward = withComponents(changeEndDate(life.state, '2027-01-21', life.changes), life.components)
    expect(life.credits(inward)).toBe('5.50 + 5.50')
    life.keep(inward)
    const outward = withComponents(changeEndDate(life.state, null, life.changes), life.components)
    expect(life.keep(outward)).toEqual(['2027-01-11: component_extension 01-21..02-01 11.00'])
    expect(life.on('2027-02-01')).toEqual(['2027-02-01: component 02-01..03-01 31.00'])
  })

  test('moved out of a cycle that cost nothing counts its rest as charged, so that a rise pays for it once', () => {
    const life = new Life(subscription({ endDate: '2027-01-21' }), [{ ...seats, quantity: ZERO }])
    life.on('2027-01-15')
    life.keep(withComponents(changeEndDate(life.state, null, life.changes), life.components))
    life.quantity(0, '10')
    expect(life.on('2027-02-01')).toEqual(['2027-02-01: component 02-01..03-01 31.00 + rise 01-15..02-01 17.00'])
  })

  test('at renewal gives back, on its day, what component cycles were charged beyond it', () => {
    const life = new Life(subscription(), [{ ...seats, term: 2 }])
    life.on('2027-01-10')
    const plan = cancelSubscription(life.facts, 'renewal', life.changes, false)
    expect(plan).toMatchObject({ invoices: [], givenBack: [] })
    life.keep(plan)
    const ended = planSubscriptionDue(life.facts, '2027-02-01')
    expect(ended).toMatchObject({ ended: 'cancelled', state: { endDate: '2027-02-01', pending: null } })
    const back = givenBackAtEnd(life.state, life.book.charges, '2027-02-01')
    expect(creditsText(keepCredits(life.book, back))).toBe('7.36')
  })

  test('that was pending and is dropped charges the rest that it had cut', () => {
    const life = new Life(
      subscription({
        startDate: '2027-01-20',
        cycle: cycleFrom('2027-01-20', 1, 'months'),
        componentAnchor: '2027-01-20',
      }),
      [{ ...seats, term: 20, termType: 'days' }],
    )
    life.on('2027-01-25')
    life.keep(cancelSubscription(life.facts, 'renewal', life.changes, false))
    expect(life.on('2027-02-09')).toEqual(['2027-02-09: component 02-09..02-20 8.53'])
    const dropped = withComponents(dropPending(life.state, life.changes), life.components)
    expect(life.keep(dropped)).toEqual(['2027-02-09: component_extension 02-20..03-01 6.98'])
    expect(life.on('2027-03-01')).toEqual(['2027-03-01: component 03-01..03-21 15.50'])
  })

  test('now invoices usage so far and what rises owe up to it; with full credit neither', () => {
    const lives = (['norefund', 'prorata', 'fullcredit'] as const).map((kind) => {
      const life = new Life(subscription({ price: decimal('31') }), [seats, messages])
      life.on('2027-01-11')
      life.quantity(0, '10')
      life.use(1, '8')
      life.on('2027-01-21')
      const plan = cancelSubscription(life.facts, kind, life.changes, false)
      const told = [life.credits(plan), ...life.keep(plan)]
      life.use(1, '5', '2027-01-20')
      return [...told, life.on('2027-01-22')]
    })
    expect(lives).toEqual([
      [
        '-',
        '2027-01-21: rise 01-11..01-21 5.00 + metered 01-01..01-21 40.00',
        ['2027-01-22: late_usage 01-01..01-21 22.00'],
      ],
      [
        '11.00 + 5.50',
        '2027-01-21: rise 01-11..01-21 5.00 + metered 01-01..01-21 40.00',
        ['2027-01-22: late_usage 01-01..01-21 22.00'],
      ],
      ['31.00 + 15.50', []],
    ])
  })

  test('of a paused customer gives back at once and invoices usage on its return', () => {
    const life = new Life(subscription({ price: decimal('31') }), [messages])
    life.on('2027-01-10')
    life.use(0, '8')
    life.today = '2027-01-21'
    const plan = cancelSubscription(life.facts, 'prorata', life.changes, true)
    expect(life.credits(plan)).toBe('11.00')
    expect(life.keep(plan)).toEqual([])
    expect(life.keep(planReturn(life.facts, '2027-01-15', '2027-02-10'))).toEqual([
      '2027-02-10: metered 01-01..01-21 40.00',
    ])
  })

  test('followed by another start keeps quantities and begins cycles and usage anew', () => {
    const life = new Life(subscription(), [seats, messages])
    life.on('2027-01-10')
    life.use(1, '8')
    life.keep(cancelSubscription(life.facts, 'norefund', life.changes, false))
    life.today = '2027-01-20'
    life.keep(reactivateSubscription(life.facts, { startDate: null, endDate: null }, life.changes))
    expect(life.on('2027-02-20')).toEqual([
      '2027-01-20: component 01-20..02-20 15.50',
      '2027-02-20: component 02-20..03-20 15.50',
    ])
  })
})

describe('a suspension', () => {
  test('drops cycles in advance that begin in it, and invoices usage and fees on the day of return', () => {
    const life = new Life(subscription({ price: decimal('31') }), [
      seats,
      messages,
      { ...seats, componentId: 30n, term: 3 },
    ])
    life.on('2027-01-10')
    life.use(1, '8')
    life.use(1, '3', '2027-02-10')
    expect(life.keep(planReturn(life.facts, '2027-01-15', '2027-03-15'))).toEqual([
      '2027-03-15: metered 01-01..02-01 40.00 + metered 02-01..03-01 15.00',
    ])
    expect(life.on('2027-04-01')).toEqual([
      '2027-04-01: package 04-01..05-01 31.00 + component 04-01..05-01 15.50 + component 04-01..07-01 15.50',
    ])
  })

  test('charges what began before it, the rest of a long cycle by the day, and keeps the dates of pending changes', () => {
    const life = new Life(subscription({ price: decimal('31') }), [{ ...seats, term: 3 }])
    life.on('2027-01-10')
    const offer = { packageId: 8n, packageName: 'Plus', price: decimal('62'), term: 1, termType: 'months' as const }
    life.keep(withComponents(changeAtRenewal(life.state, 'package', offer, life.changes), life.components))
    expect(life.keep(planReturn(life.facts, '2027-02-10', '2027-05-10'))).toEqual([
      '2027-02-01: package 02-01..03-01 62.00',
      '2027-05-10: component 05-10..07-01 8.86',
    ])
    expect(life.state).toMatchObject({ packageId: 8n, stretch: 2, pending: null })
    expect(life.on('2027-06-01')).toEqual(['2027-06-01: package 06-01..07-01 62.00'])
  })
})

describe('the next invoice', () => {
  test('is the one that is then made, whatever kind it is, and none where nothing will cost anything', () => {
    const life = new Life(subscription({ price: decimal('31'), leadDays: 3 }), [seats, messages])
    life.on('2027-01-10')
    life.use(1, '8')
    life.quantity(0, '7')
    for (let tries = 0; tries < 5; tries += 1) {
      const next = planNextInvoice(life.facts, life.today)!
      // A cycle without usage ends on the first of a month: that day counts, although no invoice is made on it.
      expect(nextInvoiceOn(life.facts, life.today)! <= next.invoiceDate).toBe(true)
      expect(rows(planSubscriptionDue(life.facts, addDays(next.invoiceDate, -1)).invoices)).toEqual([])
      expect(life.on(next.invoiceDate)[0]).toEqual(rows([next])[0])
    }
    expect(planNextInvoice({ state: subscription(), components: [] }, '2027-01-01')).toBeUndefined()
  })

  test('is found behind any number of periods and cycles that cost nothing', () => {
    const daily = { term: 1, termType: 'days' } as const
    const yearly = { ...seats, term: 12 }
    const free = new Life(subscription({ cycle: cycleFrom('2027-01-01', 1, 'days') }), [yearly])
    free.on('2027-01-01')
    expect(planNextInvoice(free.facts, '2027-01-01')).toMatchObject({ scheduledOn: '2028-01-01' })
    const ahead = (leadDays: number) => {
      const life = new Life(subscription({ leadDays }), [yearly])
      life.on('2027-01-01')
      return planNextInvoice(life.facts, '2027-01-01')
    }
    // Free renewals are invoiced ahead too, and the cycle that begins with one shares its day, not before the month before.
    expect([7, 60].map((leadDays) => ahead(leadDays)?.scheduledOn)).toEqual(['2027-12-25', '2027-12-01'])
    const paid = new Life(subscription({ price: decimal('31') }), [
      { ...messages, ...daily },
      { ...seats, ...daily, componentId: 99n, quantity: ZERO },
    ])
    paid.on('2027-01-01')
    expect(planNextInvoice(paid.facts, '2027-01-02')).toMatchObject({ scheduledOn: '2027-02-01' })
    paid.use(0, '8')
    expect(planNextInvoice(paid.facts, '2027-01-02')).toMatchObject({ scheduledOn: '2027-01-02' })
  })

  test('of a change at renewal charges the new package, and from then on it shows', () => {
    const life = new Life(subscription({ price: decimal('31'), leadDays: 7 }), [])
    life.on('2027-01-10')
    const offer = { packageId: 8n, packageName: 'Plus', price: decimal('62'), term: 3, termType: 'months' as const }
    life.keep(withComponents(changeAtRenewal(life.state, 'package', offer, life.changes), life.components))
    expect(life.on('2027-01-24')).toEqual([])
    expect(life.state.packageId).toBe(7n)
    expect(life.on('2027-01-25')).toEqual(['2027-01-25: package 02-01..05-01 62.00'])
    expect(life.state).toMatchObject({ packageId: 8n, pending: null, cycle: cycleFrom('2027-02-01', 3, 'months') })
    expect(planNextInvoice(life.facts, '2027-01-25')).toMatchObject({
      scheduledOn: '2027-04-24',
      dueFrom: '2027-05-01',
    })
  })
})
