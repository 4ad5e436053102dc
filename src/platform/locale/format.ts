import type { IsoDate } from '../../kernel/calendar.ts'
import { findCountry } from '../../kernel/countries.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { type Decimal, decimalText } from '../../kernel/decimal.ts'
import { minorText } from '../../kernel/money.ts'

/**
 * Amounts, prices, rates and days as people of a language and country write them. Digits go to the formatter as text: nothing here passes
 * through a floating-point number.
 */

export const LANGUAGES = ['en', 'de'] as const
export type Language = (typeof LANGUAGES)[number]

/** Returns the language of a tag such as de-CH; English where there is none of ours. */
export const languageOf = (locale: string): Language =>
  LANGUAGES.find((language) => locale.toLowerCase().split('-')[0] === language) ?? 'en'

export interface Formats {
  language: Language
  /** With the currency's sign, "€1,234.50". */
  money(amountMinor: bigint, currency: string): string
  /** Digits alone, for columns whose head names the currency. */
  amount(amountMinor: bigint, currency: string): string
  /** A unit price: at least the decimals of the currency, and all it has beyond. */
  price(price: Decimal, currency: string): string
  number(value: Decimal): string
  /** A fraction of 1 as "15%". */
  rate(rate: Decimal): string
  /** "3 April 2027". */
  longDate(day: IsoDate): string
  /** "3 Apr 2027". */
  date(day: IsoDate): string
  /** Joins names as a sentence does: "a, b and c". */
  list(names: readonly string[]): string
}

/**
 * Returns the locale in which a document is written. A document is in one language throughout: where we lack the words of a locale, its
 * country's English way of writing is taken.
 */
function writtenLocale(locale: string): string {
  const language = languageOf(locale)
  try {
    const { region } = new Intl.Locale(locale)
    return region ? `${language}-${region}` : language
  } catch {
    return language
  }
}

/**
 * Returns a language tag with the country of the account where it names none and is written in English: there are as many ways to write days and
 * numbers in English as countries. Other tags, and those of an account whose country is not known, stay.
 */
export function localeOfAccount(locale: string, accountCountry: string | null): string {
  const region = accountCountry === null ? undefined : findCountry(accountCountry)?.code
  const isPlain = writtenLocale(locale) === 'en'
  return isPlain && region !== undefined ? `en-${region}` : locale
}

const DIGITS = ['integer', 'group', 'decimal', 'fraction']

/** Returns what a formatter wrote with these digits in place of its own. */
function withDigits(parts: readonly Intl.NumberFormatPart[], digits: string): string {
  const from = parts.findIndex(({ type }) => DIGITS.includes(type))
  return parts.map(({ type, value }, at) => (at === from ? digits : DIGITS.includes(type) ? '' : value)).join('')
}

type Digits = Intl.StringNumericLiteral
const DECIMALS_MAX = 20

/** Returns a function that gives what it gave last where it is asked the same again, as for one invoice after the other of a run. */
function lastKept<Args extends readonly unknown[]>(write: (...args: Args) => string): (...args: Args) => string {
  let last: { args: Args; text: string } | undefined
  return (...args) => {
    if (!last || !args.every((arg, place) => arg === last?.args[place])) last = { args, text: write(...args) }
    return last.text
  }
}

function makeFormats(locale: string): Formats {
  const tag = writtenLocale(locale)
  const numbers = new Map<string, Intl.NumberFormat>()
  const numberFormat = (key: string, options: Intl.NumberFormatOptions): Intl.NumberFormat => {
    let format = numbers.get(key)
    if (!format) {
      format = new Intl.NumberFormat(tag, { numberingSystem: 'latn', ...options })
      numbers.set(key, format)
    }
    return format
  }
  const dateFormat = (dateStyle: 'long' | 'medium') => {
    const format = new Intl.DateTimeFormat(`${tag}-u-ca-gregory-nu-latn`, { dateStyle, timeZone: 'UTC' })
    return lastKept((day: IsoDate) => format.format(Date.parse(`${day}T00:00:00Z`)))
  }
  const fixed = (digits: number) => ({ minimumFractionDigits: digits, maximumFractionDigits: digits })
  const plain = { maximumFractionDigits: DECIMALS_MAX }
  const textOf = (amountMinor: bigint, currency: string) => minorText(amountMinor, digitsOf(currency)) as Digits
  const amount = (amountMinor: bigint, currency: string) =>
    numberFormat(`a${digitsOf(currency)}`, fixed(digitsOf(currency))).format(textOf(amountMinor, currency))
  return {
    language: languageOf(locale),
    money: lastKept((amountMinor: bigint, currency: string) => {
      const format = numberFormat(`m${currency}`, { style: 'currency', currency, ...fixed(digitsOf(currency)) })
      const text = textOf(amountMinor, currency)
      // In many countries Intl separates digits beside the sign of a currency otherwise than alone (en-DE: "€1,770.00", but "1.770,00").
      return withDigits(format.formatToParts(text), amount(amountMinor < 0n ? -amountMinor : amountMinor, currency))
    }),
    amount,
    price: (price, currency) =>
      numberFormat(`p${digitsOf(currency)}`, { ...plain, minimumFractionDigits: digitsOf(currency) }).format(
        decimalText(price) as Digits,
      ),
    number: (value) => numberFormat('n', plain).format(decimalText(value) as Digits),
    rate: (rate) => numberFormat('r', { style: 'percent', ...plain }).format(decimalText(rate) as Digits),
    longDate: dateFormat('long'),
    date: dateFormat('medium'),
    list: (names) => new Intl.ListFormat(tag, { type: 'conjunction' }).format(names),
  }
}

/** Making them costs a thousand times as much as using them. */
const LOCALES_MAX = 200
const made = new Map<string, Formats>()

/** Returns the ways of writing of a BCP 47 tag. */
export function formatsOf(locale: string): Formats {
  const key = locale.toLowerCase()
  let formats = made.get(key)
  if (!formats) {
    // Tags come from callers: what is remembered stays bounded.
    if (made.size >= LOCALES_MAX) made.clear()
    formats = makeFormats(locale)
    made.set(key, formats)
  }
  return formats
}

const countryNames = new Map<Language, Intl.DisplayNames>()

/** Returns the name of a country in the language of a locale; a text that names none, and any name in English, as it is. */
export function countryIn(locale: string, text: string): string {
  const language = languageOf(locale)
  const country = findCountry(text)
  const isCode = country && [country.code, country.alpha3].includes(text.trim().toUpperCase())
  if (!country || (language === 'en' && !isCode)) return text
  const names = countryNames.get(language) ?? new Intl.DisplayNames([language], { type: 'region' })
  countryNames.set(language, names)
  return names.of(country.code) ?? text
}
