import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, addPackage, invoicesOf, moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { insertSubscribers, rateTermOf } from '../billing-run/run.testing.ts'
import { listCustomersOfCurrency } from './by-customer-queries.ts'

const service = await startTestService()

test('invoices are found by currency, those of few customers, those of many, stamped ones and drafts', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const [usd, eur] = [await addPackage(client), await addPackage(client, { currency: 'EUR' })]
  await insertSubscribers(service, client, { rateTermID: rateTermOf(usd), dueOn: '2027-01-01', customers: 501 })
  await insertSubscribers(service, client, {
    rateTermID: rateTermOf(eur),
    dueOn: '2027-01-02',
    customers: 3,
    currency: 'EUR',
  })
  await moveTo(client, '2027-02-02')
  const customerID = await addCustomer(client, { CurrencyCode: 'USD' })
  for (const isDraft of [true, false]) {
    const Charges = [{ Line: 'By hand', UnitCostEx: 5 }]
    const added = await client.post('/v1/invoices', { customerID, CurrencyCode: 'EUR', isDraft, Charges })
    expect(added.status, added.text).toBe(201)
  }
  const stored = await service.db.reader(client.id).rows<{ currency: string; n: number; stamped: number }>(sql`
    select currency, count(*)::integer as "n", count(template_id)::integer as "stamped" from invoices where account_id = ${client.id} group by 1 order by 1`)
  expect(stored).toEqual([
    { currency: 'EUR', n: 8, stamped: 3 },
    { currency: 'USD', n: 1002, stamped: 501 },
  ])

  const reader = service.db.reader(client.id)
  expect(await listCustomersOfCurrency(reader, client.id, 'USD')).toBeNull()
  expect(await listCustomersOfCurrency(reader, client.id, 'EUR')).toHaveLength(4)
  expect(await listCustomersOfCurrency(reader, client.id, 'JPY')).toEqual([])
  for (const { currency, n } of stored) {
    const found = await invoicesOf(client, `CurrencyCode=${currency}`)
    expect([found.length, new Set(found.map(({ CurrencyCode }) => CurrencyCode))]).toEqual([n, new Set([currency])])
    const page = await client.get(`/v1/invoices?CurrencyCode=${currency}&page_size=2&total=true&sort=-id`)
    expect(page.body.map(({ invoiceID }: any) => invoiceID)).toEqual(
      found
        .map(({ invoiceID }) => invoiceID)
        .toReversed()
        .slice(0, 2),
    )
    expect(page.headers['total-count']).toBe(String(n))
  }
  expect((await client.get('/v1/invoices?CurrencyCode=EUR&status=Draft')).body).toHaveLength(1)
})
