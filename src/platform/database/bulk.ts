import { bigints, type ArrayParameter, dates, deduplicated, positionsColumn } from './columns.ts'
import { column, type Fragment, fragment, namesOf } from './sql.ts'

/** The parts of an insert of many rows that are made from a list of columns, declared once. */

/** Each property of a row: the name of its column, and its type. */
export type BulkColumns<Row> = { readonly [Key in keyof Row]-?: readonly [column: string, type: string] }

interface BulkPart {
  /** `a, b, c` */
  names: Fragment
  /** Their values, in that order. */
  values: Fragment
  /** Relation that the rows are read from: `r`, with `place` counted from 1. */
  source: Fragment
  /** Position of the part's first row among all rows that were given. */
  offset: number
}

/** Returns fragments with commas between them. */
export const joined = (parts: readonly Fragment[]): Fragment => parts.reduce((all, one) => fragment`${all}, ${one}`)

function valuesOf<Row>(rows: readonly Row[], key: keyof Row, type: string): ArrayParameter {
  if (type === 'bigint') return bigints(rows, key as never)
  return type === 'date' ? dates(rows, key as never) : column(rows, key)
}

/** Facts known about the values of some rows. */
export interface BulkValues<Row> {
  /** They mostly repeat, so they travel once for each different shape. */
  repeated: readonly (keyof Row)[]
  /** They are null in all of them, and do not travel. */
  absent?: readonly (keyof Row)[]
}

/** Returns the parts of the insert of some rows. */
export function bulkParts<Row>(
  rows: readonly Row[],
  columns: BulkColumns<Row>,
  { repeated, absent = [] }: BulkValues<Row>,
): BulkPart[] {
  const keys = (Object.keys(columns) as (keyof Row)[]).filter((key) => !absent.includes(key))
  const own = keys.filter((key) => !repeated.includes(key))
  const array = (some: readonly Row[], key: keyof Row) =>
    fragment`${valuesOf(some, key, columns[key][1])}::${namesOf(columns[key][1])}[]`
  const names = namesOf(keys.map((key) => columns[key][0]).join(', '))
  const ownNames = namesOf(own.map((key) => columns[key][0]).join(', '))
  return deduplicated(rows, repeated).map(({ rows: some, distinct, positions, offset }) => ({
    names,
    values: joined(
      keys.map((key) =>
        own.includes(key) ? namesOf(`r.${columns[key][0]}`) : fragment`(${array(distinct, key)})[r.shape]`,
      ),
    ),
    source: fragment`unnest(${joined(own.map((key) => array(some, key)))}, ${positions}::integer[]) with ordinality as r(${ownNames}, shape, place)`,
    offset,
  }))
}

/** Rows that travel once for each shape, and that many other rows take by the position of theirs. */
interface ShapeRelation {
  /** `a, b` */
  names: Fragment
  /** Their values, in that order. */
  values: Fragment
  /** Relation `s`, with `shape`, these columns, and `line`, the place of the row. */
  source: Fragment
}

/** Returns rows as a relation; each has the position of its shape, counted from 1. */
export function shapeRelation<Row extends { shape: number }>(
  rows: readonly Row[],
  columns: Partial<BulkColumns<Row>>,
): ShapeRelation {
  const keys = Object.keys(columns) as (keyof Row)[]
  const [nameOf, typeOf] = [0, 1].map((part) => (key: keyof Row) => columns[key]?.[part] ?? '') as [Named, Named]
  type Named = (key: keyof Row) => string
  const names = keys.map(nameOf).join(', ')
  // An array of arrays would come apart, so those travel as texts.
  const isArray = (key: keyof Row): boolean => typeOf(key).endsWith('[]')
  const sentAs = (key: keyof Row): string => (isArray(key) ? 'text' : typeOf(key))
  const valueOf = (key: keyof Row): string => (isArray(key) ? `s.${nameOf(key)}::${typeOf(key)}` : `s.${nameOf(key)}`)
  const arrays = keys.map((key) => fragment`${valuesOf(rows, key, sentAs(key))}::${namesOf(sentAs(key))}[]`)
  const shapes = fragment`${positionsColumn(rows.map(({ shape }) => shape))}::integer[]`
  return {
    names: namesOf(names),
    values: namesOf(keys.map(valueOf).join(', ')),
    source: fragment`unnest(${joined([shapes, ...arrays])}) with ordinality as s(shape, ${namesOf(names)}, line)`,
  }
}
