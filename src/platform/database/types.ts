import pg from 'pg'
import { type Decimal, decimal } from '../../kernel/decimal.ts'

/** Types that the driver makes of column texts: bigint stays exact, dates stay days, instants are ISO texts in UTC. */

const BOOL = 16
const INT8 = 20
const INT2 = 21
const INT4 = 23
const JSONB = 3802
const JSON_TEXT = 114
const FLOAT8 = 701
const DATE = 1082
const TIMESTAMPTZ = 1184
const NUMERIC = 1700
const BYTEA = 17
const INT8_ARRAY = 1016
const TEXT_ARRAY = 1009

let lastMoment = ''
let lastInstant = ''

/** Returns "2026-11-21 16:00:00.123456+00" as "2026-11-21T16:00:00.123Z", and shares it between neighbouring rows; sessions always run in UTC. */
function instantFromText(text: string): string {
  if (text === lastMoment) return lastInstant
  lastMoment = text
  return (lastInstant = madeInstant(text))
}

function madeInstant(text: string): string {
  const day = text.slice(0, 10)
  const time = text.slice(11, 19)
  const fraction = text.length > 22 && text[19] === '.' ? text.slice(20, -3).padEnd(3, '0').slice(0, 3) : '000'
  return `${day}T${time}.${fraction}Z`
}

const itself = (text: string): string => text

let lastDigits = ''
let lastDecimal = decimal('0')

/** Reads a Decimal, and shares it between neighbouring rows, whose prices and rates are mostly the same. */
function decimalFromText(text: string): Decimal {
  if (text !== lastDigits) {
    lastDecimal = decimal(text)
    lastDigits = text
  }
  return lastDecimal
}

const PARSERS: Record<number, (text: string) => unknown> = {
  [BOOL]: (text) => text === 't',
  [INT8]: BigInt,
  [INT2]: Number,
  [INT4]: Number,
  [FLOAT8]: Number,
  [DATE]: itself,
  [TIMESTAMPTZ]: instantFromText,
  [NUMERIC]: decimalFromText,
  [JSON_TEXT]: (text) => JSON.parse(text),
  [JSONB]: (text) => JSON.parse(text),
  [BYTEA]: pg.types.getTypeParser(BYTEA) as (text: string) => unknown,
  [INT8_ARRAY]: (text) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(BigInt)),
  [TEXT_ARRAY]: pg.types.getTypeParser(TEXT_ARRAY as number) as (text: string) => unknown,
}

/** Kinds of texts that the driver hands on: what can be done with them without making a value of them. */
export type TextKind = 'whole' | 'decimal' | 'flag' | 'day' | 'plain' | 'other'

const KINDS: Record<number, TextKind> = {
  [BOOL]: 'flag',
  [INT8]: 'whole',
  [INT2]: 'whole',
  [INT4]: 'whole',
  [DATE]: 'day',
  [NUMERIC]: 'decimal',
}

/** Returns the kind of the texts of a type; those of types without a reader are values as they stand. */
export const kindOfType = (oid: number): TextKind => KINDS[oid] ?? (PARSERS[oid] ? 'other' : 'plain')

export const columnTypes = {
  getTypeParser: (oid: number) => PARSERS[oid] ?? itself,
} as unknown as pg.CustomTypesConfig
