import { type Decimal, decimalText } from '../../kernel/decimal.ts'
import { minorToDecimal } from '../../kernel/money.ts'
import { JsonBytes } from './json-bytes.ts'
import { asComponent, meant, nullable, type Schema } from './schema.ts'

/**
 * How answers are written: one declaration gives the type that a mapper must return, the JSON text and the OpenAPI schema.
 * Each takes the meaning of its field last. Numbers are written from digits. A field that is not declared is never sent; one that is missing is a bug (500).
 */
export interface Shape<T> {
  schema: Schema
  write(value: T): string
  /** How its values look as JSON, where they can be written from the texts of the database: see `text-writer.ts`. */
  looks?: Looks
  /** The schema without the meaning of the field that it has, see `described`. */
  plain?: Schema
  /** Its digits are an amount in the currency of its row: texts for people write all decimals of that. */
  isAmount?: true
  /** It writes null for a value that is absent. */
  hasNull?: true
}

/** Looks of plain values: quoted and escaped; true or false; digits as they are; quoted as they are. */
export type Looks = 'text' | 'flag' | 'digits' | 'date'

/** Lists, and objects with lists: written as one text, or the same text in pieces, where entries arrive in portions. */
export interface PiecedShape<T> extends Shape<T> {
  pieces(value: Arriving<T>): AsyncGenerator<string, void, undefined>
}

/** Entries of a list that are not all there yet. */
export type Portions<Entry> = AsyncIterable<readonly Entry[]>

/** A value of which lists may arrive in portions: itself, or lists of its fields. */
export type Arriving<T> = T extends readonly (infer Entry)[]
  ? T | Portions<Entry>
  : { [K in keyof T]: T[K] extends readonly (infer Entry)[] ? T[K] | Portions<Entry> : T[K] }

export const isArriving = (value: unknown): value is Portions<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value

/** Characters of a piece, about. */
const PIECE = 64 * 1024

/** Digits of a number, ready to be written. */
export type Digits = string & { readonly digits?: true }

export type ShapeOf<S> = S extends Shape<infer T> ? T : never

const shape = <T>(schema: Schema, write: (value: T) => string, looks?: Looks): Shape<T> => ({
  schema,
  write,
  ...(looks ? { looks } : {}),
})

const SAFE_TEXT = /^[\x20\x21\x23-\x5b\x5d-\x7e\u00a0-\ud7ff]*$/
/** Writes a text, escaped where it has to be. */
export const writeText = (value: string): string => (SAFE_TEXT.test(value) ? `"${value}"` : JSON.stringify(value))

export const outText = (sentence?: string, schema: Schema = {}): Shape<string> =>
  meant(shape({ type: 'string', ...schema }, writeText, 'text'), sentence)
export const outFlag = (sentence?: string): Shape<boolean> =>
  meant(
    shape({ type: 'boolean' }, (value) => (value ? 'true' : 'false'), 'flag'),
    sentence,
  )
export const outId = (sentence?: string): Shape<bigint> =>
  meant(
    shape({ type: 'integer', format: 'int64' }, (value) => value.toString(), 'digits'),
    sentence,
  )
export const outInteger = (sentence?: string, schema: Schema = {}): Shape<number> =>
  meant(
    shape({ type: 'integer', ...schema }, (value) => value.toString(), 'digits'),
    sentence,
  )
/** Declares money, prices, quantities and rates: written digit by digit. */
export const outNumber = (sentence?: string): Shape<Digits> => meant(shape({ type: 'number' }, String), sentence)
/** Declares an instant or a calendar date as the interface writes them. */
export const outDate = (sentence?: string, schema: Schema = {}): Shape<string> =>
  meant(
    shape({ type: 'string', format: 'date-time', ...schema }, (value) => `"${value}"`, 'date'),
    sentence,
  )
export const outInstant = (sentence?: string): Shape<string> => outDate(sentence, { description: 'Instant' })
export const outDay = (sentence?: string): Shape<string> => outDate(sentence, { description: 'Calendar date' })
export const outWord = <W extends string>(words: readonly W[], sentence?: string): Shape<W> =>
  meant(shape({ type: 'string', enum: [...words] }, writeText, 'text'), sentence)

/** Declares a value that may be absent: it is then null, never left out. */
export const orNull = <T>(inner: Shape<T>): Shape<T | null> => ({
  ...shape<T | null>(nullable(inner.schema), (value) => (value === null ? 'null' : inner.write(value)), inner.looks),
  ...(inner.plain ? { plain: nullable(inner.plain) } : {}),
  hasNull: true,
})

export const outList = <T>(item: Shape<T>, sentence?: string): PiecedShape<readonly T[]> => ({
  ...meant(
    shape({ type: 'array', items: item.schema }, (values: readonly T[]) => {
      let text = '['
      for (let index = 0; index < values.length; index += 1)
        text += (index === 0 ? '' : ',') + item.write(values[index] as T)
      return `${text}]`
    }),
    sentence,
  ),
  pieces: (value) =>
    listPieces(isArriving(value) ? (value as Portions<T>) : [value as readonly T[]], (entry) => item.write(entry)),
})

