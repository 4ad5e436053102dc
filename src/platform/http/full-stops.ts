import type { Schema } from '../wire/schema.ts'

/** Returns a schema in which every field's description ends as a sentence: declarations write forms and short sentences without a full stop. */
export function withFullStops(schema: Schema): Schema {
  const properties = schema['properties'] as Record<string, Schema> | undefined
  const again = (inner: unknown) => withFullStops(inner as Schema)
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, closed(withFullStops(field))])
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(fields) }),
    ...(schema['items'] ? { items: again(schema['items']) } : {}),
    ...(schema['additionalProperties'] ? { additionalProperties: again(schema['additionalProperties']) } : {}),
    ...(schema['anyOf'] ? { anyOf: (schema['anyOf'] as unknown[]).map(again) } : {}),
  }
}

function closed(schema: Schema): Schema {
  const text = schema['description'] as string | undefined
  return text === undefined || text === '' || /[.!?…]$/.test(text) ? schema : { ...schema, description: `${text}.` }
}
