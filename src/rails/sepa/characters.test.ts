import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSepaReference, isSepaText, sepaText } from './characters.ts'
import { aText } from './pain008.testing.ts'

test.each([
  ['Müller & Söhne', 'Mueller + Soehne'],
  ['ÄRZTEHAUS Ägidius', 'AERZTEHAUS Aegidius'],
  ['Straße GROẞ', 'Strasse GROSS'],
  ['Café Noël Ångström Łódź Øst', 'Cafe Noel Angstroem Lodz Ost'],
  ['Þórður Æsir', 'Thordur Aesir'],
  ['İstanbul ışık', 'Istanbul isik'],
  ['Αθήνα Ψαρά ΘΗΒΑ', 'Athina Psara THIVA'],
  ['София Щастие Чехов', 'Sofiya Shtastie Chehov'],
  ['Ђорђе Његош', 'Djordje Njegosh'],
  ['№ 5 „quoted“ – 3 €', "No 5 'quoted' - 3 EUR"],
  ['a@b.c_d;e#f', 'a(at)b.c-d,e.f'],
  ['ﬁne ｆｕｌｌ ½', 'fine full 1/2'],
  ['e\u0301\u200b\u0007x', 'ex'],
  ['tab\tand\u00a0blank', 'tab and blank'],
  ['//a//b///c/', 'a/b/c'],
  ['李明', '..'],
  ['\u0301', 'NOTPROVIDED'],
  [' / / ', 'NOTPROVIDED'],
  ['\ud800', 'NOTPROVIDED'],
])('%j is written %j', (text, written) => expect(sepaText(text, 70)).toBe(written))

test('a text is cut after it has been transliterated, and does not end with a blank or a stroke', () => {
  expect(sepaText('ä'.repeat(40), 70)).toBe('ae'.repeat(35))
  expect(sepaText('abc /def', 5)).toBe('abc')
  expect(sepaText('', 3)).toBe('NOT')
})

test('whatever is typed becomes a text of allowed characters, and such a text stays as it is', () => {
  fc.assert(
    fc.property(aText(200), fc.integer({ min: 1, max: 140 }), (text, max) => {
      const written = sepaText(text, max)
      expect(isSepaText(written, max)).toBe(true)
      expect(written).not.toMatch(/^[ /]|[ /]$|\/\//)
      expect(sepaText(written, max)).toBe(written)
    }),
  )
})

test.each([
  ['EM 12/2026', true],
  ['a', true],
  ["A(1)?:.,'+-", true],
  ['x'.repeat(35), true],
  ['x'.repeat(36), false],
  ['', false],
  ['/a', false],
  ['a/', false],
  ['a//b', false],
  [' a', false],
  ['a ', false],
  ['Ä1', false],
  ['a&b', false],
  ['a_b', false],
  ['a\n', false],
])('%j as a reference: %s', (text, isOne) => expect(isSepaReference(text)).toBe(isOne))
