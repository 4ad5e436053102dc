import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { COUNTED_LISTS } from '../../src/duties.ts'
import { assert } from '../../src/kernel/assert.ts'
import { ONE } from '../../src/kernel/decimal.ts'
import { BY_ROWS, type OfMany } from '../../src/platform/database/database.ts'
import { SCOPES } from '../../src/platform/database/scoped-query.ts'
import type { Statement } from '../../src/platform/database/sql.ts'
import { writesNothing } from '../../src/platform/http/group.ts'

/**
 * Collects the texts of all statements, also of those that no other test happens to run: the functions of the queries files are called
 * with a connection that only collects, and with inputs made up.
 */

/** The folder of the sources. */
export const SRC = new URL('../../src', import.meta.url).pathname

function* filesOf(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) yield* filesOf(path)
    else if (name.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(name)) yield path
  }
}

/** All sources without their tests. */
export const files = [...filesOf(SRC)]
/** Those that hold statements. */
export const withQueries = files.filter(
  (path) => path.endsWith('queries.ts') || /authenticate|paging|idempotency/.test(path),
)

/** The account for which everything is asked: no other value is this number, so where it stands the account stands. */
const ACCOUNT = 404_000_000_404n

const MEMBERS_MAX = 8

/** A status was read since this was set to false: another one may lead elsewhere. */
let isStatusRead = false

function readStatus(status: string | null): string | null {
  isStatusRead = true
  return status
}

/** A filter by status. */
const filterOf = (status: string | null) => ({
  get status() {
    return readStatus(status)
  },
})

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
      if (name === 'status') return readStatus(status)
      if (name === 'currency') return 'USD'
      if (name === 'account') return ACCOUNT
      if (lists.has(String(name))) return (...given: unknown[]) => (entries() as any)[name](...given)
      return inner()
    },
    has: (_, name) => name !== 'fragment',
    apply: inner,
  })
}

export interface Collected {
  /** The first file whose functions said it, below src. */
  file: string
  /** Whether it was once said with every value there: a made-up input may have left out a piece of SQL. */
  isComplete: boolean
  /** It is sent where tables are not distributed, and another one in its place where they are. */
  isPlainOnly: boolean
  /** The numbers of the parameters that are the account. */
  accountParameters: Set<number>
}

const collected = new Map<string, Collected>()
let calling = ''

/** Hears a statement, and what is sent in its place where tables are distributed. */
function hear(statement: Statement): void {
  const sent = SCOPES.citus.sent(statement)
  if (sent !== statement) note(sent, false)
  note(statement, sent !== statement)
}

function note({ text, values }: Statement, isPlainOnly: boolean): void {
  const known = collected.get(text) ?? { file: calling, isComplete: false, isPlainOnly, accountParameters: new Set() }
  collected.set(text, known)
  known.isComplete ||= !values.includes(undefined)
  for (const [position, value] of values.entries()) if (value === ACCOUNT) known.accountParameters.add(position + 1)
}

const collecting = (isFull: boolean, status: string | null) => ({
  ...BY_ROWS,
  account: ACCOUNT,
  afterCommit: () => {},
  alone: () => {},
  savepoint: (work: () => Promise<unknown>) => work(),
  send: hear,
  rows: async (statement: Statement) => {
    hear(statement)
    return [anything(isFull, status)]
  },
  first: async (statement: Statement) => {
    hear(statement)
    return isFull ? anything(isFull, status) : undefined
  },
  value: async (statement: Statement) => {
    hear(statement)
    return anything(isFull, status)
  },
  values: async (statement: Statement) => {
    hear(statement)
    return [anything(isFull, status)]
  },
  count: async (statement: Statement) => {
    hear(statement)
    return 1
  },
  portions: hear,
  grouped: async (ofMany: OfMany<unknown>, items: readonly unknown[]) => {
    const statement = ofMany(ACCOUNT, items)
    assert(writesNothing(statement), `a grouped statement writes nothing: ${statement.text}`)
    hear(statement)
    return items.map(() => anything(isFull, status))
  },
  sendGrouped: (ofMany: OfMany<unknown>, items: readonly unknown[]) => hear(ofMany(ACCOUNT, items)),
})

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
/** Entry that lists inside lists are made of; a made-up value would not fit there. */
const PRICE = { price: ONE, term: 1, termType: 'months', qtyFrom: 1n, qtyTill: null }
const PRICED = { currency: 'USD', terms: [PRICE], brackets: [PRICE] }
/** A row of a bulk statement that can be written in any form, days and numbers in binary too. */
const ROW_OF_NULLS = new Proxy(
  {},
  { get: (_, name) => (name === 'taxes' ? [] : name === 'units' || name === 'total' ? ONE : null) },
)

