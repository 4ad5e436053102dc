import type { IsoDate } from '../../kernel/calendar.ts'
import type { Writing } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import {
  type Digits,
  isArriving,
  minorDigits,
  orNull,
  outDate,
  outList,
  outNumber,
  outObject,
  type Portions,
  type Shape,
} from './write.ts'

/** Column of a record: the shape in which it is written, and the function that finds its value. */
export type Column<Row, T = any> = readonly [shape: Shape<T>, valueOf: (row: Row, writing: Writing) => NoInfer<T>]

export type Columns<Row> = Readonly<Record<string, Column<Row>>>

/**
 * The fields of a record as data, under the names of the interface and in the order in which they are written. One declaration gives the
 * JSON text, the schema in the OpenAPI document, and the columns for whatever else shows, searches or exports such records.
 */
export interface RecordShape<Row, Name extends string = string> {
  schema: Shape<unknown>['schema']
  columns: Columns<Row>
  write(row: Row, writing: Writing): string
  /**
   * Writes a record of which columns arrive in pieces: their values do (see arrivingColumn), or `arriving` has their texts by the names of the
   * columns.
   */
  pieces(row: Row, writing: Writing, arriving?: Readonly<Record<string, AsyncIterable<string>>>): AsyncGenerator<string>
  /**
   * Makes a function that writes some of the columns alone: an ETag is made of those that a PUT sets. The text is the same for whoever reads,
   * and whenever.
   */
  writerOf(names: readonly Name[]): (row: Row) => string
  list: ListShape<Row>
}

/** Facts of no reader in particular, for texts that nobody reads. */
export const NO_READER: Writing = { timeZone: 'UTC', today: '1970-01-01' }

/** Writes lists of records: whole, or in pieces while their records arrive. */
export interface ListShape<Row> {
  schema: Shape<unknown>['schema']
  write(rows: readonly Row[], writing: Writing): string
  pieces(portions: Portions<Row>, writing: Writing): AsyncGenerator<string>
}

/** Declares the lists of records that `item` writes. */
export function listShape<Row>(item: Pick<RecordShape<Row>, 'schema' | 'write'>): ListShape<Row> {
  return {
    schema: outList({ schema: item.schema, write: String }).schema,
    write: (rows, writing) => `[${rows.map((row) => item.write(row, writing)).join(',')}]`,
    pieces: (portions, writing) =>
      outList<Row>({ schema: item.schema, write: (row) => item.write(row, writing) }).pieces(portions),
  }
}

/**
 * Declares the columns of a record of type Row: `recordShape<Note>()('CustomerNote', { Note: [outText(), (note) => note.text] })`. A named
 * one becomes a component of the OpenAPI document. The two calls let TypeScript infer the columns while Row is given.
 */
export const recordShape =
  <Row>() =>
  <Values extends Record<string, unknown>>(
    name: string | undefined,
    columns: { readonly [K in keyof Values]: Column<Row, Values[K]> },
  ): RecordShape<Row, keyof Values & string> => {
    const names = Object.keys(columns)
    const known = columns as unknown as Columns<Row>
    const object = outObject(Object.fromEntries(names.map((field) => [field, known[field]![0]])), name)
    const writers = names.map((field, index) => ({
      field,
      prefix: `${index === 0 ? '{' : ','}${JSON.stringify(field)}:`,
      write: known[field]![0].write,
      valueOf: known[field]![1],
    }))
    const missing = (field: string) =>
      new Error(`assertion failed: ${name ?? 'an object'} is answered without ${field}`)
    const write = (row: Row, writing: Writing): string => {
      let text = ''
      for (const { field, prefix, write: writeValue, valueOf } of writers) {
        const value = valueOf(row, writing)
        if (value === undefined) throw missing(field)
        text += prefix + writeValue(value)
      }
      return `${text}}`
    }
    async function* pieces(
      row: Row,
      writing: Writing,
      arriving: Readonly<Record<string, AsyncIterable<string>>> = {},
    ): AsyncGenerator<string> {
      let text = ''
      for (const { field, prefix, write: writeValue, valueOf } of writers) {
        const value = arriving[field] ?? valueOf(row, writing)
        if (value === undefined) throw missing(field)
        text += prefix
        if (isArriving(value)) {
          yield text
          text = ''
          yield* value as AsyncIterable<string>
        } else text += writeValue(value)
      }
      yield `${text}}`
    }
    return {
      schema: object.schema,
      columns: known,
      write,
      pieces,
      writerOf: (chosen) => {
        const some = recordShape<Row>()(undefined, Object.fromEntries(chosen.map((field) => [field, known[field]!])))
        return (row) => some.write(row, NO_READER)
      },
      list: listShape({ schema: object.schema, write }),
    }
  }

/** Declares a column that holds records of another declaration, each written by it. */
export const recordsColumn = <Row, Item>(
  item: RecordShape<Item>,
  itemsOf: (row: Row) => readonly Item[],
): Column<Row, string> => [
  { schema: item.list.schema, write: (text) => text },
  (row, writing) => item.list.write(itemsOf(row), writing),
]

/** Declares a column of records that arrive in portions; only `pieces` writes them. */
export const arrivingColumn = <Row, Item>(
  item: RecordShape<Item>,
  portionsOf: (row: Row) => Portions<Item>,
): Column<Row, AsyncGenerator<string>> => [
  { schema: item.list.schema, write: String },
  (row, writing) => item.list.pieces(portionsOf(row), writing),
]

/** Declares a column that holds one record of another declaration. */
export const recordColumn = <Row, Item>(
  item: Pick<RecordShape<Item>, 'schema' | 'write'>,
  itemOf: (row: Row) => Item,
): Column<Row, string> => [
  { schema: item.schema, write: (text) => text },
  (row, writing) => item.write(itemOf(row), writing),
]

/** Declares a column of an amount of minor units in the currency of its row. */
export const amountColumn = <Row extends { currency: string }>(
  minorOf: (row: Row) => bigint,
  description?: string,
): Column<Row, Digits> => [outNumber(description), (row) => minorDigits(minorOf(row), digitsOf(row.currency))]

/** Declares a column of a calendar date, written in the zone of the reader's account. */
export const dayColumn = <Row>(dayOf: (row: Row) => IsoDate): Column<Row, string> => [
  outDate('Calendar date'),
  (row, { timeZone }) => dateWithOffset(dayOf(row), timeZone),
]

/** Declares a column of a calendar date that may be absent. */
export const optionalDayColumn = <Row>(
  dayOf: (row: Row, writing: Writing) => IsoDate | null,
  description = 'Calendar date',
): Column<Row, string | null> => [
  orNull(outDate(description)),
  (row, writing) => {
    const day = dayOf(row, writing)
    return day === null ? null : dateWithOffset(day, writing.timeZone)
  },
]
