import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decimalText } from '../../kernel/decimal.ts'
import { Problems } from '../../kernel/fault.ts'
import { canonicalJson, parseJson } from '../../platform/wire/json.ts'
import { REFUSED } from '../../platform/wire/read.ts'
import { BulkUsageIn } from '../subscription-components/wire.ts'
import { bulkBodies, inOtherLetters } from './bodies.testing.ts'
import { readPlainUsage } from './plain-wire.ts'

const plainOf = (text: string, characters = Infinity) => {
  const reading = readPlainUsage(text, characters)
  for (let pauses = 0; ; pauses += 1) {
    const { done, value } = reading.next()
    if (done) return value && { usage: value, pauses }
  }
}

const ENTRY = '{"subscriptionID":7,"componentID":2,"NumUnits":1.5,"Date":"2027-01-15","UsageKey":"k 1"}'

describe('a plain body', () => {
  test('reads as what any body reads as, and is compared by the same text', () => {
    let plain = 0
    fc.assert(
      fc.property(bulkBodies({ subscriptions: [7, 12], components: [2, 3], code: 'C1' }), (text) => {
        const found = plainOf(text)
        expect(plainOf(inOtherLetters(text))).toBeUndefined()
        if (!found) return
        plain += 1
        const json = parseJson(text)
        const problems = new Problems()
        const read = BulkUsageIn.read(json!, '', { problems, timeZone: 'UTC', isStrict: true, isSecret: false })
        expect([problems.found, read === REFUSED]).toEqual([[], false])
        const { usage } = found
        const entries = Array.from({ length: usage.length }, (_, index) => {
          const { subscriptionId, componentId, day } = usage.groups[usage.groupOf(index)]!
          return {
            subscriptionID: subscriptionId,
            componentID: componentId,
            NumUnits: usage.unitsOf(index),
            Date: day,
            UsageKey: usage.keyOf(index),
            Memo: usage.memoOf(index) ?? null,
          }
        })
        const asRead = (read as { Usage: any[] }).Usage.map((entry) => ({
          subscriptionID: entry.subscriptionID,
          componentID: entry.componentID,
          NumUnits: decimalText(entry.NumUnits),
          Date: entry.Date?.day ?? null,
          UsageKey: entry.UsageKey,
          Memo: entry.Memo ?? null,
        }))
        // A plain body dates by days alone, which stand for their midnight.
        for (const { Date: date } of (read as { Usage: any[] }).Usage)
          if (date) expect(date.at).toBe(`${date.day}T00:00:00.000Z`)
        expect(entries).toEqual(asRead)
        expect(usage.identity()).toBe(canonicalJson(json))
      }),
      { numRuns: 300 },
    )
    expect(plain).toBeGreaterThan(100)
  })

  test('adds the units of one subscription, component and day without losing a digit', () => {
    const entry = (units: string, date: string) =>
      `{"Date":${date},"NumUnits":${units},"UsageKey":"k","subscriptionID":7,"componentID":2}`
    const list = [
      entry('0.00000001', 'null'),
      entry('999999999999', 'null'),
      entry('1', '"2027-01-15"'),
      entry('2', 'null'),
    ]
    const { groups } = plainOf(`{"Usage":[${list.join(', ')}]}`)!.usage
    expect(groups.map(({ day, units, eachUnits }) => [day, decimalText(units), eachUnits.map(decimalText)])).toEqual([
      [null, '1000000000001.00000001', ['0.00000001', '999999999999', '2']],
      ['2027-01-15', '1', ['1']],
    ])
  })

  test('is read piece by piece', () => {
    const text = `{"Usage":[${Array.from({ length: 1000 }, () => ENTRY).join()}]}`
    const found = plainOf(text, 8 * 1024)!
    expect([found.usage.length, found.pauses]).toEqual([1000, Math.floor(text.length / (8 * 1024 + ENTRY.length))])
  })

  test.each([
    ['an escape', ENTRY.replace('k 1', 'k\\u0031')],
    ['an exponent', ENTRY.replace('1.5', '15e-1')],
    ['sixteen digits', ENTRY.replace('1.5', '12345678901.12345')],
    ['nine decimals', ENTRY.replace('1.5', '0.123456789')],
    ['a zero in front', ENTRY.replace('1.5', '01.5')],
    ['units below zero', ENTRY.replace('1.5', '-1')],
    ['a blank at the end of a key', ENTRY.replace('k 1', 'k ')],
    ['a key that is too long', ENTRY.replace('k 1', 'k'.repeat(256))],
    ['an empty key', ENTRY.replace('k 1', '')],
    ['letters of other scripts', ENTRY.replace('k 1', 'ключ')],
    ['a number as key', ENTRY.replace('"k 1"', '1')],
    ['an identifier of 0', ENTRY.replace('7', '0')],
    ['a day that is none', ENTRY.replace('01-15', '02-30')],
    ['a year before all', ENTRY.replace('2027', '1800')],
    ['a name that nobody knows', ENTRY.replace('"Date"', '"date"')],
    ['a name that comes twice', ENTRY.replace('"Date"', '"UsageKey":"k","Date"')],
    ['a name that is missing', ENTRY.replace('"componentID":2,', '')],
    ['a set number', ENTRY.replace('"Date"', '"isSetUnits":false,"Date"')],
    ['a code', ENTRY.replace('"Date"', '"ComponentCode":"C","Date"')],
    ['no entry', ''],
    ['a comma behind the last', `${ENTRY},`],
    ['more than 10,000 entries', Array.from({ length: 10_001 }, () => ENTRY).join()],
    ['something behind the end', `${ENTRY}]}  x`],
  ])('is none with %s', (_, entries) => {
    expect(plainOf(`{"Usage":[${ENTRY}]}`)).toBeDefined()
    expect(plainOf(`{"Usage":[${entries}]}`)).toBeUndefined()
    if (entries !== '' && entries.endsWith('}')) expect(plainOf(`{"Usage":[${ENTRY},${entries}]}`)).toBeUndefined()
  })

  test('takes no longer than its length, whatever it holds', () => {
    const begun = performance.now()
    for (const text of [' ', '"', '{', '\\"', '{"Usage":[{', '1', ',"Date":"2027-01-15"'])
      plainOf(`{"Usage":[{"NumUnits":1${text.repeat(400_000)}`)
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})