/** Writes a list in pieces while its entries arrive; an entry that is long may come in pieces itself. */
export async function* listPieces<Entry>(
  portions: Portions<Entry> | Iterable<readonly Entry[]>,
  write: (entry: Entry) => string | AsyncIterable<string>,
): AsyncGenerator<string, void, undefined> {
  let text = '['
  let isFirst = true
  for await (const entries of portions) {
    for (const entry of entries) {
      if (!isFirst) text += ','
      isFirst = false
      const written = write(entry)
      if (typeof written === 'string') text += written
      else {
        yield text
        yield* written
        text = ''
      }
      if (text.length < PIECE) continue
      yield text
      text = ''
    }
  }
  yield `${text}]`
}

/**
 * Writes a list as `listPieces` does, in bytes: for answers, which consist of nothing else. What is written of a portion is taken before the next is
 * waited for.
 */
export async function* listBytes<Entry>(
  portions: Portions<Entry> | Iterable<readonly Entry[]>,
  write: (entry: Entry) => string | AsyncIterable<string>,
): AsyncGenerator<Buffer, void, undefined> {
  let isFirst = true
  for await (const entries of portions) {
    const bytes = new JsonBytes()
    for (const entry of entries) {
      bytes.add(isFirst ? '[' : ',')
      isFirst = false
      const written = write(entry)
      if (typeof written === 'string') bytes.add(written)
      else {
        yield bytes.take()
        for await (const text of written) yield Buffer.from(text)
      }
      if (bytes.length >= PIECE) yield bytes.take()
    }
    yield bytes.take()
  }
  yield Buffer.from(isFirst ? '[]' : ']')
}

export type ObjectOf<S> = { [K in keyof S]: S[K] extends Shape<infer T> ? T : never }

/** Declares an object with declared fields, written in their order. A named one becomes a component of the OpenAPI document. */
export function outObject<S extends Record<string, Shape<any>>>(shapes: S, name?: string): PiecedShape<ObjectOf<S>> {
  const names = Object.keys(shapes)
  const writers = names.map((field, index) => ({
    field,
    prefix: `${index === 0 ? '{' : ','}${JSON.stringify(field)}:`,
    write: shapes[field]?.write as (value: unknown) => string,
  }))
  const full: Schema = {
    type: 'object',
    properties: Object.fromEntries(names.map((field) => [field, shapes[field]?.schema])),
    required: names,
  }
  const given = (value: object, field: string): unknown => {
    const found = (value as Record<string, unknown>)[field]
    if (found === undefined) throw new Error(`assertion failed: ${name ?? 'an object'} is answered without ${field}`)
    return found
  }
  return {
    ...shape(name ? asComponent(name, full) : full, (value: ObjectOf<S>) => {
      let text = ''
      for (const { field, prefix, write } of writers) text += prefix + write(given(value, field))
      return `${text}}`
    }),
    async *pieces(value) {
      let text = ''
      for (const { field, prefix, write } of writers) {
        const found = given(value, field)
        text += prefix
        if (!isArriving(found)) text += write(found)
        else {
          yield text
          text = ''
          yield* (shapes[field] as PiecedShape<unknown[]>).pieces(found)
        }
      }
      yield `${text}}`
    },
  }
}

/** Returns the digits of an amount, without trailing zeros: 100 and 99.5, as JSON numbers are printed. */
export const minorDigits = (amountMinor: bigint, digits: number): Digits =>
  decimalText(minorToDecimal(amountMinor, digits))

/** Returns the same of the text of an amount in minor units, as the database has it. */
export function minorDigitsOfText(text: string, digits: number): Digits {
  if (digits === 0 || text === '0') return text
  const start = text.charCodeAt(0) === MINUS ? 1 : 0
  const padded =
    text.length - start > digits ? text : text.slice(0, start) + text.slice(start).padStart(digits + 1, '0')
  const point = padded.length - digits
  const end = endOfDigits(padded, point)
  return end === point ? padded.slice(0, point) : `${padded.slice(0, point)}.${padded.slice(point, end)}`
}

/** Returns the digits of the text of a decimal, as the database has it, without trailing zeros. */
export function decimalDigitsOfText(text: string): Digits {
  const point = text.indexOf('.')
  if (point < 0) return text
  const end = endOfDigits(text, point + 1)
  return text.slice(0, end === point + 1 ? point : end)
}

const MINUS = 45
const NOUGHT = 48

/** Returns where the trailing zeros behind a point begin. */
function endOfDigits(text: string, point: number): number {
  let end = text.length
  while (end > point && text.charCodeAt(end - 1) === NOUGHT) end -= 1
  return end
}

export const decimalDigits = (value: Decimal): Digits => decimalText(value)
