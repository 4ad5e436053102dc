import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase, startTestService } from '../../../test/support/app.ts'
import { rowsOf, shop } from '../../../test/support/shop.ts'
import { beginMaintenance, endMaintenance, maintenanceOn, maintenanceUntil } from '../database/maintenance.ts'
import { prepareRoles } from '../database/roles.ts'
import { beat, leave } from '../processes/queries.ts'
import { sql } from '../database/sql.ts'

/** A service that takes no work: in maintenance, or on a schema of which its program knows too little. */

const KNOWS = 9_000
const service = await startTestService({ knows: KNOWS })
const { db, anonymous } = service

/** Waits until the service has learned of a state; a notification brings it at once, and the next question of the watch within two seconds. */
const learned = (state: string | undefined) =>
  expect.poll(() => db.admission.state, { interval: 5, timeout: 2_000 }).toBe(state)

async function inMaintenance(): Promise<() => Promise<void>> {
  await beginMaintenance(db.unscoped, 10)
  const end = async () => {
    await endMaintenance(db.unscoped)
    await learned(undefined)
  }
  onTestFinished(end)
  await learned('maintenance')
  return end
}

const codeOf = ({ body }: { body: any }) => body?.Errors?.[0].Code

/** Requests that need the database, each with its answer where work is taken. */
const WORK = async () => {
  const client = await service.newAccount()
  return {
    client,
    all: () =>
      Promise.all([
        client.get('/v1/customers'),
        client.post('/v1/customers', { Name: 'A' }),
        client.get('/v1/nothing'),
        anonymous.get('/v1/customers'),
        anonymous.post(`/gateways/${randomUUID()}/events`, {}),
        anonymous.get('/v1/emandates/download?token=x'),
      ]),
  }
}

const ALWAYS = ['/healthz', '/metrics', '/openapi.json', '/', '/docs', '/widget/capture.js']

test('in maintenance operations, reports of gateways and pages are 503 with Retry-After; what needs no database, and readiness, go on', async () => {
  const { client, all } = await WORK()
  const end = await inMaintenance()
  for (const answer of await all())
    expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'maintenance', '30'])
  for (const [language, words] of [
    ['de-AT', 'Dieser Dienst wird gerade gewartet'],
    ['en', 'We are at work on this service'],
  ] as const) {
    const page = await anonymous.request('GET', '/i/some-link', undefined, { 'accept-language': language })
    expect([page.status, page.headers['retry-after'], page.headers['content-language']]).toEqual([
      503,
      '30',
      language.slice(0, 2),
    ])
    expect(page.text).toContain(words)
  }
  for (const path of ALWAYS) expect([path, (await anonymous.get(path)).status]).toEqual([path, 200])
  expect((await anonymous.get('/metrics')).text).toMatch(/^perennial_maintenance 1$/m)
  const ready = await anonymous.get('/readyz')
  expect([ready.status, ready.body]).toEqual([200, { Status: 'maintenance' }])
  await end()
  expect((await client.get('/v1/customers')).status).toBe(200)
  expect((await anonymous.get('/readyz')).body).toEqual({ Status: 'ready' })
})

test('a move of the clock stops at its next step and goes on when it is sent again under its key; until then the service is not at rest', async () => {
  const { client, add } = await shop(service, { termType: 'days', price: 1 })
  await add()
  const key = { 'idempotency-key': 'moved in two' }
  const move = () => client.put('/v1/clock', { Now: '2027-03-01T12:00:00Z' }, key)
  const moving = move()
  const now = async () => (await client.get('/v1/clock')).body.Now
  const before = await now()
  await expect.poll(now, { interval: 2 }).not.toBe(before)
  expect(service.app.isAtRest()).toBe(false)
  const end = await inMaintenance()
  const stopped = await moving
  expect([stopped.status, codeOf(stopped), stopped.headers['retry-after']]).toEqual([503, 'maintenance', '30'])
  await expect.poll(() => service.app.isAtRest(), { interval: 5 }).toBe(true)
  await end()
  const reached = await now()
  expect([reached > before, reached < '2027-03-01']).toEqual([true, true])
  const moved = await move()
  expect([moved.status, moved.body.From]).toEqual([200, reached])
  // One for each day, and none twice.
  const invoices = await rowsOf(client)
  expect([new Set(invoices).size, invoices.length]).toEqual([60, 60])
})

