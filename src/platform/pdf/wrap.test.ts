import { expect, test } from 'vitest'
import { faceOf } from './faces.ts'
import { ink } from './sheet.ts'
import { heightOf, wrap } from './wrap.ts'

const how = ink(9)
const textsOf = (text: string, width: number) => wrap(text, width, how).map((line) => line.text)

test('a text is broken between words, and its own line breaks are kept', () => {
  expect(textsOf('one two three\n\nfour', 35)).toEqual(['one two', 'three', '', 'four'])
})

test('a word wider than the line is broken inside, and loses nothing', () => {
  const word = `Ł${'ó'.repeat(200)}dź`
  const lines = wrap(word, 60, how)
  expect(lines.map(({ text }) => text).join('')).toBe(word)
  expect(Math.max(...lines.map(({ width }) => width))).toBeLessThanOrEqual(60)
})

test('a line is as wide as its characters', () => {
  const [line] = wrap('Łódź 1,234.50 €', 500, how)
  expect(line?.width).toBeCloseTo(faceOf('regular').widthOf('Łódź 1,234.50 €', 9), 6)
  expect(heightOf([line!, line!])).toBeCloseTo(2 * line!.height, 6)
})

test('spaces that do not break are set as plain ones, so that they are read back as such', () => {
  expect(textsOf('1\u202f234,50\u00a0€', 500)).toEqual(['1 234,50 €'])
})

test('an address is broken behind a sign, where one stands late enough in the line', () => {
  const lines = (text: string) => textsOf(text, 134)
  expect(lines('accounts@meridian-lettings.example')).toEqual(['accounts@meridian-lettings.', 'example'])
  expect(lines(`a@${'x'.repeat(40)}`).join('')).toBe(`a@${'x'.repeat(40)}`)
  expect(lines(`a@${'x'.repeat(40)}`)[0]?.length).toBeGreaterThan(15)
})

test('Arabic letters stand joined, from right to left, and the width is that of their forms', () => {
  const [line] = wrap('محمد 12', 500, how)
  expect(line?.shown).toBe('12 \ufeaa\ufee4\ufea4\ufee3')
  expect(line?.width).toBeCloseTo(faceOf('regular').widthOf('12 \ufeaa\ufee4\ufea4\ufee3', 9), 6)
})
