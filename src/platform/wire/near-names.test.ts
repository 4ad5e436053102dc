import { expect, test } from 'vitest'
import { nearName } from './near-names.ts'

const among = (...names: string[]) => new Map(names.map((name) => [name, name]))

test.each([
  // Equal without case and underscores.
  ['customer_id', ['customerID'], 'customerID'],
  ['currency_code', ['CurrencyCode'], 'CurrencyCode'],
  // One or two letters off: left out, put in, changed, swapped.
  ['AutoAply', ['Amount', 'AutoApply'], 'AutoApply'],
  ['Ammountt', ['Amount'], 'Amount'],
  ['Emial', ['Email'], 'Email'],
  ['Ammounttt', ['Amount'], undefined],
  // One only below five letters.
  ['Datt', ['Date'], 'Date'],
  ['Dutt', ['Date'], undefined],
  ['Qyt', ['Qty'], 'Qty'],
  ['x', ['To', 'Qty'], undefined],
  // Called so elsewhere, except for what is not known in this place.
  ['Quantity', ['Qty', 'Descrip'], 'Qty'],
  ['quantity', ['NumUnits', 'Date'], 'NumUnits'],
  ['Price', ['Qty', 'UnitCostEx'], 'UnitCostEx'],
  ['Description', ['Descrip'], 'Descrip'],
  ['currency', ['Amount', 'CurrencyCode'], 'CurrencyCode'],
  ['Quantity', ['Name'], undefined],
  ['Status', ['page', 'comp_Status'], 'comp_Status'],
  ['comp_Status', ['page', 'status'], 'status'],
  ['Lock', ['From', 'isLock'], 'isLock'],
  // The nearest, and of two as near the first.
  ['startDates', ['endDate', 'startDate'], 'startDate'],
  ['Namex', ['Names', 'Name'], 'Names'],
  ['', ['Qty'], undefined],
  ['___', ['Qty'], undefined],
  ['constructor', ['Qty'], undefined],
  ['__proto__', ['Qty'], undefined],
  ['Qty'.padEnd(100_000, 'y'), ['Qty'], undefined],
])('%j among %j is near %j', (unknown, known, near) => {
  expect(nearName(unknown, among(...known))).toBe(near)
})

test('a name that is near another spelling is near the documented one', () => {
  expect(
    nearName(
      'isAutoAply',
      new Map([
        ['AutoApply', 'AutoApply'],
        ['isAutoApply', 'AutoApply'],
      ]),
    ),
  ).toBe('AutoApply')
})
