import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { allOperations } from '../../src/app.ts'
import { ORDER_OF_DAY } from '../../src/duties.ts'
import { Problems } from '../../src/kernel/fault.ts'
import { openApiDocument } from '../../src/platform/http/openapi.ts'
import { type Json, parseJson } from '../../src/platform/wire/json.ts'
import { type ApiDocument, closed, operationsOf } from '../api/document.ts'

/** The OpenAPI document as such: whole, sound, fit for generated clients, and with examples that mean what they say. */

// Declarations need no database to be made; nothing here is called.
const operations = allOperations({ order: ORDER_OF_DAY } as Parameters<typeof allOperations>[0])
const document = openApiDocument(operations, { version: 'test', serverUrl: '/' }) as any
const described = operationsOf(document as ApiDocument)
const labelOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`

const ajv = new Ajv2020({ strict: false })
;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
// The components are compiled once; each schema refers to them there.
const elsewhere = (schema: object): string =>
  JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components')
ajv.addSchema({ $id: 'document', components: JSON.parse(elsewhere(document.components)) })
const compiled = new Map<string, ValidateFunction>()
function problemOf(schema: object, value: unknown): string | undefined {
  const text = elsewhere(schema)
  const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
  compiled.set(text, validate)
  return validate(value) ? undefined : ajv.errorsText(validate.errors)
}

/** Every schema of the document with its place, those inside of others too. */
function* schemasIn(value: any, place: string): Generator<{ place: string; schema: any }> {
  if (typeof value !== 'object' || value === null) return
  if (value.type !== undefined && !Array.isArray(value)) yield { place, schema: value }
  for (const [key, inner] of Object.entries(value))
    if (key !== 'example' && key !== 'enum') yield* schemasIn(inner, `${place}.${key}`)
}
const schemas = [...schemasIn({ ...document.paths, ...document.components.schemas }, '')]

describe('the OpenAPI document', () => {
  test('is of 3.1, has every operation once, and every name that it refers to', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(described).toHaveLength(operations.length)
    const ids = described.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)]
    for (const [, kind, name] of references) expect(document.components[kind as string]).toHaveProperty(name as string)
  })

  test('says null as a type, never as nullable', () => {
    expect(JSON.stringify(document)).not.toContain('"nullable"')
  })

  test('leaves objects open: a client of today takes the fields of tomorrow', () => {
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false')
  })

  test('names each field of a body once, and every body', () => {
    for (const { body, path, method } of operations) {
      if (!body) continue
      expect([labelOf({ method, path }), Object.keys(body.schema)]).toEqual([labelOf({ method, path }), ['$ref']])
    }
    for (const { place, schema } of schemas) {
      const names = Object.keys(schema.properties ?? {}).map((name) => name.toLowerCase())
      expect([place, new Set(names).size]).toEqual([place, names.length])
      expect([place, schema.allOf]).toEqual([place, undefined])
    }
  })

  test('gives every identifier 64 bits', () => {
    const narrow = schemas.filter(
      ({ place, schema }) =>
        place.endsWith('ID') && [schema.type].flat().includes('integer') && schema.format !== 'int64',
    )
    expect(narrow.map(({ place }) => place)).toEqual([])
  })

  test('lists the words of every field that takes or answers one of some', () => {
    const isOfWords = /(Type|Status|status|Scheme|When|Kind|Mode|Source|CollectionMethod|Method|Debit|Credit)$/
    const open = schemas.filter(
      ({ place, schema }) => isOfWords.test(place) && [schema.type].flat().includes('string') && !schema.enum,
    )
    expect(open.map(({ place }) => place)).toEqual([])
  })

  test('every example fits its schema', () => {
    for (const operation of described) {
      const { requestBody } = document.paths[operation.path][operation.method.toLowerCase()]
      const media = [requestBody, ...Object.values<any>(operation.responses)].flatMap((part) =>
        Object.values<any>(part?.content ?? {}),
      )
      for (const { schema, example } of media)
        if (example !== undefined)
          expect([labelOf(operation), problemOf(schema, example)]).toEqual([labelOf(operation), undefined])
      for (const { content } of Object.values<any>(operation.responses))
        if (content?.['application/json']?.schema) problemOf(content['application/json'].schema, null)
    }
  })

  test('every operation with a body shows one that its own checks accept', () => {
    for (const { body, id } of operations) {
      if (!body) continue
      const problems = new Problems()
      const shown = described.find((one) => one.id === id)?.example
      const example = parseJson(JSON.stringify(shown)) as Json
      body.read(example, '', { problems, timeZone: 'UTC', isStrict: true, isSecret: false })
      expect([id, problems.found.map(({ message }) => message)]).toEqual([id, []])
    }
  })

  test('every operation tells what it answers and why it refuses, with which headers', () => {
    for (const operation of described) {
      const raw = document.paths[operation.path][operation.method.toLowerCase()]
      expect([operation.id, raw.summary?.length > 5]).toEqual([operation.id, true])
      for (const [status, response] of Object.entries<any>(operation.responses)) {
        expect([operation.id, status, response.description?.length > 3]).toEqual([operation.id, status, true])
        // Refused before there is a request.
        if (status === '408') continue
        const headers = Object.keys(response.headers)
        expect([operation.id, status, headers]).toEqual([
          operation.id,
          status,
          expect.arrayContaining(['X-Request-Id']),
        ])
        if (['409', '429', '503'].includes(status)) expect(headers).toContain('Retry-After')
      }
    }
  })

  test.each([
    ['getStatement', '200', ['application/json', 'application/pdf']],
    ['getTaxReport', '200', ['application/json', 'text/csv']],
    ['getInvoicePdf', '200', ['application/pdf']],
    ['getLogo', '200', ['image/png', 'image/jpeg']],
  ])('%s declares what it answers', (id, status, types) => {
    const operation = described.find((one) => one.id === id)
    expect(Object.keys(operation?.responses[status]?.content ?? {})).toEqual(types)
  })

  test.each([
    ['listCustomers', '200', ['Link', 'Total-Count', 'Perennial-Until']],
    ['getCustomer', '200', ['ETag']],
    ['addCustomer', '201', ['ETag', 'Location', 'Perennial-Warning', 'Idempotency-Replayed']],
    ['editCustomer', '204', ['ETag', 'Perennial-Warning', 'Idempotency-Replayed']],
    ['deleteCustomer', '204', ['Idempotency-Replayed']],
    ['dropFutureChanges', '204', ['ETag', 'Idempotency-Replayed']],
    ['startBillingRun', '201', ['Location', 'Idempotency-Replayed']],
    ['getInvoiceByNumber', '200', ['ETag']],
  ])('%s declares the headers of its %s', (id, status, headers) => {
    const operation = described.find((one) => one.id === id)
    expect(Object.keys(operation?.responses[status]?.headers ?? {})).toEqual([
      'X-Request-Id',
      'Perennial-Ignored',
      ...headers,
    ])
  })
})
