import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { homesOf, ofRefusals, type OpenApi, operationsOf, type ShownSchema } from './document.ts'
import { inline } from './fields.ts'
import { firstPage, tagPage } from './pages.ts'
import { searchIndex } from './search-index.ts'

/** The pages of the reference hold what openapi.json holds. */

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as OpenApi
const homes = homesOf(document)
const idsOf = (page: string) => [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? '')
const first = firstPage(document)
const pages = new Map(document.tags.map((tag) => [tag.name, tagPage(document, tag)]))

/** Returns the addresses that the fields of a schema have to have. */
function fieldsOf(schema: ShownSchema, below: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    `${below}.${name}`,
    ...fieldsOf(field.properties ? field : (field.items ?? {}), `${below}.${name}`),
  ])
}

const bodiesOf = (content: Record<string, { schema?: ShownSchema }> = {}) =>
  Object.values(content).flatMap(({ schema }) => (schema ? [schema] : []))

describe.each(document.tags.map((tag) => [tag.name, tag] as const))('%s', (tag) => {
  const page = pages.get(tag) ?? ''
  const ids = idsOf(page)

  test('has an address of its own for every operation, parameter, field and error', () => {
    const needed = operationsOf(document, tag).flatMap(({ operationId, parameters = [], requestBody, responses }) => [
      operationId,
      ...parameters.map((one) => `${operationId}.${one.in}.${one.name}`),
      ...bodiesOf(requestBody?.content).flatMap((schema) => fieldsOf(schema, `${operationId}.body`)),
      ...Object.entries(responses).flatMap(([status, { content }]) => [
        `${operationId}.${status}`,
        ...(status < '300'
          ? bodiesOf(content).flatMap((schema) =>
              fieldsOf(schema.properties ? schema : (schema.items ?? {}), `${operationId}.${status}`),
            )
          : []),
      ]),
    ])
    const records = [...homes].filter(([, home]) => home === tag).map(([name]) => name)
    const fields = records.flatMap((name) => [name, ...fieldsOf(document.components.schemas[name] ?? {}, name)])
    expect([...needed, ...fields].filter((id) => !ids.includes(id))).toEqual([])
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  })

  test('leads only to addresses that are there', () => {
    const dead = [...page.matchAll(/href="([^"]*)"/g)]
      .map(([, href]) => href ?? '')
      .filter((href) => {
        const [path, id] = href.split('#')
        if (!path?.startsWith('/docs') && path !== '') return !['data:,', '/openapi.json'].includes(href)
        if (path === '/docs/style.css') return false
        const name = [...pages.keys()].find((one) => path === `/docs/${one.toLowerCase().replaceAll(' ', '-')}`)
        const target = path === '' ? page : path === '/docs' ? first : pages.get(name ?? '')
        return target === undefined || (id !== undefined && id !== 'main' && !target.includes(` id="${id}"`))
      })
    expect(dead).toEqual([])
  })
})

test('every component has a page, those of errors the first', () => {
  const errors = [...ofRefusals(document)]
  expect(Object.keys(document.components.schemas).filter((name) => !homes.has(name))).toEqual(errors)
  const fields = errors.flatMap((name) => fieldsOf(document.components.schemas[name] ?? {}, name))
  expect([...errors, ...fields].filter((id) => !first.includes(` id="${id}"`))).toEqual([])
})

test('the first page names every operation and stays small, as does the index of the search', () => {
  for (const { name } of document.tags)
    for (const { operationId } of operationsOf(document, name)) expect(first).toContain(`#${operationId}"`)
  expect(Buffer.byteLength(first)).toBeLessThan(150_000)
  expect(first.match(/<[a-z]/g)?.length).toBeLessThan(3_000)
  expect(Buffer.byteLength(searchIndex(document))).toBeLessThanOrEqual(60_000)
})

test('a sentence shows code, bold words and links, and nothing else as markup', () => {
  expect(inline('**Keys** are `<a>`, see [there](/docs#x) <b>').markup).toBe(
    '<strong>Keys</strong> are <code>&lt;a&gt;</code>, see <a href="/docs#x">there</a> &lt;b&gt;',
  )
})
