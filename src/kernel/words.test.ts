import { expect, test } from 'vitest'
import { soughtWords, searchWordsOf } from './words.ts'

test('a record is found by its words, whatever their case, accents and signs', () => {
  expect(searchWordsOf(["O'Neill", null, 'Zoë  GROẞ', 'ada.l@Example.com'])).toEqual([
    'oneill',
    'neill',
    'zoe',
    'gross',
    'adalexamplecom',
    'lexamplecom',
    'examplecom',
    'com',
  ])
  expect(searchWordsOf(['Łódź Ørsted Жанна 東京'])).toEqual(['lodz', 'orsted', 'жанна', '東京'])
  expect(searchWordsOf(['- %_ 😀'])).toEqual([])
  expect(searchWordsOf(['x'.repeat(300)])).toEqual(['x'.repeat(40)])
})

test('a search asks for beginnings of words; signs and repetitions do not count', () => {
  expect(soughtWords(" O'Neill  o-neill ada@exam ")).toEqual(['oneill', 'adaexam'])
  expect(soughtWords("%_\\' 😀")).toEqual([])
})
