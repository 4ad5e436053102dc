import { isPlainAddress } from '../platform/smtp/address.ts'
import { InvalidArgumentError } from 'commander'
import { type Instant, isDate, type IsoDate, YEAR_MAX, YEAR_MIN } from '../kernel/calendar.ts'
import { findCurrency } from '../kernel/currencies.ts'
import { type Id, INVOICE_NUMBER_MAX } from '../kernel/ids.ts'
import { readInstant } from '../platform/wire/dates.ts'

/** Reads the values of options; commander reports what cannot be meant, with the option's name, and ends with the usage code. */

const ID_DIGITS_MAX = 15
const NAME_LENGTH_MAX = 255
const YEARS = `of the years ${YEAR_MIN} to ${YEAR_MAX}`

export function idValue(text: string): Id {
  if (!/^\d+$/.test(text) || text.length > ID_DIGITS_MAX || BigInt(text) < 1n)
    throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return BigInt(text)
}

/** Reads the identifier of a process. */
export function processValue(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text))
    throw new InvalidArgumentError('It must be an ID as "perennial processes" shows it.')
  return text.toLowerCase()
}

export function mailAddressValue(text: string): string {
  if (!isPlainAddress(text)) throw new InvalidArgumentError('It must be an address such as me@example.com.')
  return text
}

/** Reads by how much a sequence is set further: identifiers stay whole numbers that every program reads. */
export function furtherValue(text: string): bigint {
  if (!/^\d{1,16}$/.test(text) || BigInt(text) < 1n || BigInt(text) > BigInt(Number.MAX_SAFE_INTEGER))
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`)
  return BigInt(text)
}

/** The next number of invoices, or of credit notes, that an account is to have. */
export interface NextNumber {
  account: Id
  next: bigint
}

/** Reads ACCOUNT=N, once for each account. */
export function numbersValue(text: string, before: readonly NextNumber[]): NextNumber[] {
  const [, account, next] = /^(\d{1,15})=(\d{1,15})$/.exec(text) ?? []
  if (account === undefined || next === undefined || BigInt(next) < 1n)
    throw new InvalidArgumentError('It must be an account and its next number, such as 12=4711.')
  if (BigInt(next) > BigInt(INVOICE_NUMBER_MAX))
    throw new InvalidArgumentError(`The next number must be at most ${INVOICE_NUMBER_MAX}.`)
  return [...before, { account: BigInt(account), next: BigInt(next) }]
}

/** Reads a whole number from 1 to `most`. */
export const countValue =
  (most: number) =>
  (text: string): number => {
    const count = Number(text)
    if (!/^\d+$/.test(text) || count < 1 || count > most)
      throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`)
    return count
  }

/** Reads a day as 2027-02-28. */
export function dateValue(text: string): IsoDate {
  if (!isDate(text)) throw new InvalidArgumentError(`It must be a day such as 2027-02-28, ${YEARS}.`)
  return text
}

/** Reads a day or a moment; a day alone is its midnight in UTC, the zone that a new account has. */
export function instantValue(text: string): Instant {
  const instant = readInstant(text, 'UTC')
  if (!instant)
    throw new InvalidArgumentError(
      `It must be a day such as 2027-02-28 or a moment such as 2027-02-28T12:00:00Z, ${YEARS}.`,
    )
  return instant
}

/** Reads a moment still to come. */
export function comingInstantValue(text: string): Instant {
  const instant = instantValue(text)
  if (Date.parse(instant) <= Date.now()) throw new InvalidArgumentError('It must lie in the future.')
  return instant
}

/** Reads a day or a moment as it was written, to be read again in the zone of an account. */
export function momentText(text: string): string {
  instantValue(text)
  return text
}

export function currencyValue(text: string): string {
  const code = text.toUpperCase()
  if (findCurrency(code)?.code !== code)
    throw new InvalidArgumentError('It must be a currency code of ISO 4217 such as USD.')
  return code
}

export function nameValue(text: string): string {
  const name = text.trim()
  // oxlint-disable-next-line no-control-regex
  if (name === '' || name.length > NAME_LENGTH_MAX || /[\u0000-\u001f\u007f]/.test(name))
    throw new InvalidArgumentError(`It must be one line of at most ${NAME_LENGTH_MAX} characters.`)
  return name
}
