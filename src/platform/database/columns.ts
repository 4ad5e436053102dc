import { dayNumberOf, type IsoDate } from '../../kernel/calendar.ts'

/**
 * Columns of bulk statements in PostgreSQL's binary form: one parameter each, as the texts of sql.ts, but with nothing to print here and
 * to parse there. Worth it for identifiers, amounts and days, of which a run writes millions; everything else travels as text.
 */

/** A parameter that holds an array: in binary form, or as text. */
export type ArrayParameter = Buffer | string

const BYTEA = 17
const INT8 = 20
const INT4 = 23
const DATE = 1082
const TEXT = 25
/** PostgreSQL counts days from 2000-01-01. */
const DAYS_FROM_1970_TO_2000 = 10_957
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

/** Makes an array of one dimension with room for `length` values of so many bytes, and more for all; the header names their type. */
function arrayOf(type: number, length: number, valueBytes: number, more = 0): { bytes: Buffer; view: DataView } {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length * (LENGTH_BYTES + valueBytes) + more)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  view.setInt32(0, 1)
  view.setInt32(4, 1)
  view.setInt32(8, type)
  view.setInt32(12, length)
  view.setInt32(16, 1)
  return { bytes, view }
}

/** A column that has one value in all rows, which travels once. */
export interface OneValue {
  all: bigint | number | null
}

/** Returns a column of values: of one where all are the same, else as it is made of them. */
export const columnOf = <Value extends OneValue['all']>(
  values: readonly Value[],
  make: (values: readonly Value[]) => ArrayParameter,
): ArrayParameter | OneValue => {
  const [first = null] = values
  return values.every((value) => value === first) ? { all: first } : make(values)
}

export const isOneValue = (column: ArrayParameter | OneValue): column is OneValue =>
  typeof column === 'object' && 'all' in column

type KeyOf<Row, Value> = { [Key in keyof Row]-?: Row[Key] extends Value ? Key : never }[keyof Row]

/** Returns the named property of every row, whole numbers of any size, as bigint[]. */
export function bigints<Row>(rows: readonly Row[], key: KeyOf<Row, bigint | null>): ArrayParameter {
  if (rows.length === 0) return '{}'
  const { bytes, view } = arrayOf(INT8, rows.length, 8)
  let at = HEADER_BYTES
  for (const row of rows) {
    const value = row[key] as bigint | null | undefined
    view.setInt32(at, value == null ? NULL_LENGTH : 8)
    at += LENGTH_BYTES
    if (value == null) continue
    view.setBigInt64(at, value)
    at += 8
  }
  return bytes.subarray(0, at)
}

/** Returns whole numbers of any size as bigint[]. */
export function bigintList(values: readonly bigint[]): ArrayParameter {
  const { bytes, view } = arrayOf(INT8, values.length, 8)
  let at = HEADER_BYTES
  for (const value of values) {
    view.setInt32(at, 8)
    view.setBigInt64(at + LENGTH_BYTES, value)
    at += LENGTH_BYTES + 8
  }
  return values.length === 0 ? '{}' : bytes
}

/** A walk along an index is worth it where at least every fourth entry of it is wanted, and there are enough of them. */
const SPAN_MOST = 4n
const WALKED_LEAST = 32

/**
 * Returns the first and last of identifiers that lie close together, so that a statement may walk that range of an index instead of looking
 * each of them up; undefined where they are few or far apart.
 */
export function rangeOfIds(ids: readonly bigint[]): { first: bigint; last: bigint } | undefined {
  if (ids.length < WALKED_LEAST) return undefined
  let first = ids[0] as bigint
  let last = first
  for (const id of ids) {
    if (id < first) first = id
    if (id > last) last = id
  }
  return last - first < SPAN_MOST * BigInt(ids.length) ? { first, last } : undefined
}

/** Returns the same of the named property of every row. */
export const rangeOf = <Row>(
  rows: readonly Row[],
  key: KeyOf<Row, bigint>,
): { first: bigint; last: bigint } | undefined => rangeOfIds(rows.map((row) => row[key] as bigint))

/** Returns the named property of every row, calendar days, as date[]. */
export function dates<Row>(rows: readonly Row[], key: KeyOf<Row, IsoDate | null>): ArrayParameter {
  if (rows.length === 0) return '{}'
  const { bytes, view } = arrayOf(DATE, rows.length, 4)
  let at = HEADER_BYTES
  let last: IsoDate | undefined
  let days = 0
  for (const row of rows) {
    const value = row[key] as IsoDate | null | undefined
    view.setInt32(at, value == null ? NULL_LENGTH : 4)
    at += LENGTH_BYTES
    if (value == null) continue
    // Neighbours mostly fall on the same day.
    if (value !== last) days = dayNumberOf((last = value)) - DAYS_FROM_1970_TO_2000
    view.setInt32(at, days)
    at += 4
  }
  return bytes.subarray(0, at)
}

