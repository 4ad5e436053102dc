import { describe, expect, test } from 'vitest'
import { decimal, ZERO } from '../../kernel/decimal.ts'
import { Fault } from '../../kernel/fault.ts'
import { changeEndDate, changeNow, dropPending } from './changes.ts'
import type { ComponentOffer } from './components.ts'
import { cancel } from './cancel.ts'
import { freeSubscription, Life } from './life.testing.ts'
import { withComponents } from './component-changes.ts'
import type { SubscriptionState } from './subscription.ts'

/** Ends that move: what they give back, and what is charged again. */

const SEAT: ComponentOffer = {
  componentId: 3n,
  name: 'Seats',
  type: 'quantity',
  term: 3,
  termType: 'months',
  version: { versionId: 1n, scheme: 'unit', list: [{ from: ZERO, till: null, price: decimal('90') }] },
  quantity: decimal('1'),
}

/** 31.00 a month from 1 January 2027, billed on that day, with one seat at 90.00 for three months where wished. */
function begun(over: Partial<SubscriptionState> = {}, offers: ComponentOffer[] = []): Life {
  const life = new Life(freeSubscription({ price: decimal('31'), ...over }), offers)
  life.on('2027-01-01')
  return life
}

/** Plans a change of the package, keeps it, and returns its credits and charges as text. */
function apply(life: Life, plan: ReturnType<typeof changeEndDate>): { credits: string; invoices: string[] } {
  const whole = withComponents(plan, life.components)
  return { credits: life.credits(whole), invoices: life.keep(whole) }
}

const end = (life: Life, on: string | null) => apply(life, changeEndDate(life.state, on, life.changes))

/** Cancels invoices: nothing of their charges counts any more. */
function cancelInvoices(life: Life): void {
  for (const charge of life.book.charges) Object.assign(charge, { invoiceId: null, isInvoiceCancelled: true })
}

describe('an EndDate behind a pending cancellation', () => {
  test('gives back at once what was charged beyond it, and dropping the cancellation charges nothing of that again', () => {
    const life = begun({}, [SEAT])
    apply(life, cancel(life.state, 'renewal', life.changes))
    expect(end(life, '2027-03-22')).toEqual({ credits: '10.00', invoices: [] })
    expect(apply(life, dropPending(life.state, life.changes))).toEqual({ credits: '-', invoices: [] })
    expect(life.state).toMatchObject({ pending: null, endDate: '2027-03-22' })
  })

  test('moved later under it charges nothing, and dropping the cancellation charges the days up to the EndDate of then', () => {
    const life = begun({}, [SEAT])
    apply(life, cancel(life.state, 'renewal', life.changes))
    end(life, '2027-03-22')
    expect(end(life, '2027-03-27')).toEqual({ credits: '-', invoices: [] })
    expect(apply(life, dropPending(life.state, life.changes)).invoices).toEqual([
      '2027-01-01: component_extension 03-22..03-27 5.00',
    ])
  })

  test('is refused without pro rata, as without the cancellation', () => {
    const life = begun({ isProRata: false }, [SEAT])
    apply(life, cancel(life.state, 'renewal', life.changes))
    expect(() => changeEndDate(life.state, '2027-03-22', life.changes)).toThrow(Fault)
  })
})

test('an EndDate that moves earlier and back charges no day of a cancelled invoice again', () => {
  const life = begun()
  cancelInvoices(life)
  expect(end(life, '2027-01-20')).toEqual({ credits: '-', invoices: [] })
  expect(end(life, null)).toEqual({ credits: '-', invoices: [] })
})

test('days that a cancelled invoice never charged are charged when the end moves later', () => {
  const life = begun({ endDate: '2027-01-20' })
  cancelInvoices(life)
  expect(end(life, null).invoices).toEqual(['2027-01-01: package_extension 01-20..02-01 12.00'])
})

test('a later end charges the package before its components', () => {
  const life = begun({}, [{ ...SEAT, term: 1 }])
  life.today = '2027-01-11'
  const plus = { packageId: 8n, packageName: 'Plus', price: decimal('62'), term: 1, termType: 'months' as const }
  apply(life, changeNow(life.state, plus, life.changes))
  end(life, '2027-01-20')
  expect(end(life, null).invoices).toEqual([
    '2027-01-11: package_extension 01-20..02-01 24.00 + component_extension 01-20..02-01 34.84',
  ])
})

test('full credit after credits of single days gives back the rest of the line, to the cent', () => {
  const life = begun({ price: decimal('10.01') })
  expect([end(life, '2027-01-31').credits, end(life, '2027-01-30').credits]).toEqual(['0.32', '0.32'])
  expect(apply(life, cancel(life.state, 'fullcredit', life.changes)).credits).toBe('9.37')
})
