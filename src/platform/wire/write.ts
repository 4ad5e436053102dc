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

/** Digits of a number, ready to be written. */
export type Digits = string & { readonly digits?: true }

export type ShapeOf<S> = S extends Shape<infer T> ? T : never

const shape = <T>(schema: Schema, write: (value: T) => string): Shape<T> => ({ schema, write })

const SAFE_TEXT = /^[\x20\x21\x23-\x5b\x5d-\x7e\u00a0-\ud7ff]*$/
const writeText = (value: string): string => (SAFE_TEXT.test(value) ? `"${value}"` : JSON.stringify(value))

export const outText = (schema: Schema = {}): Shape<string> => shape({ type: 'string', ...schema }, writeText)
export const outFlag = (): Shape<boolean> => shape({ type: 'boolean' }, (value) => (value ? 'true' : 'false'))
export const outId = (description?: string): Shape<bigint> =>
  shape({ type: 'integer', format: 'int64', ...(description ? { description } : {}) }, (value) => value.toString())
export const outInteger = (): Shape<number> => shape({ type: 'integer' }, (value) => value.toString())
/** Money, prices, quantities, rates: written digit by digit. */
export const outNumber = (description?: string): Shape<Digits> =>
  shape({ type: 'number', ...(description ? { description } : {}) }, (value) => value)
/** An instant or a calendar date as the interface writes them. */
export const outDate = (description?: string): Shape<string> =>
  shape({ type: 'string', format: 'date-time', ...(description ? { description } : {}) }, (value) => `"${value}"`)
export const outWord = <W extends string>(words: readonly W[]): Shape<W> =>
  shape({ type: 'string', enum: [...words] }, writeText)

/** Absent values are null, never left out. */
export const orNull = <T>(inner: Shape<T>): Shape<T | null> =>
  shape(nullable(inner.schema), (value) => (value === null ? 'null' : inner.write(value)))

export const outList = <T>(item: Shape<T>): Shape<readonly T[]> =>
  shape({ type: 'array', items: item.schema }, (values) => {
    let text = '['
    for (let index = 0; index < values.length; index += 1)
      text += (index === 0 ? '' : ',') + item.write(values[index] as T)
    return `${text}]`
  })

/** One of two shapes. */
export const outEither = <A, B>(
  first: Shape<A>,
  isFirst: (value: A | B) => value is A,
  second: Shape<B>,
): Shape<A | B> =>
  shape({ anyOf: [first.schema, second.schema] }, (value) =>
    isFirst(value) ? first.write(value) : second.write(value as B),
  )

export type ObjectOf<S> = { [K in keyof S]: S[K] extends Shape<infer T> ? T : never }

/** An object with declared fields, written in their order. A named one becomes a component of the OpenAPI document. */
export function outObject<S extends Record<string, Shape<any>>>(shapes: S, name?: string): Shape<ObjectOf<S>> {
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
  return shape(name ? asComponent(name, full) : full, (value: ObjectOf<S>) => {
    let text = ''
    for (const { field, prefix, write } of writers) {
      const given = (value as Record<string, unknown>)[field]
      if (given === undefined) throw new Error(`assertion failed: ${name ?? 'an object'} is answered without ${field}`)
      text += prefix + write(given)
    }
    return `${text}}`
  })
}

/** The digits of an amount, without trailing zeros: 100 and 99.5, as JSON numbers are printed. */
export const minorDigits = (amountMinor: bigint, digits: number): Digits =>
  decimalText(minorToDecimal(amountMinor, digits))

export const decimalDigits = (value: Decimal): Digits => decimalText(value)
