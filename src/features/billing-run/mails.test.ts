import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { invoicesOf, subscribe } from '../../../test/support/shop.ts'

const service = await startTestService()
const sending = await startTestService({ hasMailServer: true })

const mails = async (client: TestClient) =>
  (await client.get('/v1/outbox')).body.filter(({ Template }: { Template: string }) => Template === 'invoice')

const newClient = (where = service) => where.newAccount({ name: 'Acme', clockAt: '2027-01-01T08:00:00.000Z' })
const reachable = { Email: 'ap@example.com' }

test('invoices of subscriptions are mailed when they are issued: at once, and in every run', async () => {
  const client = await newClient()
  const { subscriptionID } = await subscribe(client, { price: 31 }, {}, reachable)
  expect(await mails(client)).toMatchObject([{ To: 'ap@example.com', Subject: 'Invoice 1 from Acme' }])
  await client.put('/v1/clock', { Now: '2027-03-01' })
  expect((await mails(client)).map(({ CreatedDate }: Record<string, string>) => CreatedDate)).toEqual([
    '2027-01-01T08:00:00.000Z',
    '2027-02-01T00:00:00.000Z',
    '2027-03-01T00:00:00.000Z',
  ])
  const invoices = await invoicesOf(client, `subscriptionID=${subscriptionID}`)
  expect(invoices.map(({ DateSent }) => DateSent)).toEqual([
    '2027-01-01T08:00:00.000Z',
    '2027-02-01T00:00:00.000Z',
    '2027-03-01T00:00:00.000Z',
  ])
  expect((await client.get('/v1/events?type=invoice.mail_queued')).body).toHaveLength(3)
})

test('a mail says what is left to pay after unallocated money was taken', async () => {
  const client = await newClient()
  const { customerID } = await subscribe(client, { price: 31 }, { StartDate: '2027-01-05' }, reachable)
  await client.post('/v1/payments', {
    customerID,
    Amount: 30,
    CurrencyCode: 'USD',
    Date: '2027-01-01',
    Method: 'eft',
    allocations: [],
  })
  await client.put('/v1/clock', { Now: '2027-01-05' })
  const [mail] = await mails(client)
  expect(mail.Text).toContain('Total: $31.00\n  Balance due: $1.00')
})

test('invoices of recurring invoices are mailed too; those of customers without an address or the wish are not', async () => {
  const client = await newClient()
  const recur = async (customer: object) => {
    const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...customer })
    const added = await client.post('/v1/recurring-invoices', {
      customerID: body.customerID,
      StartDate: '2027-01-02',
      RecurInvoiceCharges: [{ Line: 'Hosting', UnitCostEx: 10 }],
    })
    expect(added.status, added.text).toBe(201)
  }
  await recur(reachable)
  await recur({})
  await recur({ ...reachable, autoSendInvoice: false })
  await client.put('/v1/clock', { Now: '2027-01-03' })
  expect((await client.get('/v1/invoices')).body).toHaveLength(3)
  expect(await mails(client)).toHaveLength(1)
})

test('with a mail server an invoice of a run counts as sent once a receiver took it', async () => {
  const client = await newClient(sending)
  await subscribe(client, { price: 31 }, {}, reachable)
  await client.put('/v1/clock', { Now: '2027-02-01' })
  expect(await mails(client)).toHaveLength(2)
  const dates = (await client.get('/v1/invoices')).body.map(({ DateSent }: { DateSent: string | null }) => DateSent)
  expect(dates).toEqual([null, null])
})
