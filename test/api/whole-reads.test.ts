import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { BY_ROWS, type Database, type Queryable } from '../../src/platform/database/database.ts'
import { sql, type Statement } from '../../src/platform/database/sql.ts'
import { startTestService } from '../support/app.ts'
import { probeServer } from '../support/probe.ts'
import { operationsOf, readDocument } from './document.ts'
import { makeWorld, pathOf, RECIPES } from './world.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'

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

/** Statements of a read that go out one after the other, with the writer behind each of them. */
function withWriter(rows: Queryable['rows']): Queryable['rows'] {
  let last: Promise<unknown> = Promise.resolve()
  return <Row>(statement: Statement) => {
    const found = last.then(async () => {
      const answer = await rows<Row>(statement)
      await toggle()
      return answer
    })
    last = found.catch(() => {})
    return found
  }
}

const LOCK = 4711
const WAIT = sql`select pg_advisory_xact_lock_shared(${LOCK}::bigint)::text as "got"`

/**
 * The same database, with the writer between the statements of a read. Those of a look-up leave together, so behind the first one goes
 * another that waits for a lock, and the writer comes while it waits (`throughLock`).
 */
const toggling: Database = {
  ...service.db,
  snapshot: (...given) => {
    const inner = service.db.snapshot(...given)
    return {
      ...BY_ROWS,
      rows: withWriter((statement) => inner.rows(statement)),
      async *portions<Row>(statement: Statement, size: number) {
        for await (const rows of inner.portions<Row>(statement, size)) {
          yield rows
          await toggle()
        }
      },
      end: () => inner.end(),
    }
  },
  lookup: (id) => {
    const inner = service.db.lookup(id)
    let isFirst = true
    return {
      ...inner,
      rows: <Row>(statement: Statement) => {
        const rows = inner.rows<Row>(statement)
        if (isFirst) inner.rows(WAIT).catch(() => {})
        isFirst = false
        return rows
      },
    }
  },
}

const piecemeal: Database = {
  ...service.db,
  snapshot: (id) => {
    const inner = service.db.snapshot(id)
    const rows = withWriter(service.db.reader(id).rows)
    return {
      ...BY_ROWS,
      rows,
      async *portions<Row>(statement: Statement) {
        yield await rows<Row>(statement)
      },
      end: () => inner.end(),
    }
  },
  lookup: (id) => ({ ...BY_ROWS, rows: withWriter(service.db.reader(id).rows) }),
}

/** Runs a read; should one of its statements come to wait for the lock, the writer toggles meanwhile. */
async function throughLock<T>(read: () => Promise<T>): Promise<T> {
  await owner.query('select pg_advisory_lock($1::bigint)', [LOCK])
  let isOver = false
  const reading = read().finally(() => (isOver = true))
  const waiting = `select 1 from pg_locks where locktype = 'advisory' and objid = ${LOCK} and not granted
    and database = (select oid from pg_database where datname = current_database())`
  while (!isOver) {
    if ((await owner.query(waiting)).rows.length === 0) continue
    await toggle()
    break
  }
  await owner.query('select pg_advisory_unlock($1::bigint)', [LOCK])
  return reading
}

const still = probeServer(service.db, account, service.app.operations).client
const busy = probeServer(toggling, account, service.app.operations).client
const pieceByPiece = probeServer(piecemeal, account, service.app.operations).client

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
  for (let tries = 0; url !== undefined && (await still.get(url)).status >= 300 && tries < 30; tries += 1)
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
    found.push(await throughLock(() => answerOf(client, url)))
  }
  return found.filter((answer) => !states.includes(answer))
}

/** Reads of several statements: lists, papers, and records with parts. */
const READS_OF_SEVERAL = [
  ...['listInvoices', 'getInvoicePdf', 'listPayments', 'listCredits', 'listEvents'],
  ...['explainInvoice', 'getPackage', 'getTaxSetting'],
]

describe('while one writer toggles between all statements', () => {
  test('every GET has something to show, and none is left out', async () => {
    await show(true)
    expect(operations.map(({ id }) => id).filter((id) => !urls.some(([known]) => known === id))).toEqual([])
    for (const [id, url] of urls)
      expect([id, (await still.get(url)).status]).toEqual([id, id === 'getCaptureSession' ? 201 : 200])
  })

  test.each(urls)('%s shows one moment', async (_id, url) => {
    expect(await mixtures(busy, url)).toEqual([])
  })

  test.each(READS_OF_SEVERAL)('%s with each statement a transaction of its own would show two', async (id) => {
    const [, url = ''] = urls.find(([known]) => known === id) ?? []
    expect(await mixtures(pieceByPiece, url)).not.toEqual([])
  })
})
