import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { ONE } from '../../src/kernel/decimal.ts'
import { clientConfig } from '../../src/platform/database/database.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'
import type { Statement } from '../../src/platform/database/sql.ts'
import { createTestDatabase } from '../support/app.ts'

/**
 * Every statement is held against the migrated schema, also those that no other test happens to run: the functions of the queries files
 * are called with a connection that only collects, and what they say is prepared under the service's role.
 */

const SRC = new URL('../../src', import.meta.url).pathname

function* filesOf(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) yield* filesOf(path)
    else if (name.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(name)) yield path
  }
}

const files = [...filesOf(SRC)]
const withQueries = files.filter((path) => path.endsWith('queries.ts') || /authenticate|paging|idempotency/.test(path))

const MEMBERS_MAX = 8

/**
 * Answers to whatever is asked of it: a value of any shape, so that functions run far enough to say their statements. As a list it is
 * empty or has one entry.
 */
function anything(isFull: boolean, status: string | null, depth = 0): any {
  const inner = () => (depth > MEMBERS_MAX ? undefined : anything(isFull, status, depth + 1))
  const entries = () => (isFull && depth <= MEMBERS_MAX ? [inner()] : [])
  const lists = new Set(['map', 'filter', 'flatMap', 'entries', 'reduce', 'some', 'every', 'slice'])
  return new Proxy(function () {}, {
    get: (_, name) => {
      // Sums with bigints want one, sums with numbers the other.
      if (name === Symbol.toPrimitive) return () => (isFull ? 1n : 1)
      if (name === Symbol.iterator) return () => entries()[Symbol.iterator]()
      if (name === 'then' || name === 'fragment') return undefined
      if (name === 'length') return entries().length
      if (name === 'join') return () => ''
      if (name === 'status') return status
      if (name === 'currency') return 'USD'
      if (lists.has(String(name))) return (...given: unknown[]) => (entries() as any)[name](...given)
      return inner()
    },
    has: (_, name) => name !== 'fragment',
    apply: inner,
  })
}

const said = new Set<string>()
/** Those that were said with every value there: in others a made-up input may have left out a piece of SQL. */
const complete = new Set<string>()

function hear(statement: Statement): void {
  // A piece that the made-up input did not choose is no statement of ours.
  said.add(statement.text)
  if (!statement.values.includes(undefined)) complete.add(statement.text)
}

const collecting = (isFull: boolean, status: string | null) => ({
  account: 1n,
  afterCommit: () => {},
  send: hear,
  rows: async (statement: Statement) => {
    hear(statement)
    return [anything(isFull, status)]
  },
})

const client = new pg.Client(clientConfig(await createTestDatabase(), APP_ROLE))
await client.connect()
afterAll(() => client.end())

const STATUSES = [
  null,
  'Active',
  'Suspended',
  'Archived',
  'Future',
  'Trial',
  'Cancelled',
  'Expired',
  'Draft',
  'Paid',
  'Pending',
  'Past Due',
  'Due',
  'future',
  'trial',
  'active',
  'cancelled',
  'expired',
]
/** What lists inside lists are copied from, which nothing made up can be. */
const PRICE = { price: ONE, term: 1, termType: 'months', qtyFrom: 1n, qtyTill: null }
const PRICED = { currency: 'USD', terms: [PRICE], brackets: [PRICE] }
/** A row of a bulk statement that can be written in any form, days and numbers in binary too. */
const ROW_OF_NULLS = new Proxy({}, { get: (_, name) => (name === 'units' || name === 'total' ? ONE : null) })
const LISTS = ['customers', 'subscriptions', 'invoices', 'events']

function* wishes(isFull: boolean, status: string | null): Generator<unknown[]> {
  const any = () => anything(isFull, status)
  yield Array.from({ length: 8 }, any)
  yield [1n, '1', any(), any(), 1, '2027-01-01']
  yield [1n, any(), { fromId: 0n, skip: 0 }, 1, '2027-01-01']
  yield [1n, { status }, { fromId: 0n, skip: 0 }, 1, '2027-01-01']
  yield [1n, [any()], [any()], [any()], [any()]]
  yield [1n, 1n, [any()], [any()]]
  yield [1n, 1n, null, null, null]
  yield [1n, 1n, [PRICED]]
  yield [[ROW_OF_NULLS], any()]
  yield [1n, [ROW_OF_NULLS], '2027-01-01']
  for (const list of LISTS) yield [1n, list, { page: 100, size: 200 }]
}

/** Calls every exported function with a collecting connection first; what else it wants is made up. Failures on the way do not matter. */
async function collect(): Promise<number> {
  let called = 0
  for (const path of withQueries) {
    const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>
    for (const value of Object.values(module)) {
      if (typeof value !== 'function' || Function.prototype.toString.call(value).startsWith('class ')) continue
      for (const isFull of [false, true])
        for (const status of STATUSES)
          for (const wish of wishes(isFull, status)) {
            called += 1
            try {
              await value(collecting(isFull, status), ...wish)
            } catch {
              // It wanted something else; another shape may suit.
            }
          }
    }
  }
  return called
}

const called = await collect()

const UNKNOWN_PARAMETER = '42P18'
const SYNTAX_ERROR = '42601'

describe('statements', () => {
  test('all of the queries files can be prepared against the migrated schema, under the service’s role', async () => {
    expect(called).toBeGreaterThan(50)
    const texts = [...said]
    const failures: string[] = []
    for (const [position, text] of texts.entries()) {
      try {
        await client.query(`prepare s${position} as ${text}`)
      } catch (error) {
        const { code, message } = error as { code: string; message: string }
        const isPieceMissing = code === SYNTAX_ERROR && !complete.has(text)
        if (code !== UNKNOWN_PARAMETER && !isPieceMissing)
          failures.push(`${message}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`)
      }
    }
    expect(failures).toEqual([])
    expect(texts.length).toBeGreaterThan(60)
  })

  test('every one in the sources is reached', () => {
    const known = [...said].map((text) => text.replace(/\s+/g, ' '))
    const unreached: string[] = []
    for (const path of withQueries) {
      const source = readFileSync(path, 'utf8')
      for (const [, body] of source.matchAll(/\bsql(?:<[^`]*>)?`([^`]*?)(?:\$\{|`)/g)) {
        const start = (body ?? '').replace(/\s+/g, ' ').trimEnd()
        if (start.trim() !== '' && !known.some((text) => text.startsWith(start)))
          unreached.push(`${path.slice(SRC.length)}: ${start.slice(0, 120)}`)
      }
    }
    expect(unreached).toEqual([])
  })

  test('stand in the queries files, and in the few places of the platform that have none', () => {
    const ALLOWED = /queries\.ts$|platform\/(database|http\/(idempotency|paging|handle|service-pages))/
    const strays = files.filter(
      (path) =>
        !ALLOWED.test(path) && /\bsql`\s*(select|insert|update|delete|with)\b/i.test(readFileSync(path, 'utf8')),
    )
    expect(strays.map((path) => path.slice(SRC.length))).toEqual([])
  })

  test('of accounts’ tables say their account', async () => {
    const tables = (
      await client.query<{ name: string }>(
        `select table_name as name from information_schema.columns where table_schema = 'perennial' and column_name = 'account_id'`,
      )
    ).rows
    const unscoped = [...said].filter((text) => {
      const isAbout = tables.some(({ name }) => new RegExp(`\\b(from|join|into|update)\\s+${name}\\b`, 'i').test(text))
      return isAbout && !/\baccount_id\b/.test(text)
    })
    expect(unscoped).toEqual([])
  })
})
