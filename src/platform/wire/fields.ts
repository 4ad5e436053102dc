import type { IsoDate, Instant } from '../../kernel/calendar.ts'
import { findCurrency } from '../../kernel/currencies.ts'
import { compare, type Decimal, decimal, decimalText, parseDecimal, ZERO } from '../../kernel/decimal.ts'
import { AMOUNT_BOUND_MAJOR } from '../../kernel/money.ts'
import { readDate, readInstant } from './dates.ts'
import { canonicalJson, type Json, isJsonNumber } from './json.ts'
import { type Field, REFUSED, type ReadContext, type Refused, shown } from './read.ts'

/** The fields that bodies are made of. Each notes its own problems and never throws. */

export const TEXT_MAX = 255
export const LONG_TEXT_MAX = 65_535

function refuse(context: ReadContext, code: string, path: string, message: string): Refused {
  context.problems.add(code, path, message)
  return REFUSED
}

const isControl = (char: number): boolean => char < 32 || (char >= 127 && char < 160)
const LINE_CHARS = new Set([9, 10])

function hasControl(text: string, allowsLines: boolean): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index)
    if (isControl(char) && !(allowsLines && LINE_CHARS.has(char))) return true
  }
  return false
}

/** Returns whether a text has no unpaired surrogates, which PostgreSQL could not store. */
const isWellFormed = (text: string): boolean => (text as string & { isWellFormed(): boolean }).isWellFormed()

function readText(
  text: string,
  path: string,
  context: ReadContext,
  max: number,
  allowsLines: boolean,
): string | Refused {
  const tidy = (allowsLines ? text.replace(/\r\n?/g, '\n') : text).trim()
  if (!isWellFormed(tidy))
    return refuse(context, 'not_text', path, `${path} holds characters that are no Unicode text.`)
  if (hasControl(tidy, allowsLines))
    return refuse(context, 'control_character', path, `${path} must not hold control characters.`)
  // Counted as people count: one letter outside the basic plane is one character.
  const length = tidy.length > max ? [...tidy].length : tidy.length
  if (length > max)
    return refuse(context, 'too_long', path, `${path} may have at most ${max} characters; ${length} were sent.`)
  return tidy
}

interface TextOptions {
  max?: number
  allowsLines?: boolean
  /** A number is taken too, and answered as text: fields that the interface lists Numeric and shows as strings. */
  takesNumbers?: boolean
  check?: (text: string) => string | undefined
  description?: string
}

/** Declares a text: trimmed, without control characters, within its length. */
export function text(options: TextOptions = {}): Field<string> {
  const max = options.max ?? TEXT_MAX
  const kind = options.takesNumbers ? ['string', 'number'] : 'string'
  return {
    isBlankNull: true,
    schema: { type: kind, maxLength: max, ...(options.description ? { description: options.description } : {}) },
    read(value, path, context) {
      const given = options.takesNumbers && isJsonNumber(value) ? canonicalJson(value) : value
      if (typeof given !== 'string')
        return refuse(context, 'wrong_type', path, `${path} must be text; ${shown(value, context)} was sent.`)
      const read = readText(given, path, context, max, options.allowsLines ?? false)
      if (read === REFUSED) return REFUSED
      const complaint = options.check?.(read)
      return complaint === undefined
        ? read
        : refuse(context, 'invalid', path, `${path} ${complaint}; ${shown(value, context)} was sent.`)
    },
  }
}

/** Notes, terms, memos, descriptions: line breaks and tabs are allowed. */
export const longText = (options: { takesNumbers?: boolean; description?: string } = {}): Field<string> =>
  text({ ...options, max: LONG_TEXT_MAX, allowsLines: true })

