import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { IgnoredNames } from './ignored-names.ts'

const spellings = new Map([
  ['Qty', 'Qty'],
  ['AutoApply', 'AutoApply'],
])

function headerOf(names: readonly string[], { path = '', isHidden = false } = {}): string {
  const ignored = new IgnoredNames()
  ignored.begin()
  for (const name of names) ignored.note({ path, name, spellings, isHidden })
  return ignored.header()
}

describe('the header', () => {
  test.each([
    [['AutoAply'], '', '"AutoAply";near="AutoApply"'],
    [['Quantity', 'Colour'], 'Charges[0]', '"Charges[0].Quantity";near="Qty", "Charges[0].Colour"'],
    [['a"b\\c'], '', '"a\\"b\\\\c"'],
    [['a\r\nSet-Cookie: x'], '', '"a%0D%0ASet-Cookie: x"'],
    [['Größe', '😀', '\u007f', '\ud800'], '', '"Gr%C3%B6%C3%9Fe", "%F0%9F%98%80", "%7F", "%EF%BF%BD"'],
    [[''], '', '""'],
    [['x'.repeat(64), 'y'.repeat(65)], '', `"${'x'.repeat(64)}", "${'y'.repeat(64)}..."`],
  ])('of %j at %j is %s', (names, path, header) => {
    expect(headerOf(names, { path })).toBe(header)
  })

  test('names twenty, and says how many more there are', () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `Z${index}Z`)
    const shown = (count: number) =>
      names
        .slice(0, count)
        .map((name) => `"${name}"`)
        .join(', ')
    expect(headerOf(names.slice(0, 20))).toBe(shown(20))
    expect(headerOf(names.slice(0, 21))).toBe(`${shown(20)};more=1`)
    expect(headerOf(names)).toBe(`${shown(20)};more=4980`)
  })

  test('names of a list of thousands crowd out none that stands outside of it', () => {
    const ignored = new IgnoredNames()
    ignored.begin()
    for (let index = 0; index < 1_000; index += 1)
      ignored.note({ path: `Charges[${index}]`, name: 'Quantity', spellings, isHidden: false })
    ignored.note({ path: '', name: 'AutoAply', spellings, isHidden: false })
    const shown = ignored.header().split(', ')
    expect(shown).toHaveLength(20)
    expect([shown[0], shown[18]]).toEqual(['"Charges[0].Quantity";near="Qty"', '"Charges[18].Quantity";near="Qty"'])
    expect(shown[19]).toBe('"AutoAply";near="AutoApply";more=981')
  })

  test('repeats no name that stands where a secret may, unless it is nearly a known one', () => {
    expect(headerOf(['hunter2', 'Quantity'], { path: 'CreditCard', isHidden: true })).toBe(
      '"CreditCard.*", "CreditCard.Quantity";near="Qty"',
    )
  })

  test('forgets what an earlier reading of the same request noted', () => {
    const ignored = new IgnoredNames()
    for (const name of ['first', 'second']) {
      ignored.begin()
      ignored.note({ path: '', name, spellings, isHidden: false })
    }
    expect([ignored.count, ignored.header()]).toEqual([1, '"second"'])
  })

  test('is a list of strings of RFC 9651 and short, whatever the names are', () => {
    const string = String.raw`"(?:[ !#-\[\]-~]|\\["\\])*"`
    const list = new RegExp(`^(?:${string}(?:;near=${string})?(?:, (?!$)|(?:;more=[1-9][0-9]*)?$))+$`)
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({
        unit: fc.constantFrom('\r', '\n', '"', '\\', '%', ';', ',', ' ', 'Q', 'ty', 'é', '\u0000', '\ud800'),
      }),
      fc.constantFrom('Quantity', '__proto__', 'Qyt', 'x'.repeat(100_000)),
    )
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 40 }), fc.boolean(), (names, isHidden) => {
        const header = headerOf(names, { path: 'Charges[999]', isHidden })
        expect(header).toMatch(list)
        expect(header.length).toBeLessThan(4_096)
      }),
    )
  })
})
