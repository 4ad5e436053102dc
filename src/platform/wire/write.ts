import { type Decimal, decimalText } from '../../kernel/decimal.ts'
import { minorToDecimal } from '../../kernel/money.ts'
import { asComponent, nullable, type Schema } from './schema.ts'

/**
 * How answers are written: one declaration gives the type that a mapper must return, the JSON text and the OpenAPI schema.
 * Numbers are written from digits. A field that is not declared is never sent; one that is missing is a bug (500).
 */
export interface Shape<T> {
  schema: Schema
  write(value: T): string
}

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

const shape = <T>(schema: Schema, write: (value: T) => string): Shape<T> => ({ schema, write })

const SAFE_TEXT = /^[\x20\x21\x23-\x5b\x5d-\x7e\u00a0-\ud7ff]*$/
const writeText = (value: string): string => (SAFE_TEXT.test(value) ? `"${value}"` : JSON.stringify(value))

export const outText = (schema: Schema = {}): Shape<string> => shape({ type: 'string', ...schema }, writeText)
export const outFlag = (description?: string): Shape<boolean> =>
  shape({ type: 'boolean', ...(description ? { description } : {}) }, (value) => (value ? 'true' : 'false'))
export const outId = (description?: string): Shape<bigint> =>
  shape({ type: 'integer', format: 'int64', ...(description ? { description } : {}) }, (value) => value.toString())
export const outInteger = (schema: Schema = {}): Shape<number> =>
  shape({ type: 'integer', ...schema }, (value) => value.toString())
/** Declares money, prices, quantities and rates: written digit by digit. */
export const outNumber = (description?: string): Shape<Digits> =>
  shape({ type: 'number', ...(description ? { description } : {}) }, (value) => value)
/** Declares an instant or a calendar date as the interface writes them. */
export const outDate = (description?: string): Shape<string> =>
  shape({ type: 'string', format: 'date-time', ...(description ? { description } : {}) }, (value) => `"${value}"`)
export const outWord = <W extends string>(words: readonly W[]): Shape<W> =>
  shape({ type: 'string', enum: [...words] }, writeText)

/** Declares a value that may be absent: it is then null, never left out. */
export const orNull = <T>(inner: Shape<T>): Shape<T | null> =>
  shape(nullable(inner.schema), (value) => (value === null ? 'null' : inner.write(value)))

export const outList = <T>(item: Shape<T>): PiecedShape<readonly T[]> => ({
  ...shape({ type: 'array', items: item.schema }, (values: readonly T[]) => {
    let text = '['
    for (let index = 0; index < values.length; index += 1)
      text += (index === 0 ? '' : ',') + item.write(values[index] as T)
    return `${text}]`
  }),
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

export const decimalDigits = (value: Decimal): Digits => decimalText(value)
