import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { addBankDays, type BankCalendar, bankDayOnOrAfter, isBankDay } from '../../src/kernel/bank-days.ts'
import { addDays, daysBetween, type TermType } from '../../src/kernel/calendar.ts'
import { add, decimal, decimalText, ONE, ZERO } from '../../src/kernel/decimal.ts'
import { amountOf, decimalToMinor, minorText } from '../../src/kernel/money.ts'
import type { TaxArea } from '../../src/kernel/tax.ts'
import { dateIn, midnightOf } from '../../src/kernel/zone.ts'
import { recomputeCharge } from '../../src/engine/explain.ts'
import { nextRenewalOnOrAfter, periodContaining, renewalOf } from '../../src/engine/subscription/period.ts'
import { type Bracket, exactPrice, priceQuantity, type Scheme } from '../../src/engine/subscription/pricing.ts'
import { firstCursor, type SubscriptionTerms } from '../../src/engine/subscription/renewal.ts'
import { planDue } from '../../src/engine/subscription/renewal.testing.ts'
import { invoiceStatus } from '../../src/engine/status.ts'
import { matchTaxes, taxInvoice, type TaxRule } from '../../src/engine/tax.ts'
import { daysOfCell, goldenRows, type Row } from './table.ts'

const rowsOf = (name: string): [string, Row][] => goldenRows(name).map((row) => [`${row['id']}: ${row['why']}`, row])

/** Cells that list values; "-" is none. */
const listOf = (cell: string, separator: string): string[] => (cell === '-' ? [] : cell.split(separator))

function termOf(cell: string): { term: number; termType: TermType } {
  const [term, termType] = cell.split(' ')
  return { term: Number(term), termType: termType as TermType }
}

describe('the whole period that holds a day', () => {
  test.each(rowsOf('periods'))('%s', (_, row) => {
    const cycle = { anchor: row['anchor']!, dayOfMonth: Number(row['day']), ...termOf(row['term']!) }
    const [from, until] = daysOfCell(row['period']!)
    const index = Number(row['index'])
    expect(periodContaining(cycle, row['asked']!)).toEqual({ from, until, index })
    expect([renewalOf(cycle, index), renewalOf(cycle, index + 1)]).toEqual([from, until])
    expect(nextRenewalOnOrAfter(cycle, row['asked']!)).toBe(row['asked'] === from ? from : until)
  })
})

describe('the charges of a subscription until its end', () => {
  test.each(rowsOf('pieces'))('%s', (_, row) => {
    const day = Number(row['anchor']!.slice(8))
    const terms: SubscriptionTerms = {
      startDate: row['start']!,
      trialEndDate: null,
      cycle: { anchor: row['anchor']!, dayOfMonth: day, ...termOf(row['term']!) },
      endDate: row['end']!,
      isProRata: true,
      leadDays: 0,
      stretch: 1,
      packageId: 1n,
      packageName: 'Basic',
      price: decimal(row['price']!),
      setupFeeMinor: 0n,
      trialFeeMinor: 0n,
      digits: Number(row['digits']),
    }
    const charges = planDue(terms, firstCursor(terms), row['end']!).invoices.flatMap((invoice) => invoice.charges)
    expect(charges.map(({ netMinor }) => minorText(netMinor, terms.digits)).join(' + ')).toBe(row['charges'])
    for (const charge of charges) {
      const facts = { ...charge, digits: terms.digits, currency: 'XXX', brackets: null }
      expect(recomputeCharge(facts), 'a stored charge can be recomputed from its facts').toBe(charge.netMinor)
    }
  })
})