/** Returns the named property of every row as text[]. Worth it for long texts, which need no quotes here and no parsing there. */
export function texts<Row>(rows: readonly Row[], key: KeyOf<Row, string | null>): ArrayParameter {
  if (rows.length === 0) return '{}'
  const lengths = rows.map((row) => (row[key] == null ? NULL_LENGTH : Buffer.byteLength(row[key] as string)))
  const total = lengths.reduce((sum, length) => sum + Math.max(length, 0), 0)
  const { bytes } = arrayOf(TEXT, rows.length, 0, total)
  let at = HEADER_BYTES
  for (const [index, length] of lengths.entries()) {
    bytes.writeInt32BE(length, at)
    at += LENGTH_BYTES
    if (length === NULL_LENGTH) continue
    bytes.write(rows[index]![key] as string, at, length, 'utf8')
    at += length
  }
  return bytes
}

/** Returns positions in a list, counted from 1 as PostgreSQL does, as integer[]. */
export function positionsColumn(positions: readonly number[]): ArrayParameter {
  const { bytes, view } = arrayOf(INT4, positions.length, 4)
  let at = HEADER_BYTES
  for (const position of positions) {
    view.setInt32(at, 4)
    view.setInt32(at + LENGTH_BYTES, position)
    at += LENGTH_BYTES + 4
  }
  return bytes
}

/** Returns the indexes at which values stand first, and of each value the place of its own among these, counted from 0. */
export function placesOf(values: readonly unknown[]): { firsts: number[]; places: number[] } {
  const placeOf = new Map<unknown, number>()
  const firsts: number[] = []
  const places = values.map((value, index) => {
    const known = placeOf.get(value)
    if (known !== undefined) return known
    placeOf.set(value, firsts.length)
    return firsts.push(index) - 1
  })
  return { firsts, places }
}

/** Rows that follow one another, with the values that they repeat: a row for each distinct combination, and for every row the position of its own. */
export interface DeduplicatedRows<Row> {
  rows: readonly Row[]
  distinct: readonly Row[]
  /** As integer[], counted from 1. */
  positions: ArrayParameter
  /** Position of the first of the rows among all that were given. */
  offset: number
}

/** PostgreSQL walks to an element of a list of texts, so lists stay short enough for the walk to cost less than sending each text again. */
const DISTINCT_MAX = 64

/**
 * Parts rows, in their order, into ranges with few distinct combinations of the named properties. Most columns of many rows repeat a
 * handful of values: a name, a price, a period. These travel and are read once, and every row only has the position of its own.
 */
export function deduplicated<Row>(rows: readonly Row[], keys: readonly (keyof Row)[]): DeduplicatedRows<Row>[] {
  const found: DeduplicatedRows<Row>[] = []
  let start = 0
  while (start < rows.length) {
    const { distinct, positions } = distinctFrom(rows, start, keys)
    const isAll = positions.length === rows.length
    found.push({
      rows: isAll ? rows : rows.slice(start, start + positions.length),
      distinct,
      positions: positionsColumn(positions),
      offset: start,
    })
    start += positions.length
  }
  return found
}

function distinctFrom<Row>(rows: readonly Row[], start: number, keys: readonly (keyof Row)[]) {
  const distinct: Row[] = []
  const positions: number[] = []
  const known = new Map<string, number>()
  let position = 0
  for (let index = start; index < rows.length; index += 1) {
    const row = rows[index] as Row
    if (position === 0 || !isAlike(row, distinct[position - 1] as Row, keys)) {
      // Rows that belong together mostly repeat the same few combinations one after the other, so the next in turn is tried before a key is made.
      const next = distinct[position % distinct.length]
      if (next !== undefined && isAlike(row, next, keys)) position = (position % distinct.length) + 1
      else {
        const key = keyOf(row, keys)
        position = known.get(key) ?? 0
        if (position === 0) {
          if (distinct.length === DISTINCT_MAX) break
          position = distinct.push(row)
          known.set(key, position)
        }
      }
    }
    positions.push(position)
  }
  return { distinct, positions }
}

function isAlike<Row>(one: Row, other: Row, keys: readonly (keyof Row)[]): boolean {
  for (const key of keys) if (one[key] !== other[key]) return false
  return true
}

/** Returns a text that rows have in common whose named properties are alike. */
export const keyOf = <Row>(row: Row, keys: readonly (keyof Row)[]): string =>
  JSON.stringify(keys.map((key) => (row[key] == null ? null : String(row[key]))))

/** Returns bytes, of which some may be given in hex, as bytea[]. */
export function byteas(values: readonly (Buffer | string | null)[]): ArrayParameter {
  if (values.length === 0) return '{}'
  let total = 0
  for (const value of values) total += lengthOf(value)
  const { bytes } = arrayOf(BYTEA, values.length, 0, total)
  let at = HEADER_BYTES
  for (const value of values) {
    const length = lengthOf(value)
    bytes.writeInt32BE(value === null ? NULL_LENGTH : length, at)
    at += LENGTH_BYTES
    if (typeof value === 'string') bytes.write(value, at, length, 'hex')
    else value?.copy(bytes, at)
    at += length
  }
  return bytes
}

const lengthOf = (value: Buffer | string | null): number =>
  typeof value === 'string' ? value.length / 2 : (value?.length ?? 0)
