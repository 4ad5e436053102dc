import { expect, test } from 'vitest'
import { plural, sentenceList, straight } from './text.ts'

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
