import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, addPackage, addTax, differencesOf } from '../../../test/support/shop.ts'
import { momentOf } from '../../kernel/context.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { type Statement, sql } from '../../platform/database/sql.ts'
import { getAccount } from '../accounts/queries.ts'
import { lockCustomers } from '../customers/queries.ts'
import { paymentOf } from '../money/money.testing.ts'
import { marked } from '../packages/queries.ts'
import { subscriptionsDue } from './due.ts'

const service = await startTestService()
const DAY = '2027-02-01'

/** An account whose customers renew a plan, of 10.00 unless told otherwise, with 20 % of tax on one day, and billing some of them as chunks of one run. */
async function runOf(
  customer: (place: number) => object,
  count: number,
  subscription: (place: number) => object = () => ({}),
  price = 10,
) {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  await addTax(client, 'VAT', { Perc: 0.2 }, { Perc: 0, countryID: 276, AppliesTo: 'business', Category: 'AE' })
  const { packageID } = await addPackage(client, { price })
  const customers: CustomerId[] = []
  for (let place = 0; place < count; place += 1) {
    const customerID = await addCustomer(client, customer(place))
    const added = await client.post('/v1/subscriptions', { customerID, packageID, ...subscription(place) })
    expect(added.text).toContain('subscriptionID')
    customers.push(BigInt(customerID))
  }
  const memory = {}
  const bill = (places: readonly number[], change?: Statement, after?: Statement) =>
    service.db.transaction(client.id, async (tx) => {
      if (change) await tx.rows(change)
      const wanted = places.map((place) => customers[place] as CustomerId)
      await lockCustomers(tx, wanted, true)
      const account = await getAccount(tx, client.id)
      const moment = { ...momentOf(account, Date.now), today: DAY, now: `${DAY}T12:00:00.000Z` }
      const context = { account, moment, actor: 'test', memory }
      const done = await subscriptionsDue.work(tx, context, wanted, { day: DAY, runId: 0n })
      if (after) await tx.rows(after)
      return done
    })
  const lines = async () =>
    (
      await service.db.reader(client.id).rows<{ line: string }>(sql`
        select concat_ws(' | ', c.name, c.net_minor, t.rate, t.amount_minor, i.customer_version, i.customer_vat_number, i.due_date - i.invoice_date) as "line"
          from invoices i join charges c on c.account_id = i.account_id and c.invoice_id = i.invoice_id
          left join invoice_taxes t on t.account_id = i.account_id and t.invoice_id = i.invoice_id
         where i.account_id = ${client.id} and i.invoice_date = ${DAY} order by i.customer_id`)
    ).map(({ line }) => line)
  return { client, bill, lines, packageID, customers }
}

