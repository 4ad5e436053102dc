import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { codesOf, differencesOf } from '../../../test/support/shop.ts'
import { failBuildOf, lineOf, putIntoBuild } from '../batches/lines.testing.ts'
import { acting, begunPayment, moneyShop, paymentOf } from '../money/money.testing.ts'

/** Credits of invoices that pending money stands on: lines that give way, and payments that do not. */

const service = await startTestService()

const isClean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])
const applied = ({ Allocations }: any): number[] => Allocations.map(({ amountApplied }: any) => amountApplied)

/** An invoice of 115.00 with 40.00 paid and a line of the rest. */
async function lined() {
  const { client, customerID, invoices } = await moneyShop(service)
  const [invoiceID] = invoices as [number]
  const line = await lineOf(service, client, customerID, [[invoiceID, 11_500n]])
  const Allocations = [{ invoiceID, amountApplied: 40 }]
  const { paymentID } = (await client.post('/v1/payments', paymentOf(customerID, 40, { Allocations }))).body
  const credit = (Amount: number, more: object = {}) =>
    client.post(`/v1/invoices/${invoiceID}/credit`, { Amount, Reason: 'Late', isFreePayments: true, ...more })
  const invoice = async () => (await client.get(`/v1/invoices/${invoiceID}`)).body
  const payment = async (id: number | bigint = paymentID) => (await client.get(`/v1/payments/${id}`)).body
  return { client, customerID, invoiceID, line, credit, invoice, payment }
}

test('a line gives way before money that was received does: 60.00 of 115.00 leave the payment of 40.00 and a line of 15.00', async () => {
  const { client, line, credit, invoice, payment } = await lined()
  const { status, body, text } = await credit(60)
  expect([status, applied(body), body.TotalTax], text).toEqual([201, [60], 7.83])
  expect(applied(await payment())).toEqual([40])
  expect(await payment(line.id)).toMatchObject({ Status: 'Pending', Amount: 15 })
  expect(await invoice()).toMatchObject({ Balance: 0, ActualBalance: 15, TotalActualPaid: 40 })
  await isClean(client)
})

test('of 100.00 the payment frees what the line does not reach: 25.00 of 40.00', async () => {
  const { client, line, credit, invoice, payment } = await lined()
  const { status, body, text } = await credit(100)
  expect([status, applied(body)], text).toEqual([201, [100]])
  expect(applied(await payment())).toEqual([15])
  expect((await client.get(`/v1/payments/${line.id}`)).status).toBe(404)
  expect(await invoice()).toMatchObject({ Status: 'Paid', Balance: 0, TotalPendingPaid: 0 })
  await isClean(client)
})

test('what gave way to a note comes back to nothing when the payment fails: only what it still paid is open', async () => {
  const { client, credit, invoice, payment } = await lined()
  await credit(100)
  const { paymentID } = await payment()
  expect((await client.put(`/v1/payments/${paymentID}/fail`, { Date: '2027-01-01', Reason: 'bounced' })).status).toBe(
    204,
  )
  expect(await invoice()).toMatchObject({ Balance: 15 })
  await isClean(client)
})

test('a line in a file that is being built stands against it; once no file is made, it gives way', async () => {
  const { client, line, credit, invoice } = await lined()
  const before = await invoice()
  await acting(service, client, (tx) => putIntoBuild(tx, line.id))
  const refused = await credit(60)
  expect([refused.status, codesOf(refused)], refused.text).toEqual([409, ['payment_pending']])
  expect(await invoice()).toEqual(before)
  await acting(service, client, (tx) => failBuildOf(tx, line.id))
  expect((await credit(60)).status).toBe(201)
  await isClean(client)
})

test('a pending payment stands against it; without isFreePayments the note waits', async () => {
  const { client, invoiceID } = await begunPayment(service)
  const path = `/v1/invoices/${invoiceID}/credit`
  const refused = await client.post(path, { Amount: 40, Reason: 'Late', isFreePayments: true })
  expect([refused.status, codesOf(refused)], refused.text).toEqual([409, ['payment_pending']])
  expect((await client.get('/v1/credits')).body).toEqual([])
  const waits = await client.post(path, { Amount: 40, Reason: 'Late' })
  expect([waits.status, waits.body.Status, waits.body.TotalTax]).toEqual([201, 'Unallocated', 5.22])
  await isClean(client)
})
