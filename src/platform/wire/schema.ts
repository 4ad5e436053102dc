/** JSON Schemas of what is read and written, as the OpenAPI document shows them. */

export interface Schema {
  [keyword: string]: unknown
}

/** Schemas that the OpenAPI document lists once under its components, by name; everything else refers to them. */
export const components = new Map<string, Schema>()

/** Lists a schema under a name and returns the reference to it. Throws when the name stands for another schema already. */
export function asComponent(name: string, schema: Schema): Schema {
  const present = components.get(name)
  if (present && JSON.stringify(present) !== JSON.stringify(schema))
    throw new Error(`assertion failed: two schemas are named ${name}`)
  components.set(name, schema)
  return { $ref: `#/components/schemas/${name}` }
}

/** Follows a reference to its component; any other schema is itself. */
export const resolved = (schema: Schema): Schema =>
  schema['$ref'] ? (components.get(String(schema['$ref']).split('/').at(-1) ?? '') ?? {}) : schema

/** Adds null to the types of a schema: OpenAPI 3.1 has no other way to allow it. */
export const nullable = (schema: Schema): Schema => {
  const { type, enum: words, ...rest } = schema
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  return {
    type: Array.isArray(type) ? [...type, 'null'] : [type, 'null'],
    ...(words ? { enum: [...(words as unknown[]), null] } : {}),
    ...rest,
  }
}

/** Describes a schema: what it means stands before what it has already, which is about how its values are written. */
export const describedAs = (schema: Schema, sentence: string): Schema =>
  withSentences(schema, [sentence, schema['description']])

export interface Schemed {
  schema: Schema
  /** The schema without the meaning of the field that it has. */
  plain?: Schema
}

/** Gives a declaration the meaning of its field, where there is a sentence of it, in place of any that it has. */
export function meant<S extends Schemed>(declared: S, sentence: string | undefined): S {
  if (sentence === undefined) return declared
  const { plain = declared.schema } = declared
  return { ...declared, plain, schema: describedAs(plain, sentence) }
}

/** Adds a sentence behind the description of a schema. */
export const alsoDescribedAs = (schema: Schema, sentence: string): Schema =>
  withSentences(schema, [schema['description'], sentence])

const withSentences = (schema: Schema, all: unknown[]): Schema => {
  const [first, second] = all.filter((one) => one !== undefined).map(String)
  return { ...schema, description: second === undefined ? first : `${first?.replace(/\.$/, '')}. ${second}` }
}