describe('a part of a price', () => {
  test.each(rowsOf('shares'))('%s', (_, row) => {
    const [part, whole] = row['part']!.split('/').map(BigInt)
    const digits = Number(row['digits'])
    expect(minorText(amountOf(decimal(row['price']!), ONE, part!, whole!, digits), digits)).toBe(row['amount'])
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

describe('the price of a quantity', () => {
  test.each(rowsOf('pricing'))('%s', (_, row) => {
    const scheme = row['scheme'] as Scheme
    const brackets = bracketsOf(row['brackets']!)
    const quantity = decimal(row['quantity']!)
    expect(decimalText(exactPrice(scheme, brackets, quantity))).toBe(row['price'])
    const lines = priceQuantity(scheme, brackets, quantity).map(
      (line) => `${line.isFlat ? 1 : decimalText(line.quantity)} x ${decimalText(line.price)}`,
    )
    expect(lines).toEqual(listOf(row['lines']!, ' + '))
  })
})

describe('the taxes of an invoice', () => {
  test.each(rowsOf('taxes'))('%s', (_, row) => {
    const digits = Number(row['digits'])
    const lines = listOf(row['lines']!, ', ').map((text) => decimalToMinor(decimal(text), digits)!)
    const rates = listOf(row['rates']!, ' / ').map((text) => decimal(text))
    const { taxes, grossMinor, totalMinor } = taxInvoice(lines, rates)
    expect(taxes.map(({ amountMinor }) => minorText(amountMinor, digits))).toEqual(listOf(row['taxes']!, ' / '))
    expect(grossMinor.map((minor) => minorText(minor, digits))).toEqual(listOf(row['gross']!, ', '))
    expect(minorText(totalMinor, digits)).toBe(row['total'])
  })
})

const numberOrNull = (cell: string | undefined): number | null =>
  cell === undefined || cell === '-' ? null : Number(cell)

const isArea = (text: string | undefined): text is TaxArea => text === 'EU' || text === 'nonEU'

function ruleOf(text: string): TaxRule {
  const [head, rate] = text.split('=')
  const [setting, place, subject] = head!.split(':')
  const [country, state] = place === '*' ? [] : place!.split('/')
  return {
    id: 1n,
    settingId: BigInt(setting!),
    settingName: `Tax ${setting}`,
    rate: decimal(rate!),
    ...(isArea(country)
      ? { countryId: null, countryStateId: null, area: country }
      : { countryId: numberOrNull(country), countryStateId: numberOrNull(state), area: null }),
    appliesTo: subject === 'business' || subject === 'consumer' ? subject : 'all',
    taxNumber: null,
    category: 'S',
    reasonCode: null,
    reason: null,
  }
}

describe('the tax rules of a place', () => {
  test.each(rowsOf('taxmatching'))('%s', (_, row) => {
    const place = {
      countryId: numberOrNull(row['country']),
      countryStateId: numberOrNull(row['state']),
      isBusiness: row['who'] === 'business',
    }
    const rules = listOf(row['rules']!, ', ').map(ruleOf)
    const found = matchTaxes({ rules, homeCountryId: numberOrNull(row['home']) }, place)
    const texts = found.map(({ settingId, rate }) => `${settingId}=${decimalText(rate)}`)
    expect(texts).toEqual(listOf(row['found']!, ', '))
  })
})

describe('the status of an invoice', () => {
  test.each(rowsOf('statuses'))('%s', (_, row) => {
    const minor = (column: string): bigint => decimalToMinor(decimal(row[column]!), 2)!
    const actualBalanceMinor = minor('total') - minor('credited') - minor('paid')
    const status = invoiceStatus({
      isCancelled: row['flag'] === 'cancelled',
      isDraft: row['flag'] === 'draft',
      dueDate: '2027-01-31',
      today: row['today']!,
      balanceMinor: actualBalanceMinor - minor('pending'),
      actualBalanceMinor,
    })
    expect(status).toBe(row['status'])
  })
})

describe('calendar days in a zone', () => {
  test.each(rowsOf('zones'))('%s', (_, row) => {
    expect(dateIn(row['instant']!, row['zone']!)).toBe(row['day'])
    expect(midnightOf(row['day']!, row['zone']!)).toBe(row['midnight']!.replace('Z', '.000Z'))
  })

  test('Z01, Z03, Z05: thirty days are thirty local days, also across a change of clocks', () => {
    expect(addDays('2013-08-01', 30)).toBe('2013-08-31')
    expect(addDays('2013-08-02', 30)).toBe('2013-09-01')
    expect(addDays('2017-03-01', 30)).toBe('2017-03-31')
    const cycle = { anchor: '2017-03-31', dayOfMonth: 31, term: 1, termType: 'months' as const }
    expect(periodContaining(cycle, '2017-03-31').until).toBe('2017-04-30')
  })

  test.each([
    ['America/New_York', '2024-03-09', '2024-03-11', 47],
    ['America/New_York', '2024-11-02', '2024-11-04', 49],
    ['Australia/Sydney', '2024-04-06', '2024-04-08', 49],
  ])('Z11: %s from %s to %s are two days, although %i hours pass', (zone, from, until, hours) => {
    expect(Date.parse(midnightOf(until, zone)) - Date.parse(midnightOf(from, zone))).toBe(hours * 3_600_000)
    expect(daysBetween(from, until)).toBe(2)
  })
})

const TABLES = [
  'periods',
  'pieces',
  'shares',
  'pricing',
  'changes',
  'cancellations',
  'components',
  'taxes',
  'taxmatching',
  'statuses',
  'zones',
]

/** The rows of the figures that were gathered from other systems: each is in a table, or the documents say why it is not. */
const GATHERED = `
  F01 F03 F05 F07 F09 F11 F13 F15 F17
  P01 P03 P05 P07 P09 P11 P13 P15 P17 P19 P21 P23
  C01 C03 C05 C07 C09 C11 C13 C15 C17 C19 C21 C23 C25 C27 C29 C31 C33 C35 C37
  A01 A03 A05 A07 A09 A11 A13 A15 A17 A21 A23 A25
  Y01 Y03 Y05 Y07
  Z01 Z03 Z05 Z07 Z09 Z11
  T01 T03 T05 T07 T09 T11 T15 T17 T19 T21 T23 T25 T27 T29
  W01 W03 W05 W07 W09
  M01 M03 M05 M07
  R01 R03 R05
  X01 X03 X05 X07 X09 X11 X13 X15 X17
  D01 D03 D05 D07 D09
  N01 N03
  B01`

test('every gathered figure is held by a table or explained in docs/domain/golden-figures.md', () => {
  const held = new Set(TABLES.flatMap((name) => goldenRows(name)).map((row) => row['id']!.replace(/[a-z]$/, '')))
  const page = readFileSync(new URL('../../docs/domain/golden-figures.md', import.meta.url), 'utf8')
  const explained = new Set([...page.matchAll(/^\| ([A-Z]\d\d) \|/gm)].map((match) => match[1]!))
  const gathered = GATHERED.trim().split(/\s+/)
  expect(gathered.filter((id) => !held.has(id) && !explained.has(id))).toEqual([])
  expect(gathered.filter((id) => held.has(id) && explained.has(id))).toEqual([])
})

test('no two rows of a table have the same name', () => {
  for (const name of TABLES) {
    const ids = goldenRows(name).map((row) => row['id']!)
    expect(new Set(ids).size, name).toBe(ids.length)
  }
})

describe('the weekdays of a year on which banks are closed', () => {
  test.each(rowsOf('bankholidays'))('%s', (_, row) => {
    const year = row['year']!
    const days = Array.from({ length: 366 }, (_, index) => addDays(`${year}-01-01`, index))
    const closed = days
      .filter((day) => day.startsWith(year) && isBankDay('weekdays', day))
      .filter((day) => !isBankDay(row['calendar'] as BankCalendar, day))
    expect(closed.map((day) => day.slice(5))).toEqual(listOf(row['closed']!, ','))
  })
})

describe('counting bank days', () => {
  test.each(rowsOf('bankdays'))('%s', (_, row) => {
    const [calendar, day, count] = [row['calendar'] as BankCalendar, row['day']!, Number(row['count'])]
    expect(bankDayOnOrAfter(calendar, day)).toBe(row['on or after'])
    expect(addBankDays(calendar, day, count)).toBe(row['counted'])
  })
})
