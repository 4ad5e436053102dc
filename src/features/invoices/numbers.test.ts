import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { takeInvoiceNumbers } from '../accounts/queries.ts'
import { addCustomer, addPackage, checkBooks, invoicesOf, moveTo, shop } from '../../../test/support/shop.ts'

const service = await startTestService()

test('numbers have no gap under load, with refusals and rollbacks in between, and follow the order of issue', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const plan = await addPackage(client)
  const dear = await addPackage(client, { price: 999_999_999_999, setupFee: 999_999_999_999 })
  const customers = await Promise.all(Array.from({ length: 6 }, () => addCustomer(client)))
  const rollback = () =>
    service.db
      .transaction(client.id, async (tx) => {
        await takeInvoiceNumbers(tx, client.id, 3)
        throw new Error('not this time')
      })
      .catch(() => 'rolled back')
  const adds = customers.flatMap((customerID) => [
    client.post('/v1/subscriptions', { customerID, packageID: plan.packageID }),
    client.post('/v1/subscriptions', { customerID, packageID: dear.packageID }),
    rollback(),
    client.post('/v1/subscriptions', { customerID, packageID: plan.packageID, StartDate: '2026-11-01' }),
  ])
  await Promise.all(adds)
  const invoices = await invoicesOf(client)
  expect(invoices).toHaveLength(6 * 4)
  expect(invoices.map(({ invoiceNum }) => invoiceNum).toSorted((a, b) => a - b)).toEqual(
    invoices.map((_, index) => index + 1),
  )
  await checkBooks(service, client)
})

test('a raised number is the next to be given', async () => {
  const { client, add } = await shop(service)
  await add()
  expect((await client.put('/v1/account', { NextInvoiceNum: 1000 })).status).toBe(204)
  await moveTo(client, '2027-02-01')
  expect((await invoicesOf(client)).map(({ invoiceNum }) => invoiceNum)).toEqual([1, 1000])
  expect((await client.get('/v1/invoices/by_number/1000')).status).toBe(200)
  expect((await client.get('/v1/invoices/by_number/2')).status).toBe(404)
})
