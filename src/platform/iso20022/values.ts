import { type IsoDate, isDate } from '../../kernel/calendar.ts'
import { findCurrency } from '../../kernel/currencies.ts'
import { isAmountInBounds } from '../../kernel/money.ts'
import { elementAt, elementsIn, textAt, type XmlElement } from './elements.ts'
import type { BankAmount } from './result-lines.ts'

/** Values of elements: amounts, days, codes, references. Anything that cannot be used is marked, and judged by the reader that needs it. */

export interface AmountFound {
  /** Null if it cannot be used: no currency of ISO 4217, more decimals than the currency has, out of bounds, no number. */
  amount: BankAmount | null
  /** The currency as the bank writes it, if it does. */
  currency: string | undefined
  /** It is no number as amounts of ISO 20022 are. */
  isMalformed: boolean
}

const DECIMAL = /^\+?(\d*)(?:\.(\d*))?$/
/** Digits and decimals of amounts in ISO 20022, without zeros before and behind. */
const DIGITS_MAX = 18
const DECIMALS_MAX = 5
/** Characters of a number, with all its zeros. */
const NUMBER_MAX = 60

/** Reads an amount exactly; undefined if there is none. */
export function amountAt(element: XmlElement | undefined, path: string): AmountFound | undefined {
  const found = elementAt(element, path)
  if (!found) return undefined
  const currency = findCurrency(found.currency ?? '')
  const [, digits, decimals = ''] = DECIMAL.exec(found.text.slice(0, NUMBER_MAX + 1)) ?? []
  const whole = digits?.replace(/^0+/, '') ?? ''
  const exact = decimals.replace(/0+$/, '')
  const isMalformed =
    digits === undefined ||
    found.text.length > NUMBER_MAX ||
    digits + decimals === '' ||
    whole.length + exact.length > DIGITS_MAX ||
    exact.length > DECIMALS_MAX
  const written = found.currency || undefined
  if (isMalformed || !currency || exact.length > currency.digits)
    return { amount: null, currency: written, isMalformed }
  const amountMinor = BigInt(whole + exact.padEnd(currency.digits, '0') || '0')
  const amount = isAmountInBounds(amountMinor, currency.digits) ? { amountMinor, currency: currency.code } : null
  return { amount, currency: written, isMalformed }
}

/** A day that stands in a file; null if it is none of the calendar. */
export interface DayFound {
  day: IsoDate | null
}

/** Reads the first day of some paths, or the day of an instant as the bank writes it; undefined if there is none. */
export function dayAt(element: XmlElement | undefined, ...paths: readonly string[]): DayFound | undefined {
  for (const path of paths) {
    const day = textAt(element, path)?.slice(0, 10)
    if (day !== undefined) return { day: isDate(day) ? day : null }
  }
  return undefined
}

/** Reads a code, or the proprietary one in its place. */
export const codeAt = (element: XmlElement | undefined, path: string): string | null =>
  textAt(element, `${path}/Cd`) ?? textAt(element, `${path}/Prtry`)

export const flagAt = (element: XmlElement | undefined, path: string): boolean =>
  ['true', '1'].includes(textAt(element, path) ?? '')

/** Reads the name of a party: versions from 2013 on write a person or firm into Pty. */
export const nameAt = (element: XmlElement | undefined, path: string): string | null =>
  textAt(element, `${path}/Nm`) ?? textAt(element, `${path}/Pty/Nm`)

/** Joins all texts of a name below an element. */
export const textsIn = (element: XmlElement | undefined, name: string): string =>
  elementsIn(element, name)
    .map(({ text }) => text)
    .join(' ')

/** Words that banks write if they have no reference. */
const PLACEHOLDERS: ReadonlySet<string> = new Set([
  'NONREF',
  'NOREF',
  'NONE',
  'NOTPROVIDED',
  'NOTAVAILABLE',
  'NA',
  'NULL',
  'UNKNOWN',
  'UNDEFINED',
])

/** Returns whether a reference is none: a placeholder, whatever its case and signs, or without a letter and a digit other than 0. */
export function isPlaceholder(reference: string): boolean {
  if (/[1-9]/.test(reference)) return false
  const plain = reference.toUpperCase().replace(/[^\p{L}\p{N}]/gu, '')
  return /^0*$/.test(plain) || PLACEHOLDERS.has(plain)
}

/** Reads a reference; null if there is none, or a placeholder. */
export function referenceAt(element: XmlElement | undefined, path: string): string | null {
  const reference = textAt(element, path)
  return reference === null || isPlaceholder(reference) ? null : reference
}
