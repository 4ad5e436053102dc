import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { creditOf, invoiceOf, paymentOf } from './money.testing.ts'

/** Answers of invoices: their net, their tax, what was credited of them and what was written off. */

const service = await startTestService()

/** An invoice of 149.00 and 23 %, which is 34.27: 183.27. */
async function invoiced() {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23 }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoiceID = await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 100 }, { UnitCostEx: 49 }] })
  const invoice = async () => (await client.get(`/v1/invoices/${invoiceID}`)).body
  const sums = async () => {
    const [one] = (await client.get('/v1/invoices')).body
    expect(await invoice()).toEqual(one)
    return [one.Credited, one.WrittenOff, one.isWrittenOff, one.Status]
  }
  return { client, customerID, invoiceID, invoice, sums }
}

const on = (invoiceID: number, amountApplied: number) => ({ Allocations: [{ invoiceID, amountApplied }] })

const debtOf = (customerID: number, invoiceID: number, Amount: number) => ({
  customerID,
  Type: 'negative',
  AdjustmentType: 'bad_debt',
  Ref: 'lost',
  Date: '2027-01-01',
  Amount,
  LinkedAllocations: [{ objectID: invoiceID, AmtAllocated: Amount, isAdjustment: false }],
})

const addDebt = async (client: TestClient, ...debt: Parameters<typeof debtOf>): Promise<number> =>
  (await client.post('/v1/adjustment/add', debtOf(...debt))).body.AdjustmentID

async function deleteDebt(client: TestClient, customerID: number, id: number): Promise<void> {
  expect(
    (await client.delete(`/v1/adjustment/delete?type=negative&adjustmentID=${id}&customerID=${customerID}`)).status,
  ).toBe(204)
}

const cleanBooks = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

test('an invoice answers its net and its tax, a draft too', async () => {
  const { client, customerID, invoice } = await invoiced()
  const body = await invoice()
  expect(body).toMatchObject({ Total: 183.27, TotalEx: 149, TotalTax: 34.27, Credited: 0, WrittenOff: 0 })
  expect(body.Taxes[0]).toMatchObject({ Base: 149, TaxAmount: 34.27, Category: 'S', Reason: null })
  const Charges = [{ UnitCostEx: 7 }]
  const draft = (await client.post('/v1/invoices', { customerID, Charges, Taxes: [], isDraft: true })).body
  expect(draft).toMatchObject({ TotalEx: 7, TotalTax: 0, isWrittenOff: false })
})

test('what notes settle is credited wherever their money is: by /credit, by allocating, until they are taken away', async () => {
  const { client, customerID, invoiceID, sums } = await invoiced()
  await client.post('/v1/payments', paymentOf(customerID, 183.27, on(invoiceID, 183.27)))
  const whole = (await client.post(`/v1/invoices/${invoiceID}/credit`, { Amount: 50, Reason: 'late' })).body
  expect([whole.Amount, whole.Allocations]).toEqual([50, []])
  expect(await sums()).toEqual([50, 0, false, 'Paid'])
  const payment = (await client.get('/v1/payments')).body[0].paymentID
  await client.delete(`/v1/payments/${payment}`)
  const note = (await client.post('/v1/credits', creditOf(customerID, 60, on(invoiceID, 60)))).body
  expect(await sums()).toEqual([110, 0, false, 'Due'])
  await client.put(`/v1/credits/${note.creditNoteID}`, { ...note, Allocations: [] })
  expect(await sums()).toEqual([110, 0, false, 'Due'])
  await client.put(`/v1/credits/${note.creditNoteID}`, { ...note, Amount: 40, Allocations: [] })
  expect(await sums()).toEqual([90, 0, false, 'Due'])
  await client.delete(`/v1/credits/${note.creditNoteID}`)
  expect(await sums()).toEqual([50, 0, false, 'Due'])
  await client.delete(`/v1/credits/${whole.creditNoteID}`)
  expect(await sums()).toEqual([0, 0, false, 'Due'])
  await client.post('/v1/credits', creditOf(customerID, 183.27, { invoiceID }))
  expect((await sums())[0]).toBe(183.27)
  await cleanBooks(client)
})

test('an invoice that is cancelled is credited no longer by an open note, whose settlement ends', async () => {
  const { client, customerID, invoiceID, sums } = await invoiced()
  const note = (await client.post('/v1/credits', creditOf(customerID, 60, on(invoiceID, 60)))).body
  await client.put(`/v1/credits/${note.creditNoteID}`, { ...note, Allocations: [] })
  expect(await sums()).toEqual([60, 0, false, 'Due'])
  expect((await client.delete(`/v1/invoices/${invoiceID}`)).status).toBe(204)
  expect(await sums()).toEqual([0, 0, false, 'Cancelled'])
  await cleanBooks(client)
})

test('bad debt is written off; an invoice is written off once nothing is left to pay of it, and not while money waits', async () => {
  const { client, customerID, invoiceID, invoice, sums } = await invoiced()
  const small = await addDebt(client, customerID, invoiceID, 10)
  expect(await sums()).toEqual([0, 10, false, 'Due'])
  const TaxReliefDate = '2027-01-01'
  const rest = { ...debtOf(customerID, invoiceID, 173.27), TaxReliefDate }
  const { AdjustmentID } = (await client.post('/v1/adjustment/add', rest)).body
  expect(await sums()).toEqual([0, 183.27, true, 'Paid'])
  expect((await invoice()).TotalNegativeAdjs).toBe(183.27)
  await deleteDebt(client, customerID, AdjustmentID)
  expect(await sums()).toEqual([0, 10, false, 'Due'])
  const { paymentID } = (await client.post('/v1/payments', paymentOf(customerID, 173.27, on(invoiceID, 173.27)))).body
  expect(await sums()).toEqual([0, 10, true, 'Paid'])
  await client.delete(`/v1/payments/${paymentID}`)
  const lower = { ...debtOf(customerID, invoiceID, 4), AdjustmentID: small }
  expect((await client.put('/v1/adjustment/edit', lower)).status).toBe(204)
  expect(await sums()).toEqual([0, 4, false, 'Due'])
  await cleanBooks(client)
})

test('what the service gives back of a subscription is credited of its invoice, and its preview shows net and tax', async () => {
  const { client, add } = await shop(service, { price: 31 })
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const { subscriptionID } = (await add()).body
  await moveTo(client, '2027-01-16')
  const preview = (await client.get(`/v1/subscriptions/${subscriptionID}/preview`)).body
  expect(preview).toMatchObject({ TotalEx: 31, TotalTax: 4.65, Credited: 0, WrittenOff: 0, isWrittenOff: false })
  await client.put(`/v1/subscriptions/${subscriptionID}/cancel/prorata`)
  const [one] = (await client.get('/v1/invoices')).body
  // 16 of 31 days: 16.00 and 2.40.
  expect([one.Credited, one.TotalNegativeAdjs]).toEqual([18.4, 18.4])
  await cleanBooks(client)
})
