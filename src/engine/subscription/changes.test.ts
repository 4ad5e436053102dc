import { describe, expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import { Fault } from '../../kernel/fault.ts'
import { type Book, creditsText, emptyBook, invoiceRows, keepCredits, keepInvoices } from './book.testing.ts'
import {
  changeAtRenewal,
  changeEndDate,
  changeNow,
  type ChangePlan,
  changeStartDate,
  dropPending,
  replaceFuture,
} from './changes.ts'
import { cancel, type CancelKind, reactivate } from './cancel.ts'
import { cycleFrom } from './period.ts'
import { firstCursor } from './renewal.ts'
import { planDue } from './renewal.testing.ts'
import { afterRenewalChange, type SubscriptionState, termsOf } from './subscription.ts'

/** 31.00 a month from 1 January 2027, so that a day of January is 1.00. */
const P31: SubscriptionState = {
  startDate: '2027-01-01',
  trialEndDate: null,
  syncDate: null,
  endDate: null,
  cancelledOn: null,
  pending: null,
  cycle: cycleFrom('2027-01-01', 1, 'months'),
  componentAnchor: '2027-01-01',
  isProRata: true,
  leadDays: 0,
  cursor: { feesOn: null, nextFrom: '2027-01-01', lastFrom: null },
  stretch: 1,
  packageId: 7n,
  packageName: 'Basic',
  price: decimal('31'),
  setupFeeMinor: 0n,
  trialFeeMinor: 0n,
  digits: 2,
}
const P62 = { packageId: 8n, packageName: 'Plus', price: decimal('62'), term: 1, termType: 'months' as const }

interface Life {
  state: SubscriptionState
  book: Book
}

/** Bills until a day and keeps what was made. */
function billed(given: SubscriptionState, today: string, book: Book = emptyBook()): Life {
  const { invoices, cursor } = planDue(termsOf(given), given.cursor, today)
  keepInvoices(book, invoices, [])
  return { state: { ...given, cursor }, book }
}

const added = (over: Partial<SubscriptionState>): SubscriptionState => {
  const state = { ...P31, ...over }
  return { ...state, cursor: firstCursor(termsOf(state)) }
}

/** Plans a change on a day, keeps it, and returns a line of text for each of its parts. */
function changed(life: Life, plan: ChangePlan): { life: Life; credits: string; invoices: string[] } {
  const credits = creditsText(keepCredits(life.book, plan.givenBack))
  keepInvoices(life.book, plan.invoices, [])
  return { life: { state: plan.state, book: life.book }, credits, invoices: invoiceRows(plan.invoices) }
}

const startOn = (startDate: string, trialEndDate: string | null = null) => ({
  startDate,
  trialEndDate,
  restartedAfter: null,
})

const factsOf = ({ book }: Life, today: string) => ({ charges: book.charges, today })

describe('cancelling gives back', () => {
  test.each<[CancelKind, string]>([
    ['norefund', '31.00'],
    ['prorata', '6.00 + 31.00'],
    ['fullcredit', '31.00 + 31.00'],
  ])('%s: P31 with 7 lead days, February invoiced on 25 January, cancelled on 26 January: %s', (kind, expected) => {
    const life = billed(added({ leadDays: 7 }), '2027-01-26')
    const plan = cancel(life.state, kind, factsOf(life, '2027-01-26'))
    expect(changed(life, plan).credits).toBe(expected)
    expect(plan.state).toMatchObject({ endDate: '2027-01-26', cancelledOn: '2027-01-26', pending: null })
  })

  test('at renewal nothing, and the cancellation can be dropped until then', () => {
    const life = billed(P31, '2027-01-10')
    const plan = cancel(life.state, 'renewal', factsOf(life, '2027-01-10'))
    expect(plan).toMatchObject({
      invoices: [],
      givenBack: [],
      state: { pending: { kind: 'cancellation', on: '2027-02-01' } },
    })
    expect(planDue(termsOf(plan.state), plan.state.cursor, '2027-05-01').invoices).toEqual([])
    expect(dropPending(plan.state, factsOf(life, '2027-01-11')).state).toEqual(life.state)
    const ending = { ...life.state, endDate: '2027-02-01' }
    expect(() => cancel(ending, 'renewal', factsOf(life, '2027-01-10'))).toThrow(Fault)
  })

  test('nothing of a future one, whose EndDate stays as it was', () => {
    const plan = cancel({ ...P31, endDate: '2027-06-01' }, 'fullcredit', { charges: [], today: '2026-12-01' })
    expect(plan).toMatchObject({ givenBack: [], state: { endDate: '2027-06-01', cancelledOn: '2026-12-01' } })
    expect(planDue(termsOf(plan.state), plan.state.cursor, '2027-09-01').invoices).toEqual([])
  })

  test('the set-up fee never, the trial fee only in full and in the trial', () => {
    const trial = {
      trialEndDate: '2027-01-15',
      setupFeeMinor: 500n,
      trialFeeMinor: 900n,
      cycle: cycleFrom('2027-01-15', 1, 'months'),
    }
    const life = billed(added(trial), '2027-01-10')
    expect(life.book.planned.map(({ kind, netMinor }) => [kind, netMinor])).toEqual([
      ['setup', 500n],
      ['trial', 900n],
    ])
    expect(changed(life, cancel(life.state, 'prorata', factsOf(life, '2027-01-10'))).credits).toBe('-')
    expect(changed(life, cancel(life.state, 'fullcredit', factsOf(life, '2027-01-10'))).credits).toBe('9.00')
    const later = billed(added(trial), '2027-01-20')
    expect(changed(later, cancel(later.state, 'fullcredit', factsOf(later, '2027-01-20'))).credits).toBe('31.00')
  })

  test('of the running period only what the stretch after a change of package charged', () => {
    const life = billed(P31, '2027-01-11')
    const after = changed(life, changeNow(life.state, P62, factsOf(life, '2027-01-11')))
    expect([after.credits, after.invoices]).toEqual(['21.00', ['2027-01-11: package 01-11..02-01 42.00']])
    const end = changed(after.life, cancel(after.life.state, 'fullcredit', factsOf(after.life, '2027-01-21')))
    expect(end.credits).toBe('42.00')
  })
})

describe('a change now', () => {
  test('with an equal term gives back and charges the rest, later invoiced periods whole, and keeps the anchor', () => {
    const life = billed(added({ leadDays: 7 }), '2027-01-26')
    const { credits, invoices, life: after } = changed(life, changeNow(life.state, P62, factsOf(life, '2027-01-26')))
    expect(credits).toBe('6.00 + 31.00')
    expect(invoices).toEqual(['2027-01-26: package 01-26..02-01 12.00 + package 02-01..03-01 62.00'])
    expect(after.state).toMatchObject({ stretch: 2, cycle: P31.cycle, cursor: life.state.cursor })
    expect(invoiceRows(planDue(termsOf(after.state), after.state.cursor, '2027-03-01').invoices)).toEqual([
      '2027-02-22: package 03-01..04-01 62.00',
    ])
  })

  test('a second change gives back what is held now, not what was held first', () => {
    const life = billed(P31, '2027-01-11')
    const first = changed(life, changeNow(life.state, P62, factsOf(life, '2027-01-11')))
    const back = changed(
      first.life,
      changeNow(first.life.state, { ...P62, price: decimal('93') }, factsOf(first.life, '2027-01-21')),
    )
    expect([back.credits, back.invoices]).toEqual(['22.00', ['2027-01-21: package 01-21..02-01 33.00']])
  })

  test('of a free package charges the new price although nothing can be given back', () => {
    const life = billed({ ...P31, price: decimal('0') }, '2027-01-11')
    const { credits, invoices, life: after } = changed(life, changeNow(life.state, P62, factsOf(life, '2027-01-11')))
    expect([credits, invoices]).toEqual(['-', ['2027-01-11: package 01-11..02-01 42.00']])
    const again = changed(after, changeNow(after.state, { ...P62, term: 3 }, factsOf(after, '2027-01-21')))
    expect([again.credits, again.invoices]).toEqual(['22.00', ['2027-01-21: package 01-21..04-21 62.00']])
    const third = changed(
      again.life,
      changeNow(again.life.state, { ...P62, term: 3, price: decimal('90') }, factsOf(again.life, '2027-01-31')),
    )
    expect([third.credits, third.invoices]).toEqual(['55.11', ['2027-01-31: package 01-31..04-21 80.00']])
  })

  test('in the piece before the sync date keeps the sync date', () => {
    const synced = added({
      startDate: '2027-01-11',
      syncDate: '2027-02-01',
      cycle: cycleFrom('2027-02-01', 1, 'months'),
    })
    const life = billed(synced, '2027-01-21')
    const { credits, invoices, life: after } = changed(life, changeNow(life.state, P62, factsOf(life, '2027-01-21')))
    expect([credits, invoices]).toEqual(['11.00', ['2027-01-21: package 01-21..02-01 22.00']])
    expect(after.state).toMatchObject({ syncDate: '2027-02-01', cycle: synced.cycle })
    const other = changeNow(after.state, { ...P62, term: 2 }, factsOf(after, '2027-01-26'))
    expect(other.state).toMatchObject({ syncDate: null, cycle: cycleFrom('2027-01-26', 2, 'months') })
    expect(other.invoices[0]!.charges[0]!.netMinor).toBe(6200n)
  })

  test('without pro rata keeps the running period charged and starts a full one, and never gives the old rest back', () => {
    const life = billed(added({ isProRata: false, leadDays: 7 }), '2027-01-26')
    const { credits, invoices, life: after } = changed(life, changeNow(life.state, P62, factsOf(life, '2027-01-26')))
    expect([credits, invoices]).toEqual(['31.00', ['2027-01-26: package 01-26..02-26 62.00']])
    expect(changed(after, cancel(after.state, 'prorata', factsOf(after, '2027-01-27'))).credits).toBe('60.00')
  })

  test('in the trial moves no money, and the new price counts from its end', () => {
    const life = billed(
      added({ trialEndDate: '2027-01-15', trialFeeMinor: 900n, cycle: cycleFrom('2027-01-15', 1, 'months') }),
      '2027-01-10',
    )
    const {
      credits,
      invoices,
      life: after,
    } = changed(life, changeNow(life.state, { ...P62, term: 2 }, factsOf(life, '2027-01-10')))
    expect([credits, invoices]).toEqual(['-', []])
    expect(invoiceRows(planDue(termsOf(after.state), after.state.cursor, '2027-03-15').invoices)).toEqual([
      '2027-01-15: package 01-15..03-15 62.00',
      '2027-03-15: package 03-15..05-15 62.00',
    ])
  })

  test('cut by a known end charges up to it', () => {
    const life = billed(added({ endDate: '2027-01-21' }), '2027-01-11')
    const equal = changeNow(life.state, P62, factsOf(life, '2027-01-11'))
    expect(invoiceRows(equal.invoices)).toEqual(['2027-01-11: package 01-11..01-21 20.00'])
    const other = changeNow(life.state, { ...P62, term: 2 }, factsOf(life, '2027-01-11'))
    expect(invoiceRows(other.invoices)).toEqual(['2027-01-11: package 01-11..01-21 10.51'])
  })

  test('of a future subscription replaces it as if it had been added so', () => {
    const offer = { ...P62, term: 2, setupFeeMinor: 100n, trialFeeMinor: 200n, trialEndDate: '2027-01-08' }
    const { state } = replaceFuture(P31, offer, '2026-12-20')
    expect(state).toMatchObject({ stretch: 1, cycle: cycleFrom('2027-01-08', 2, 'months'), trialEndDate: '2027-01-08' })
    expect(invoiceRows(planDue(termsOf(state), state.cursor, '2027-01-08').invoices)).toEqual([
      '2027-01-01: setup 1.00 + trial 2.00',
      '2027-01-08: package 01-08..03-08 62.00',
    ])
  })
})

describe('a change at renewal', () => {
  test('with another term counts from that renewal and keeps the day of the month', () => {
    const life = billed(added({ startDate: '2027-01-31', cycle: cycleFrom('2027-01-31', 1, 'months') }), '2027-02-10')
    const { state } = changeAtRenewal(life.state, 'term', { ...P62, term: 3 }, factsOf(life, '2027-02-10'))
    expect(state.pending).toMatchObject({ kind: 'term', on: '2027-02-28' })
    const after = afterRenewalChange(state)
    expect(after.cycle).toEqual({ anchor: '2027-02-28', dayOfMonth: 31, term: 3, termType: 'months' })
    expect(invoiceRows(planDue(termsOf(after), after.cursor, '2027-08-31').invoices)).toEqual([
      '2027-02-28: package 02-28..05-31 62.00',
      '2027-05-31: package 05-31..08-31 62.00',
      '2027-08-31: package 08-31..11-30 62.00',
    ])
  })

  test('with an equal term keeps the anchor; one that could never take effect is refused', () => {
    const life = billed(P31, '2027-01-10')
    const { state } = changeAtRenewal(life.state, 'package', P62, factsOf(life, '2027-01-10'))
    expect(afterRenewalChange(state)).toMatchObject({ cycle: P31.cycle, stretch: 2, packageId: 8n, pending: null })
    const ending = { ...life.state, endDate: '2027-01-20' }
    expect(() => changeAtRenewal(ending, 'package', P62, factsOf(life, '2027-01-10'))).toThrow(Fault)
  })
})

describe('another end', () => {
  test('inside what is invoiced gives back; outward charges what is uncovered again, and nothing twice', () => {
    const today = '2027-01-10'
    let step = changed(
      billed(P31, today),
      changeEndDate(billed(P31, today).state, '2027-01-21', { charges: [], today }),
    )
    const life = billed(P31, today)
    step = changed(life, changeEndDate(life.state, '2027-01-21', factsOf(life, today)))
    expect([step.credits, step.invoices]).toEqual(['11.00', []])
    step = changed(step.life, changeEndDate(step.life.state, '2027-01-26', factsOf(step.life, today)))
    expect([step.credits, step.invoices]).toEqual(['-', ['2027-01-10: package_extension 01-21..01-26 5.00']])
    step = changed(step.life, changeEndDate(step.life.state, '2027-01-16', factsOf(step.life, today)))
    expect(step.credits).toBe('5.00 + 5.00')
    step = changed(step.life, changeEndDate(step.life.state, null, factsOf(step.life, today)))
    expect(step.invoices).toEqual(['2027-01-10: package_extension 01-16..02-01 16.00'])
    expect(step.life.state.cursor).toEqual(life.state.cursor)
    expect(changed(step.life, cancel(step.life.state, 'prorata', factsOf(step.life, today))).credits).toBe(
      '6.00 + 16.00',
    )
  })

  test('after a cut charge moves the cursor with the extension', () => {
    const life = billed(added({ endDate: '2027-01-21' }), '2027-01-10')
    expect(life.state.cursor.nextFrom).toBe('2027-01-21')
    const step = changed(life, changeEndDate(life.state, null, factsOf(life, '2027-01-10')))
    expect(step.invoices).toEqual(['2027-01-10: package_extension 01-21..02-01 11.00'])
    expect(invoiceRows(planDue(termsOf(step.life.state), step.life.state.cursor, '2027-02-01').invoices)).toEqual([
      '2027-02-01: package 02-01..03-01 31.00',
    ])
  })

  test('before periods invoiced ahead gives them back whole and charges them again when it is dropped', () => {
    const life = billed(added({ leadDays: 7 }), '2027-01-26')
    const inward = changed(life, changeEndDate(life.state, '2027-01-28', factsOf(life, '2027-01-26')))
    expect(inward.credits).toBe('4.00 + 31.00')
    const outward = changed(inward.life, changeEndDate(inward.life.state, null, factsOf(inward.life, '2027-01-26')))
    expect(outward.invoices).toEqual([
      '2027-01-26: package_extension 01-28..02-01 4.00 + package_extension 02-01..03-01 31.00',
    ])
  })

  test('without pro rata is refused inside what is invoiced, and charges nothing for a period charged in full', () => {
    const life = billed(added({ isProRata: false, endDate: '2027-01-21' }), '2027-01-10')
    expect(() => changeEndDate(life.state, '2027-01-15', factsOf(life, '2027-01-10'))).toThrow(Fault)
    expect(changeEndDate(life.state, '2027-01-25', factsOf(life, '2027-01-10'))).toMatchObject({
      invoices: [],
      givenBack: [],
    })
  })

  test('before today or not after the start is refused', () => {
    const life = billed(P31, '2027-01-10')
    expect(() => changeEndDate(life.state, '2027-01-09', factsOf(life, '2027-01-10'))).toThrow(Fault)
    expect(() => changeEndDate(life.state, '2027-01-01', factsOf(life, '2027-01-10'))).toThrow(Fault)
  })
})

describe('another start', () => {
  test('of one that has not begun moves its anchor; of one that has is refused', () => {
    const { state } = changeStartDate(P31, startOn('2026-12-15'), '2026-12-20')
    expect(state).toMatchObject({ cycle: cycleFrom('2026-12-15', 1, 'months'), componentAnchor: '2026-12-15' })
    expect(planDue(termsOf(state), state.cursor, '2026-12-20').invoices).toHaveLength(1)
    expect(() => changeStartDate(P31, startOn('2027-02-01'), '2027-01-01')).toThrow(Fault)
    const synced = { ...P31, trialEndDate: '2027-01-08', syncDate: '2027-01-10' }
    expect(() => changeStartDate(synced, startOn('2027-01-05', '2027-01-12'), '2026-12-20')).toThrow(Fault)
  })
})

describe('starting again', () => {
  test('is a full period from that day, without fees and trial, and what was never given back stays charged', () => {
    const life = billed({ ...P31, setupFeeMinor: 500n }, '2027-01-10')
    const ended = changed(life, cancel(life.state, 'norefund', factsOf(life, '2027-01-10')))
    const again = reactivate(ended.life.state, { startDate: null, endDate: null }, factsOf(ended.life, '2027-01-20'))
    const { state, book } = billed(again.state, '2027-01-20', ended.life.book)
    expect(book.planned.at(-1)).toMatchObject({ from: '2027-01-20', until: '2027-02-20', netMinor: 3100n, stretch: 2 })
    const last = changed({ state, book }, cancel(state, 'prorata', { charges: book.charges, today: '2027-01-25' }))
    expect(last.credits).toBe('26.00')
  })

  test('leaves the days between two lives alone when an end moves', () => {
    const life = billed(P31, '2027-01-10')
    const ended = changed(life, cancel(life.state, 'prorata', factsOf(life, '2027-01-10')))
    const again = reactivate(
      ended.life.state,
      { startDate: '2027-01-20', endDate: '2027-02-01' },
      factsOf(ended.life, '2027-01-20'),
    )
    const second = billed(again.state, '2027-01-20', ended.life.book)
    expect(changed(second, changeEndDate(second.state, null, factsOf(second, '2027-01-20'))).invoices).toEqual([
      '2027-01-20: package_extension 02-01..02-20 19.00',
    ])
  })

  test('is refused before the day it ended, and of one that runs', () => {
    const life = billed(P31, '2027-01-10')
    const ended = cancel(life.state, 'prorata', factsOf(life, '2027-01-10')).state
    expect(() => reactivate(ended, { startDate: '2027-01-09', endDate: null }, factsOf(life, '2027-01-10'))).toThrow(
      Fault,
    )
    expect(() => reactivate(life.state, { startDate: null, endDate: null }, factsOf(life, '2027-01-10'))).toThrow(Fault)
  })
})
