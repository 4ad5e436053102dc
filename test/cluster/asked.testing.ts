import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { verifyAccount } from '../../src/checks.ts'
import { workerDuties } from '../../src/duties.ts'
import { type DocumentedOperation, operationsOf, readDocument } from '../api/document.ts'
import { makeWorld, pathOf, type World } from '../api/world.ts'
import { startTestService } from '../support/app.ts'

/** Asks in an account of its own for much of which a cluster may answer otherwise: each filter of each list, all checks of books, and a round of each duty. */

/** Filters with more values than this are asked for one of them. */
const VALUES_MAX = 12
const TRIES = 5
const OF_ALL_LISTS = ['page', 'page_size', 'sort', 'total', 'after', 'format', 'locale', 'isDetailed']
const NEEDED: Readonly<Record<string, string>> = { listAdjustments: 'all' }

const VALUES: readonly [RegExp, string][] = [
  [/^(from|startDate|ActionDateFrom)$/, '2026-12-01'],
  [/^(to|endDate|date|ActionDateTo)$/, '2027-12-31'],
  [/^CurrencyCode$|^currency$/, 'USD'],
  [/^Email$/, 'c1@example.org'],
  [/^GatewayToken$/, '00000000-0000-4000-8000-000000000001'],
]

type Filter = DocumentedOperation['query'][number]

function valueOf({ name, schema }: Filter, { ids }: World): string {
  const [known] = schema.enum ?? []
  if (known !== undefined) return String(known)
  if (schema.type === 'boolean') return 'true'
  // Before the service first asked, all count as changed.
  if (name === 'updatedSince') return new Date().toISOString()
  const found = VALUES.find(([pattern]) => pattern.test(name))?.[1]
  return found ?? String(ids.get(name)?.[0] ?? (schema.type === 'integer' ? 1 : 'R1'))
}

/** The queries of a list: for each value of a filter that has few, alone and with all other filters, in both orders. */
function* queriesOf({ id, query }: DocumentedOperation, world: World): Generator<Map<string, string>> {
  const filters = query.filter(({ name }) => !OF_ALL_LISTS.includes(name))
  const has = (name: string) => query.some((one) => one.name === name)
  const needed = new Map(NEEDED[id] === undefined ? [] : [['type', NEEDED[id]]])
  const all = new Map(filters.map((filter) => [filter.name, valueOf(filter, world)]))
  const chosen = filters.flatMap(({ name, schema: { enum: values = [] } }) =>
    values.length <= VALUES_MAX ? values.map((value) => [name, String(value)] as const) : [],
  )
  for (const sort of has('sort') ? ['id', '-id'] : [undefined])
    for (const others of [new Map<string, string>(), all])
      for (const choice of [[], ...chosen.map((one) => [one])]) {
        const shared = has('total') ? ([['total', 'true']] as const) : []
        yield new Map([...needed, ...others, ...choice, ...shared, ...(sort ? [['sort', sort] as const] : [])])
      }
}

describe('what a cluster may answer otherwise', async () => {
  const service = await startTestService()
  const operations = operationsOf(await readDocument(service))
  const world = await makeWorld(service, operations, 'filters')

  test('every list is answered for each value of its filters, alone and with all others', async () => {
    const lists = operations.filter(({ method, query }) => method === 'GET' && query.length > 0)
    let answered = 0
    const refused: string[] = []
    for (const list of lists) {
      const path = pathOf(list, world)
      if (path === undefined) continue
      for (const query of queriesOf(list, world)) {
        // A filter that contradicts others is refused by its name, and left out; one without which others mean nothing is added.
        for (let tries = 0; tries < TRIES; tries += 1) {
          const asked = new URLSearchParams([...query])
          const { status, body, text } = await world.client.get(`${path}?${asked}`)
          const { Field, Code } = body?.Errors?.[0] ?? {}
          const filter = list.query.find(({ name }) => name === Field)
          if (status < 300) answered += 1
          else if (status === 400 && Code === 'required' && filter) {
            query.set(Field, valueOf(filter, world))
            continue
          } else if (status === 400 && query.delete(Field)) continue
          else if (status !== 404) refused.push(`${path}?${asked}: ${status} ${text}`)
          break
        }
      }
    }
    expect(refused).toEqual([])
    expect(answered).toBeGreaterThan(400)
  })

  test('all checks of books run, and find nothing', async () => {
    const differences: unknown[] = []
    await verifyAccount(service.db, world.client.id, (difference) => differences.push(difference))
    expect(differences).toEqual([])
  })

  test('every duty does its round', async () => {
    const deps = { db: service.db, log: pino({ level: 'silent' }), realClock: Date.now }
    for (const duty of workerDuties({ ...service.calling })) while ((await duty.run(deps, () => {})) === 'again');
    expect((await service.anonymous.get('/metrics')).status).toBe(200)
  })
})
