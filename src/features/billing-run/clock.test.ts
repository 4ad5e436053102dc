import { describe, expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { clientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { addDays } from '../../kernel/calendar.ts'
import type { Statement } from '../../platform/database/sql.ts'
import { sql } from '../../platform/database/sql.ts'
import type { Database } from '../../platform/database/database.ts'
import { addPackage, checkBooks, day, invoicesOf, moveTo, rowsOf, shop, subscribe } from '../../../test/support/shop.ts'
import { moveClock } from './clock.ts'
import { insertSubscribers, rateTermOf, startClockProcess } from './run.testing.ts'

const service = await startTestService()
const put = (client: TestClient, Now: string) => client.put('/v1/clock', { Now })
const codesOf = (reply: any) => reply.body.Errors.map(({ Code }: any) => Code)

/** Lets the time pass after which the lease of one that died has lapsed. */
const lapse = (client: TestClient) =>
  service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update leases set leased_until = now() - interval '1 second' where account_id = ${client.id}`),
  )

describe('what is refused', () => {
  test('the present value is 200 and does nothing; an earlier one is 409', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
    const same = await put(client, '2027-01-01T08:00:00Z')
    expect([same.status, same.body]).toEqual([
      200,
      {
        Now: '2027-01-01T08:00:00.000Z',
        From: '2027-01-01T08:00:00.000Z',
        Days: 0,
        Invoices: 0,
        Renewals: 0,
        Expired: 0,
        Collected: 0,
        Declined: 0,
        Unknown: 0,
        Failed: [],
      },
    ])
    const earlier = await put(client, '2027-01-01T07:59:59Z')
    expect([earlier.status, codesOf(earlier)]).toEqual([409, ['clock_backwards']])
    expect((await client.get('/v1/clock')).body).toEqual({
      Now: '2027-01-01T08:00:00.000Z',
      Until: null,
      billingRunID: null,
    })
  })

  test('ten years in one call, not a second more: 400', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
    const tooFar = await put(client, '2037-01-01T08:00:01Z')
    expect([tooFar.status, codesOf(tooFar)]).toEqual([400, ['clock_too_far']])
    const far = await put(client, '2037-01-01T08:00:00Z')
    expect([far.status, far.body.Days]).toEqual([200, 3653])
  })

  test('a moment that cannot be read is 400, and so is none', async () => {
    const client = await service.newAccount()
    for (const body of [{}, { Now: null }, { Now: '31 Feb 2027' }, { Now: 5 }]) {
      expect((await client.put('/v1/clock', body)).status).toBe(400)
    }
  })

  test('a live account follows real time: reading works, moving is 409', async () => {
    const now = Date.parse('2027-05-05T05:05:05Z')
    const live = await startTestService({ now: () => now })
    const client = await live.newAccount({ mode: 'live', clockAt: null })
    expect((await client.get('/v1/clock')).body).toEqual({
      Now: '2027-05-05T05:05:05.000Z',
      Until: null,
      billingRunID: null,
    })
    expect([codesOf(await put(client, '2028-01-01'))]).toEqual([['clock_live']])
  })

  test('while it is moved, another move is 409 and the first goes on', async () => {
    const { client, add } = await shop(service, { termType: 'days', term: 1, price: 1 })
    await add()
    const both = await Promise.all([put(client, '2027-01-20'), put(client, '2027-01-20')])
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const refused = both.find(({ status }) => status === 409)
    expect([codesOf(refused), refused?.headers['retry-after']]).toEqual([['clock_moving'], '1'])
    expect(await rowsOf(client)).toHaveLength(20)
    await checkBooks(service, client)
  })

  test('many accounts at once wait for each other instead of running out of connections', async () => {
    const clients = await Promise.all(Array.from({ length: 12 }, () => service.newAccount()))
    const moved = await Promise.all(clients.map((client) => put(client, '2027-02-01')))
    expect(moved.map(({ status }) => status)).toEqual(clients.map(() => 200))
  })
})

describe('real time', () => {
  test('a test account follows it until it is first moved, and stands still afterwards', async () => {
    let now = Date.parse('2027-01-01T00:00:00Z')
    const ticking = await startTestService({ now: () => now })
    const client = await ticking.newAccount({ clockAt: null })
    expect((await client.get('/v1/clock')).body.Now).toBe('2027-01-01T00:00:00.000Z')
    now += 1500
    const { Now } = (await client.get('/v1/clock')).body
    expect(Now).toBe('2027-01-01T00:00:01.500Z')
    now += 250
    // What was read a moment ago is still the present value; the clock never goes back to it.
    expect((await put(client, Now)).body).toMatchObject({ Now: '2027-01-01T00:00:01.750Z', Days: 0 })
    now += 3_600_000
    expect((await client.get('/v1/clock')).body.Now).toBe('2027-01-01T00:00:01.750Z')
    expect((await put(client, '2027-01-01T00:00:01.5Z')).status).toBe(409)
  })
})

describe('what falls due on the way', () => {
  test('is done in date order and counted: Days, Invoices, Renewals, Expired, Failed', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
    await subscribe(client, { price: 10 }) // renews on 1 Feb and 1 Mar
    await subscribe(client, { price: 20, trialPeriod: 14 }, {}) // first period on 15 Jan, renews on 15 Feb and 15 Mar
    await subscribe(client, { price: 30 }, { EndDate: '2027-02-11' }) // renews on 1 Feb for 10 of 28 days
    await subscribe(client, { price: 0 }) // renews without invoices
    await subscribe(client, { price: 40, setupFee: 4 }, { StartDate: '2027-03-10' })
    const moved = await moveTo(client, '2027-03-15')
    expect(moved).toEqual({
      Now: '2027-03-15T12:00:00.000Z',
      From: '2027-01-01T08:00:00.000Z',
      Days: 73,
      Invoices: 7,
      Renewals: 7,
      Expired: 1,
      Collected: 0,
      Declined: 0,
      Unknown: 0,
      Failed: [],
    })
    expect((await rowsOf(client)).slice(2)).toEqual([
      '2027-01-15: 2027-01-15 to 2027-02-14 20 = 20',
      '2027-02-01: 2027-02-01 to 2027-02-28 10 = 10',
      '2027-02-01: 2027-02-01 to 2027-02-10, 10 of 28 days 10.71 = 10.71',
      '2027-02-15: 2027-02-15 to 2027-03-14 20 = 20',
      '2027-03-01: 2027-03-01 to 2027-03-31 10 = 10',
      '2027-03-10: Set-up fee 4 + 2027-03-10 to 2027-04-09 40 = 44',
      '2027-03-15: 2027-03-15 to 2027-04-14 20 = 20',
    ])
    await checkBooks(service, client)
  })

  test('a move of two parts brings the same as one of the whole', async () => {
    const whole = await service.newAccount({ clockAt: '2027-01-31T08:00:00.000Z' })
    const parts = await service.newAccount({ clockAt: '2027-01-31T08:00:00.000Z' })
    for (const client of [whole, parts]) await subscribe(client, { price: 9.99 }, { numDaysBeforeToInv: 10 })
    const all = await moveTo(whole, '2027-12-31')
    const first = await moveTo(parts, '2027-06-20T00:00:00Z')
    const second = await moveTo(parts, '2027-12-31')
    expect(first.Days + second.Days).toBe(all.Days)
    expect(first.Invoices + second.Invoices).toBe(all.Invoices)
    expect(await rowsOf(parts)).toEqual(await rowsOf(whole))
  })

  test('what cannot be billed is listed once, stops nothing, and is tried again by the next move', async () => {
    const { client, plan, add } = await shop(service)
    await add()
    const broken = await add()
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        insert into charge_rows (account_id, display_order, kind, quantity, unit_price, net_minor, gross_minor, subscription_id, stretch, item_id, part, period_from)
        values (${client.id}, 0, 'package', 1, 0, 0, 0, ${broken.body.subscriptionID}, 1, ${plan.packageID}, 0, '2027-02-01')`),
    )
    const moved = await moveTo(client, '2027-04-01')
    expect(moved).toMatchObject({
      Invoices: 3,
      Renewals: 3,
      Failed: [{ subscriptionID: broken.body.subscriptionID, DueDate: '2027-02-01T00:00:00Z' }],
    })
    expect((await put(client, '2027-04-01T12:00:00Z')).body).toMatchObject({ Days: 0, Invoices: 0, Failed: [{}] })
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`delete from charge_rows where account_id = ${client.id} and invoice_id is null`),
    )
    expect(await moveTo(client, '2027-04-02')).toMatchObject({ Invoices: 3, Failed: [] })
    await checkBooks(service, client)
  })

  test('follows the days of the account’s zone through daylight saving', async () => {
    const client = await service.newAccount({ clockAt: '2027-03-01T00:00:00.000Z' })
    await client.put('/v1/account', { TimeZone: 'Europe/Berlin' })
    await subscribe(client, { termType: 'days', term: 14, price: 14 })
    const moved = await moveTo(client, '2027-04-11T21:59:59Z')
    expect(moved).toMatchObject({ Days: 41, Invoices: 2 })
    expect((await moveTo(client, '2027-04-11T22:00:00Z')).Invoices).toBe(1)
    const { body } = await client.get('/v1/invoices')
    expect(body.map((invoice: any) => invoice.InvoiceDate)).toEqual([
      '2027-03-01T00:00:00+01:00',
      '2027-03-15T00:00:00+01:00',
      '2027-03-29T00:00:00+02:00',
      '2027-04-12T00:00:00+02:00',
    ])
  })
})

