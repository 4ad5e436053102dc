import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Everything that a caller can send beside a body has a sentence in openapi.json, and every resource an introduction. */

interface Described {
  name: string
  in?: string
  description?: string
  schema?: { description?: string; type?: string }
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  tags: Described[]
  paths: Record<string, Record<string, { operationId: string; summary: string; parameters?: Described[] }>>
}
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

test('every tag has an introduction (`introduced`), every operation a summary: say it where they are declared', () => {
  expect(document.tags.filter(({ description }) => !description?.endsWith('.')).map(({ name }) => name)).toEqual([])
  expect(operations.filter(({ summary }) => !summary).map(({ operationId }) => operationId)).toEqual([])
})

test('every parameter has a sentence: say it where it is declared, one of a path by `pathParameter`', () => {
  const silent = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters
      .filter(({ description, schema }) => !description && !schema?.description)
      .map(({ name }) => `${operationId}: ${name}`),
  )
  expect(silent).toEqual([])
})

test('a part of a path is an integer just where its name ends in ID: `pathParameter` takes the schema of any other', () => {
  const parameters = operations.flatMap(({ parameters: some = [] }) => some).filter((one) => one.in === 'path')
  expect(parameters.length).toBeGreaterThan(100)
  const wrong = parameters.filter(({ name, schema }) => name.endsWith('ID') !== (schema?.type === 'integer'))
  expect([...new Set(wrong.map(({ name }) => name))]).toEqual([])
})