function* wishes(isFull: boolean, status: string | null): Generator<unknown[]> {
  const any = () => anything(isFull, status)
  yield Array.from({ length: 8 }, any)
  yield [any(), any()]
  yield [ACCOUNT, '1', any(), any(), 1, '2027-01-01']
  for (const isNewestFirst of [false, true]) {
    yield [ACCOUNT, any(), { fromId: 0n, skip: 0, isNewestFirst }, 1, '2027-01-01']
    yield [ACCOUNT, filterOf(status), { fromId: 0n, skip: 0, isNewestFirst }, 1, '2027-01-01']
  }
  yield [ACCOUNT, [any()], [any()], [any()], [any()]]
  yield [ACCOUNT, [any()]]
  yield [ACCOUNT, [any()], false]
  yield [ACCOUNT, [any()], any()]
  yield [ACCOUNT, 1n, [any()], [any()]]
  yield [ACCOUNT, 1n, null, null, null]
  yield [ACCOUNT, 1n, [PRICED]]
  yield [[ROW_OF_NULLS], any()]
  yield [ACCOUNT, [ROW_OF_NULLS], '2027-01-01']
  yield [ACCOUNT, [ROW_OF_NULLS], [ROW_OF_NULLS], '2027-01-01']
  yield ['customers', [ROW_OF_NULLS]]
  for (const list of COUNTED_LISTS)
    for (const isNewestFirst of [false, true]) yield [ACCOUNT, list, { page: 100, size: 200, isNewestFirst }]
}

async function call(exported: Function, given: unknown[]): Promise<void> {
  try {
    const answer = await exported(...given)
    if (typeof answer?.text === 'string' && Array.isArray(answer.values)) hear(answer as Statement)
  } catch {
    // It wanted something else; another shape may suit.
  }
}

/** Whether a function takes no connection: it only says a statement, for whoever sends it. */
const takesAccountFirst = (exported: Function): boolean => /^[^(]*\(\s*account\b/.test(exported.toString())

/** Calls a function with each shape of input, and with each status where it reads one. Returns how often. */
async function callAs(exported: Function, isFull: boolean): Promise<number> {
  const connections = STATUSES.map((status) => collecting(isFull, status))
  let called = 0
  for (const [position, first] of wishesOf(isFull, null).entries())
    for (const [at, status] of STATUSES.entries()) {
      if (at === 0) isStatusRead = false
      else if (!isStatusRead) break
      const wish = at === 0 ? first : (wishesOf(isFull, status)[position] ?? [])
      called += 1
      await call(exported, takesAccountFirst(exported) ? wish : [connections[at], ...wish])
    }
  return called
}

const made = new Map<string, unknown[][]>()

function wishesOf(isFull: boolean, status: string | null): unknown[][] {
  const key = `${isFull} ${status}`
  let known = made.get(key)
  if (!known) made.set(key, (known = [...wishes(isFull, status)]))
  return known
}

/** Calls every exported function with a collecting connection first; what else it wants is made up. Failures on the way do not matter. */
async function callAll(): Promise<number> {
  let called = 0
  for (const path of withQueries) {
    calling = path.slice(SRC.length + 1)
    const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>
    // Statements of due records are exported together, as an object of functions.
    const inner = path.endsWith('due-queries.ts')
      ? Object.values(module).filter((value) => typeof value === 'object')
      : []
    for (const value of [module, ...inner].flatMap((one) => Object.values(one as object))) {
      if (typeof value !== 'function' || Function.prototype.toString.call(value).startsWith('class ')) continue
      for (const isFull of [false, true]) called += await callAs(value, isFull)
    }
  }
  return called
}

/** Returns how many calls were made, and the texts of the statements that they said. */
export async function collectStatements(): Promise<{ called: number; statements: Map<string, Collected> }> {
  return { called: await callAll(), statements: collected }
}