/** Neither signs that nobody sees: a sender would have to refuse them. */
const EMAIL =
  /^[^\s@"(),:;<>[\]\\\p{Cc}\p{Cf}]+@[^\s@.,;:"()<>[\]\\\p{Cc}\p{Cf}]+(\.[^\s@.,;:"()<>[\]\\\p{Cc}\p{Cf}]+)+$/u
export const email = (): Field<string> =>
  text({ check: (value) => (EMAIL.test(value) ? undefined : 'must be an e-mail address') })

const LANGUAGE_TAG = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/

/** Declares the language of documents and mails, as de or de-CH. */
export const languageTag = (): Field<string> =>
  text({
    max: 35,
    check: (tag) => (LANGUAGE_TAG.test(tag) ? undefined : 'must be a language tag such as en or de-CH'),
  })

export const flag = (): Field<boolean> => ({
  isBlankNull: false,
  schema: { type: 'boolean' },
  read: (value, path, context) =>
    typeof value === 'boolean'
      ? value
      : refuse(context, 'wrong_type', path, `${path} must be true or false; ${shown(value, context)} was sent.`),
})

const INTEGER = /^-?\d+(\.0+)?$/

function readInteger(value: Json): bigint | undefined {
  if (!isJsonNumber(value)) return undefined
  const digits = value.toString()
  if (INTEGER.test(digits)) return BigInt(digits.replace(/\..*$/, ''))
  const exact = parseDecimal(digits)
  return exact && exact.scale === 0 ? exact.coefficient : undefined
}

export const INT32_MAX = 2 ** 31 - 1

/** Reads a whole number within bounds. */
export const whole = (min: number, max: number): Field<number> => ({
  isBlankNull: false,
  schema: { type: 'integer', minimum: min, maximum: max, ...(max > INT32_MAX ? { format: 'int64' } : {}) },
  read(value, path, context) {
    const integer = readInteger(value)
    if (integer === undefined)
      return refuse(context, 'wrong_type', path, `${path} must be a whole number; ${shown(value, context)} was sent.`)
    if (integer < BigInt(min) || integer > BigInt(max))
      return refuse(
        context,
        'out_of_range',
        path,
        `${path} must be from ${min} to ${max}; ${shown(value, context)} was sent.`,
      )
    return Number(integer)
  },
})

const ID_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/** Declares a reference to another record. null, 0 and "" mean "not given" and become null. */
export const reference = (): Field<bigint | null> => ({
  isBlankNull: true,
  schema: { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  read(value, path, context) {
    const integer = readInteger(value)
    if (integer === undefined || integer < 0n || integer > ID_MAX)
      return refuse(
        context,
        'wrong_type',
        path,
        `${path} must be an identifier, a positive whole number; ${shown(value, context)} was sent.`,
      )
    return integer === 0n ? null : integer
  },
})

/** Declares a reference that must be given: 0 is as absent as null. */
export const requiredReference = (): Field<bigint> => ({
  ...(reference() as Field<bigint>),
  schema: { ...reference().schema, minimum: 1 },
  read(value, path, context) {
    const read = reference().read(value, path, context)
    return read === null
      ? refuse(context, 'required', path, `${path} is required and must not be ${shown(value, context)}.`)
      : read
  },
})

const SIGNIFICANT_MAX = 15

const significantDigits = ({ coefficient }: Decimal): number => {
  const digits = (coefficient < 0n ? -coefficient : coefficient).toString().replace(/0+$/, '')
  return Math.max(1, digits.length)
}

/**
 * Reads a decimal. More than 15 significant digits are what a program prints of a double (19.989999999999998 for 19.99): taken as the
 * decimal of at most 15 digits that is the same double, and refused where there is none (0.30000000000000004 is not 0.3).
 */
function readDecimal(value: Json): Decimal | 'not a number' | 'too many digits' {
  if (!isJsonNumber(value)) return 'not a number'
  const digits = value.toString()
  const exact = parseDecimal(digits)
  if (!exact) return 'not a number'
  if (significantDigits(exact) <= SIGNIFICANT_MAX) return exact
  const double = Number(digits)
  const short = double.toPrecision(SIGNIFICANT_MAX)
  return Number(short) === double && Number.isFinite(double) ? decimal(short) : 'too many digits'
}

interface DecimalOptions {
  decimalsMax: number
  min?: Decimal
  /** Refuses the minimum itself too: "must be over". */
  isMinOpen?: boolean
  max?: Decimal
  /** Added to the refusal of what is over the maximum, after a space. */
  hint?: string
  description?: string
}

/** Declares an exact decimal with bounds. */
export function decimalField(options: DecimalOptions): Field<Decimal> {
  const bounds = {
    ...(options.min ? { [options.isMinOpen ? 'exclusiveMinimum' : 'minimum']: Number(decimalText(options.min)) } : {}),
    ...(options.max ? { maximum: Number(decimalText(options.max)) } : {}),
  }
  return {
    isBlankNull: false,
    schema: { type: 'number', ...bounds, ...(options.description ? { description: options.description } : {}) },
    read(value, path, context) {
      const read = readDecimal(value)
      if (read === 'not a number')
        return refuse(context, 'wrong_type', path, `${path} must be a number; ${shown(value, context)} was sent.`)
      if (read === 'too many digits')
        return refuse(
          context,
          'too_many_digits',
          path,
          `${path} may have at most ${SIGNIFICANT_MAX} significant digits; ${shown(value, context)} was sent.`,
        )
      return checkDecimal(read, path, context, options, value)
    },
  }
}

const BOUND: Decimal = { coefficient: AMOUNT_BOUND_MAJOR, scale: 0 }
const NEGATIVE_BOUND: Decimal = { coefficient: -AMOUNT_BOUND_MAJOR, scale: 0 }

function checkDecimal(
  read: Decimal,
  path: string,
  context: ReadContext,
  options: DecimalOptions,
  value: Json,
): Decimal | Refused {
  const sent = shown(value, context)
  if (compare(read, BOUND) >= 0 || compare(read, NEGATIVE_BOUND) <= 0)
    return refuse(context, 'out_of_range', path, `${path} must be below 1,000,000,000,000; ${sent} was sent.`)
  if (options.min) {
    const side = compare(read, options.min)
    if (side < 0 || (side === 0 && options.isMinOpen))
      return refuse(
        context,
        'out_of_range',
        path,
        `${path} must be ${options.isMinOpen ? 'over' : 'at least'} ${decimalText(options.min)}; ${sent} was sent.`,
      )
  }
  if (options.max && compare(read, options.max) > 0)
    return refuse(
      context,
      'out_of_range',
      path,
      `${path} must be at most ${decimalText(options.max)}; ${sent} was sent.${options.hint ?? ''}`,
    )
  if (read.scale > options.decimalsMax)
    return refuse(
      context,
      'too_many_decimals',
      path,
      `${path} may have at most ${options.decimalsMax} decimals; ${sent} was sent.`,
    )
  return read
}

const FINE_DECIMALS = 8

/** Declares a unit price: never negative, up to 8 decimals. */
export const price = (): Field<Decimal> =>
  decimalField({ decimalsMax: FINE_DECIMALS, min: ZERO, description: 'A price per unit, up to 8 decimals' })

/** Declares a tax rate: a fraction from 0 to 1, up to 8 decimals. */
export const rate = (): Field<Decimal> =>
  decimalField({
    decimalsMax: FINE_DECIMALS,
    min: ZERO,
    max: decimal('1'),
    description: 'A fraction from 0 to 1: 0.19 is 19 %',
    hint: ' 19 % is 0.19.',
  })

/** Declares an amount that must not be negative; its decimals are checked against its currency, see amountIn. */
export const amount = (): Field<Decimal> =>
  decimalField({
    decimalsMax: 4,
    min: ZERO,
    description: 'An amount in major units, with at most the decimals of its currency',
  })

/** Declares a currency of ISO 4217 that has a minor unit; letter case is not free. */
export const currencyCode = (): Field<string> => ({
  isBlankNull: true,
  schema: { type: 'string', pattern: '^[A-Z]{3}$', description: 'ISO 4217 code' },
  read(value, path, context) {
    const code = typeof value === 'string' ? value.trim() : ''
    if (findCurrency(code)) return code
    return refuse(
      context,
      'unknown_currency',
      path,
      `${path} must be an ISO 4217 currency code in capital letters, such as EUR; ${shown(value, context)} was sent.`,
    )
  },
})

const DATE_FORMS = 'a date such as 2026-04-03, 20260403, 03 Apr 2026 or 2026-04-03T00:00:00Z, in the years 1900 to 2999'

/** Declares a calendar day. An instant becomes the day it falls on in the account's zone. */
export const date = (): Field<IsoDate> => ({
  isBlankNull: true,
  schema: { type: 'string', description: `Calendar date: ${DATE_FORMS}` },
  read(value, path, context) {
    const read = typeof value === 'string' ? readDate(value, context.timeZone) : undefined
    return (
      read ?? refuse(context, 'invalid_date', path, `${path} must be ${DATE_FORMS}; ${shown(value, context)} was sent.`)
    )
  },
})

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Returns whether a text has the form of a GUID, in letters of any case. */
export const isGuid = (value: string): boolean => GUID.test(value)

/** Declares a GUID; it is read in small letters. */
export const guid = (): Field<string> => ({
  isBlankNull: true,
  schema: { type: 'string', format: 'uuid' },
  read(value, path, context) {
    const read = typeof value === 'string' ? value.trim().toLowerCase() : ''
    if (isGuid(read)) return read
    return refuse(
      context,
      'wrong_type',
      path,
      `${path} must be a GUID such as 0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60; ${shown(value, context)} was sent.`,
    )
  },
})

/** Declares a moment. A date without a time is midnight in the account's zone. */
export const instant = (): Field<Instant> => ({
  isBlankNull: true,
  schema: { type: 'string', description: `Instant: ${DATE_FORMS}` },
  read(value, path, context) {
    const read = typeof value === 'string' ? readInstant(value, context.timeZone) : undefined
    return (
      read ?? refuse(context, 'invalid_date', path, `${path} must be ${DATE_FORMS}; ${shown(value, context)} was sent.`)
    )
  },
})
