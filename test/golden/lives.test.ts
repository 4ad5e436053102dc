import { describe, expect, test } from 'vitest'
import { earliest, type TermType } from '../../src/kernel/calendar.ts'
import { add, decimal, ONE, ZERO } from '../../src/kernel/decimal.ts'
import { decimalToMinor, minorText } from '../../src/kernel/money.ts'
import { creditsText, keepCredits } from '../../src/engine/subscription/book.testing.ts'
import { changeNow } from '../../src/engine/subscription/changes.ts'
import { componentAtStart, type ComponentType, setQuantity } from '../../src/engine/subscription/components.ts'
import type { CancelKind } from '../../src/engine/subscription/cancel.ts'
import { freeSubscription, Life } from '../../src/engine/subscription/life.testing.ts'
import {
  cancelSubscription,
  reactivateSubscription,
  withComponents,
} from '../../src/engine/subscription/component-changes.ts'
import { cycleFrom } from '../../src/engine/subscription/period.ts'
import type { Bracket, Scheme } from '../../src/engine/subscription/pricing.ts'
import type { PlannedInvoice } from '../../src/engine/subscription/renewal.ts'
import { cycleOfUsage, reportUsage } from '../../src/engine/subscription/usage.ts'
import { goldenRows, type Row } from './table.ts'

/** Figures of subscriptions that change, end, and use components. */

const rowsOf = (name: string): [string, Row][] => goldenRows(name).map((row) => [`${row['id']}: ${row['why']}`, row])

function termOf(cell: string): { term: number; termType: TermType } {
  const [term, termType] = cell.split(' ')
  return { term: Number(term), termType: termType as TermType }
}

/** A subscription of a row, billed up to its day. */
function lifeOf(row: Row, lead = 0): Life {
  const { term, termType } = termOf(row['term']!)
  const start = row['start']!
  const state = freeSubscription({
    startDate: start,
    cycle: cycleFrom(start, term, termType),
    componentAnchor: start,
    price: decimal(row['price']!),
    isProRata: row['prorata'] !== 'no',
    leadDays: lead,
  })
  const rates = row['tax'] === undefined || row['tax'] === '-' ? [] : [decimal(row['tax'])]
  const life = new Life(state, [], rates)
  life.on(row['day']!)
  return life
}

const linesOf = (invoice: PlannedInvoice): string =>
  invoice.charges
    .filter(({ netMinor }) => netMinor !== 0n)
    .map(({ netMinor }) => minorText(netMinor, 2))
    .join(' + ')

describe('a package changed now', () => {
  test.each(rowsOf('changes'))('%s', (_, row) => {
    const life = lifeOf(row)
    if (row['credited'] !== '-') life.book.charges.at(-1)!.creditedMinor = decimalToMinor(decimal(row['credited']!), 2)!
    const offer = { packageId: 8n, packageName: 'New', price: decimal(row['newprice']!), ...termOf(row['newterm']!) }
    const plan = withComponents(changeNow(life.state, offer, life.changes), [])
    expect(life.credits(plan)).toBe(row['credit'])
    expect(plan.invoices.map(linesOf).join(' / ')).toBe(row['charge'])
    life.keep(plan)
  })
})

describe('a cancellation at once', () => {
  test.each(rowsOf('cancellations'))('%s', (_, row) => {
    const life = lifeOf(row, Number(row['lead']))
    const plan = cancelSubscription(life.facts, row['kind'] as CancelKind, life.changes, false)
    const notes = keepCredits(life.book, plan.givenBack)
    expect(creditsText(notes)).toBe(row['credit'])
    const taxes = notes.flatMap((note) => note.taxes.map(({ amountMinor }) => minorText(amountMinor, 2)))
    expect(taxes.join(' + ') || '-').toBe(row['taxback'])
  })

  test('C11: starting again is a full period from that day (2380.22 where the bill day stays)', () => {
    const row = { start: '2012-05-01', term: '12 months', price: '2399.95', day: '2012-05-12' }
    const life = lifeOf(row)
    life.keep(cancelSubscription(life.facts, 'prorata', life.changes, false))
    life.today = '2012-06-04'
    life.keep(reactivateSubscription(life.facts, { startDate: null, endDate: null }, life.changes))
    expect(life.on('2012-06-04')).toEqual(['2012-06-04: package 06-04..06-04 2399.95'])
  })
})

function bracketsOf(cell: string): Bracket[] {
  let from = ZERO
  return cell.split(', ').map((text) => {
    const [till, price] = text.split('@')
    const bracket = { from, till: till === '..' ? null : decimal(till!), price: decimal(price!) }
    if (bracket.till !== null) from = add(bracket.till, ONE)
    return bracket
  })
}

/** "2027-02-03@2027-01-31=5": on a day, for a day, so much. */
function settingsOf(cell: string): { on: string; for: string; units: string }[] {
  return cell.split(', ').map((text) => {
    const [days = '', units = ''] = text.split('=')
    const [on = '', counted = on] = days.split('@')
    return { on, for: counted, units }
  })
}

describe('the lines of a component', () => {
  test.each(rowsOf('components'))('%s', (_, row) => {
    const settings = settingsOf(row['set']!)
    const type = row['type'] as ComponentType
    const start = `${earliest(...settings.map(({ on }) => on))!.slice(0, 8)}01`
    const life = new Life(
      freeSubscription({ startDate: start, cycle: cycleFrom(start, 1, 'months'), componentAnchor: start }),
      [],
    )
    const version = { versionId: 1n, scheme: row['scheme'] as Scheme, list: bracketsOf(row['brackets']!) }
    const quantity = decimal(type === 'metered' ? '0' : settings[0]!.units)
    const offer = { componentId: 5n, name: 'Seats', type, ...termOf(row['term']!), version, quantity }
    life.components = [componentAtStart(life.state, offer)]
    const made: string[] = []
    for (const { on, for: day, units } of settings) {
      made.push(...life.on(on))
      life.set(0, (component) =>
        type === 'metered'
          ? reportUsage(component, cycleOfUsage(component, life.state, day)!, { units: decimal(units), isSet: false })
          : setQuantity(component, decimal(units), life.state, on),
      )
    }
    made.push(...life.on(row['until']!))
    const amounts = made.map((text) => text.match(/-?\d+\.\d\d(?= |$)/g)!.join(' + '))
    expect(amounts.join(' / ')).toBe(row['lines'])
  })
})
