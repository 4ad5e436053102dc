import { describe, expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { operationsOf, readDocument } from './document.ts'
import { makeWorld, pathOf } from './world.ts'

/** Every list is asked for what all of them take, whatever they hold: a new list is found here on its own. */

const service = await startTestService()
const document = await readDocument(service)
const operations = operationsOf(document)
const world = await makeWorld(service, operations, 'lists')
const { client } = world

const takesTotal = (id: string): boolean =>
  service.app.operations.some(
    (operation) =>
      operation.id === id && Object.hasOwn((operation.query?.schema['properties'] ?? {}) as object, 'total'),
  )
const LISTS = operations.filter(({ id }) => takesTotal(id)).map((operation) => [operation.id, operation] as const)

const NEEDED: Record<string, string> = { listAdjustments: 'type=all&' }
/** Lists that the world holds two records or more of; the others show at least that they answer. */
let long = 0

const rowsOf = (body: unknown): unknown[] =>
  Array.isArray(body) ? body : (body as { adjustments: unknown[] }).adjustments

describe('every list', () => {
  test.each(LISTS)(
    '%s runs from the newest where asked, counts its records, and refuses other orders',
    async (id, list) => {
      const path = pathOf(list, world)
      expect(path).toBeDefined()
      const ask = (query: string) => client.get(`${path}?${NEEDED[id] ?? ''}${query}`)
      const whole = async (query: string) => {
        const rows: unknown[] = []
        for (let page = 1; ; page += 1) {
          const reply = await ask(`${query}&page=${page}&page_size=200`)
          expect(reply.status).toBe(200)
          rows.push(...rowsOf(reply.body))
          if (!reply.headers['link']?.includes('rel="next"')) return { rows, total: reply.headers['total-count'] }
        }
      }
      const { rows, total } = await whole('total=true')
      expect(total).toBe(String(rows.length))
      expect((await whole('sort=-id')).rows).toEqual(rows.toReversed())
      if (rows.length > 1) long += 1
      for (const [query, name] of [
        ['sort=-name', 'sort'],
        ['total=often', 'total'],
      ]) {
        const refused = await ask(query!)
        expect([refused.status, refused.body.Errors?.[0].Field]).toEqual([400, name])
      }
    },
  )

  test('the world holds lists that have an order', () => {
    expect(LISTS.length).toBeGreaterThan(30)
    expect(long).toBeGreaterThan(10)
  })
})
