import { describe, expect, test } from 'vitest'
import { allOperations } from '../../src/app.ts'
import { ORDER_OF_DAY } from '../../src/duties.ts'
import { openApiDocument } from '../../src/platform/http/openapi.ts'
import { type Fields, INTERFACE, NESTED, type Row } from './interface.ts'

/** The OpenAPI document against the interface, row by row. */

interface JsonSchema {
  type?: string | string[]
  format?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  $ref?: string
}

// Declarations need no database to be made; nothing here is called.
const operations = allOperations({ order: ORDER_OF_DAY } as Parameters<typeof allOperations>[0])
const document = openApiDocument(operations, { version: 'test', serverUrl: '/' }) as unknown as {
  paths: Record<string, Record<string, any>>
  components: { schemas: Record<string, JsonSchema> }
}

function resolved(schema: JsonSchema): JsonSchema {
  if (schema.$ref) return document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}
  const real = schema.anyOf?.find((one) => one.type !== 'null')
  return real ? resolved(real) : schema
}

const typesOf = (schema: JsonSchema): string[] =>
  schema.anyOf
    ? [...schema.anyOf.flatMap(typesOf)]
    : schema.$ref
      ? typesOf(resolved(schema))
      : ([] as string[]).concat(schema.type ?? [])

/** "string?" for text that can be null, "date" for a date: the words of the table. */
function wordOf(schema: JsonSchema): string {
  const types = typesOf(schema)
  const real = types.find((type) => type !== 'null') ?? 'any'
  const word = real === 'array' ? 'list' : resolved(schema).format === 'date-time' ? 'date' : real
  return types.includes('null') ? `${word}?` : word
}

const named = ({ method, path }: Row) => `${method} ${path}`
const operationOf = ({ method, path }: Row) => document.paths[path]?.[method.toLowerCase()]

const answerOf = (row: Row): JsonSchema | undefined =>
  operationOf(row)?.responses[row.success]?.content?.['application/json']?.schema

function objectOf(row: Row): JsonSchema {
  const schema = resolved(answerOf(row) ?? {})
  return row.isList ? resolved(schema.items ?? {}) : schema
}

function checkFields(schema: JsonSchema, fields: Fields): void {
  const found = Object.fromEntries(
    Object.keys(fields).map((name) => [name, schema.properties?.[name] ? wordOf(schema.properties[name]) : 'missing']),
  )
  expect(found).toEqual(fields)
  expect(schema.required).toEqual(expect.arrayContaining(Object.keys(fields)))
}

/** The schema behind a dotted path, through lists and objects. */
function inside(schema: JsonSchema, path: string): JsonSchema {
  let found = resolved(schema)
  for (const name of path.split('.')) {
    found = resolved(found.properties?.[name] ?? {})
    if (found.items) found = resolved(found.items)
  }
  return found
}

describe.each(INTERFACE.map((row) => [named(row), row] as const))('%s', (_, row) => {
  test(`is served and succeeds with ${row.success}`, () => {
    const operation = operationOf(row)
    expect(operation).toBeDefined()
    // The 200 of a representation is for those who prefer one, see test/api/representation.test.ts.
    const isPreferred = (status: number) =>
      status !== row.success && operation.responses[status]?.headers?.['Preference-Applied'] !== undefined
    expect(
      Object.keys(operation.responses)
        .map(Number)
        .filter((status) => status < 300 && !isPreferred(status)),
    ).toEqual([row.success])
    expect(answerOf(row) !== undefined).toBe(row.answer !== undefined)
  })

  test('answers every field under its name and type, absent values as null', () => {
    if (!row.answer) return
    expect(resolved(answerOf(row) ?? {}).type).toBe(row.isList ? 'array' : 'object')
    checkFields(objectOf(row), row.answer)
    for (const [path, fields] of Object.entries(NESTED[named(row)] ?? {}))
      checkFields(inside(objectOf(row), path), fields)
  })

  test('takes its parameters', () => {
    const parameters: { name: string; in: string }[] = operationOf(row)?.parameters ?? []
    const given = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
    expect(given).toEqual(expect.arrayContaining((row.query ?? '').split(' ').filter(Boolean)))
    expect(parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(
      [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    )
  })

  test('takes the fields of its body, required ones as required', () => {
    const body = operationOf(row)?.requestBody?.content?.['application/json']?.schema
    for (const field of (row.input ?? '').split(' ').filter(Boolean)) {
      const isRequired = field.endsWith('!')
      const path = field.replace('!', '').split('.')
      const name = path.pop() as string
      const holder = path.length > 0 ? inside(body, path.join('.')) : resolved(body)
      expect([field, Object.keys(holder.properties ?? {}).includes(name)]).toEqual([field, true])
      expect([field, holder.required?.includes(name) ?? false]).toEqual([field, isRequired])
    }
  })
})
