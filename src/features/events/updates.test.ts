import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { settleUpdates } from '../../platform/database/updates.ts'
import { creditOf, moneyShop, paymentOf } from '../money/money.testing.ts'
import { newPackage, rate, version } from '../packages/packages.testing.ts'

const service = await startTestService()

/** Asks a list for what was updated since an instant: the identifiers, and what to send next. */
async function updatedOf(client: TestClient, path: string, since: string) {
  const reply = await client.get(`${path}${path.includes('?') ? '&' : '?'}updatedSince=${encodeURIComponent(since)}`)
  expect(reply.status, reply.text).toBe(200)
  const until = reply.headers['perennial-until']
  expect(until).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  return {
    ids: reply.body.map((record: Record<string, number>) => Object.values(record)[0]),
    until: until as string,
    reply,
  }
}

/** Returns an instant of the database after everything that was committed so far and before everything that follows. */
async function now(): Promise<string> {
  await service.db.unscoped.rows(sql`select pg_sleep(0.002)`)
  return (await settleUpdates(service.db)).takenAt
}

const EPOCH = '1970-01-01T00:00:00Z'

describe('updatedSince', () => {
  test('lists customers that were added or changed since, and says what to send next', async () => {
    const client = await service.newAccount()
    const add = async (Name: string) => (await client.post('/v1/customers', { Name, isCompany: true })).body.customerID
    const [first, second] = [await add('One'), await add('Two')]
    const all = await updatedOf(client, '/v1/customers', EPOCH)
    expect(all.ids).toEqual([first, second])
    const since = await now()
    const third = await add('Three')
    await client.put(`/v1/customers/${first}`, { Name: 'Uno', isCompany: true })
    const next = await updatedOf(client, '/v1/customers', since)
    expect(next.ids).toEqual([first, third])
    expect((await updatedOf(client, '/v1/customers?sort=-id&page_size=1&total=true', since)).reply).toMatchObject({
      headers: { 'total-count': '2', link: expect.stringContaining('updatedSince=') },
      body: [{ customerID: third }],
    })
    expect((await updatedOf(client, '/v1/customers?q=uno', since)).ids).toEqual([first])
    const page = await updatedOf(client, '/v1/customers?page_size=1', EPOCH)
    expect(page.reply.headers['link']).toContain(`after=${first}`)
    expect((await updatedOf(client, `/v1/customers?after=${first}`, EPOCH)).ids).toEqual([second, third])
    expect((await updatedOf(client, `/v1/customers?after=${third}&sort=-id`, EPOCH)).ids).toEqual([second, first])
    expect((await updatedOf(client, `/v1/customers?after=${second}&q=th`, EPOCH)).ids).toEqual([third])
    expect((await updatedOf(client, '/v1/customers', await now())).ids).toEqual([])
  })

  test('counts money on an invoice: allocated, moved, freed, deleted, credited and written off', async () => {
    const { client, customerID, invoices } = await moneyShop(service, 3)
    const [a, b] = invoices as [number, number]
    /** The invoices that a change of something else updates. */
    const updatedBy = async (change: () => Promise<{ status: number; text: string; body: any }>) => {
      const since = await now()
      const reply = await change()
      expect(reply.status, reply.text).toBeLessThan(300)
      return { ids: (await updatedOf(client, '/v1/invoices', since)).ids, body: reply.body, since }
    }
    const body = (Allocations: object[]) => paymentOf(customerID, 50, { Allocations })
    const on = (invoiceID: number, amountApplied: number) => ({ invoiceID, amountApplied })
    const paid = await updatedBy(() => client.post('/v1/payments', body([on(a, 50)])))
    expect(paid.ids).toEqual([a])
    const payment = `/v1/payments/${paid.body.paymentID}`
    expect((await updatedBy(() => client.put(payment, body([on(b, 50)])))).ids).toEqual([a, b])
    expect((await updatedBy(() => client.put(payment, body([])))).ids).toEqual([b])
    expect((await updatedBy(() => client.put(payment, body([on(a, 20)])))).ids).toEqual([a])
    expect((await updatedBy(() => client.delete(payment))).ids).toEqual([a])
    const credited = await updatedBy(() => client.post('/v1/credits', creditOf(customerID, 23, { invoiceID: b })))
    expect(credited.ids).toEqual([b])
    expect((await updatedOf(client, '/v1/credits', credited.since)).ids).toEqual([credited.body.creditNoteID])
    const debt = {
      customerID,
      Type: 'negative',
      AdjustmentType: 'bad_debt',
      Ref: 'lost',
      Date: '2027-01-01',
      Amount: 10,
    }
    const LinkedAllocations = [{ objectID: a, AmtAllocated: 10, isAdjustment: false }]
    expect((await updatedBy(() => client.post('/v1/adjustment/add', { ...debt, LinkedAllocations }))).ids).toEqual([a])
  })

  test('counts money that the service allocates by itself, for the payment too, and a version for its package', async () => {
    const { client, customerID } = await moneyShop(service)
    const { paymentID } = (await client.post('/v1/payments', paymentOf(customerID, 31, { Allocations: [] }))).body
    const { packageID } = await newPackage(client, {
      PackageVersion: version({ packageVersionRates: [rate('USD', { SetupFee: 5 })] }),
    })
    const since = await now()
    const added = await client.post('/v1/subscriptions', { customerID, packageID, StartDate: '2027-01-01' })
    expect(added.status, added.text).toBe(201)
    const issued = (await updatedOf(client, '/v1/invoices', since)).ids
    expect(issued).toHaveLength(1)
    expect((await updatedOf(client, `/v1/invoices?subscriptionID=${added.body.subscriptionID}`, EPOCH)).ids).toEqual(
      issued,
    )
    expect((await updatedOf(client, '/v1/payments', since)).ids).toEqual([paymentID])
    expect((await updatedOf(client, '/v1/subscriptions', since)).ids).toEqual([added.body.subscriptionID])
    expect((await updatedOf(client, `/v1/customers/${customerID}/subscriptions`, since)).ids).toHaveLength(1)
    expect((await updatedOf(client, '/v1/packages', since)).ids).toEqual([])
    const later = await now()
    const versioned = await client.post(`/v1/packages/${packageID}/versions`, version())
    expect(versioned.status, versioned.text).toBe(201)
    expect((await updatedOf(client, '/v1/packages', later)).ids).toEqual([packageID])
  })

  test('of a billing run lists what it issued, and not the subscriptions that it only billed', async () => {
    const { client, customerID } = await moneyShop(service)
    const { packageID } = await newPackage(client)
    await client.post('/v1/subscriptions', { customerID, packageID, StartDate: '2027-01-01' })
    const since = await now()
    expect((await client.put('/v1/clock', { Now: '2027-02-02' })).status).toBe(200)
    expect((await updatedOf(client, '/v1/invoices', since)).ids).toHaveLength(1)
    expect((await updatedOf(client, '/v1/subscriptions', since)).ids).toEqual([])
    expect((await updatedOf(client, '/v1/customers', since)).ids).toEqual([])
  })

  test.each([
    'customers',
    'subscriptions',
    'invoices',
    'recurring-invoices',
    'packages',
    'components',
    'payments',
    'credits',
  ])('is taken by the list of %s, which refuses what is no instant and what is in the future', async (list) => {
    const client = await service.newAccount()
    expect((await updatedOf(client, `/v1/${list}`, await now())).ids).toEqual([])
    expect((await client.get(`/v1/${list}`)).headers['perennial-until']).toBeUndefined()
    for (const wrong of ['yesterday', '2999-01-01', '2026-02-31T00:00:00Z']) {
      const refused = await client.get(`/v1/${list}?updatedSince=${wrong}`)
      expect([refused.status, refused.body.Errors[0].Field]).toEqual([400, 'updatedSince'])
    }
  })

  test('counts as now up to 5 minutes ahead, as a clock that is fast shows it, and is 400 beyond', async () => {
    const client = await service.newAccount()
    const { customerID } = (await client.post('/v1/customers', { Name: 'Early', isCompany: true })).body
    const ahead = async (seconds: number) => {
      const since = new Date(Date.parse(await now()) + seconds * 1000).toISOString()
      return client.get(`/v1/customers?updatedSince=${since}`)
    }
    const early = await ahead(290)
    expect([early.status, early.body]).toEqual([200, []])
    // What is sent next time is not ahead: nothing is missed that is changed until then.
    const until = early.headers['perennial-until'] as string
    await client.post('/v1/customers', { Name: 'Later', isCompany: true })
    const { ids } = await updatedOf(client, '/v1/customers', until)
    expect(ids.filter((id: number) => id !== customerID)).toHaveLength(1)
    const late = await ahead(330)
    expect([late.status, late.body.Errors[0].Code]).toEqual([400, 'in_future'])
  })
})

