import type { Schema } from '../wire/schema.ts'

/** Parts of paths that are parameters, each declared by the room whose records it names. */

interface PathParameter {
  sentence: string
  schema: Schema
}

const declared = new Map<string, PathParameter>()

const IDENTIFIER: Schema = { type: 'integer', format: 'int64', minimum: 1 }

/** Declares a parameter of paths, by default an identifier. The first declaration of a name holds: versions are found below their package. */
export function pathParameter(name: string, sentence: string, schema = IDENTIFIER): void {
  if (!declared.has(name)) declared.set(name, { sentence, schema })
}

/** Describes the parameters of a path for the OpenAPI document; one that no room declares has no sentence, which a test names. */
export const pathParameters = (path: string): Schema[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const { sentence, schema = IDENTIFIER } = declared.get(name) ?? {}
    return { name, in: 'path', required: true, schema, ...(sentence === undefined ? {} : { description: sentence }) }
  })
