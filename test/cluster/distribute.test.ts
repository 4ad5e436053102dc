import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { distributeAlone, planDistribution } from '../../src/platform/database/distribution.ts'
import { call, runProgram, serve, type Serving, startProgram, testFolder } from '../program/program.ts'
import { addCitus, type Cluster, createDatabase, missingForCluster, onNode, urlOf } from './servers.ts'

/** `perennial distribute` as whoever runs it sees it, on databases of its own: what it refuses, and a living database that it is killed on at each table. */

const MISSING = missingForCluster()
const needs = MISSING === undefined ? '' : ` (needs ${MISSING})`

describe.skipIf(MISSING !== undefined)(`distribute${needs}`, () => {
  const cluster = MISSING === undefined ? inject('cluster') : ({} as Cluster)
  const folder = testFolder(afterAll)
  const env = (database: string, node = cluster.coordinator) => ({
    DATABASE_URL: urlOf(node, database),
    ENCRYPTION_KEY: KEY,
    DATA_DIR: join(folder, database),
  })

  beforeAll(async () => {
    for (const name of ['bare', 'living']) await createDatabase(cluster, name)
  })

  const distribute = (database: string, ...words: string[]) => runProgram(['distribute', ...words], env(database))

  test('is refused without Citus, without workers, at a worker, on the embedded database, beside a live process', async () => {
    expect(await runProgram(['distribute'], { DATA_DIR: join(folder, 'embedded') })).toMatchObject({
      code: 1,
      err: expect.stringContaining('The embedded database is one server'),
    })
    expect(await distribute('bare')).toMatchObject({ code: 1, err: expect.stringContaining('has no Citus') })
    await onNode(cluster.coordinator, 'bare', 'create extension citus')
    expect(await distribute('bare')).toMatchObject({ code: 1, err: expect.stringContaining('has no worker') })
    await onNode(cluster.coordinator, 'bare', 'drop extension citus')
    await addCitus(cluster, 'bare')
    expect(await distribute('bare', '--dry-run')).toMatchObject({
      code: 0,
      out: 'The database is empty: its tables would be made and distributed.\n',
    })
    const [worker] = cluster.workers
    for (const word of ['distribute', 'serve'])
      expect(await runProgram([word], env('bare', worker))).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          new RegExp(`worker of Citus: name the coordinator \\(127.0.0.1:${cluster.coordinator.port}\\)`),
        ),
      })
  })

  test('goes on where it was killed at any table, loses nothing, and serves a living database as before', async () => {
    const books = await liveBefore(env('living'))
    await addCitus(cluster, 'living')
    // What lies on one server is served while the extension merely is there.
    const before = await serve(env('living'), ['--no-worker'])
    expect(await contentsBy(before, books)).toEqual(books.contents)
    expect(await distribute('living')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/live: serve \S+ on \S+, process \d+/),
    })
    await ended(before)

    const planned = await killedAtEachTable()
    const half = await runProgram(['serve'], env('living'))
    expect(half).toMatchObject({ code: 1, err: expect.stringContaining('run "perennial distribute" again') })

    const done = await distribute('living', '--json')
    expect(done).toMatchObject({ code: 0, err: '' })
    const { Tables, State } = JSON.parse(done.out)
    expect(State).toBe('distributed')
    expect(Tables.map(({ Table }: any) => Table)).toEqual(planned)
    // Nothing else analyzes here so soon.
    const [analyzed] = await onNode(
      cluster.coordinator,
      'living',
      `
      select sum(result::real)::integer as "rows" from run_command_on_shards('perennial.invoices',
             $$select greatest(reltuples, 0) from pg_class where oid = '%s'::regclass$$)`,
    )
    expect(analyzed.rows).toBeGreaterThan(0)
    expect(await distribute('living')).toMatchObject({ code: 0 })

    const service = await serve(env('living'), ['--no-worker'])
    expect(await contentsBy(service, books)).toEqual(books.contents)
    const added = await call(service, books, '/v1/customers', { Name: 'Distributed', isCompany: true })
    expect([added.status, added.body]).toMatchObject([201, { customerID: expect.any(Number) }])
    const contents = await contentsBy(service, books)
    await ended(service)
    expect(await runProgram(['verify'], env('living'))).toMatchObject({ code: 0 })
    await leadsBack({ ...books, contents })
  })

  /** Kills a run at its first table, then ends the connection before each of the others would be committed; all but the last are distributed by the next try. */
  async function killedAtEachTable(): Promise<string[]> {
    const lone = startProgram(['distribute'], env('living'))
    await lone.says(/^accounts: distributed/m)
    lone.child.kill('SIGKILL')
    await lone.ended
    const planned = await onLogin((client) => planDistribution(client))
    let left = planned.filter(({ isDone }) => !isDone)
    while (left.length > 1)
      left = await onLogin(async (client) => {
        const [first, second, ...others] = (await planDistribution(client)).filter(({ isDone }) => !isDone)
        expect(first?.name).toBe(left[0]?.name)
        await distributeAlone(client, first!)
        if (second) await expect(distributeAlone(dyingBefore('commit', client), second)).rejects.toThrow()
        return second ? [second, ...others] : []
      })
    return planned.map(({ name }) => name)
  }

  async function onLogin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: urlOf(cluster.coordinator, 'living') })
    client.on('error', () => {})
    await client.connect()
    return work(client).finally(() => client.end().catch(() => {}))
  }

  /** An export of a distributed database is imported into a plain one, with all records and no difference. */
  async function leadsBack(books: Books): Promise<void> {
    const file = join(folder, 'all.gz')
    expect(await runProgram(['export', file], env('living'))).toMatchObject({ code: 0 })
    const home = { DATA_DIR: join(folder, 'home'), ENCRYPTION_KEY: KEY }
    const imported = await runProgram(['import', file, '--json'], home)
    expect([imported.code, JSON.parse(imported.out).Verified]).toEqual([
      0,
      [expect.objectContaining({ AccountID: books.account, Differences: 0 })],
    ])
    const service = await serve(home, ['--no-worker'])
    expect(await contentsBy(service, books)).toEqual(books.contents)
    await ended(service)
    rmSync(file)
  }
})