describe('when it cannot go on', () => {
  /** A database whose statements begin to fail when told so. */
  function failing(db: Database, isBroken: (statement: Statement) => boolean): Database {
    return {
      ...db,
      transaction: (account, work, options) =>
        db.transaction(
          account,
          (tx) =>
            work({
              ...tx,
              rows: (statement) => {
                if (isBroken(statement)) throw new Error('the disk is full')
                return tx.rows(statement)
              },
            }),
          options,
        ),
    }
  }

  test.each([
    ['on the way', '2027-02-01', '2027-04-10T09:00:00.000Z', 2],
    ['on its last day', '2027-04-01', '2027-04-01T00:00:00.000Z', 0],
  ])('it stands at the day reached and the same call goes on from there: %s', async (_name, stopsOn, to, missing) => {
    const { client, add } = await shop(service)
    await add()
    let isBroken = true
    let reached = ''
    const db = failing(service.db, ({ text, values }) => {
      if (text.includes('update accounts set clock_at')) reached = String(values[0])
      return isBroken && reached.startsWith(stopsOn) && text.includes('update billing_runs set done')
    })
    const wish = { account: client.id, to, actor: 'test' }
    const stopped = moveClock({ db, realClock: Date.now, order: ORDER_OF_DAY }, wish)
    await expect(stopped).rejects.toMatchObject({ kind: 'broken' })
    await expect(stopped).rejects.toThrow(`stands at ${stopsOn}`)
    isBroken = false
    const rows = await service.db
      .reader(client.id)
      .rows<{ now: string }>(sql`select clock_at as "now" from accounts where account_id = ${client.id}`)
    expect(day(rows[0]?.now ?? null)).toBe(stopsOn)
    const invoicesBefore = (await rowsOf(client)).length
    const moved = await moveClock({ db, realClock: Date.now, order: ORDER_OF_DAY }, wish)
    expect(moved).toMatchObject({ now: to, totals: { invoices: missing + 1, failures: [] } })
    expect(invoicesBefore).toBe(3 - missing)
    expect(await rowsOf(client)).toEqual([
      '2027-01-01: 2027-01-01 to 2027-01-31 31 = 31',
      '2027-02-01: 2027-02-01 to 2027-02-28 31 = 31',
      '2027-03-01: 2027-03-01 to 2027-03-31 31 = 31',
      '2027-04-01: 2027-04-01 to 2027-04-30 31 = 31',
    ])
    await checkBooks(service, client)
  })

  test('killed on its way, it stands at a day that is done or begun, and the next call goes on from there', async () => {
    const { client, add } = await shop(service, { termType: 'days', price: 1 })
    await add()
    const to = '2027-02-10T00:00:00.000Z'
    const killed = startClockProcess({ connection: service.connection, account: client.id, to })
    expect(await killed.said('day 2027-01-03')).toBeDefined()
    killed.child.kill('SIGKILL')
    await killed.ended
    const rows = await service.db
      .reader(client.id)
      .rows<{ now: string }>(sql`select clock_at as "now" from accounts where account_id = ${client.id}`)
    const reached = day(rows[0]?.now ?? null) as string
    const billedUntil = day((await invoicesOf(client)).at(-1).InvoiceDate) as string
    expect([reached, addDays(reached, -1)]).toContain(billedUntil)
    const early = await put(client, to)
    expect([early.status, codesOf(early)]).toEqual([409, ['clock_moving']])
    await lapse(client)
    const moved = await put(client, to)
    expect(moved.body).toMatchObject({ Now: to, Failed: [] })
    const dates = (await invoicesOf(client)).map(({ InvoiceDate }) => day(InvoiceDate))
    expect(dates).toEqual(Array.from({ length: 41 }, (_, index) => addDays('2027-01-01', index)))
    await checkBooks(service, client)
  })

  test('one that lost its lease stops where it is: it sets nothing back that another has moved on', async () => {
    const { client, add } = await shop(service, { termType: 'days', price: 1 })
    await add()
    let renewals = 0
    const db: Database = {
      ...service.db,
      transaction: (account, work, options) =>
        service.db.transaction(
          account,
          (tx) =>
            work({
              ...tx,
              rows: async (statement) => {
                if (statement.text.includes('update leases set')) renewals += 1
                // Taking it was the first update.
                if (renewals === 4)
                  await tx.rows(sql`update leases set holder = gen_random_uuid() where account_id = ${client.id}`)
                return tx.rows(statement)
              },
            }),
          options,
        ),
    }
    const wish = { account: client.id, to: '2027-01-09T00:00:00.000Z', actor: 'test' }
    await expect(moveClock({ db, realClock: Date.now, order: ORDER_OF_DAY }, wish)).rejects.toMatchObject({
      kind: 'busy',
    })
    const [stopped] = await service.db
      .reader(client.id)
      .rows<{ now: string }>(sql`select clock_at as "now" from accounts where account_id = ${client.id}`)
    expect(day(stopped?.now ?? null)).toBe('2027-01-02')
    expect(codesOf(await put(client, wish.to))).toEqual(['clock_moving'])
    await lapse(client)
    expect((await put(client, wish.to)).status).toBe(200)
    await checkBooks(service, client)
  })

  test('the database being away is told as such, and nothing is lost', async () => {
    const { client } = await shop(service)
    const away = Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
    const db: Database = {
      ...service.db,
      transaction: (account, work, options) =>
        service.db.transaction(
          account,
          (tx) =>
            work({
              ...tx,
              rows: async (statement) => {
                if (statement.text.includes('insert into billing_runs')) throw away
                return tx.rows(statement)
              },
            }),
          options,
        ),
    }
    const wish = { account: client.id, to: '2027-02-01T00:00:00.000Z', actor: 'test' }
    await expect(moveClock({ db, realClock: Date.now, order: ORDER_OF_DAY }, wish)).rejects.toMatchObject({
      kind: 'unavailable',
    })
    expect((await put(client, '2027-02-01')).status).toBe(200)
  })
})

test('a clock that is moved is shown by the other processes as well', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const other = clientOf(service.app, client.id, client.secret)
  expect((await other.get('/v1/clock')).body.Now).toBe('2027-01-01T08:00:00.000Z')
  let hear = (_payload: string) => {}
  const heard = new Promise<string>((resolve) => (hear = resolve))
  const stopListening = await service.db.listen('account_changed', (payload) => hear(payload))
  await put(client, '2027-01-02')
  expect(await heard).toBe(String(client.id))
  await stopListening()
  expect((await other.get('/v1/clock')).body.Now).toBe('2027-01-02T00:00:00.000Z')
})

test('many fall due on one day in several chunks, and every one is billed', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const plan = await addPackage(client, { price: 1 })
  await insertSubscribers(service, client, { rateTermID: rateTermOf(plan), dueOn: '2027-01-02', customers: 130 })
  const wish = { account: client.id, to: '2027-01-02T00:00:00.000Z', actor: 'test' }
  const { totals } = await moveClock({ db: service.db, realClock: Date.now, order: ORDER_OF_DAY, chunk: 50 }, wish)
  expect(totals).toMatchObject({ done: 130, invoices: 130, failures: [] })
})
