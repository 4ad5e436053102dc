import pg from 'pg'
import pino from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestDatabase, openTestDatabase, startTestService } from '../../../test/support/app.ts'
import { clientConfig } from './open-database.ts'
import { sql } from './sql.ts'

/** Answers while the database cannot do what callers ask for, and the service's recovery afterwards. */

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

const name = { Name: 'Somebody', isCompany: true }
/** Process numbers of the service's connections to this database. */
const connections = async (condition = 'true') =>
  (
    await owner.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${condition}`,
    )
  ).rows.map(({ pid }) => pid)

describe('a write that the database cannot do', () => {
  test.each([
    ['53100', 'database_exhausted'],
    ['53200', 'database_exhausted'],
    ['57014', 'database_cancelled'],
    ['25006', 'database_unavailable'],
  ])('is 503 at SQLSTATE %s, changes nothing and can be sent again', async (state, code) => {
    const client = await service.newAccount()
    await owner.query(`create function fail() returns trigger language plpgsql as $$ begin raise exception using errcode = '${state}'; end $$;
      create trigger fail before insert on event_rows execute function fail()`)
    const failed = await client.post('/v1/customers', name, { 'Idempotency-Key': state })
    await owner.query('drop trigger fail on event_rows; drop function fail()')
    expect([failed.status, failed.body.Errors[0].Code]).toEqual([503, code])
    expect(Number(failed.headers['retry-after'])).toBeGreaterThan(0)
    expect((await client.get('/v1/customers')).body).toEqual([])
    expect((await client.post('/v1/customers', name, { 'Idempotency-Key': state })).status).toBe(201)
  })

  test('is 503 when an administrator cancels it while it waits', async () => {
    const client = await service.newAccount()
    const { customerID } = (await client.post('/v1/customers', name)).body
    await owner.query('begin')
    await owner.query('select 1 from customers where customer_id = $1 for update', [customerID])
    const waiting = client.put(`/v1/customers/${customerID}`, { LastName: 'Else' })
    let waiters: number[] = []
    while (waiters.length === 0) {
      await owner.query('select pg_stat_clear_snapshot()')
      waiters = await connections(`wait_event_type = 'Lock'`)
    }
    await owner.query('select pg_cancel_backend($1)', [waiters[0]])
    expect((await waiting).body.Errors[0].Code).toBe('database_cancelled')
    await owner.query('rollback')
  })
})

test('an outage is one line of the log for all requests that it costs, and one when it is over, without a stack', async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const logged = await startTestService({ connection: service.connection, log })
  const client = await logged.newAccount()
  await owner.query(`create function fail() returns trigger language plpgsql as $$ begin raise exception using errcode = '57P01'; end $$;
    create trigger fail before insert on event_rows execute function fail()`)
  const asked = await Promise.all(Array.from({ length: 20 }, () => client.post('/v1/customers', name)))
  await owner.query('drop trigger fail on event_rows; drop function fail()')
  expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 503))
  await expect.poll(() => lines).toHaveLength(2)
  expect(lines).toMatchObject([
    { level: 50, code: '57P01', msg: 'the database cannot be reached' },
    { level: 30, requests: 20, msg: 'the database can be reached again' },
  ])
  expect(JSON.stringify(lines)).not.toMatch(/stack|\.ts:/)
})

describe('a database that was made read-only', () => {
  test('is away for writes: 503, the service is not ready, and its connections are given up until it takes writes again', async () => {
    const readOnly = await startTestService()
    const client = await readOnly.newAccount()
    const database = readOnly.connection.database as string
    await owner.query(`alter database ${database} set default_transaction_read_only = on`)
    await owner.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database])
    const refused = await client.post('/v1/customers', name)
    expect(refused.body.Errors[0]).toMatchObject({
      Code: 'database_unavailable',
      Message: expect.stringContaining('takes no writes'),
    })
    await expect
      .poll(async () => {
        const { status, body } = await readOnly.anonymous.get('/readyz')
        return [status, body.Errors?.[0].Message]
      })
      .toEqual([503, refused.body.Errors[0].Message])
    await owner.query(`alter database ${database} set default_transaction_read_only = off`)
    await expect.poll(async () => (await readOnly.anonymous.get('/readyz')).status).toBe(200)
    expect((await client.post('/v1/customers', name)).status).toBe(201)
  })

  test('gives up a connection that turned read-only under it, and tells the first failure and not what follows', async () => {
    const db = openTestDatabase(await createTestDatabase())
    const turned = db.transaction(1n, async (tx) => {
      await tx.rows(sql`set session characteristics as transaction read only`)
      tx.send(sql`set transaction read only`)
      const first = tx.rows(sql`create table refused (id bigint)`)
      tx.send(sql`select 1`)
      return first
    })
    await expect(turned).rejects.toMatchObject({
      problems: [{ code: 'database_unavailable' }],
      cause: { code: '25006' },
    })
    const [row] = await db.unscoped.rows(sql`select current_setting('default_transaction_read_only') as "isReadOnly"`)
    expect(row).toEqual({ isReadOnly: 'off' })
    await db.close()
  })
})

test('what is listened to is taken up again after the connection was lost, and the gap is told', async () => {
  const watches = `application_name = 'perennial watch'`
  const others = await connections(watches)
  const db = openTestDatabase(service.connection)
  let tell: (payload: string) => void = () => {}
  const next = () => new Promise<string>((resolve) => (tell = resolve))
  const stop = await db.listen(
    'something',
    (payload) => tell(payload),
    () => tell('a gap'),
  )
  const stopOther = await db.listen('something_else', () => {})
  // One connection, however many channels.
  expect(await connections(watches)).toHaveLength(others.length + 1)
  for (let round = 0; round < 2; round += 1) {
    const gap = next()
    await owner.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${watches}`,
    )
    expect(await gap).toBe('a gap')
    const heard = next()
    await owner.query(`select pg_notify('something', $1)`, [`round ${round}`])
    expect(await heard).toBe(`round ${round}`)
  }
  await stop()
  await stopOther()
  await db.close()
})

test('a transaction that lasts longer than its bound is ended, and commits nothing', async () => {
  const connection = await createTestDatabase()
  const db = openTestDatabase(connection)
  const work = db.transaction(
    1n,
    async (tx) => {
      tx.send(sql`select pg_notify('bound', 'committed')`)
      await tx.rows(sql`select pg_sleep(30)`)
    },
    { boundMs: 50 },
  )
  await expect(work).rejects.toMatchObject({ problems: [{ code: 'database_unavailable' }] })
  // The pool lends another connection.
  expect(await db.unscoped.rows(sql`select 1 as "one"`)).toEqual([{ one: 1 }])
  await db.close()
})
