import type { IsoDate } from '../../kernel/calendar.ts'
import type { Writing } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { JsonBytes } from './json-bytes.ts'
import { meant } from './schema.ts'
import { type NamedColumn, type TextSource, textWriter } from './text-writer.ts'
import {
  decimalDigits,
  type Digits,
  isArriving,
  listBytes,
  minorDigits,
  orNull,
  outDay,
  outList,
  outNumber,
  outObject,
  type Portions,
  type Shape,
} from './write.ts'

/**
 * Column of a record: the shape in which it is written, and the function that finds its value; of a plain property where it stands, so that
 * lists can write it from the text of the database. `recorded` is the column in its place where records are kept; null: answers alone have it.
 */
export type Column<Row, T = any> = readonly [
  shape: Shape<T>,
  valueOf: (row: Row, writing: Writing) => NoInfer<T>,
  source?: TextSource | undefined,
  recorded?: Column<Row> | null,
]

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
  /** The declaration without the columns that answers alone have, at any depth: events record it, and ETags of whole records are made of it. */
  recorded: RecordShape<Row>
}

/** Facts of no reader in particular, for texts that nobody reads. */
export const NO_READER: Writing = { timeZone: 'UTC', today: '1970-01-01' }

/** Writes lists of records: whole, or in pieces while their records arrive. */
export interface ListShape<Row> {
  schema: Shape<unknown>['schema']
  write(rows: readonly Row[], writing: Writing): string
  pieces(portions: Portions<Row>, writing: Writing): AsyncGenerator<string>
  /** Writes the same as `write`, for answers that consist of nothing else. */
  bytes(rows: readonly Row[], writing: Writing): Buffer
  /** Writes the same as `pieces`, for answers that consist of nothing else. */
  bytePieces(portions: Portions<Row>, writing: Writing): AsyncGenerator<Buffer>
}

