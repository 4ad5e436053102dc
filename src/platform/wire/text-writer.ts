import type { Writing } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { type Layout, TextRow } from '../database/text-rows.ts'
import type { TextKind } from '../database/types.ts'
import { decimalDigitsOfText, minorDigitsOfText, type Shape, writeText } from './write.ts'

/**
 * Writes records of text rows: one function a shape and statement, compiled from the declaration of the shape, which puts the texts of the columns
 * into JSON. What is no plain property of the row is computed from the row by the declaration itself, as for any other row. Both ways give the same
 * bytes.
 */

/**
 * Source of the value of a column: a property of the row, or of the record under `part` of the row. `as` is how it is written: by its
 * shape; as an amount of minor units, whose decimals the currency under `currency` has, or the property `digits` of the row; as a calendar date; as a
 * decimal.
 */
export interface TextSource {
  name: string
  part?: string
  as?: 'amount' | 'day' | 'decimal'
  currency?: string
}

type Write<Row> = (row: Row, writing: Writing) => string

/** Column of a shape, ready to be compiled. */
export interface NamedColumn<Row> {
  /** All that stands in front of its value. */
  prefix: string
  shape: Shape<any>
  source: TextSource | undefined
  /** Writes its value as of any row. */
  write: Write<Row>
}

const FUNCTIONS = { digitsOf, dateWithOffset, writeText, minorDigitsOfText, decimalDigitsOfText }

/** Writes the same text again for the same text of the database: neighbouring rows mostly have the same. */
function remembering(write: (text: string) => string): (text: string) => string {
  let last: string | undefined
  let written = ''
  return (text) => {
    if (text !== last) {
      written = write(text)
      last = text
    }
    return written
  }
}

/** Returns the JavaScript that writes the text `x` of a column; undefined where its value has to be made. */
function expressionOf({ as }: TextSource, { looks }: Shape<unknown>, kind: TextKind): string | undefined {
  if (as === 'amount') return kind === 'whole' ? 'minorDigitsOfText(x, digits)' : undefined
  if (as === 'day') return kind === 'day' ? `'"' + dateWithOffset(x, writing.timeZone) + '"'` : undefined
  if (as === 'decimal') return kind === 'decimal' ? 'decimalDigitsOfText(x)' : undefined
  if (looks === 'text') return kind === 'plain' ? 'writeText(x)' : undefined
  if (looks === 'digits') return kind === 'whole' ? 'x' : undefined
  if (looks === 'flag') return kind === 'flag' ? `(x === 't' ? 'true' : 'false')` : undefined
  return undefined
}

/** Compiles the writer of rows whose texts have a layout. The names in it come from declarations of ours only. */
function compiled<Row>(columns: readonly NamedColumn<Row>[], part: string | undefined, layout: Layout): Write<Row> {
  const given: Record<string, unknown> = { ...FUNCTIONS }
  let isInDigits: string | undefined
  const parts = columns.map(({ prefix, shape, source, write }, index) => {
    const before = prefix.replace(/[\\`$]/g, '\\$&')
    given[`write${index}`] = write
    const ofRow = `write${index}(row, writing)`
    if (!source || source.part !== part) return `${before}\${${ofRow}}`
    const place = layout.placeOf(source.name)
    let expression = expressionOf(source, shape, layout.kindOf(place))
    if (expression === undefined && source.as === undefined) {
      const read = layout.readerOf(place)
      given[`text${index}`] = remembering((text) => shape.write(read(text)))
      expression = `text${index}(x)`
    }
    if (expression === undefined) return `${before}\${${ofRow}}`
    if (source.as === 'amount')
      isInDigits = source.currency === undefined ? 'row.digits' : `digitsOf(texts[${layout.placeOf(source.currency)}])`
    return `${before}\${(x = texts[${place}]) === null ? ${shape.hasNull ? "'null'" : ofRow} : ${expression}}`
  })
  const lines = [
    `const { texts } = row${part === undefined ? '' : `[${JSON.stringify(part)}]`}`,
    ...(isInDigits === undefined ? [] : [`const digits = ${isInDigits}`]),
    'let x',
    `return \`${parts.join('')}}\``,
  ]
  // oxlint-disable-next-line no-new-func
  const make = new Function(...Object.keys(given), `return (row, writing) => {\n${lines.join('\n')}\n}`) as (
    ...values: unknown[]
  ) => Write<Row>
  return make(...Object.values(given))
}

/**
 * Returns the function that writes a record of a declaration: rows that are text rows, or whose record under the `part` of the columns' sources is
 * one, by a writer compiled for them, any other by `writeAny`.
 */
export function textWriter<Row>(columns: readonly NamedColumn<Row>[], writeAny: Write<Row>): Write<Row> {
  const sources = columns.flatMap(({ source }) => source ?? [])
  const [first] = sources
  if (first === undefined) return writeAny
  const { part } = first
  const writers = new Map<Layout, Write<Row>>()
  let lastLayout: Layout | undefined
  let lastWriter = writeAny
  return (row, writing) => {
    const record = part === undefined ? row : (row as Readonly<Record<string, unknown>>)[part]
    if (!(record instanceof TextRow)) return writeAny(row, writing)
    const { layout } = record
    if (layout !== lastLayout) {
      let writer = writers.get(layout)
      if (!writer) writers.set(layout, (writer = compiled(columns, part, layout)))
      lastWriter = writer
      lastLayout = layout
    }
    return lastWriter(row, writing)
  }
}
