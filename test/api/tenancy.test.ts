import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'
import { SCOPES } from '../../src/platform/database/scoped-query.ts'
import { openTestDatabase, startTestService, testEngine } from '../support/app.ts'
import { probeServer } from '../support/probe.ts'
import { operationsOf, readDocument } from './document.ts'
import { leavesOf, rightBody, withValue, writeJson } from './samples.ts'
import { authorization, type Identifier, makeWorld, pathOf, type World } from './world.ts'

/** No request sees or changes another account's record: every route is walked, and each of the two walls is shown to hold alone. */

const service = await startTestService()
const document = await readDocument(service)
const operations = operationsOf(document)
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

const mine = await makeWorld(service, operations, 'mine')
const theirs = await makeWorld(service, operations, 'theirs')
mine.foreignIds = theirs.ids

/** Parameters of paths that name a record of an account. */
const SHARED_PARAMS = new Set(['countryID', 'countryStateID'])
/** On add the service gives rules their identifiers; one that is sent is ignored like every computed field. */
const COMPUTED_ON_ADD = new Set(['addTaxSetting rules.0.taxRuleID'])
const aboutRecords = operations.filter(({ pathParams }) =>
  pathParams.some((name) => !SHARED_PARAMS.has(name) && theirs.ids.has(name)),
)

async function request(world: World, method: string, url: string, body?: unknown) {
  const reply = await service.app.server.inject({
    method: method as 'GET',
    url,
    headers: { authorization: authorization(world.client), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { payload: writeJson(body) }),
  })
  return {
    status: reply.statusCode,
    body: reply.payload === '' ? undefined : JSON.parse(reply.payload),
    text: reply.payload,
  }
}

/** All rows of an account, as one text: equal before and after means that nothing changed. Last use of keys is no data. */
async function rowsOf(account: bigint): Promise<string> {
  const { rows: tables } = await owner.query<{ name: string }>(
    `select table_name as name from information_schema.columns where table_schema = 'perennial' and column_name = 'account_id' and table_name <> 'api_keys' order by 1`,
  )
  const parts: string[] = []
  for (const { name } of tables) {
    const { rows } = await owner.query<{ rows: string }>(
      `select coalesce(string_agg(t::text, e'\\n' order by t::text), '') as rows from perennial.${name} t where account_id = $1`,
      [account],
    )
    parts.push(`${name}\n${rows[0]?.rows}`)
  }
  return parts.join('\n')
}

describe('another account’s records', () => {
  test('are unknown on every route that has one in its path, and stay as they are', async () => {
    const before = await rowsOf(theirs.client.id)
    expect(aboutRecords.length).toBeGreaterThan(20)
    for (const operation of aboutRecords) {
      const foreign = pathOf(operation, mine, 'foreign')
      if (!foreign) continue
      const missing = await request(
        mine,
        operation.method,
        operation.path
          .replace(/\{versionno\}/, '1')
          .replace(/\{kind\}/, 'renewal')
          .replace(/\{\w+\}/g, '99999999'),
        rightBody(operation, mine),
      )
      const reply = await request(mine, operation.method, foreign, rightBody(operation, mine))
      // Identifiers of theirs can be a number of mine: invoice numbers start at 1 in both.
      if (operation.pathParams.includes('invoiceNum')) continue
      expect([operation.id, reply.status, reply.body?.Errors?.[0]?.Code]).toEqual([
        operation.id,
        404,
        missing.body?.Errors?.[0]?.Code,
      ])
    }
    expect(await rowsOf(theirs.client.id)).toBe(before)
  })

  test('are refused as references in every body, naming the field, and told apart from none that exist by nothing', async () => {
    const before = [await rowsOf(mine.client.id), await rowsOf(theirs.client.id)]
    const checked: string[] = []
    for (const operation of operations) {
      if (!operation.body) continue
      for (const { path, name } of leavesOf(operation.body)) {
        const ids = theirs.ids.get(name)
        const label = `${operation.id} ${path.join('.')}`
        if (!name.endsWith('ID') || !ids?.length || SHARED_PARAMS.has(name) || COMPUTED_ON_ADD.has(label)) continue
        const url = pathOf(operation, mine) ?? operation.path
        // Where AutoApply is true lists of allocations are not looked at.
        const isListed = /Allocations$|^PaymentApplied$/.test(String(path[0]))
        const right = { ...rightBody(operation, mine), ...(isListed ? { AutoApply: false, isAutoApply: false } : {}) }
        const send = (id: Identifier) => request(mine, operation.method, url, withValue(right, path, id))
        const foreign = await send(ids[0] as Identifier)
        const none = await send(99_999_999)
        // The record that the request is about may be named in its body: then it is 404, as in a path. Where the state of the record in
        // the path forbids whatever is sent, nothing is told of the other one.
        expect([label, [400, 404, 409].includes(foreign.status)]).toEqual([label, true])
        expect([label, foreign.status, foreign.body.Errors[0].Code]).toEqual([
          label,
          none.status,
          none.body.Errors[0].Code,
        ])
        expect(foreign.text.replace(/\d+/g, '#')).toBe(none.text.replace(/\d+/g, '#'))
        checked.push(label)
      }
    }
    expect(checked.length).toBeGreaterThan(5)
    expect([await rowsOf(mine.client.id), await rowsOf(theirs.client.id)]).toEqual(before)
  })

  test('are in no list, by whatever filter', async () => {
    for (const operation of operations.filter(
      ({ method, pathParams }) => method === 'GET' && pathParams.length === 0,
    )) {
      if (operation.id === 'listCountries' || operation.id === 'getLogo') continue
      for (const { name } of [{ name: 'x' }, ...operation.query]) {
        const foreign = theirs.ids.get(name)?.[0]
        if (name !== 'x' && foreign === undefined) continue
        const reply = await request(mine, 'GET', `${operation.path}?${name}=${foreign ?? ''}`)
        for (const [field, ids] of theirs.ids) {
          // Numbers of invoices start at 1 in every account, and countries are everybody's.
          if (!field.endsWith('ID') || field === 'RecordID' || SHARED_PARAMS.has(field)) continue
          for (const id of ids)
            expect(
              reply.text.includes(`"${field}":${id},`) || reply.text.includes(`"${field}":${id}}`),
              `${operation.id} ${field} ${id}`,
            ).toBe(false)
        }
      }
    }
    const found = await request(mine, 'POST', '/v1/by_customer_ids', { ids: theirs.ids.get('customerID') })
    expect(found.body).toEqual([])
  })
})

