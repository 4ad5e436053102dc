import { expect, test } from 'vitest'
import { cellText, isBlank, plural, sentenceList, straight } from './text.ts'

test('lists read like sentences', () => {
  expect([
    sentenceList([]),
    sentenceList(['a']),
    sentenceList(['a', 'b']),
    sentenceList(['a', 'b', 'c'], 'or'),
  ]).toEqual(['', 'a', 'a and b', 'a, b or c'])
})

test('one thing is not plural', () => {
  expect([plural(1, 'day'), plural(0, 'day'), plural(2, 'currency', 'currencies')]).toEqual([
    '1 day',
    '0 days',
    '2 currencies',
  ])
})

test('a name turns nothing round', () => {
  expect(straight('\u202aA\u202b\u202c\u202d\u202ec\u2066m\u2067e\u2068\u2069')).toBe('Acme')
  expect(straight('אב')).toBe('אב')
})

test.each([
  '',
  ' ',
  '\u200b',
  '\u202a \u202c',
  '\u00ad\ufeff',
  '\u0301',
  '\u3000',
  '\ue000',
  '\u2028',
  '\ufe0f',
  '\u2066\u2069',
])('%j has nothing that is seen', (text) => expect(isBlank(text)).toBe(true))

test.each(['a', '\u200ba', '-', '\u0301e', '😀', '李', '\u202a1\u202c', '$'])('%j is seen', (text) =>
  expect(isBlank(text)).toBe(false),
)

test.each([
  ['=1+1', "'=1+1"],
  ['＝1+1', "'＝1+1"],
  ['＋49', "'＋49"],
  ['－1', "'－1"],
  ['＠SUM', "'＠SUM"],
  ['\u200b=1', "'\u200b=1"],
  ['\u202e=1', "'=1"],
  ['\ufeff\u00a0\u0301-1', "'\ufeff\u00a0\u0301-1"],
  ['\tx', "'\tx"],
  ['a=1', 'a=1'],
  ['1-1', '1-1'],
  ['Ä=1', 'Ä=1'],
  ['\u202aAcme\u202c', 'Acme'],
  ['', ''],
])('%j stands in a cell as %j', (text, cell) => expect(cellText(text)).toBe(cell))
