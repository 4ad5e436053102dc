import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../src/duties.ts'
import { insertSubscribers, newRun, rateTermOf } from '../../src/features/billing-run/run.testing.ts'
import { workRun } from '../../src/features/billing-run/run.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { sql } from '../../src/platform/database/sql.ts'
import { startTestService } from '../support/app.ts'
import { addPackage } from '../support/shop.ts'
import { type DocumentedOperation, operationsOf, readDocument } from './document.ts'
import { rightBody, writeJson } from './samples.ts'
import { makeWorld, pathOf } from './world.ts'

/**
 * Statements that read or write a single record are planned once a connection and not with every call: planning a view over rows and templates costs
 * twice as much as reading it. PostgreSQL plans five times before it may keep a plan, and for ever where it finds a fitted one cheaper.
 */

/** Writes of thousands of records: plans of their statements with lists are made for these. */
const FITTED = new Set(['recordUsageInBulk'])
const HAS_LIST = /unnest\(|any\(|jsonb_array_elements|json_to_recordset/

const PLANNED_MAX = 5
/** Of each operation; look-ups take turns on two connections, and on each there have to be more than are planned. */
const CALLS = 16

/** Connections of writes, see `openTestDatabase`. */
const POOL_SIZE = 6

const service = await startTestService()
const operations = operationsOf(await readDocument(service))
const world = await makeWorld(service, operations, 'kept plans')
const { client } = world

/** Among many records, some thousand invoices by templates, PostgreSQL knows that a guess without the identifiers is dear. */
async function fill(): Promise<void> {
  const many = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const rateTermID = rateTermOf(await addPackage(many))
  await insertSubscribers(service, many, { rateTermID, dueOn: '2027-01-01', customers: 3000 })
  const deps = { db: service.db, realClock: Date.now, order: ORDER_OF_DAY }
  await workRun(deps, many.id, await newRun(service, many.id, '2027-01-01'))
  const owner = new pg.Client(clientConfig(service.connection, undefined))
  await owner.connect()
  await owner.query('analyze')
  await owner.end()
}
await fill()

const PLANS = sql`select pg_backend_pid() as "process", statement as "text", custom_plans::int as "fitted" from pg_prepared_statements`
interface Planned {
  process: number
  text: string
  fitted: number
}

/** Returns how often each statement was planned, on the connections of look-ups, which take turns, of credentials and of writes. */
async function plansOfAll(): Promise<Map<string, number>> {
  const { db } = service
  // All at once: so each transaction has another connection of the pool, and the same are looked at before and behind.
  const writes = await Promise.all(
    Array.from({ length: POOL_SIZE }, () => db.transaction(client.id, (tx) => tx.rows<Planned>(PLANS))),
  )
  const connections = [
    ['lane', () => db.lookup(client.id).rows<Planned>(PLANS)],
    ['lane', () => db.lookup(client.id).rows<Planned>(PLANS)],
    ['credentials', () => db.credentials(client.id).rows<Planned>(PLANS)],
    ['write', async () => writes.flat()],
  ] as const
  const found = new Map<string, number>()
  for (const [kind, read] of connections)
    for (const { process, text, fitted } of await read()) {
      const name = `${kind} ${process}: ${text.replaceAll(/\s+/g, ' ')}`
      found.set(name, Math.max(fitted, found.get(name) ?? 0))
    }
  return found
}

/** Calls each operation and returns the statements, of those that count, that were planned more often meanwhile than before a plan is kept. */
async function plannedTooOften(
  called: readonly DocumentedOperation[],
  counts: (statement: string) => boolean = () => true,
): Promise<string[]> {
  const before = await plansOfAll()
  for (const operation of called) await call(operation)
  return [...(await plansOfAll())]
    .map(([name, fitted]) => [name, fitted - (before.get(name) ?? 0)] as const)
    .filter(([name, fitted]) => fitted > PLANNED_MAX && counts(name))
    .map(([name, fitted]) => `${fitted} × ${name.slice(0, 300)}`)
}

async function call(operation: DocumentedOperation): Promise<void> {
  for (let n = 0; n < CALLS; n += 1) {
    const path = pathOf(operation, world)
    const body = rightBody(operation, world)
    if (path) await client.request(operation.method, path, body === undefined ? undefined : writeJson(body))
  }
}

describe('plans are kept', () => {
  test('of every statement by which one record is read', async () => {
    const reads = operations.filter(({ method, pathParams }) => method === 'GET' && pathParams.length > 0)
    expect(reads.length).toBeGreaterThan(40)
    expect(await plannedTooOften(reads)).toEqual([])
  })

  test('of every statement of a write', async () => {
    const writes = operations.filter(({ id, method }) => method !== 'GET' && !FITTED.has(id))
    expect(writes.length).toBeGreaterThan(80)
    expect(await plannedTooOften(writes)).toEqual([])
  })

  test('of every statement of a write of thousands that has no list', async () => {
    const writes = operations.filter(({ id }) => FITTED.has(id))
    expect(writes).toHaveLength(FITTED.size)
    expect(await plannedTooOften(writes, (statement) => !HAS_LIST.test(statement))).toEqual([])
  })
})
