import { describe, expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { startTestService } from '../../../test/support/app.ts'
import { scheduleRuns } from './duties.ts'
import { type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { lockCustomer } from '../customers/queries.ts'
import {
  addCustomer,
  addPackage,
  addTax,
  checkBooks,
  differencesOf,
  invoicesOf,
  moveTo,
  rowsOf,
} from '../../../test/support/shop.ts'
import { releaseRun } from './queries.ts'
import { takeRun, workRun } from './run.ts'
import {
  countRows,
  insertSubscribers,
  moveLeases,
  newRun,
  rateTermOf,
  sleepUntil,
  startWorkerProcess,
} from './run.testing.ts'

const service = await startTestService()
const REAL_NOW = Date.parse('2027-01-01T00:00:00Z')
const deps = (chunk = 4000) => ({
  db: service.db,
  realClock: () => REAL_NOW,
  order: ORDER_OF_DAY,
  chunk,
})

/** An account in which some subscriptions of 31.00 a month, taxed 15 %, fell due on 1 January. */
async function dueAccount(customers: number, clockAt = '2027-01-01T08:00:00.000Z') {
  const client = await service.newAccount({ clockAt })
  await addTax(client, 'VAT', { Perc: 0.15 })
  const plan = await addPackage(client)
  await insertSubscribers(service, client, { rateTermID: rateTermOf(plan), dueOn: '2027-01-01', customers })
  const { body } = await client.get('/v1/subscriptions?page_size=200')
  const ids: bigint[] = body.map(({ subscriptionID }: any) => BigInt(subscriptionID))
  return { client, plan, ids, customerIds: body.map(({ customerID }: any) => BigInt(customerID)) as bigint[] }
}

const readRun = async (client: Awaited<ReturnType<typeof dueAccount>>['client'], run: bigint) =>
  (await client.get(`/v1/billingruns/${run}`)).body

describe('exactly once', () => {
  test('a run that is killed again and again in the middle of its chunks bills every subscription once, without a gap', async () => {
    const { client } = await dueAccount(120)
    const run = await newRun(service, client.id, '2027-01-01')
    const { connection } = service
    const about = { connection, account: client.id, run, chunk: 7 }
    for (const kill of [1, 2, 3]) {
      await moveLeases(service, client.id, '-1 second')
      const worker = startWorkerProcess({ ...about, realNow: REAL_NOW + kill * 3_600_000 })
      await worker.said('chunk')
      worker.child.kill('SIGKILL')
      await worker.ended
      const { invoices, charges, events } = await countRows(service, client.id)
      expect(invoices % 7).toBe(0)
      expect([charges, events]).toEqual([invoices, invoices])
    }
    await moveLeases(service, client.id, '-1 second')
    const last = startWorkerProcess({ ...about, realNow: REAL_NOW + 5 * 3_600_000 })
    expect(await last.said('done')).toBeDefined()
    expect(await countRows(service, client.id)).toEqual({
      invoices: 120,
      charges: 120,
      events: 120,
      total: 120 * 3565,
      due: 0,
    })
    await checkBooks(service, client)
    expect(await readRun(client, run)).toMatchObject({ State: 'done', Done: 120, Total: 120, Invoices: 120, Failed: 0 })
  })

  test('a second run finds nothing left, and a finished run is not taken again', async () => {
    const { client } = await dueAccount(5)
    const first = await newRun(service, client.id, '2027-01-01')
    expect(await workRun(deps(), client.id, first)).toMatchObject({ done: 5, invoices: 5 })
    expect(await workRun(deps(), client.id, first)).toBeUndefined()
    const second = await newRun(service, client.id, '2027-01-01')
    expect(await workRun(deps(), client.id, second)).toMatchObject({ done: 0, invoices: 0, failures: [] })
    expect(await readRun(client, second)).toMatchObject({ State: 'done', Done: 0, Total: 0 })
  })

  test('several workers side by side on one account bill every subscription once and all of their runs end', async () => {
    const { client } = await dueAccount(90)
    const runs = [await newRun(service, client.id, '2027-01-01'), await newRun(service, client.id, '2027-01-01')]
    const both = await Promise.all(runs.map((run) => workRun(deps(4), client.id, run)))
    expect(both.reduce((sum, totals) => sum + (totals?.invoices ?? 0), 0)).toBe(90)
    expect(await countRows(service, client.id)).toMatchObject({ invoices: 90, charges: 90, due: 0 })
    await checkBooks(service, client)
    for (const run of runs) {
      const { Done, Total, State } = await readRun(client, run)
      expect([State, Done]).toEqual(['done', Total])
    }
  })

  test('one run is worked by one worker at a time; another may go on with it when its lease is past', async () => {
    const { client } = await dueAccount(6)
    const run = await newRun(service, client.id, '2027-01-01')
    const killed = workRun(deps(2), client.id, run, ({ done }) => {
      if (done === 4) throw new Error('killed here')
    })
    await expect(killed).rejects.toThrow('killed here')
    expect(await workRun(deps(2), client.id, run)).toBeUndefined()
    expect(await readRun(client, run)).toMatchObject({
      State: 'running',
      Done: 4,
      Total: 6,
      Invoices: 4,
      FinishedDate: null,
    })
    await moveLeases(service, client.id, '-1 second')
    expect(await workRun(deps(2), client.id, run)).toMatchObject({ done: 2, invoices: 2 })
    expect(await readRun(client, run)).toMatchObject({ State: 'done', Done: 6, Total: 6, Invoices: 6, TimeLeft: 0 })
  })

  test('a lease that ends later than any can was taken before the clock stepped back, and holds nobody off', async () => {
    const { client } = await dueAccount(2)
    const run = await newRun(service, client.id, '2027-01-01')
    await service.db.transaction(client.id, (tx) => takeRun(tx, deps(), run))
    expect(await workRun(deps(), client.id, run)).toBeUndefined()
    await moveLeases(service, client.id, '2 days')
    expect(await workRun(deps(), client.id, run)).toMatchObject({ done: 2 })
  })

  test('a run that its worker lets go of is taken by the next at once', async () => {
    const { client } = await dueAccount(2)
    const run = await newRun(service, client.id, '2027-01-01')
    const taken = await service.db.transaction(client.id, (tx) => takeRun(tx, deps(), run))
    expect(taken).toMatchObject({ total: 2 })
    expect(await workRun(deps(), client.id, run)).toBeUndefined()
    await service.db.transaction(client.id, (tx) => releaseRun(tx, run))
    expect(await workRun(deps(), client.id, run)).toMatchObject({ done: 2 })
  })

  test('the database refuses a state that is set back; where more is set back behind its back, verification tells of the days that are billed twice', async () => {
    const { client, ids } = await dueAccount(1)
    await moveTo(client, '2027-02-02')
    const setBack = (lastFrom: Fragment) =>
      service.db.transaction(client.id, (tx) =>
        tx.rows(
          sql`update subscription_billing set next_from = '2027-02-01', due_on = '2027-02-01', due_in_cycle_on = null, cycle_day = null, last_from = ${lastFrom} where account_id = ${client.id}`,
        ),
      )
    await expect(setBack(fragment`last_from`)).rejects.toThrow('subscription_billing_onward')
    await checkBooks(service, client)
    await setBack(fragment`'2027-01-01'`)
    await moveTo(client, '2027-02-03')
    const told = await differencesOf(service, client)
    expect(told.map(({ check, recordType, recordId }) => ({ check, recordType, recordId }))).toContainEqual({
      check: 'days charged twice',
      recordType: 'subscription',
      recordId: ids[0],
    })
  })
})

describe('customers in the way', () => {
  test('requests beside a run: what they bill themselves the run leaves, what they suspend it passes over', async () => {
    const { client, ids, customerIds } = await dueAccount(40)
    const run = newRun(service, client.id, '2027-01-01').then((id) => workRun(deps(3), client.id, id))
    const requests = ids.flatMap((id, index) => [
      ...(index % 3 === 0 ? [client.put(`/v1/subscriptions/${id}/cancel/renewal`)] : []),
      ...(index % 5 === 0 ? [client.put(`/v1/customers/${customerIds[index]}/suspend`)] : []),
    ])
    const statuses = (await Promise.all(requests)).map(({ status }) => status)
    expect(statuses).toEqual(statuses.map(() => 204))
    expect(await run).toMatchObject({ failures: [] })
    const billed = (await invoicesOf(client)).map(({ customerID }) => BigInt(customerID))
    expect(new Set(billed).size).toBe(billed.length)
    const paused = customerIds.filter((_, index) => index % 5 === 0)
    expect(customerIds.filter((id) => !billed.includes(id) && !paused.includes(id))).toEqual([])
    await checkBooks(service, client)
  })

  test('a locked customer is passed over and come back to before the run ends', async () => {
    const { client, customerIds } = await dueAccount(6)
    const held = customerIds[1] as bigint
    const order: number[] = []
    let release = () => {}
    let isHeld = () => {}
    const holding = new Promise<void>((resolve) => (isHeld = resolve))
    const edit = service.db.transaction(client.id, async (tx) => {
      await lockCustomer(tx, client.id, held)
      isHeld()
      await new Promise<void>((resolve) => (release = resolve))
    })
    await holding
    const run = await newRun(service, client.id, '2027-01-01')
    const totals = await workRun(deps(2), client.id, run, ({ done }) => {
      order.push(done)
      if (done === 5) release()
    })
    await edit
    expect(totals).toMatchObject({ done: 6, invoices: 6, failures: [] })
    expect(order.slice(0, 3)).toEqual([1, 3, 5])
    const last = (await client.get('/v1/invoices/by_number/6')).body
    expect(BigInt(last.customerID)).toBe(held)
    await checkBooks(service, client)
  })

  test('customers that are not billed never hide those behind them, whatever the size of a chunk', async () => {
    const { client, customerIds } = await dueAccount(6)
    for (const id of customerIds.slice(0, 4)) await client.put(`/v1/customers/${id}/suspend`)
    expect(await workRun(deps(2), client.id, await newRun(service, client.id, '2027-01-01'))).toMatchObject({
      invoices: 2,
    })
    const { body } = await client.get('/v1/invoices')
    expect(body.map(({ customerID }: any) => BigInt(customerID))).toEqual(customerIds.slice(4))
  })
})

describe('a broken record', () => {
  test('is listed with its reason, stops nothing, and is tried again by every later run', async () => {
    const { client, ids, customerIds } = await dueAccount(5)
    const dear = await addPackage(client, { price: 999_999_999_999 })
    const setTerm = (id: number) =>
      service.db.transaction(client.id, (tx) =>
        tx.rows(
          sql`update subscriptions set package_rate_term_id = ${id} where account_id = ${client.id} and subscription_id = ${ids[2]}`,
        ),
      )
    const plain = (await client.get(`/v1/subscriptions/${ids[2]}`)).body.packageRateTermID
    await setTerm(rateTermOf(dear))
    const first = await newRun(service, client.id, '2027-01-01')
    await workRun(deps(2), client.id, first)
    expect(await readRun(client, first)).toMatchObject({
      State: 'done',
      Done: 5,
      Total: 5,
      Invoices: 4,
      Failed: 1,
      Failures: [
        {
          subscriptionID: Number(ids[2]),
          customerID: Number(customerIds[2]),
          DueDate: '2027-01-01T00:00:00Z',
          Reason: 'An amount of the invoice reaches 1,000,000,000,000.',
        },
      ],
    })
    const second = await newRun(service, client.id, '2027-01-01')
    expect(await workRun(deps(), client.id, second)).toMatchObject({
      done: 1,
      invoices: 0,
      failures: [{ recordId: ids[2] }],
    })
    await setTerm(plain)
    expect(await workRun(deps(), client.id, await newRun(service, client.id, '2027-01-01'))).toMatchObject({
      invoices: 1,
      failures: [],
    })
    await checkBooks(service, client)
  })

  test('that the database refuses is found among thousands and blamed alone, not the other subscription of its customer', async () => {
    const { client, plan, ids, customerIds } = await dueAccount(9)
    await service.db.transaction(client.id, async (tx) => {
      await tx.rows(sql`
        insert into charge_rows (account_id, display_order, kind, quantity, unit_price, net_minor, gross_minor, subscription_id, stretch, item_id, part,
          period_from, period_until)
        values (${client.id}, 0, 'package', 1, 0, 0, 0, ${ids[4]}, 1, ${plan.packageID}, 0, '2027-01-01', '2027-02-01')`)
      await tx.rows(sql`
        with moved as (
          update subscriptions set customer_id = ${customerIds[4]} where account_id = ${client.id} and subscription_id = ${ids[5]})
        update subscription_billing set customer_id = ${customerIds[4]} where account_id = ${client.id} and subscription_id = ${ids[5]}`)
    })
    const run = await newRun(service, client.id, '2027-01-01')
    expect(await workRun(deps(), client.id, run)).toMatchObject({
      done: 9,
      invoices: 8,
      failures: [{ recordId: ids[4] }],
    })
    const { Failures, Failed, Done } = await readRun(client, run)
    expect([Failed, Done]).toEqual([1, 9])
    expect(Failures[0].Reason).toContain('billed before')
  })
})

describe('after downtime', () => {
  test('each missed period gets its own invoice, dated today, date by date over all subscriptions', async () => {
    const { client, plan, ids } = await dueAccount(2)
    await insertSubscribers(service, client, { rateTermID: rateTermOf(plan), dueOn: '2027-01-15', customers: 1 })
    await sleepUntil(service, client, '2027-03-10T09:00:00.000Z')
    const run = await newRun(service, client.id, '2027-03-10')
    expect(await workRun(deps(), client.id, run)).toMatchObject({ done: 3, invoices: 8 })
    expect(await rowsOf(client)).toEqual([
      '2027-03-10: 2027-01-01 to 2027-01-31 31 = 35.65',
      '2027-03-10: 2027-01-01 to 2027-01-31 31 = 35.65',
      '2027-03-10: 2027-01-15 to 2027-02-14 31 = 35.65',
      '2027-03-10: 2027-02-01 to 2027-02-28 31 = 35.65',
      '2027-03-10: 2027-02-01 to 2027-02-28 31 = 35.65',
      '2027-03-10: 2027-02-15 to 2027-03-14 31 = 35.65',
      '2027-03-10: 2027-03-01 to 2027-03-31 31 = 35.65',
      '2027-03-10: 2027-03-01 to 2027-03-31 31 = 35.65',
    ])
    const { body } = await client.get(`/v1/subscriptions/${ids[0]}`)
    expect(body).toMatchObject({ lastInvDate: '2027-03-10T00:00:00Z', lastRenewDate: '2027-03-01T00:00:00Z' })
    expect(await readRun(client, run)).toMatchObject({ Done: 3, Total: 3, Invoices: 8 })
    await checkBooks(service, client)
  })

  test('taxes are those of today, and an end that passed meanwhile is written down', async () => {
    const { client, ids } = await dueAccount(2)
    const setting = (await client.get('/v1/tax')).body[0]
    await client.put(`/v1/tax/${setting.taxSettingID}`, { Name: 'VAT', rules: [{ Perc: 0.2 }] })
    await service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update subscriptions set end_date = '2027-01-11' where account_id = ${client.id} and subscription_id = ${ids[1]}`,
      ),
    )
    await sleepUntil(service, client, '2027-02-10T09:00:00.000Z')
    const totals = await workRun(deps(), client.id, await newRun(service, client.id, '2027-02-10'))
    expect(totals).toMatchObject({ done: 2, invoices: 3, expired: 1, renewals: 1 })
    expect((await rowsOf(client)).toSorted()).toEqual([
      '2027-02-10: 2027-01-01 to 2027-01-10, 10 of 31 days 10 = 12',
      '2027-02-10: 2027-01-01 to 2027-01-31 31 = 37.2',
      '2027-02-10: 2027-02-01 to 2027-02-28 31 = 37.2',
    ])
    expect((await client.get(`/v1/subscriptions/${ids[1]}`)).body).toMatchObject({
      comp_Status: 'Expired',
      comp_nextInvDate: null,
    })
  })
})

describe('progress', () => {
  test('is told while the run goes on: Done, Total, Failed, Rate, TimeLeft', async () => {
    let now = REAL_NOW
    const ticking = await startTestService({ now: () => now })
    const client = await ticking.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
    const plan = await addPackage(client)
    await insertSubscribers(ticking, client, { rateTermID: rateTermOf(plan), dueOn: '2027-01-01', customers: 8 })
    const run = await newRun(ticking, client.id, '2027-01-01')
    const read = async () => (await client.get(`/v1/billingruns/${run}`)).body
    expect(await read()).toMatchObject({ State: 'waiting', Done: 0, Total: 0, Rate: null, TimeLeft: null })
    const seen: unknown[] = []
    await workRun(
      { db: ticking.db, realClock: () => now, order: ORDER_OF_DAY, chunk: 4 },
      client.id,
      run,
      async ({ done }) => {
        now += 2000
        if (done === 4) {
          const { State, Done, Total, Failed, Rate, TimeLeft } = await read()
          seen.push([State, Done, Total, Failed, Rate, TimeLeft])
        }
      },
    )
    expect(seen[0]).toEqual(['running', 4, 8, 0, 2, 2])
    now += 3_600_000
    const done = await read()
    expect(done).toMatchObject({ State: 'done', Done: 8, Total: 8, TimeLeft: 0 })
    expect(done.Rate).toBeGreaterThan(0.5)
  })
})

test('a transaction has as many records as it may, whoever has how many of them, and a customer is billed whole', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const rateTermID = rateTermOf(await addPackage(client))
  await insertSubscribers(service, client, { rateTermID, dueOn: '2027-01-01', customers: 4, each: 3 })
  const run = await newRun(service, client.id, '2027-01-01')
  const seen: number[] = []
  await workRun(
    { db: service.db, realClock: () => REAL_NOW, order: ORDER_OF_DAY, chunk: 5 },
    client.id,
    run,
    ({ done }) => {
      if (done !== seen.at(-1)) seen.push(done)
    },
  )
  // The fifth record is the second of its customer, whose third comes along.
  expect(seen).toEqual([6, 12])
  expect((await client.get(`/v1/billingruns/${run}`)).body).toMatchObject({ State: 'done', Invoices: 12, Failed: 0 })
})

describe('the scheduler', () => {
  test('starts one run an account at its own midnight, once however many workers look, and none where nothing is due', async () => {
    let now = Date.parse('2027-01-31T09:30:00Z')
    const real = await startTestService({ now: () => now })
    const looks = () =>
      Promise.all([1, 2, 3].map(() => scheduleRuns({ db: real.db, realClock: () => now, order: ORDER_OF_DAY })))
    const started = async () => (await looks()).reduce((sum, count) => sum + count, 0)
    const accountIn = async (timeZone: string) => {
      const client = await real.newAccount({ mode: 'live', clockAt: null })
      await real.db.transaction(client.id, (tx) =>
        tx.rows(sql`update accounts set time_zone = ${timeZone} where account_id = ${client.id}`),
      )
      return client
    }
    const [auckland, honolulu, idle] = [
      await accountIn('Pacific/Auckland'),
      await accountIn('Pacific/Honolulu'),
      await accountIn('UTC'),
    ]
    for (const client of [auckland, honolulu]) {
      const plan = await addPackage(client)
      const customerID = await addCustomer(client)
      await client.post('/v1/subscriptions', { customerID, packageID: plan.packageID, StartDate: '2027-01-01' })
    }
    expect(await started()).toBe(0)
    // Midnight of 1 February: 11:00 UTC in Auckland, 10:00 UTC a day later in Honolulu.
    now = Date.parse('2027-01-31T11:00:00Z')
    expect(await started()).toBe(1)
    expect(await started()).toBe(0)
    now = Date.parse('2027-02-01T09:59:00Z')
    expect(await started()).toBe(0)
    now = Date.parse('2027-02-01T10:00:00Z')
    expect(await started()).toBe(1)
    const [run] = (await auckland.get('/v1/billingruns')).body
    expect(run).toMatchObject({ Cause: 'schedule', State: 'waiting', Until: '2027-02-01T00:00:00+13:00' })
    await workRun({ db: real.db, realClock: () => now, order: ORDER_OF_DAY }, auckland.id, BigInt(run.billingRunID))
    expect(await rowsOf(auckland)).toEqual([
      '2027-01-31: 2027-01-01 to 2027-01-31 31 = 31',
      '2027-02-01: 2027-02-01 to 2027-02-28 31 = 31',
    ])
    expect((await idle.get('/v1/billingruns')).body).toEqual([])
    // After a month of downtime one run catches up.
    now = Date.parse('2027-04-10T12:00:00Z')
    expect(await started()).toBe(2)
  })

  test('leaves accounts whose clock stands still to those who move it', async () => {
    const { client } = await dueAccount(1)
    const before = (await client.get('/v1/billingruns')).body
    await scheduleRuns({ db: service.db, realClock: () => Date.parse('2030-01-01T00:00:00Z'), order: ORDER_OF_DAY })
    expect((await client.get('/v1/billingruns')).body).toEqual(before)
    await moveTo(client, '2027-01-02')
    expect(await rowsOf(client)).toHaveLength(1)
  })
})