describe('requests of several accounts at once', () => {
  test('answer to each what it is answered alone: every GET of three accounts at once, six times over, on one connection of each kind', async () => {
    const narrow = openTestDatabase(service.connection, { poolSize: 1, lanes: 1, reads: 1 })
    const worlds = [mine, theirs, await makeWorld(service, operations, 'third')]
    const servers = worlds.map((world) => probeServer(narrow, world.client.id, service.app.operations).client)
    const readers = operations.filter(({ id, method }) => method === 'GET' && !['getLogo', 'getClock'].includes(id))
    const alone = new Map<string, string>()
    const wishes = worlds.flatMap((world, n) =>
      readers.map((operation) => ({ n, url: pathOf(operation, world) ?? operation.path })),
    )
    for (const { n, url } of wishes) alone.set(`${n} ${url}`, (await servers[n]?.get(url))?.text as string)
    // In rounds: who waits for long is refused.
    for (let round = 0; round < 6; round += 1) {
      const together = await Promise.all(
        wishes.map(async ({ n, url }) => [`${n} ${url}`, (await servers[n]?.get(url))?.text] as const),
      )
      expect(together.filter(([wish, text]) => alone.get(wish) !== text)).toEqual([])
    }
    await narrow.close()
  })
})

describe('each wall alone', () => {
  test('conditions: under a login that row security does not bind, every route still answers 404 for another account’s record', async () => {
    const unbound = openTestDatabase(service.connection, { role: undefined, poolSize: 2, lanes: 1, reads: 1 })
    const { client } = probeServer(unbound, mine.client.id, service.app.operations)
    const before = await rowsOf(theirs.client.id)
    for (const operation of aboutRecords) {
      const foreign = pathOf(operation, mine, 'foreign')
      if (!foreign || operation.pathParams.includes('invoiceNum')) continue
      const body = rightBody(operation, mine)
      const reply = await client.request(operation.method, foreign, body && writeJson(body))
      expect([operation.id, reply.status]).toEqual([operation.id, 404])
    }
    for (const { path, id } of operations.filter(
      ({ method, pathParams }) => method === 'GET' && pathParams.length === 0,
    )) {
      if (id === 'getLogo') continue
      const bound = await request(mine, 'GET', path)
      expect([id, (await client.get(path)).text]).toEqual([id, bound.text])
    }
    expect(await rowsOf(theirs.client.id)).toBe(before)
    await unbound.close()
  })

  test('row security: every table has it, with a policy on its account for the service’s role, and the role owns nothing', async () => {
    const { rows: tables } = await owner.query<{
      name: string
      secured: boolean
      scoped: boolean
      policies: string[] | null
      owner: string
    }>(`
      select c.relname as name, c.relrowsecurity as secured, pg_get_userbyid(c.relowner) as owner,
             exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped) as scoped,
             (select array_agg(p.qual || ' / ' || coalesce(p.with_check, p.cmd || ' alone') || ' / ' || p.roles::text) from pg_policies p
               where p.schemaname = 'perennial' and p.tablename = c.relname) as policies
        from pg_class c where c.relnamespace = 'perennial'::regnamespace and c.relkind in ('r', 'p') order by 1`)
    expect(tables.length).toBeGreaterThan(20)
    const condition = "(account_id = (current_setting('app.account_id'::text))::bigint)"
    // One row about the whole ledger, which says nothing about any account.
    const READ_BY_ALL = 'ledger_days_mark'
    const READING = [`true / SELECT alone / {${APP_ROLE}}`]
    for (const table of tables) {
      expect([table.name, table.secured]).toEqual([table.name, true])
      expect([table.name, table.owner === APP_ROLE]).toEqual([table.name, false])
      const expected = table.scoped ? [`${condition} / ${condition} / {${APP_ROLE}}`] : null
      expect([table.name, table.policies]).toEqual([table.name, table.name === READ_BY_ALL ? READING : expected])
    }
    const { rows: grants } = await owner.query<{ name: string; privilege: string }>(
      `select table_name as name, privilege_type as privilege from information_schema.role_table_grants where grantee = $1 and table_schema = 'perennial'`,
      [APP_ROLE],
    )
    // A view shows its reader what the tables under it do.
    const { rows: views } = await owner.query<{ name: string; options: string[] | null }>(
      `select relname as name, reloptions as options from pg_class where relnamespace = 'perennial'::regnamespace and relkind = 'v'`,
    )
    for (const { name, options } of views) expect([name, options]).toEqual([name, ['security_invoker=true']])
    const scoped = new Set([...tables.filter((table) => table.scoped), ...views].map(({ name }) => name))
    expect(grants.filter(({ name }) => !scoped.has(name))).toEqual([{ name: READ_BY_ALL, privilege: 'SELECT' }])
    const { rows: roles } = await owner.query(
      `
      select rolsuper as super, rolbypassrls as bypass, rolcreaterole as roles, rolcanlogin as login,
             (select count(*)::int from pg_class where relowner = r.oid) + (select count(*)::int from pg_proc where proowner = r.oid)
             + (select count(*)::int from pg_namespace where nspowner = r.oid) as owned
        from pg_roles r where rolname = $1`,
      [APP_ROLE],
    )
    // A coordinator logs in to its workers as that role.
    const login = testEngine(service.connection) === 'citus'
    expect(roles).toEqual([{ super: false, bypass: false, roles: false, login, owned: 0 }])
  })

  test('row security: every primary and unique key of an account’s table begins with the account', async () => {
    const { rows } = await owner.query<{ index: string }>(`
      select i.indexrelid::regclass::text as index from pg_index i join pg_class c on c.oid = i.indrelid
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
       where c.relnamespace = 'perennial'::regnamespace and i.indisunique and i.indkey[0] <> a.attnum`)
    expect(rows).toEqual([])
  })

  test('row security: functions that pass it are the owner’s, keep their search path, and are not for everybody', async () => {
    const { rows } = await owner.query<{ name: string; config: string[] | null; open: boolean }>(`
      select proname as name, proconfig as config, has_function_privilege('public', oid, 'execute') as open
        from pg_proc where pronamespace = 'perennial'::regnamespace and prosecdef`)
    expect(rows.length).toBeGreaterThan(0)
    for (const { name, config, open } of rows) {
      // What a plan may be made of, and how long a lock is waited for, changes nothing of what a function means.
      const meant = config?.filter((setting) => !/^(enable_|lock_timeout=)/.test(setting))
      expect([name, meant, open]).toEqual([name, ['search_path=perennial, pg_temp'], false])
    }
  })

  test('row security: without any condition each table shows its account alone', async () => {
    const scopes = SCOPES[testEngine(service.connection)]
    const scope = scopes.account(mine.client.id)
    const bound = new pg.Client(clientConfig(service.connection, APP_ROLE, 'work', scopes))
    await bound.connect()
    const { rows: tables } = await owner.query<{ name: string }>(
      `select table_name as name from information_schema.columns where table_schema = 'perennial' and column_name = 'account_id'`,
    )
    for (const { name } of tables) {
      await expect(bound.query(`select 1 from ${name}`), name).rejects.toThrow()
      await bound.query('begin')
      await bound.query(scope.text, scope.values)
      const { rows } = await bound.query<{ account: string }>(
        `select distinct account_id::text as account from ${name}`,
      )
      await bound.query('rollback')
      expect([name, rows.filter(({ account }) => account !== String(mine.client.id))]).toEqual([name, []])
      await expect(bound.query(`select 1 from ${name}`), name).rejects.toThrow()
    }
    await bound.end()
  })
})
