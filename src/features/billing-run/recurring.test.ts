import { describe, expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { addCustomer, addTax, checkBooks, moveTo, rowsOf, shop } from '../../../test/support/shop.ts'
import { forecastRun } from './forecast.ts'
import { workRun } from './run.ts'
import { moveLeases, countRows, newRun, startWorkerProcess } from './run.testing.ts'
import { getAccount } from '../accounts/queries.ts'

/** Recurring invoices are billed by the same run as subscriptions, with the same guarantees. */

const service = await startTestService()
const REAL_NOW = Date.parse('2027-01-01T00:00:00Z')
const deps = (chunk = 4000) => ({ db: service.db, realClock: () => REAL_NOW, order: ORDER_OF_DAY, chunk })
const PATH = '/v1/recurring-invoices'

/** Customers with one recurring invoice of 10.00 and 5.00 each, taxed 15 %, all due on 1 January, by statements: added over HTTP they would be billed. */
async function dueAccount(customers: number) {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  await addTax(client, 'VAT', { Perc: 0.15 })
  await service.db.transaction(client.id, async (tx) => {
    await tx.rows(sql`
      insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
        auto_send_statement, is_collection_hold)
      select ${client.id}, 'bulk ' || n, true, 'Customer ' || n, 'USD', '2026-01-01', false, 'cash', true, false, false
        from generate_series(1, ${customers}::int) n`)
    await tx.rows(sql`
      insert into recurring_invoices (account_id, customer_id, currency, term, term_type, start_date, anchor, anchor_day, lead_days, next_from,
        due_on, has_own_taxes, created_at, last_modified)
      select ${client.id}, customer_id, 'USD', 1, 'months', '2027-01-01', '2027-01-01', 1, 0, '2027-01-01', '2027-01-01', false, '2026-01-01',
             '2026-01-01'
        from customers where account_id = ${client.id} order by customer_id`)
    await tx.rows(sql`
      insert into recurring_invoice_charges (account_id, recurring_invoice_id, display_order, name, quantity, unit_price)
      select ${client.id}, recurring_invoice_id, n, 'Line', 1, case n when 1 then 10 else 5 end
        from recurring_invoices, generate_series(1, 2) n where account_id = ${client.id}`)
  })
  const { body } = await client.get(`${PATH}?page_size=200`)
  return { client, ids: body.map(({ recurInvoiceID }: any) => recurInvoiceID) as number[] }
}

const write = (client: TestClient, statement: ReturnType<typeof sql>) =>
  service.db.transaction(client.id, (tx) => tx.rows(statement))

describe('exactly once', () => {
  test('a run that is killed again and again in the middle of its chunks bills every recurring invoice once, without a gap', async () => {
    const { client } = await dueAccount(60)
    const run = await newRun(service, client.id, '2027-01-01')
    const about = { connection: service.connection, account: client.id, run, chunk: 7 }
    for (const kill of [1, 2]) {
      await moveLeases(service, client.id, '-1 second')
      const worker = startWorkerProcess({ ...about, realNow: REAL_NOW + kill * 3_600_000 })
      await worker.said('chunk')
      worker.child.kill('SIGKILL')
      await worker.ended
      const { invoices, charges, events } = await countRows(service, client.id)
      expect(invoices % 7).toBe(0)
      expect([charges, events]).toEqual([2 * invoices, invoices])
    }
    await moveLeases(service, client.id, '-1 second')
    const last = startWorkerProcess({ ...about, realNow: REAL_NOW + 5 * 3_600_000 })
    expect(await last.said('done')).toBeDefined()
    expect(await countRows(service, client.id)).toMatchObject({
      invoices: 60,
      charges: 120,
      events: 60,
      total: 60 * 1725,
    })
    await checkBooks(service, client)
    expect((await client.get(`/v1/billingruns/${run}`)).body).toMatchObject({
      State: 'done',
      Done: 60,
      Total: 60,
      Failed: 0,
    })
  })

  test('runs side by side and runs after one another bill every recurring invoice once', async () => {
    const { client } = await dueAccount(40)
    const runs = [await newRun(service, client.id, '2027-01-01'), await newRun(service, client.id, '2027-01-01')]
    const both = await Promise.all(runs.map((run) => workRun(deps(4), client.id, run)))
    expect(both.reduce((sum, totals) => sum + (totals?.invoices ?? 0), 0)).toBe(40)
    const later = await newRun(service, client.id, '2027-01-01')
    expect(await workRun(deps(), client.id, later)).toMatchObject({ done: 0, invoices: 0, failures: [] })
    await checkBooks(service, client)
  })

  test('a period that was billed before is refused by the database, told as failed, and keeps nothing else from being billed', async () => {
    const { client, ids } = await dueAccount(3)
    await workRun(deps(), client.id, await newRun(service, client.id, '2027-01-01'))
    await write(
      client,
      sql`update recurring_invoices set next_from = '2027-01-01', last_from = null, due_on = '2027-01-01'
           where account_id = ${client.id} and recurring_invoice_id = ${ids[1]}`,
    )
    const moved = await moveTo(client, '2027-02-01')
    expect(moved).toMatchObject({ Invoices: 2, Renewals: 2 })
    expect(moved.Failed).toMatchObject([
      { subscriptionID: null, recurInvoiceID: ids[1], Reason: expect.stringContaining('billed before') },
    ])
    await checkBooks(service, client)
  })
})

describe('in the run', () => {
  test('subscriptions and recurring invoices of one customer are billed in one run, each with its own invoice', async () => {
    const { client, customerID, add } = await shop(service)
    await add()
    await client.post(PATH, { customerID, RecurInvoiceCharges: [{ UnitCostEx: 10, Line: 'Hosting' }] })
    expect(await moveTo(client, '2027-03-01')).toMatchObject({ Invoices: 4, Renewals: 4, Expired: 0, Failed: [] })
    expect(await rowsOf(client)).toEqual([
      '2027-01-01: 2027-01-01 to 2027-01-31 31 = 31',
      '2027-01-01: 2027-01-01 to 2027-01-31 10 = 10',
      '2027-02-01: 2027-02-01 to 2027-02-28 31 = 31',
      '2027-02-01: 2027-02-01 to 2027-02-28 10 = 10',
      '2027-03-01: 2027-03-01 to 2027-03-31 31 = 31',
      '2027-03-01: 2027-03-01 to 2027-03-31 10 = 10',
    ])
    await checkBooks(service, client)
  })

  test('a forecast counts and sums what the run then makes, and writes nothing', async () => {
    const { client } = await dueAccount(3)
    const account = await getAccount(service.db.reader(client.id), client.id)
    const forecast = await forecastRun(deps(), account, '2027-01-01')
    expect(forecast).toEqual({ records: 3, invoices: 3, totalMinor: new Map([['USD', 5175n]]), failures: [] })
    expect(await countRows(service, client.id)).toMatchObject({ invoices: 0, charges: 0 })
    const run = await newRun(service, client.id, '2027-01-01')
    expect(await workRun(deps(), client.id, run)).toMatchObject({ done: 3, invoices: 3 })
  })

  test('an invoice of the run is told in the events as it was issued', async () => {
    const { client } = await dueAccount(1)
    await workRun(deps(), client.id, await newRun(service, client.id, '2027-01-01'))
    const [{ Record }] = (await client.get('/v1/events?type=invoice.issued')).body
    expect(Record).toMatchObject({ invoiceNum: 1, Total: 17.25, Status: 'Due', Charges: [{ Line: 'Line' }, {}] })
  })

  test('one whose amounts are out of bounds is listed with its reason and is tried again by the next run', async () => {
    const { client, ids } = await dueAccount(2)
    const price = (value: number) =>
      write(
        client,
        sql`update recurring_invoice_charges set unit_price = ${value} where account_id = ${client.id} and recurring_invoice_id = ${ids[0]}`,
      )
    await price(999_999_999_999)
    const run = await newRun(service, client.id, '2027-01-01')
    expect(await workRun(deps(), client.id, run)).toMatchObject({ done: 2, invoices: 1 })
    expect((await client.get(`/v1/billingruns/${run}`)).body.Failures).toMatchObject([
      {
        recurInvoiceID: ids[0],
        subscriptionID: null,
        DueDate: '2027-01-01T00:00:00Z',
        Reason: expect.stringContaining('1,000,000,000,000'),
      },
    ])
    await price(1)
    expect(await workRun(deps(), client.id, await newRun(service, client.id, '2027-01-01'))).toMatchObject({
      invoices: 1,
      failures: [],
    })
  })

  test('what begins while the customer is suspended is dropped whole; what fell due before is still invoiced', async () => {
    const client = await service.newAccount()
    const customerID = await addCustomer(client)
    const add = async (more: object) =>
      (await client.post(PATH, { customerID, RecurInvoiceCharges: [{ UnitCostEx: 10 }], ...more })).body.recurInvoiceID
    const monthly = await add({})
    const yearly = await add({ Term: 12, StartDate: '2027-02-15' })
    await moveTo(client, '2027-01-20')
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect(await moveTo(client, '2027-04-10')).toMatchObject({ Invoices: 0, Failed: [] })
    expect((await client.get(`${PATH}/${monthly}`)).body).toMatchObject({
      comp_Status: 'Active',
      nextRenewDate: '2027-05-01T00:00:00Z',
    })
    expect((await client.get(`${PATH}/${monthly}/preview`)).body).toMatchObject({ Charges: [], Total: 0 })
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    expect((await client.get(`${PATH}/${yearly}`)).body.nextRenewDate).toBe('2028-02-15T00:00:00Z')
    await moveTo(client, '2027-05-01')
    expect(await rowsOf(client)).toEqual([
      '2027-01-01: 2027-01-01 to 2027-01-31 10 = 10',
      '2027-05-01: 2027-05-01 to 2027-05-31 10 = 10',
    ])
  })

  test('a renewal on the day of return is invoiced at once, and an end that came meanwhile is written down', async () => {
    const client = await service.newAccount()
    const customerID = await addCustomer(client)
    const charges = { customerID, RecurInvoiceCharges: [{ UnitCostEx: 10 }] }
    await client.post(PATH, charges)
    const ending = (await client.post(PATH, { ...charges, EndDate: '2027-02-20' })).body.recurInvoiceID
    await client.put(`/v1/customers/${customerID}/archive`)
    await moveTo(client, '2027-03-01')
    await client.put(`/v1/customers/${customerID}/reopen`)
    expect((await rowsOf(client)).at(-1)).toBe('2027-03-01: 2027-03-01 to 2027-03-31 10 = 10')
    const { body } = await client.get('/v1/events?type=recurring_invoice.expired')
    expect(body).toMatchObject([{ RecordID: ending }])
  })
})
