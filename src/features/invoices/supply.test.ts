import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { invoicesOf, moveTo, subscribe } from '../../../test/support/shop.ts'

const service = await startTestService()

async function shop() {
  const client = await service.newAccount()
  const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, PaymentTermDays: 14 })
  const add = (more: object = {}) =>
    client.post('/v1/invoices', { customerID: body.customerID, Charges: [{ UnitCostEx: 10 }], ...more })
  return { client, add }
}

const read = async (client: TestClient, id: number) => (await client.get(`/v1/invoices/${id}`)).body
const supplyOf = ({ SupplyDate, SupplyFrom, SupplyTo }: Record<string, string | null>) =>
  [SupplyDate, SupplyFrom, SupplyTo].map((day) => day?.slice(0, 10) ?? null)

describe('the day of the supply', () => {
  test('by hand is the given one, else that of the invoice', async () => {
    const { client, add } = await shop()
    expect(supplyOf((await add()).body)).toEqual(['2027-01-01', null, null])
    const { body } = await add({ SupplyDate: '2026-12-19' })
    expect(supplyOf(body)).toEqual(['2026-12-19', null, null])
    expect(supplyOf(await read(client, body.invoiceID))).toEqual(['2026-12-19', null, null])
  })

  test('of a draft follows its InvoiceDate until one is given, also when it is sent back', async () => {
    const { client, add } = await shop()
    const [open, given] = [(await add({ isDraft: true })).body, (await add({ isDraft: true })).body]
    expect((await client.put(`/v1/invoices/${open.invoiceID}`, open)).status).toBe(204)
    const wish = { ...given, SupplyDate: '2026-12-31' }
    expect((await client.put(`/v1/invoices/${given.invoiceID}`, wish)).status).toBe(204)
    await moveTo(client, '2027-01-05')
    for (const { invoiceID } of [open, given])
      expect((await client.put(`/v1/invoices/${invoiceID}/issue`)).status).toBe(204)
    expect(supplyOf(await read(client, open.invoiceID))).toEqual(['2027-01-05', null, null])
    expect(supplyOf(await read(client, given.invoiceID))).toEqual(['2026-12-31', null, null])
  })

  test('is fixed at issue, and at most a year after the invoice', async () => {
    const { client, add } = await shop()
    expect((await add({ SupplyDate: '2028-01-01' })).status).toBe(201)
    const late = await add({ SupplyDate: '2028-01-02' })
    expect([late.status, late.body.Errors[0].Field]).toEqual([400, 'SupplyDate'])
    const { body } = await add({ SupplyDate: '2026-12-19' })
    const path = `/v1/invoices/${body.invoiceID}`
    expect((await client.put(path, { ...body, poNumber: '7' })).status).toBe(204)
    const moved = await client.put(path, { ...body, SupplyDate: '2026-12-20' })
    expect([moved.status, moved.body.Errors[0].Field]).toEqual([409, 'SupplyDate'])
  })

  test('is not one day where the lines of the rules cover days: those from the first to the last', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-11T08:00:00.000Z' })
    const { subscriptionID } = await subscribe(
      client,
      { setupFee: 5, price: 31 },
      { firstProrataSyncDate: '2027-02-01' },
    )
    const [{ invoiceID }] = await invoicesOf(client, `subscriptionID=${subscriptionID}`)
    const invoice = await read(client, invoiceID)
    expect(supplyOf(invoice)).toEqual([null, '2027-01-11', '2027-01-31'])
    expect((await client.put(`/v1/invoices/${invoiceID}`, { ...invoice, poNumber: '7' })).status).toBe(204)
    const { body: preview } = await client.get(`/v1/subscriptions/${subscriptionID}/preview`)
    expect(supplyOf(preview)).toEqual([null, '2027-02-01', '2027-02-28'])
    const [event] = (await client.get('/v1/events?type=invoice.issued')).body
    expect(supplyOf(event.Record)).toEqual([null, '2027-01-11', '2027-01-31'])
  })
})