const KEY = randomBytes(32).toString('hex')

interface Books {
  account: number
  key: string
  contents: unknown
}

const LISTS = ['customers', 'invoices', 'payments', 'subscriptions', 'packages', 'credits']

const contentsBy = (service: Serving, books: Pick<Books, 'account' | 'key'>) =>
  Promise.all(
    LISTS.map(async (list) => {
      const { status, body } = await call(service, books, `/v1/${list}?page_size=100`)
      return { list, status, body }
    }),
  )

/** Lets an account live on a plain database: the demo has some of everything. */
async function liveBefore(env: Record<string, string>): Promise<Books> {
  const seeded = await runProgram(['seed', '--demo', '--customers', '3', '--json'], env)
  expect(seeded).toMatchObject({ code: 0 })
  const { AccountID, ApiKey } = JSON.parse(seeded.out)
  const service = await serve(env, ['--no-worker'])
  const books = { account: AccountID, key: ApiKey }
  const contents = await contentsBy(service, books)
  await ended(service)
  return { ...books, contents }
}

async function ended(service: Serving): Promise<void> {
  service.child.kill('SIGINT')
  await service.ended
}

/** A connection that is cut before it sends such a statement. */
function dyingBefore(statement: string, client: pg.Client): pg.Client {
  return new Proxy(client, {
    get: (target, name) => {
      if (name !== 'query') return Reflect.get(target, name)
      return (...given: unknown[]) => {
        if (given[0] === statement) (target as any).connection.stream.destroy()
        return (target.query as any)(...given)
      }
    },
  })
}
