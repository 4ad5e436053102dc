import type { Column } from './columns.ts'
import type { Field, Property } from './read.ts'
import { meant, type Schemed } from './schema.ts'
import type { Shape } from './write.ts'

/** Sentences of the reference, beside what they are about: a field of a body or an answer, a column, a parameter. */

type AnyProperty = Property<any, 'required' | 'optional'>

/** Returns a declaration with the meaning of its field, which stands before how its values are written, and in place of any meaning that it has; of a property that may be left out with what that means. */
export function described<Row, T>(column: Column<Row, T>, sentence: string): Column<Row, T>
export function described<P extends AnyProperty>(property: P, sentence: string, leftOut?: string): P
export function described<F extends Field<any>>(field: F, sentence: string): F
export function described<S extends Shape<any>>(shape: S, sentence: string): S
export function described(
  declared: Column<unknown> | AnyProperty | Schemed,
  sentence: string,
  leftOut?: string,
): Column<unknown> | AnyProperty | Schemed {
  if (isColumn(declared)) {
    const [shape, ...rest] = declared
    return [meant(shape, sentence), ...rest]
  }
  return 'presence' in declared
    ? { ...declared, sentence, ...(leftOut === undefined ? {} : { leftOut }) }
    : meant(declared, sentence)
}

const isColumn = (declared: Column<unknown> | object): declared is Column<unknown> => Array.isArray(declared)

/** Returns a property whose field has its meaning already with what leaving it out means. */
export const leftOut = <P extends AnyProperty>(property: P, sentence: string): P => ({ ...property, leftOut: sentence })
