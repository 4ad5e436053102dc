import { describe, expect, test } from 'vitest'
import { sameAsAnswered } from './computed.ts'
import { IgnoredNames } from './ignored-names.ts'
import { parseJson } from './json.ts'

const ZONE = 'Africa/Johannesburg'
const isSame = (sent: string, answered: string) =>
  sameAsAnswered(parseJson(sent) ?? null, parseJson(answered) ?? null, ZONE)

describe('a computed field that is sent says what is answered', () => {
  test.each([
    ['149', '149.00'],
    ['1.49e2', '149'],
    ['"149.00"', '149'],
    ['149', '"149"'],
    ['true', 'true'],
    ['"Paid "', '"Paid"'],
    ['"2027-04-03"', '"2027-04-03T00:00:00+02:00"'],
    ['"03 Apr 2027"', '"2027-04-03T00:00:00+02:00"'],
    ['"2027-04-02T22:00:00Z"', '"2027-04-03T00:00:00+02:00"'],
    ['"2027-04-03T15:00:00"', '"2027-04-03T00:00:00+02:00"'],
    ['"2027-04-03T12:00:00+02:00"', '"2027-04-03T10:00:00.000Z"'],
  ])('%s as %s', (sent, answered) => expect(isSame(sent, answered)).toBe(true))

  test.each([
    ['149', '150'],
    ['false', 'true'],
    ['true', '1'],
    ['"Paid"', '"paid"'],
    ['5', 'null'],
    ['"x"', 'null'],
    ['"2027-04-04"', '"2027-04-03T00:00:00+02:00"'],
    ['"2027-04-03"', '"2027-04-03T10:00:00.000Z"'],
    ['"2027-04-03"', '"20270403"'],
    ['1e999999999', '5'],
  ])('%s not as %s', (sent, answered) => expect(isSame(sent, answered)).toBe(false))
})

describe('computed fields', () => {
  const told = (fields: [path: string, name: string, value: string][], answered: string): string => {
    const names = new IgnoredNames()
    names.begin()
    for (const [path, name, value] of fields) names.sendsComputed(path, name, parseJson(value) ?? null)
    names.compare(parseJson(answered) ?? null, ZONE)
    return names.header()
  }

  test('are told by their place where they differ from what is answered', () => {
    const fields: [string, string, string][] = [
      ['', 'Total', '5'],
      ['', 'TotalEx', '100'],
      ['Taxes[0]', 'TaxAmount', '1'],
      ['Taxes[1]', 'TaxAmount', '2'],
      ['', 'Status', '"Paid"'],
    ]
    const answered = '{"Total":115,"TotalEx":100.00,"Taxes":[{"TaxAmount":15},{"TaxAmount":2}],"Status":"Due"}'
    expect(told(fields, answered)).toBe('"Total";computed, "Taxes[0].TaxAmount";computed, "Status";computed')
  })

  test('are passed over as identifiers, instants of writing, null, objects, lists, and where nothing is answered in their place', () => {
    const fields: [string, string, string][] = [
      ['', 'invoiceID', '7'],
      ['', 'BatchToken', '"x"'],
      ['', 'CreatedDate', '"2020-01-01"'],
      ['', 'LastModified', '"2020-01-01"'],
      ['', 'Total', 'null'],
      ['', 'Customer', '{"Name":"x"}'],
      ['', 'Charges', '[1]'],
      ['Taxes[3]', 'TaxAmount', '1'],
      ['Customer.x', 'Name', '"y"'],
    ]
    const answered =
      '{"invoiceID":1,"BatchToken":"y","CreatedDate":"z","LastModified":"z","Total":1,"Customer":{},"Charges":[],"Taxes":[]}'
    expect(told(fields, answered)).toBe('')
  })

  test('count among the twenty names, and in how many more there are', () => {
    const fields = Array.from({ length: 30 }, (_, n): [string, string, string] => ['', `F${n}`, '1'])
    const answered = JSON.stringify(Object.fromEntries(fields.map(([, name]) => [name, 2])))
    const header = told(fields, answered)
    expect(header.split(', ')).toHaveLength(20)
    expect(header).toMatch(/"F19";computed;more=10$/)
  })
})
