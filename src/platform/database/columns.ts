import { dayNumberOf, type IsoDate } from '../../kernel/calendar.ts'

/**
 * Columns of bulk statements in PostgreSQL's binary form: one parameter each, as the texts of sql.ts, but with nothing to print here and
 * to parse there. Worth it for identifiers, amounts and days, of which a run writes millions; everything else travels as text.
 */

/** A parameter that holds an array: in binary form, or as text. */
export type Column = Buffer | string

const INT8 = 20
const INT4 = 23
const DATE = 1082
/** PostgreSQL counts days from 2000-01-01. */
const DAYS_FROM_1970_TO_2000 = 10_957
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

/** An array of one dimension with room for `length` values; the header names their type. */
function arrayOf(type: number, length: number, valueBytes: number): { bytes: Buffer; view: DataView } {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + length * (LENGTH_BYTES + valueBytes))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  view.setInt32(0, 1)
  view.setInt32(4, 1)
  view.setInt32(8, type)
  view.setInt32(12, length)
  view.setInt32(16, 1)
  return { bytes, view }
}

type KeyOf<Row, Value> = { [Key in keyof Row]-?: Row[Key] extends Value ? Key : never }[keyof Row]

/** The named property of every row, whole numbers of any size, as bigint[]. */
export function bigints<Row>(rows: readonly Row[], key: KeyOf<Row, bigint | null>): Column {
  if (rows.length === 0) return '{}'
  const { bytes, view } = arrayOf(INT8, rows.length, 8)
  let at = HEADER_BYTES
  for (const row of rows) {
    const value = row[key] as bigint | null
    view.setInt32(at, value === null ? NULL_LENGTH : 8)
    at += LENGTH_BYTES
    if (value === null) continue
    view.setBigInt64(at, value)
    at += 8
  }
  return bytes.subarray(0, at)
}

/** Whole numbers of any size, as bigint[]. */
export function bigintList(values: readonly bigint[]): Column {
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
 * The first and last of identifiers that lie close together, so that a statement may walk that range of an index instead of looking each of
 * them up; undefined where they are few or far apart.
 */
export function rangeOf<Row>(
  rows: readonly Row[],
  key: KeyOf<Row, bigint>,
): { first: bigint; last: bigint } | undefined {
  if (rows.length < WALKED_LEAST) return undefined
  let first = (rows[0] as Row)[key] as bigint
  let last = first
  for (const row of rows) {
    const value = row[key] as bigint
    if (value < first) first = value
    if (value > last) last = value
  }
  return last - first < SPAN_MOST * BigInt(rows.length) ? { first, last } : undefined
}

/** The named property of every row, calendar days, as date[]. */
export function dates<Row>(rows: readonly Row[], key: KeyOf<Row, IsoDate | null>): Column {
  if (rows.length === 0) return '{}'
  const { bytes, view } = arrayOf(DATE, rows.length, 4)
  let at = HEADER_BYTES
  let last: IsoDate | undefined
  let days = 0
  for (const row of rows) {
    const value = row[key] as IsoDate | null
    view.setInt32(at, value === null ? NULL_LENGTH : 4)
    at += LENGTH_BYTES
    if (value === null) continue
    // Neighbours mostly fall on the same day.
    if (value !== last) days = dayNumberOf((last = value)) - DAYS_FROM_1970_TO_2000
    view.setInt32(at, days)
    at += 4
  }
  return bytes.subarray(0, at)
}

/** Places in a list, counted from 1 as PostgreSQL does, as integer[]. */
function placesColumn(places: readonly number[]): Column {
  const { bytes, view } = arrayOf(INT4, places.length, 4)
  let at = HEADER_BYTES
  for (const place of places) {
    view.setInt32(at, 4)
    view.setInt32(at + LENGTH_BYTES, place)
    at += LENGTH_BYTES + 4
  }
  return bytes
}

/** Rows that follow one another, and what they repeat: each different shape once, and for every row the place of its own. */
export interface ShapedRows<Row> {
  rows: readonly Row[]
  shapes: readonly Row[]
  /** As integer[], counted from 1. */
  places: Column
  /** Position of the first of the rows among all that were given. */
  offset: number
}

/** PostgreSQL walks to an element of a list of texts, so lists stay short enough for the walk to cost less than sending each text again. */
const SHAPES_MOST = 64

/**
 * Parts rows, in their order, into stretches of few shapes: rows are of one shape where the named properties are the same. Most columns of
 * many rows repeat a handful of values: a name, a price, a period. These travel and are read once, and every row only says which is its own.
 */
export function shaped<Row>(rows: readonly Row[], keys: readonly (keyof Row)[]): ShapedRows<Row>[] {
  const found: ShapedRows<Row>[] = []
  let start = 0
  while (start < rows.length) {
    const { shapes, places } = shapesFrom(rows, start, keys)
    const isAll = places.length === rows.length
    found.push({
      rows: isAll ? rows : rows.slice(start, start + places.length),
      shapes,
      places: placesColumn(places),
      offset: start,
    })
    start += places.length
  }
  return found
}

function shapesFrom<Row>(rows: readonly Row[], start: number, keys: readonly (keyof Row)[]) {
  const shapes: Row[] = []
  const places: number[] = []
  const known = new Map<string, number>()
  let place = 0
  for (let index = start; index < rows.length; index += 1) {
    const row = rows[index] as Row
    if (place === 0 || !isAlike(row, shapes[place - 1] as Row, keys)) {
      // What belongs together mostly has the same few shapes one after the other, so the next in turn is tried before a key is made.
      const next = shapes[place % shapes.length]
      if (next !== undefined && isAlike(row, next, keys)) place = (place % shapes.length) + 1
      else {
        const key = shapeKey(row, keys)
        place = known.get(key) ?? 0
        if (place === 0) {
          if (shapes.length === SHAPES_MOST) break
          place = shapes.push(row)
          known.set(key, place)
        }
      }
    }
    places.push(place)
  }
  return { shapes, places }
}

function isAlike<Row>(one: Row, other: Row, keys: readonly (keyof Row)[]): boolean {
  for (const key of keys) if (one[key] !== other[key]) return false
  return true
}

const shapeKey = <Row>(row: Row, keys: readonly (keyof Row)[]): string =>
  JSON.stringify(keys.map((key) => (row[key] == null ? null : String(row[key]))))
