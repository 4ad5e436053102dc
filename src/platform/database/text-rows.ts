import { assert } from '../../kernel/assert.ts'
import type { Statement } from './sql.ts'
import { columnTypes, kindOfType, type TextKind } from './types.ts'

/**
 * Rows that keep the texts of their columns as the driver has them: a value is made of a text when the property is read. Lists are written from the
 * texts themselves (see `platform/wire/text-writer.ts`), so that of most columns no value is ever made.
 */

/** A column of a statement: its name, and the type of the database that its texts are of. */
export interface TextColumn {
  name: string
  dataTypeID: number
}

/** The columns of text rows that were made by one reader. */
export interface Layout {
  /** The place of a column in the texts of a row; throws for a column that the statement does not have. */
  placeOf(name: string): number
  kindOf(place: number): TextKind
  /** Makes the value of a text, as the driver does for rows that are read whole. */
  readerOf(place: number): (text: string) => unknown
}

/** A row of which only texts are kept. Its properties can be read, but not spread into another object. */
export class TextRow {
  readonly texts: readonly (string | null)[]
  declare readonly layout: Layout

  constructor(texts: readonly (string | null)[]) {
    this.texts = texts
  }
}

/** Asks for the rows of a statement as text rows: for lists that are written as they are read. */
export const asTexts = (statement: Statement): Statement => ({
  ...statement,
  name: `${statement.name}_texts`,
  areTexts: true,
})

/** Asks for the rows of a statement as text rows, or as objects. */
export const inTexts = (areTexts: boolean | undefined, statement: Statement): Statement =>
  areTexts ? asTexts(statement) : statement

function layoutOf(columns: readonly TextColumn[]): Layout {
  const places = new Map(columns.map(({ name }, place) => [name, place]))
  const readers = columns.map(({ dataTypeID }) => columnTypes.getTypeParser(dataTypeID) as (text: string) => unknown)
  return {
    placeOf(name) {
      const place = places.get(name)
      assert(place !== undefined, `a row has the column ${name}`)
      return place
    },
    kindOf: (place) => kindOfType(columns[place]?.dataTypeID ?? 0),
    readerOf: (place) => readers[place] as (text: string) => unknown,
  }
}

/** Readers by the columns of their statements, so that the rows of one statement are of one class on all connections. */
const readers = new Map<string, (texts: (string | null)[]) => TextRow>()

/** Returns the function that makes text rows of the texts of these columns. */
export function textReader(columns: readonly TextColumn[]): (texts: (string | null)[]) => TextRow {
  const key = columns.map(({ name, dataTypeID }) => `${name} ${dataTypeID}`).join()
  let reader = readers.get(key)
  if (!reader) readers.set(key, (reader = compiledReader(columns)))
  return reader
}

function compiledReader(columns: readonly TextColumn[]): (texts: (string | null)[]) => TextRow {
  const layout = layoutOf(columns)
  class Row extends TextRow {}
  Object.defineProperty(Row.prototype, 'layout', { value: layout })
  for (const [place, { name }] of columns.entries()) {
    const read = layout.readerOf(place)
    Object.defineProperty(Row.prototype, name, {
      get(this: Row) {
        const text = this.texts[place] as string | null
        return text === null ? null : read(text)
      },
    })
  }
  return (texts) => new Row(texts)
}