test('begun twice it has the later end; ended by the operator it is over, unless migrations hold it', async () => {
  const first = await beginMaintenance(db.unscoped, 10)
  const second = await beginMaintenance(db.unscoped, 5)
  expect(Date.parse(first) - Date.parse(second)).toBeGreaterThan(200_000)
  const migrating = new pg.Client({ ...service.connection })
  await migrating.connect()
  // The lock of migrations, which one that was killed has no longer.
  await migrating.query(`select pg_advisory_lock(7305861200411); select perennial.begin_maintenance('migration', 60)`)
  expect(await endMaintenance(db.unscoped)).not.toBeNull()
  await migrating.end()
  await expect.poll(() => endMaintenance(db.unscoped), { interval: 20 }).toBeNull()
})

test('migrations take maintenance back, and run nothing, where a live process does not come to rest; where it does, they run and end it', async () => {
  const { owner } = await prepareRoles(service.connection)
  const info = () => {}
  const ran: string[] = []
  const work = maintenanceOn(service.connection, owner, { info }, 300)
  const run = () => work(async () => void ran.push(String(await maintenanceUntil(db.unscoped))), [])
  const process = { id: randomUUID(), kind: 'work', host: 'far', pid: 4, version: '0.1.9', schema: 1 } as const
  const about = { ...process, logLevel: 'info', settings: {} }
  await beat(db.unscoped, { ...about, state: 'ready' })
  await expect(run()).rejects.toThrow(
    'These processes did not come to rest: work 0.1.9 on far, process 4. Stop them, or wait for what they do; nothing was changed, and maintenance is over.',
  )
  expect([ran, await maintenanceUntil(db.unscoped)]).toEqual([[], null])
  await beat(db.unscoped, { ...about, state: 'maintenance' })
  await run()
  expect(ran).toEqual([expect.stringMatching(/^20/)])
  expect(await maintenanceUntil(db.unscoped)).toBeNull()
  await leave(db.unscoped, about.id)
})

test('a process whose program knows too little of the schema stays up, takes no work, is not ready, and gets no new connection', async () => {
  const { client, all } = await WORK()
  const superuser = new pg.Client({ ...service.connection })
  await superuser.connect()
  const row = `(version, name, hash, least, program) values (${KNOWS + 1}, 'later.sql', '', ${KNOWS + 1}, 'later')`
  await superuser.query(`insert into perennial.migrations ${row}; select pg_notify('watch', '')`)
  await learned('outdated')
  for (const answer of await all())
    expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'outdated', '2'])
  expect((await anonymous.get('/i/some-link')).status).toBe(503)
  const ready = await anonymous.get('/readyz')
  expect([ready.status, codeOf(ready)]).toEqual([503, 'not_ready'])
  for (const path of ALWAYS) expect([path, (await anonymous.get(path)).status]).toEqual([path, 200])
  const later = openTestDatabase(service.connection, { knows: KNOWS })
  const asked = [
    later.unscoped.rows(sql`select 1`),
    later.reader(client.id).rows(sql`select 1`),
    later.lookup(client.id).rows(sql`select 1`),
    later.snapshot(client.id).rows(sql`select 1`),
  ]
  for (const answer of await Promise.allSettled(asked))
    expect(answer).toMatchObject({ status: 'rejected', reason: { problems: [{ code: 'outdated' }] } })
  // It makes itself known all the same.
  expect(await later.onWatch.value(sql`select 1`)).toBe(1)
  await later.close()
  await superuser.query(`delete from perennial.migrations where version > ${KNOWS}; select pg_notify('watch', '')`)
  await learned(undefined)
  expect((await client.get('/v1/customers')).status).toBe(200)
  await superuser.end()
})
