import { describe, expect, test } from 'vitest'
import { decimal } from '../../kernel/decimal.ts'
import { countryIn, formatsOf, languageOf, localeOfAccount } from './format.ts'

/** Replaces no-break spaces, which nobody who reads a table distinguishes from plain ones. */
const plain = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, ' ')

test.each([
  ['en', 'en'],
  ['de-CH', 'de'],
  ['DE', 'de'],
  ['den', 'en'],
  ['fr', 'en'],
])('the language of %s is %s', (locale, language) => expect(languageOf(locale)).toBe(language))

describe('amounts', () => {
  test.each([
    ['en', 1234567n, 'USD', '$12,345.67', '12,345.67'],
    ['de', 1234567n, 'EUR', '12.345,67 €', '12.345,67'],
    ['de', -1234567n, 'CHF', '-12.345,67 CHF', '-12.345,67'],
    ['en', 1234567n, 'JPY', '¥1,234,567', '1,234,567'],
    ['en', 1234567n, 'KWD', 'KWD 1,234.567', '1,234.567'],
    ['en', -5n, 'USD', '-$0.05', '-0.05'],
    ['ar-EG', 1234567n, 'EGP', 'EGP 12,345.67', '12,345.67'],
    ['not a tag', 100n, 'USD', '$1.00', '1.00'],
  ])('of %s: %s %s is %s', (locale, minor, currency, money, amount) => {
    const formats = formatsOf(locale)
    expect([plain(formats.money(minor, currency)), formats.amount(minor, currency)]).toEqual([money, amount])
  })

  test.each(['en-DE', 'en-FR', 'en-CH', 'en-SE', 'en-ZA', 'en-IN', 'en-AT', 'de-AT', 'de-CH'])(
    'of %s are separated alike with and without the sign of their currency, as papers have both',
    (locale) => {
      const { money, amount } = formatsOf(locale)
      expect(money(123_456_750n, 'EUR')).toContain(amount(123_456_750n, 'EUR'))
      expect(money(-177_000n, 'EUR').replace(/[-\u2212]/, '')).toContain(amount(177_000n, 'EUR'))
    },
  )

  test('keep every digit, also where a floating-point number would not', () => {
    expect(formatsOf('en').amount(99_999_999_999_999n, 'USD')).toBe('999,999,999,999.99')
    expect(formatsOf('en').amount(900_719_925_474_099_301n, 'USD')).toBe('9,007,199,254,740,993.01')
  })

  test('prices have at least the decimals of their currency, and all they have beyond', () => {
    const { price } = formatsOf('en')
    expect([price(decimal('5'), 'USD'), price(decimal('0.0035'), 'USD'), price(decimal('100.5'), 'JPY')]).toEqual([
      '5.00',
      '0.0035',
      '100.5',
    ])
  })

  test('rates are percentages', () => {
    expect(formatsOf('en').rate(decimal('0.155'))).toBe('15.5%')
    expect(plain(formatsOf('de').rate(decimal('0.19')))).toBe('19 %')
  })
})

test('days are written in the language of the document, in the order of the country', () => {
  expect(['en', 'en-GB', 'de', 'fr-FR'].map((locale) => formatsOf(locale).longDate('2027-04-03'))).toEqual([
    'April 3, 2027',
    '3 April 2027',
    '3. April 2027',
    '3 April 2027',
  ])
  expect(formatsOf('de').date('2027-04-03')).toBe('03.04.2027')
})

test.each([
  ['de', 'South Africa', 'Südafrika'],
  ['de-AT', 'DEU', 'Deutschland'],
  ['en', 'ZA', 'South Africa'],
  ['en', 'irl', 'Ireland'],
  ['en', 'The Netherlands', 'The Netherlands'],
  ['de', 'somewhere', 'somewhere'],
])('%s writes the country %s as %s', (locale, text, written) => {
  expect(countryIn(locale, text)).toBe(written)
})

test('plain English is written as in the country of the account, whatever that calls itself', () => {
  const written = (locale: string, country: string | null) =>
    formatsOf(localeOfAccount(locale, country)).date('2027-04-03')
  expect(['GB', 'United States', 'ZA', null].map((country) => written('en', country))).toEqual([
    '3 Apr 2027',
    'Apr 3, 2027',
    '03 Apr 2027',
    'Apr 3, 2027',
  ])
  // A language without words of ours is written in English too; a tag with a country, and German, keep theirs.
  expect([written('fr', 'GB'), written('en-US', 'GB'), written('de', 'GB')]).toEqual([
    '3 Apr 2027',
    'Apr 3, 2027',
    '03.04.2027',
  ])
})