describe('shapes that a run remembers', () => {
  test('are planned anew where a price, a name, a tax or the terms are other ones', async () => {
    const { client, bill, lines, packageID } = await runOf(() => ({}), 6)
    await bill([0])
    await bill(
      [1],
      sql`with ${marked(client.id)} update package_rate_terms set price = 12.5 where account_id = ${client.id}`,
    )
    const read = await client.get(`/v1/packages/${packageID}`)
    expect((await client.put(`/v1/packages/${packageID}`, { ...read.body, Name: 'Renamed' })).status).toBe(200)
    await bill([2])
    await bill([3], sql`update tax_rules set rate = 0.25 where account_id = ${client.id} and rate > 0`)
    await bill([4], sql`update accounts set payment_term_days = 30 where account_id = ${client.id}`)
    await bill([5])
    const days = (await lines()).map((line) => Number(line.split(' | ').at(-1)))
    expect(days.slice(0, 4)).toEqual([days[0], days[0], days[0], days[0]])
    expect(days.slice(4)).toEqual([30, 30])
    expect((await lines()).map((line) => line.split(' | ').slice(0, 4).join(' | '))).toEqual([
      'Plan | 1000 | 0.2 | 200',
      'Plan | 1250 | 0.2 | 250',
      'Renamed | 1250 | 0.2 | 250',
      'Renamed | 1250 | 0.25 | 313',
      'Renamed | 1250 | 0.25 | 313',
      'Renamed | 1250 | 0.25 | 313',
    ])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('are one for customers whose VAT numbers, versions and mails differ, and part businesses from others where taxes do', async () => {
    const numbers = ['DE136695976', 'DE100', null, 'DE129273398']
    const { client, bill, lines } = await runOf(
      (place) => ({ countryID: 276, isCompany: true, VatNo: numbers[place], autoSendInvoice: place === 2 }),
      4,
    )
    const { plans } = await bill([0, 1, 2, 3])
    expect(new Set(plans).size).toBe(2)
    expect(plans[0]).toBe(plans[3])
    expect(plans[1]).toBe(plans[2])
    expect((await lines()).map((line) => line.split(' | ').slice(2, -1).join(' | '))).toEqual([
      '0 | 0 | 1 | DE136695976',
      '0.2 | 200 | 1 | DE100',
      '0.2 | 200 | 1',
      '0 | 0 | 1 | DE129273398',
    ])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('are one for subscriptions with purchase order numbers of their own, by which their invoices are found and which their events keep', async () => {
    const orders = ['PO-1', 'PO "2"\\,{}', null, 'NULL', '']
    const poOf = (place: number) => (orders[place] === null ? {} : { poNumber: orders[place] })
    const { client, bill } = await runOf(() => ({}), orders.length, poOf)
    const { plans } = await bill(orders.map((_, place) => place))
    expect(new Set(plans).size).toBe(1)
    const listed = async (path: string) => (await client.get(path)).body as { [name: string]: object }[]
    const issued = (await listed('/v1/invoices')).filter(({ InvoiceDate }) => String(InvoiceDate).startsWith(DAY))
    const ofOrders = orders.map((order) => (order === '' ? null : order))
    expect(issued.map(({ poNumber }) => poNumber)).toEqual(ofOrders)
    const events = (await listed('/v1/events?type=invoice.issued')).slice(-orders.length)
    expect(events.map(({ Record }) => Record)).toMatchObject(ofOrders.map((poNumber) => ({ poNumber })))
    for (const [place, order] of orders.entries()) {
      if (!order) continue
      const found = await listed(`/v1/invoices?poNumber=${encodeURIComponent(order)}`)
      expect(found.map(({ invoiceID }) => invoiceID)).toContain(issued[place]?.['invoiceID'])
    }
    expect((await listed('/v1/invoices?q=PO-1')).map(({ poNumber }) => poNumber)).toEqual(['PO-1', 'PO-1'])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('raise what customers owe who have never owed anything, and what others have unallocated is taken', async () => {
    const { client, bill, customers } = await runOf(
      () => ({}),
      4,
      () => ({}),
      0,
    )
    const [, , payer] = customers
    const paid = await client.post('/v1/payments', paymentOf(Number(payer), 7, { allocations: [] }))
    expect(paid.text).toContain('paymentID')
    const totals = () =>
      service.db.reader(client.id).rows<{ line: string }>(sql`
        select concat_ws(' ', customer_id - ${customers[0]}::bigint, currency, receivable_minor, unapplied_minor) as "line" from customer_totals
         where account_id = ${client.id} order by customer_id`)
    expect((await totals()).map(({ line }) => line)).toEqual(['2 USD 0 700'])
    await bill(
      [0, 1, 2, 3],
      sql`with ${marked(client.id)} update package_rate_terms set price = 10 where account_id = ${client.id}`,
    )
    expect((await totals()).map(({ line }) => line)).toEqual([
      '0 USD 1200 0',
      '1 USD 1200 0',
      '2 USD 500 0',
      '3 USD 1200 0',
    ])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('are kept by the next chunk where the one that kept them first is rolled back', async () => {
    const { client, bill, lines } = await runOf(() => ({}), 2)
    await expect(bill([0], undefined, sql`select 1 / 0 as never`)).rejects.toThrow()
    const none = await service.db
      .reader(client.id)
      .rows(sql`select from invoices where account_id = ${client.id} and invoice_date = ${DAY}`)
    expect(none).toEqual([])
    await bill([1])
    await bill([0])
    expect(await lines()).toHaveLength(2)
    expect(await differencesOf(service, client)).toEqual([])
  })
})
