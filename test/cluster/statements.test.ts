import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import type { Connection } from '../../src/platform/database/database.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { migrate } from '../../src/platform/database/migrations.ts'
import { APP_ROLE, prepareRoles } from '../../src/platform/database/roles.ts'
import { type Engine, SCOPES } from '../../src/platform/database/scoped-query.ts'
import { createTestDatabase } from '../support/app.ts'
import { withOwner } from '../support/owner-client.ts'
import { collectStatements } from '../api/statements.testing.ts'
import { missingForCluster } from './servers.ts'

/**
 * The judge of statements: each is executed for an account that is there, on a database of one server and on a distributed one, and comes to the same SQLSTATE. Nothing of it
 * is sent to a worker but the one of the account: a statement of one account works while any other is away.
 */

const MISSING = missingForCluster()
const needs = MISSING === undefined ? '' : ` (needs ${MISSING})`

/** Files whose statements are about all accounts, though one of their values may be that of an account. */
const OF_ALL_ACCOUNTS = ['platform/failover/queries.ts']

/** Statement that fails where another test has a gateway of a live account by now: none can be held for a made-up reason. */
const MEETS_OTHERS = /\bhold_live_gateways\(/

/** No made-up value is this number. */
const JUDGED = 404_000_000_404n

interface Judge {
  client: pg.Client
  engine: Engine
  account: bigint
  /** Servers to which something of the last statement was sent; the coordinator sends nothing to itself. */
  sentTo: Set<string>
}

describe.skipIf(MISSING !== undefined)(`statements on Citus${needs}`, () => {
  test('come to what they come to on one server', async () => {
    const distributed = await createTestDatabase()
    const plain = { ...distributed, database: 'plain' }
    await withOwner({ ...plain, database: 'postgres' }, (admin) => admin.query('create database plain'))
    const roles = await prepareRoles(plain)
    await migrate(plain, roles.owner, new URL('../../db/migrations', import.meta.url).pathname)
    const judges = await Promise.all([judgeOn(plain, 'plain'), judgeOn(distributed, 'citus')])
    afterAll(() => Promise.all(judges.map(({ client }) => client.end())))
    const { statements } = await collectStatements()
    const home = await workerOf(distributed, JUDGED)
    const ofOwner = await callOfOwner(plain)
    const differing: string[] = []
    let judged = 0
    for (const [text, { file, isComplete, isPlainOnly, accountParameters }] of statements) {
      if (isPlainOnly) continue
      const types = await typesOf(judges[0], text)
      if (typeof types === 'string') {
        if (isComplete) differing.push(`not prepared: ${types} in ${file}: ${shortened(text)}`)
        continue
      }
      judged += 1
      const [here, there] = await Promise.all(judges.map((judge) => outcomeOf(judge, text, types, accountParameters)))
      const isOfOne = accountParameters.size > 0 && !OF_ALL_ACCOUNTS.includes(file) && !ofOwner.test(text)
      if (isOfOne && [...judges[1].sentTo].some((name) => name !== home))
        differing.push(`is sent to other workers in ${file}: ${shortened(text)}`)
      if (here?.state === there?.state || MEETS_OTHERS.test(text)) continue
      differing.push(`${here?.state} became ${there?.state} (${there?.message}) in ${file}: ${shortened(text)}`)
    }
    expect(judged).toBeGreaterThan(1200)
    expect(differing).toEqual([])
  })
})

const shortened = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, 160)

async function judgeOn(connection: Connection, engine: Engine): Promise<Judge> {
  await withOwner(connection, (owner) =>
    owner.query(
      `insert into accounts (account_id, mode, name, currency, created_at) values ($1, 'test', 'Judged', 'USD', '2027-01-01')`,
      [JUDGED],
    ),
  )
  const client = new pg.Client(clientConfig(connection, APP_ROLE, 'work', SCOPES[engine]))
  await client.connect()
  const sentTo = new Set<string>()
  if (engine === 'citus') {
    client.on('notice', ({ message = '', detail = '' }) => {
      const [, server] =
        /^Subplan \S+ will be sent to (\S+)/.exec(message) ?? /^on server [^@]+@(\S+)/.exec(detail) ?? []
      if (server !== undefined) sentTo.add(server)
    })
    await client.query(
      `set citus.log_intermediate_results = on; set citus.log_remote_commands = on; set client_min_messages = debug1`,
    )
  }
  return { client, engine, account: JUDGED, sentTo }
}

/** Returns a pattern of calls of the owner's functions: none is about one account. */
async function callOfOwner(connection: Connection): Promise<RegExp> {
  let names: string[] = []
  await withOwner(connection, async (owner) => {
    const { rows } = await owner.query<{ name: string }>(
      `select proname as "name" from pg_proc where pronamespace = 'perennial'::regnamespace and prosecdef`,
    )
    names = rows.map(({ name }) => name)
  })
  return new RegExp(`\\b(?:${names.join('|')})\\(`)
}

/** Returns the server that holds an account, as Citus names it. */
async function workerOf(connection: Connection, account: bigint): Promise<string | undefined> {
  const found: string[] = []
  await withOwner(connection, async (owner) => {
    const { rows } = await owner.query<{ name: string }>(
      `select nodename || ':' || nodeport as "name" from citus_shards where shardid = get_shard_id_for_distribution_column('perennial.accounts', $1::bigint)`,
      [account],
    )
    found.push(...rows.map(({ name }) => name))
  })
  return found[0]
}

/** Runs work in a transaction of which nothing stays. */
async function undone<T>({ client, engine, account }: Judge, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const { text, values } = SCOPES[engine].account(account)
    await client.query(text, values)
    await client.query('savepoint one')
    return await work()
  } finally {
    await client.query('rollback')
  }
}

/** Returns the types of the parameters of a statement, or why it cannot be prepared. */
const typesOf = (judge: Judge, text: string): Promise<string[] | string> =>
  undone(judge, async () => {
    try {
      await judge.client.query(`prepare judged as ${text}`)
    } catch (error) {
      return String(error)
    }
    const { rows } = await judge.client.query<{ types: string[] }>(
      `select parameter_types::text[] as "types" from pg_prepared_statements where name = 'judged'`,
    )
    await judge.client.query('deallocate judged')
    return rows[0]?.types ?? []
  })

const outcomeOf = (judge: Judge, text: string, types: string[], accountParameters: ReadonlySet<number>) =>
  undone(judge, async () => {
    const values = types.map((type, place) =>
      accountParameters.has(place + 1) ? String(judge.account) : valueOf(type),
    )
    judge.sentTo.clear()
    try {
      await judge.client.query(text, values)
      return { state: 'done', message: '' }
    } catch (error) {
      const { code = 'no SQLSTATE', message = '' } = error as { code?: string; message?: string }
      return { state: code, message }
    }
  })

const VALUES: readonly [RegExp, string][] = [
  [/^timestamp/, '2027-01-01T00:00:00Z'],
  [/^date/, '2027-01-01'],
  [/^interval/, '1 day'],
  [/^bool/, 'true'],
  [/^json/, '[]'],
  [/^uuid/, '00000000-0000-4000-8000-000000000001'],
  [/^bytea/, '\\x00'],
  [/^(text|character|name|"char")/, 'USD'],
]

/** Makes a value of a type: of an array it is the only element. */
function valueOf(type: string): string {
  const element = type.replace(/\[\]$/, '')
  const value = VALUES.find(([pattern]) => pattern.test(element))?.[1] ?? '1'
  if (element === type) return value
  return `{"${value.replace(/["\\]/g, '\\$&')}"}`
}
