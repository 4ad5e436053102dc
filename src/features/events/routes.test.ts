import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { newPackage, rate, version } from '../packages/packages.testing.ts'

const service = await startTestService()

const typesOf = async (client: TestClient, query = '') =>
  (await client.get(`/v1/events${query}`)).body.map(({ Type }: { Type: string }) => Type)

/** An account with an invoice of 1 February, whose customer was renamed on 1 March. */
async function billedAccount() {
  const client = await service.newAccount()
  const PackageVersion = version({ packageVersionRates: [rate('USD', { SetupFee: 0 })] })
  const { packageID } = await newPackage(client, { PackageVersion })
  const body = { Name: 'Acme', isCompany: true, PaymentMethod: 'eft' }
  const { customerID } = (await client.post('/v1/customers', body)).body
  await client.post('/v1/subscriptions', {
    customerID,
    packageID,
    Term: 1,
    TermType: 'months',
    StartDate: '2027-02-01',
    poNumber: 'PO 7',
  })
  await client.put('/v1/clock', { Now: '2027-02-10' })
  await client.put('/v1/clock', { Now: '2027-03-15' })
  await client.put(`/v1/customers/${customerID}`, { ...body, Name: 'Zenith', Address1: 'New street' })
  return { client, customerID }
}

describe('GET /v1/events', () => {
  test('tells who did what to which record, oldest first', async () => {
    const client = await service.newAccount()
    const added = await client.post('/v1/customers', { Name: 'Acme', isCompany: true })
    const { customerID } = added.body
    await client.put(`/v1/customers/${customerID}`, { Name: 'Apex', isCompany: true })
    const events = await client.get('/v1/events?type=customer.created')
    expect(events.status).toBe(200)
    expect(events.body).toEqual([
      {
        eventID: expect.any(Number),
        Type: 'customer.created',
        RecordType: 'customer',
        RecordID: customerID,
        customerID,
        Date: '2027-01-01T00:00:00.000Z',
        Actor: expect.stringMatching(/^key \d+$/),
        Reason: null,
        Record: added.body,
      },
    ])
    const all = await client.get('/v1/events')
    expect(all.body.map(({ eventID }: { eventID: number }) => eventID)).toEqual(
      all.body.map(({ eventID }: { eventID: number }) => eventID).sort((a: number, b: number) => a - b),
    )
    expect((await typesOf(client)).slice(-2)).toEqual(['customer.created', 'customer.updated'])
  })

  test('can be asked by type, customer and time; a day is meant to its end', async () => {
    const { client, customerID } = await billedAccount()
    const other = await client.post('/v1/customers', { Name: 'Other', isCompany: true })
    expect(await typesOf(client, `?customerID=${other.body.customerID}`)).toEqual(['customer.created'])
    expect(await typesOf(client, `?customerID=${customerID}`)).toEqual([
      'customer.created',
      'subscription.created',
      'invoice.issued',
      'invoice.issued',
      'customer.updated',
    ])
    expect(await typesOf(client, '?type=invoice.issued&to=2027-02-01')).toEqual(['invoice.issued'])
    expect(await typesOf(client, '?type=invoice.issued&to=2027-01-31')).toEqual([])
    expect(await typesOf(client, '?type=invoice.issued&from=2027-02-02')).toEqual(['invoice.issued'])
    expect(
      await typesOf(client, '?from=2027-03-15T00:00:00Z&to=2027-03-15T00:00:00Z&type=customer.updated'),
    ).toHaveLength(1)
    expect(await typesOf(client, `?customerID=${customerID}&page=2&page_size=4`)).toEqual(['customer.updated'])
  })

  test('can be asked by the kind of record, with its identifier and without', async () => {
    const { client, customerID } = await billedAccount()
    await client.post(`/v1/customers/${customerID}/notes`, { Note: 'Called', NoteType: 'General' })
    const { subscriptionID } = (await client.get('/v1/subscriptions')).body[0]
    const invoices = (await client.get('/v1/invoices')).body.map(({ invoiceID }: { invoiceID: number }) => invoiceID)
    const invoice = '?RecordType=invoice'
    expect(await typesOf(client, '?RecordType=customer')).toEqual(['customer.created', 'customer.updated'])
    expect(await typesOf(client, '?RecordType=customer&sort=-id')).toEqual(['customer.updated', 'customer.created'])
    expect(await typesOf(client, '?RecordType=customer&page=2&page_size=1')).toEqual(['customer.updated'])
    expect(await typesOf(client, invoice)).toEqual(['invoice.issued', 'invoice.issued'])
    expect(await typesOf(client, `${invoice}&RecordID=${invoices[1]}`)).toEqual(['invoice.issued'])
    expect(await typesOf(client, `?RecordType=subscription&RecordID=${subscriptionID}`)).toEqual([
      'subscription.created',
    ])
    expect(await typesOf(client, `?RecordType=subscription&customerID=${customerID}`)).toEqual(['subscription.created'])
    expect(await typesOf(client, `${invoice}&to=2027-02-28`)).toEqual(['invoice.issued'])
    expect(await typesOf(client, `${invoice}&type=invoice.issued`)).toHaveLength(2)
    expect(await typesOf(client, `${invoice}&type=customer.created`)).toEqual([])
    const counted = await client.get(`${invoice}&total=true`.replace('?', '/v1/events?'))
    expect(counted.headers['total-count']).toBe('2')
    expect((await client.get('/v1/events?RecordType=customer&total=true')).headers['total-count']).toBe('2')
    const refused = await client.get('/v1/events?RecordType=spaceship')
    expect([refused.status, refused.body.Errors[0].Field]).toEqual([400, 'RecordType'])
  })

  test('what cannot be asked is refused with every problem', async () => {
    const client = await service.newAccount()
    const refused = await client.get(
      '/v1/events?type=customer.exploded&from=yesterday&to=31 Feb 2027&customerID=x&page=0',
    )
    expect(refused.status).toBe(400)
    expect(refused.body.Errors.map(({ Field }: { Field: string }) => Field).sort()).toEqual([
      'customerID',
      'from',
      'page',
      'to',
      'type',
    ])
  })

  test('an issued invoice is told as it was issued, whatever happened since', async () => {
    const { client } = await billedAccount()
    const { body } = await client.get('/v1/events?type=invoice.issued')
    expect(body).toHaveLength(2)
    const [{ Record, RecordID }] = body
    expect(Record).toMatchObject({
      invoiceID: RecordID,
      invoiceNum: 1,
      Name: 'Acme',
      Customer: { Name: 'Acme', Address1: null },
      CollectionMethod: 'eft',
      poNumber: 'PO 7',
      Total: 31,
      Balance: 31,
      Status: 'Due',
      isDraft: false,
      DateSent: null,
    })
    expect(Record.Charges).toHaveLength(1)
    const now = (await client.get(`/v1/invoices/${RecordID}`)).body
    expect(now.Customer.Name).toBe('Zenith')
    expect(Record.Charges).toEqual(now.Charges)
  })

  test("another account's events are not among them", async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()]
    await client.post('/v1/customers', { Name: 'Acme', isCompany: true })
    expect(await typesOf(other, '?type=customer.created')).toEqual([])
  })
})
