import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { clientConfig, type Database } from '../../src/platform/database/database.ts'
import type { Statement } from '../../src/platform/database/sql.ts'
import { startTestService } from '../support/app.ts'
import { probeServer } from '../support/probe.ts'
import { operationsOf, readDocument } from './document.ts'
import { makeWorld, pathOf, RECIPES } from './world.ts'

/**
 * Every GET while one writer toggles. The writer takes all records of the account away in one transaction, and brings them back in the
 * next: a read that is whole shows all of them or none, and what a read of two moments shows is neither.
 */

const service = await startTestService()
const operations = operationsOf(await readDocument(service)).filter(({ method }) => method === 'GET')
const world = await makeWorld(service, operationsOf(await readDocument(service)), 'whole')
const account = world.client.id
const hidden = -account

const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
// Neither foreign keys nor triggers look at rows that only change their account.
await owner.query('set session_replication_role = replica')
afterAll(() => owner.end())

/** Tables that keep their rows whatever becomes of the records. */
const KEPT = ['accounts', 'account_versions', 'account_counters', 'account_currencies', 'api_keys']
const { rows: tables } = await owner.query<{ name: string }>(
  `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
    where c.relkind = 'r' and c.relnamespace = 'perennial'::regnamespace and not c.relname = any($1)`,
  [KEPT],
)
const move = (from: bigint, to: bigint) =>
  owner.query(
    `begin; ${tables.map(({ name }) => `update perennial.${name} set account_id = ${to} where account_id = ${from}`).join('; ')}; commit`,
  )

let isShown = true
async function toggle(): Promise<void> {
  await (isShown ? move(account, hidden) : move(hidden, account))
  isShown = !isShown
}
async function show(wanted: boolean): Promise<void> {
  if (isShown !== wanted) await toggle()
}

/** The same database, with the writer between all statements of a read. */
const toggling = (
  readOf: (...given: Parameters<Database['snapshot']>) => ReturnType<Database['snapshot']>,
): Database => ({
  ...service.db,
  snapshot: (...given) => {
    const inner = readOf(...given)
    let last: Promise<unknown> = Promise.resolve()
    return {
      ...inner,
      rows: <Row>(statement: Statement) => {
        const rows = last.then(async () => {
          const found = await inner.rows<Row>(statement)
          await toggle()
          return found
        })
        last = rows.catch(() => {})
        return rows
      },
      end: () => inner.end(),
    }
  },
})

const still = probeServer(service.db, account, service.app.operations).client
const busy = probeServer(
  toggling((...given) => service.db.snapshot(...given)),
  account,
  service.app.operations,
).client
const pieceByPiece = probeServer(
  toggling((id) => ({ ...service.db.snapshot(id), rows: service.db.reader(id).rows, end: () => {} })),
  account,
  service.app.operations,
).client

const answerOf = async (client: typeof still, url: string) => {
  const { status, headers, text } = await client.get(url)
  return `${status} ${headers['etag'] ?? ''} ${text}`
}

const urls: [id: string, url: string][] = []
for (const operation of operations) {
  const recipe = RECIPES[operation.id]
  const pick = async () => (recipe ? (await recipe(world)).path : pathOf(operation, world))
  let url = await pick()
  // Not every version of the one record is one of the other.
  for (let tries = 0; url !== undefined && (await still.get(url)).status !== 200 && tries < 30; tries += 1)
    url = await pick()
  if (url !== undefined) urls.push([operation.id, url])
  if (operation.id === 'getStatement') urls.push(['getStatement as PDF', `${url}?format=pdf&from=2026-01-01`])
}

/** Both answers of a GET at rest, and those under the writer that are neither. */
async function mixtures(client: typeof still, url: string): Promise<string[]> {
  await show(true)
  const states = [await answerOf(still, url)]
  await show(false)
  states.push(await answerOf(still, url))
  const found: string[] = []
  for (const begin of [true, false]) {
    await show(begin)
    found.push(await answerOf(client, url))
  }
  return found.filter((answer) => !states.includes(answer))
}

describe('while one writer toggles between all statements', () => {
  test('every GET has something to show, and none is left out', async () => {
    await show(true)
    expect(operations.map(({ id }) => id).filter((id) => !urls.some(([known]) => known === id))).toEqual([])
    for (const [id, url] of urls) expect([id, (await still.get(url)).status]).toEqual([id, 200])
  })

  test.each(urls)('%s shows one moment', async (_id, url) => {
    expect(await mixtures(busy, url)).toEqual([])
  })

  test('the same reads with each statement a transaction of its own would show two', async () => {
    const mixed: string[] = []
    for (const [id, url] of urls) if ((await mixtures(pieceByPiece, url)).length > 0) mixed.push(id)
    expect(mixed).toEqual(
      expect.arrayContaining(['listInvoices', 'getInvoicePdf', 'listPayments', 'listCredits', 'listEvents']),
    )
  })
})
