import { type IsoDate, isDate } from '../../kernel/calendar.ts'
import { findCurrency } from '../../kernel/currencies.ts'
import { isAmountInBounds } from '../../kernel/money.ts'
import { elementAt, elementsIn, textAt, type XmlElement } from './elements.ts'
import type { BankAmount } from './result-lines.ts'
import { UnreadableFile } from './unreadable.ts'

/** Values of elements: amounts, days, codes. Messages name the element and never its text. */

const DECIMAL = /^\+?(\d{0,18})(?:\.(\d{0,18}))?$/

/** Reads an amount exactly. Throws UnreadableFile for exponents, signs, more decimals than the currency has, and what is out of bounds. */
export function amountAt(element: XmlElement | undefined, path: string): BankAmount | null {
  const found = elementAt(element, path)
  if (!found) return null
  const currency = findCurrency(found.currency ?? '')
  if (!currency) throw new UnreadableFile(`An amount (${path}) has no currency of ISO 4217 in Ccy.`)
  const [, whole, decimals = ''] = DECIMAL.exec(found.text) ?? []
  const exact = decimals.replace(/0+$/, '')
  if (whole === undefined || whole + decimals === '' || exact.length > currency.digits)
    throw new UnreadableFile(`An amount (${path}) is no decimal number as ${currency.code} has it.`)
  const amountMinor = BigInt(whole + exact.padEnd(currency.digits, '0'))
  if (!isAmountInBounds(amountMinor, currency.digits)) throw new UnreadableFile(`An amount (${path}) is too large.`)
  return { amountMinor, currency: currency.code }
}

/** Reads a day, or the day of an instant as the bank writes it. */
export function dayAt(element: XmlElement | undefined, ...paths: readonly string[]): IsoDate | null {
  for (const path of paths) {
    const text = textAt(element, path)
    if (text === null) continue
    const day = text.slice(0, 10)
    if (isDate(day)) return day
    throw new UnreadableFile(`A date (${path}) is none of the calendar.`)
  }
  return null
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

/** Returns a text, or throws UnreadableFile where a message has to have it. */
export function needed<Value>(value: Value | null, what: string): Value {
  if (value === null) throw new UnreadableFile(`The file is incomplete: ${what} is missing.`)
  return value
}
