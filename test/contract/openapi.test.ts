import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { allOperations } from '../../src/app.ts'
import { Problems } from '../../src/kernel/fault.ts'
import { openApiDocument } from '../../src/platform/http/openapi.ts'
import { type Json, parseJson } from '../../src/platform/wire/json.ts'

/** The OpenAPI document as such: whole, sound, and with examples that mean what they say. */

// Declarations need no database to be made; nothing here is called.
const operations = allOperations({} as Parameters<typeof allOperations>[0])
const document = openApiDocument(operations, { version: 'test', serverUrl: '/' }) as any

const ajv = new Ajv2020({ strict: false })
;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
// The components are compiled once; each schema refers to them there.
const elsewhere = (schema: object): string =>
  JSON.stringify(schema).replaceAll('"#/components', '"document#/components')
ajv.addSchema({ $id: 'document', components: JSON.parse(elsewhere(document.components)) })
const compiled = new Map<string, ValidateFunction>()
function problemOf(schema: object, value: unknown): string | undefined {
  const text = elsewhere(schema)
  const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
  compiled.set(text, validate)
  return validate(value) ? undefined : ajv.errorsText(validate.errors)
}

const described = Object.entries<Record<string, any>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ label: `${method.toUpperCase()} ${path}`, operation })),
)

describe('the OpenAPI document', () => {
  test('is of 3.1, has every operation once, and every name that it refers to', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(described).toHaveLength(operations.length)
    const ids = described.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)]
    for (const [, kind, name] of references) expect(document.components[kind as string]).toHaveProperty(name as string)
  })

  test('says null as a type, never as nullable', () => {
    expect(JSON.stringify(document)).not.toContain('"nullable"')
  })

  test('every example fits its schema', { timeout: 30_000 }, () => {
    for (const { label, operation } of described) {
      const media = [operation.requestBody, ...Object.values<any>(operation.responses)].flatMap((part) =>
        Object.values<any>(part?.content ?? {}),
      )
      for (const { schema, example } of media)
        if (example !== undefined) expect([label, problemOf(schema, example)]).toEqual([label, undefined])
      for (const { content } of Object.values<any>(operation.responses))
        if (content?.['application/json']?.schema) problemOf(content['application/json'].schema, null)
    }
  })

  test('every operation with a body shows one that its own checks accept', () => {
    for (const { body, id } of operations) {
      if (!body) continue
      const { operation } = described.find((one) => one.operation.operationId === id) as { operation: any }
      const problems = new Problems()
      const example = parseJson(JSON.stringify(operation.requestBody.content['application/json'].example)) as Json
      body.read(example, '', { problems, timeZone: 'UTC', isStrict: true, isSecret: false })
      expect([id, problems.found.map(({ message }) => message)]).toEqual([id, []])
    }
  })

  test('every operation tells what it answers and why it refuses', () => {
    for (const { label, operation } of described) {
      expect([label, operation.summary?.length > 5]).toEqual([label, true])
      for (const [status, response] of Object.entries<any>(operation.responses))
        expect([label, status, response.description?.length > 3]).toEqual([label, status, true])
    }
  })
})