/** Declares the lists of records that `item` writes. */
export function listShape<Row>(item: Pick<RecordShape<Row>, 'schema' | 'write'>): ListShape<Row> {
  return {
    schema: outList({ schema: item.schema, write: String }).schema,
    write: (rows, writing) => `[${rows.map((row) => item.write(row, writing)).join(',')}]`,
    bytes: (rows, writing) => {
      const bytes = new JsonBytes()
      for (let index = 0; index < rows.length; index += 1)
        bytes.add((index === 0 ? '[' : ',') + item.write(rows[index] as Row, writing))
      bytes.add(rows.length === 0 ? '[]' : ']')
      return bytes.take()
    },
    bytePieces: (portions, writing) => listBytes(portions, (row) => item.write(row, writing)),
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
    const isRecordedWhole = names.every((field) => known[field]![3] === undefined)
    const recorded = isRecordedWhole ? undefined : recordShape<Row>()(undefined, recordedColumns(known))
    const missing = (field: string) =>
      new Error(`assertion failed: ${name ?? 'an object'} is answered without ${field}`)
    const ready = writers.map(({ field, prefix, write: writeValue, valueOf }): NamedColumn<Row> => {
      const [shape, , source] = known[field]!
      return {
        prefix,
        shape,
        source,
        write(row, writing) {
          const value = valueOf(row, writing)
          if (value === undefined) throw missing(field)
          return writeValue(value)
        },
      }
    })
    const write = textWriter(ready, (row, writing) => {
      let text = ''
      for (const { field, prefix, write: writeValue, valueOf } of writers) {
        const value = valueOf(row, writing)
        if (value === undefined) throw missing(field)
        text += prefix + writeValue(value)
      }
      return `${text}}`
    })
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
    const shape: RecordShape<Row, keyof Values & string> = {
      schema: object.schema,
      columns: known,
      write,
      pieces,
      get recorded() {
        return recorded ?? shape
      },
      writerOf: (chosen) => {
        const some = recordShape<Row>()(undefined, Object.fromEntries(chosen.map((field) => [field, known[field]!])))
        return (row) => some.write(row, NO_READER)
      },
      list: listShape({ schema: object.schema, write }),
    }
    return shape
  }

/** Returns the columns of a record as it is recorded. */
const recordedColumns = <Row>(columns: Columns<Row>): Columns<Row> =>
  Object.fromEntries(
    Object.entries(columns).flatMap(([name, column]) => {
      const recorded = column[3] === undefined ? column : column[3]
      return recorded === null ? [] : [[name, recorded]]
    }),
  )

/** Declares a column that answers alone have: no event records it, and no ETag changes with it. */
export const answeredOnly = <Row, T>([shape, valueOf, source]: Column<Row, T>): Column<Row, T> => [
  shape,
  valueOf,
  source,
  null,
]

/** Declares a column that holds records of another declaration, each written by it. */
export const recordsColumn = <Row, Item>(
  item: RecordShape<Item>,
  itemsOf: (row: Row) => readonly Item[],
  sentence?: string,
): Column<Row, string> => {
  const columnOf = ({ list }: RecordShape<Item>) =>
    [
      meant({ schema: list.schema, write: (text: string) => text }, sentence),
      (row: Row, writing: Writing) => list.write(itemsOf(row), writing),
    ] as const
  const { recorded } = item
  return recorded === item ? columnOf(item) : [...columnOf(item), undefined, columnOf(recorded)]
}

/** Declares a column of records that arrive in portions; only `pieces` writes them. */
export const arrivingColumn = <Row, Item>(
  item: RecordShape<Item>,
  portionsOf: (row: Row) => Portions<Item>,
  sentence?: string,
): Column<Row, AsyncGenerator<string>> => [
  meant({ schema: item.list.schema, write: String }, sentence),
  (row, writing) => item.list.pieces(portionsOf(row), writing),
]

/** Declares a column that holds one record of another declaration. */
export const recordColumn = <Row, Item>(
  item: Pick<RecordShape<Item>, 'schema' | 'write'>,
  itemOf: (row: Row) => Item,
  sentence?: string,
): Column<Row, string> => [
  meant({ schema: item.schema, write: (text: string) => text }, sentence),
  (row, writing) => item.write(itemOf(row), writing),
]

/** Declares a column of a property of the row as it stands. */
export const own = <T, Name extends string>(
  shape: Shape<T>,
  name: Name,
): Column<{ readonly [K in Name]: NoInfer<T> }, T> => [shape, (row) => row[name], { name }]

/** Declares columns of a record that rows hold under a name. */
export const columnIn = <Part extends string, Row, T>(
  part: Part,
  [shape, valueOf, source]: Column<Row, T>,
): Column<{ readonly [K in Part]: Row }, T> => {
  const valueIn = (row: { readonly [K in Part]: Row }, writing: Writing) => valueOf(row[part], writing)
  return source ? [shape, valueIn, { ...source, part }] : [shape, valueIn]
}

/** Declares a column of an amount of minor units in the currency of its row. */
export const amountColumn = <Row extends { currency: string }>(
  minorOf: (row: Row) => bigint,
  sentence?: string,
): Column<Row, Digits> => [
  { ...outNumber(sentence), isAmount: true },
  (row) => minorDigits(minorOf(row), digitsOf(row.currency)),
]

/** Declares the same of a property of the row as it stands. */
export const ownAmount = <Name extends string>(
  name: Name,
  sentence?: string,
): Column<{ readonly [K in Name]: bigint } & { currency: string }, Digits> => [
  outNumber(sentence),
  (row) => minorDigits(row[name], digitsOf(row.currency)),
  { name, as: 'amount', currency: 'currency' },
]

/** Declares a column of an amount of a record that rows hold under a name; the rows have the number of decimals of its currency. */
export const amountIn = <Part extends string, Name extends string>(
  part: Part,
  name: Name,
  sentence?: string,
): Column<{ readonly [K in Part]: { readonly [N in Name]: bigint } } & { digits: number }, Digits> => [
  outNumber(sentence),
  (row) => minorDigits(row[part][name], row.digits),
  { part, name, as: 'amount' },
]

/** Declares a column of a decimal as it stands in the row. */
export const ownDecimal = <Name extends string>(
  name: Name,
  sentence?: string,
): Column<{ readonly [K in Name]: Decimal }, Digits> => [
  outNumber(sentence),
  (row) => decimalDigits(row[name]),
  { name, as: 'decimal' },
]

/** Declares a column of a calendar date, written in the zone of the reader's account. */
export const dayColumn = <Row>(dayOf: (row: Row) => IsoDate, sentence?: string): Column<Row, string> => [
  outDay(sentence),
  (row, { timeZone }) => dateWithOffset(dayOf(row), timeZone),
]

/** Declares the same of a property of the row as it stands. */
export const ownDay = <Name extends string>(
  name: Name,
  sentence?: string,
): Column<{ readonly [K in Name]: IsoDate }, string> => [
  outDay(sentence),
  (row, { timeZone }) => dateWithOffset(row[name], timeZone),
  { name, as: 'day' },
]

/** Declares a column of a calendar date that may be absent. */
export const optionalDayColumn = <Row>(
  dayOf: (row: Row, writing: Writing) => IsoDate | null,
  sentence?: string,
): Column<Row, string | null> => [
  orNull(outDay(sentence)),
  (row, writing) => {
    const day = dayOf(row, writing)
    return day === null ? null : dateWithOffset(day, writing.timeZone)
  },
]