describe('Perennial-Until', () => {
  test('stays before a transaction that is open, whose record the next call finds, and waits for nobody', async () => {
    const client = await service.newAccount()
    const writer = new pg.Client(clientConfig(service.connection, undefined))
    await writer.connect()
    await writer.query('begin')
    await writer.query(
      `insert into perennial.event_rows (account_id, type, record_id, happened_at, actor)
       values ($1, 'customer.created', 0, now(), 'test')`,
      [client.id],
    )
    const { customerID } = (await client.post('/v1/customers', { Name: 'Late', isCompany: true })).body
    await writer.query('update perennial.event_rows set record_id = $2 where account_id = $1 and record_id = 0', [
      client.id,
      customerID,
    ])
    const { rows } = await writer.query<{ began: Date; stamped: Date }>(
      'select now() as began, max(recorded_at) as stamped from perennial.event_rows where account_id = $1 and actor = $2',
      [client.id, 'test'],
    )
    const { until } = await updatedOf(client, '/v1/customers', await now())
    expect(new Date(until).getTime()).toBeLessThanOrEqual(new Date(rows[0]!.began).getTime())
    await writer.query('commit')
    await writer.end()
    const next = await updatedOf(client, '/v1/customers', until)
    expect(next.ids).toEqual([customerID])
    expect(next.until > until).toBe(true)
  })

  test('is half an hour behind where other servers write too, whose transactions cannot be seen here', async () => {
    const owner = new pg.Client(clientConfig(service.connection, undefined))
    await owner.connect()
    await owner.query(`set perennial.writing_servers = 'several'`)
    const { rows } = await owner.query(
      `select extract(epoch from taken_at - until)::int as behind from perennial.settle_updates(false)`,
    )
    expect(rows).toEqual([{ behind: 1800 }])
    await owner.end()
  })

  test('of a database that was carried elsewhere: all records count as updated once more', async () => {
    const client = await service.newAccount()
    const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body
    const before = await now()
    expect((await updatedOf(client, '/v1/customers', before)).ids).toEqual([])
    const owner = new pg.Client(clientConfig(service.connection, undefined))
    await owner.connect()
    await owner.query(`update perennial.updates_floor set place = 'elsewhere'`)
    await owner.end()
    const { ids, until } = await updatedOf(client, '/v1/customers', before)
    expect(ids).toEqual([customerID])
    expect((await updatedOf(client, '/v1/customers', until)).ids).toEqual([])
  })
})
