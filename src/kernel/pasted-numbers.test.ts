import { describe, expect, test } from 'vitest'
import { holdsCardNumber } from './card-number.ts'
import { pastedExpiry, pastedNumber, pastedWithHyphens, plainCharacters } from './pasted-numbers.ts'

const CARD = '4242424242424242'

/** Number of a card as programs and people give it. */
const PASTED = [
  ['embedded in the direction of contacts', '\u202A4242 4242 4242 4242\u202C'],
  ['with blanks of no width', '4242\u200B4242\uFEFF4242\u00AD4242'],
  ['full width', '４２４２４２４２４２４２４２４２'],
  ['full width with its own signs', '４２４２－４２４２．４２４２　４２４２'],
  ['Arabic', '٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢'],
  ['Persian', '۴۲۴۲ ۴۲۴۲ ۴۲۴۲ ۴۲۴۲'],
  ['Devanagari', '४२४२४२४२४२४२४२४२'],
  ['mathematical', '𝟒𝟐𝟒𝟐𝟒𝟐𝟒𝟐𝟜𝟚𝟜𝟚𝟜𝟚𝟜𝟚'],
  ['with dots', '4242.4242.4242.4242'],
  ['with dashes of every kind', '4242–4242—4242‑4242'],
  ['with narrow blanks that do not break', '4242\u202F4242\u00A04242 4242'],
] as const

describe('a number as it is pasted', () => {
  test.each(PASTED)('%s is read', (_, text) => {
    expect(pastedNumber(text)).toBe(CARD)
  })

  test.each(PASTED)('%s is found where none belongs', (_, text) => {
    expect(holdsCardNumber(text)).toBe(true)
    expect(holdsCardNumber(`my card is ${text}!`)).toBe(true)
  })

  test('keeps letters and what is no separator', () => {
    expect(pastedNumber(' de89 3704-0044.0532 0130 00 ')).toBe('de89370400440532013000')
    expect(pastedNumber('4242/4242')).toBe('4242/4242')
    expect(pastedNumber('ＤＥ８９')).toBe('DE89')
    expect(pastedNumber('\u200B \u202A')).toBe('')
  })

  test('of an account with hyphens loses blanks alone', () => {
    expect(pastedWithHyphens('\u202A12–34 ５６.7 \u202C')).toBe('12-3456.7')
  })

  test('each digit of each script has its value', () => {
    const digits: string[] = []
    for (let code = 0; code < 0x20_000; code += 1) {
      const character = String.fromCodePoint(code)
      if (/\p{Nd}/u.test(character)) digits.push(character)
    }
    expect(digits.length).toBeGreaterThan(600)
    expect(plainCharacters(digits.join(''))).toBe('0123456789'.repeat(digits.length / 10))
  })
})

describe('an expiry as it is pasted', () => {
  test.each([
    ...[
      '12/29',
      '12/2029',
      '1229',
      '122029',
      '12 / 29',
      '2029-12',
      '202912',
      '１２/２９',
      '12–29',
      '12.29',
      '12,29',
      '12−29',
    ],
    ...['2029/12', '2029 12', '１２／２９', '\u202A12/29\u202C', '١٢/٢٩', '12\u200B/29', ' 12/29 ', '12 — 2029'],
  ])('%s is December 2029', (text) => {
    expect(pastedExpiry(text)).toEqual({ month: 12, year: 2029 })
  })

  test.each(['3/29', '329', '03/29', '2029-3', '20293', '2029-03', '32029'])('%s is March 2029', (text) => {
    expect(pastedExpiry(text)).toEqual({ month: 3, year: 2029 })
  })

  test.each(['13/29', '00/29', '2029', '29/12', '2029-13', '2029-00', '12/29/30', '12a29', '', '/', '12', '1/2/29'])(
    '%s is none',
    (text) => {
      expect(pastedExpiry(text)).toBeUndefined()
    },
  )
})

test('amounts, days and addresses of networks are no numbers of cards', () => {
  for (const text of ['1.234.567,89', '2027-01-31 12:00', '192.168.100.200', '+49 30 1234567', 'Invoice 2027.001'])
    expect(holdsCardNumber(text)).toBe(false)
})
