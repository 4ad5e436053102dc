import type { IsoDate } from './calendar.ts'
import { pastedNumber } from './pasted-numbers.ts'
import { IBAN_FORMS, OUTSIDE_EEA, SEPA_SINCE } from './iban-table.ts'

/** Numbers of banks, accounts and cards: whether they are well formed. None of these functions knows whether an account exists. */

/**
 * Returns the number as it may be pasted without blanks, dots and dashes and with capital letters, as IBAN, BIC and creditor identifier are stored and
 * answered. Only ASCII letters become capitals: "ß" must not become a valid "SS".
 */
export const compactNumber = (text: string): string =>
  pastedNumber(text).replace(/[a-z]+/g, (letters) => letters.toUpperCase())

/** Returns the remainder by 97 of the digits that a text stands for, letters counting as 10 to 35 (ISO 7064, MOD 97-10). */
export function remainderBy97(text: string): number {
  let remainder = 0
  for (const character of text) {
    const value = Number.parseInt(character, 36)
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
  }
  return remainder
}

const ibanPatterns = new Map<string, RegExp>()

const CHARACTERS: Readonly<Record<string, string>> = { n: '[0-9]', a: '[A-Z]', c: '[A-Z0-9]' }

function ibanPattern(country: string, form: string): RegExp {
  const known = ibanPatterns.get(country)
  if (known) return known
  const parts = form.replace(/(\d+)([nac])/g, (_, length: string, kind: string) => `${CHARACTERS[kind]}{${length}}`)
  const pattern = new RegExp(`^[A-Z]{2}[0-9]{2}${parts}$`)
  ibanPatterns.set(country, pattern)
  return pattern
}

/** Returns the length of a country's IBANs in characters, undefined where the country has none. */
export function ibanLength(country: string): number | undefined {
  const lengths = IBAN_FORMS.get(country)?.match(/\d+/g)
  return lengths?.reduce((sum, length) => sum + Number(length), 4)
}

/** Reasons why a text is no IBAN, in the order in which they are looked for. */
export type IbanProblem = 'country' | 'length' | 'characters' | 'checksum'

/**
 * Returns what is wrong with a compact IBAN, null when nothing is: its country has IBANs, of this length, with digits and letters in these
 * places (ISO 13616), and the check digits are right. Check digits inside of national numbers are not looked at.
 */
export function ibanProblem(iban: string): IbanProblem | null {
  const country = iban.slice(0, 2)
  const form = IBAN_FORMS.get(country)
  if (form === undefined) return 'country'
  if (iban.length !== ibanLength(country)) return 'length'
  if (!ibanPattern(country, form).test(iban)) return 'characters'
  return remainderBy97(iban.slice(4) + iban.slice(0, 4)) === 1 ? null : 'checksum'
}

/** Returns true for a compact IBAN without a problem. */
export const isIban = (iban: string): boolean => ibanProblem(iban) === null

/** Returns true when accounts of the country (the first two letters of an IBAN) can be debited by SEPA on the day. */
export function isInSepa(country: string, on: IsoDate): boolean {
  const since = SEPA_SINCE.get(country)
  return since !== undefined && (since === null || since <= on)
}

/** Returns true when accounts of the country (the first two letters of an IBAN) lie outside of the European Economic Area. */
export const isOutsideEea = (country: string): boolean => OUTSIDE_EEA.has(country)

/** Returns true for the shape of a compact BIC (ISO 9362): bank, country and place, and for some a branch. */
export const isBic = (bic: string): boolean => /^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/.test(bic)

/**
 * Returns true for a compact SEPA creditor identifier (EPC262-08): country, check digits, three characters of the creditor's own that the check
 * digits leave out, and the national number; 35 characters at most.
 */
export const isCreditorIdentifier = (identifier: string): boolean =>
  /^[A-Z]{2}[0-9]{2}[A-Z0-9]{3}[A-Z0-9]{1,28}$/.test(identifier) &&
  remainderBy97(identifier.slice(7) + identifier.slice(0, 4)) === 1

const ROUTING_WEIGHTS = [3, 7, 1]

/** Returns true for an ABA routing number: nine digits whose sum, weighted 3, 7, 1 in turn, is a multiple of 10. */
export function isRoutingNumber(routingNumber: string): boolean {
  if (!/^[0-9]{9}$/.test(routingNumber)) return false
  const sum = [...routingNumber].reduce(
    (sum, digit, index) => sum + Number(digit) * (ROUTING_WEIGHTS[index % 3] ?? 0),
    0,
  )
  return sum % 10 === 0
}

/** Returns true for digits whose last is the check digit of the others by the Luhn algorithm (ISO/IEC 7812-1). */
export function passesLuhn(digits: string): boolean {
  if (!/^[0-9]+$/.test(digits)) return false
  let sum = 0
  for (let place = 0; place < digits.length; place++) {
    const digit = digits.charCodeAt(digits.length - 1 - place) - 48
    const counted = place % 2 === 0 ? digit : digit * 2
    sum += counted > 9 ? counted - 9 : counted
  }
  return sum % 10 === 0
}

export const CARD_BRANDS = [
  'Visa',
  'Mastercard',
  'American Express',
  'Diners Club',
  'Discover',
  'JCB',
  'Dankort',
  'Maestro',
  'Forbrugsforeningen',
  'Unknown',
] as const

export type CardBrand = (typeof CARD_BRANDS)[number]

/** Ranges of the first digits of card numbers, both ends included, and the lengths that numbers of the brand have. */
const CARD_RANGES: readonly (readonly [CardBrand, lengths: string, ...ranges: (readonly [string, string])[]])[] = [
  ['Dankort', '16', ['5019', '5019']],
  ['Forbrugsforeningen', '16', ['600', '600']],
  ['Discover', '16-19', ['6011', '6011'], ['622126', '622925'], ['644', '649'], ['65', '65']],
  ['American Express', '15', ['34', '34'], ['37', '37']],
  ['Diners Club', '14-19', ['300', '305'], ['3095', '3095'], ['36', '36'], ['38', '39']],
  ['JCB', '16-19', ['3528', '3589']],
  ['JCB', '15', ['1800', '1800'], ['2131', '2131']],
  ['Mastercard', '16', ['51', '55'], ['2221', '2720']],
  [
    'Maestro',
    '12-19',
    ['493698', '493698'],
    ['500000', '504174'],
    ['504176', '506698'],
    ['506779', '508999'],
    ['56', '59'],
    ['63', '63'],
    ['67', '67'],
  ],
  ['Visa', '13-19', ['4', '4']],
]

/**
 * Returns the brand of a card number by the ranges that the networks publish, 'Unknown' where none fits; the first that fits counts, so
 * brands whose ranges lie inside of another's stand before it. The check digit is not looked at.
 */
export function cardBrandOf(number: string): CardBrand {
  if (!/^[0-9]{12,19}$/.test(number)) return 'Unknown'
  const found = CARD_RANGES.find(([, lengths, ...ranges]) => {
    const [shortest = 0, longest = shortest] = lengths.split('-').map(Number)
    if (number.length < shortest || number.length > longest) return false
    return ranges.some(
      ([from, until]) => number.slice(0, from.length) >= from && number.slice(0, until.length) <= until,
    )
  })
  return found?.[0] ?? 'Unknown'
}
