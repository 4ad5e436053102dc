import { dayNumberOf, type IsoDate } from '../../kernel/calendar.ts'

/**
 * Columns of bulk statements in PostgreSQL's binary form: one parameter each, as the texts of sql.ts, but with nothing to print here and
 * to parse there. Worth it for identifiers, amounts and days, of which a run writes millions; everything else travels as text.
 */

/** A parameter that holds an array: in binary form, or as text. */
export type Column = Buffer | string

const INT8 = 20
const DATE = 1082
/** PostgreSQL counts days from 2000-01-01. */
const DAYS_FROM_1970_TO_2000 = 10_957
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1

/** An array of one dimension with room for `length` values; the header says which type they are of. */
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
