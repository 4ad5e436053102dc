import { expect, test } from 'vitest'
import { plural, sentenceList } from './text.ts'

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
