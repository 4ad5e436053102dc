import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { paymentOf } from '../money/money.testing.ts'
import { addPackage } from '../../../test/support/shop.ts'
import { EDITABLE, PLAIN_FIELD_NAMES, type PlainFields } from './fields.ts'
import { spellingOf } from './fields-wire.ts'

/** The plain fields in every place that could have forgotten one, and the event of an issue, which never changes. */

const service = await startTestService()

/** Two different values of each plain field. */
const SAMPLES: Record<keyof PlainFields, readonly [string, string]> = {
  poNumber: ['PO 1', 'PO 2'],
  collectionMethod: ['eft', 'cash'],
  notes: ['A note', 'Another'],
  terms: ['Net 30', 'Net 60'],
}

const sampled = (place: 0 | 1, names = PLAIN_FIELD_NAMES) =>
  Object.fromEntries(names.map((name) => [spellingOf(name), SAMPLES[name][place]]))

const MARK = 'after'

/** Another value of each field of a body, by its schema, so that a field that is new is edited as well. */
function edited(schema: any, present: any): Record<string, unknown> {
  const entries = Object.entries<any>(schema.properties).map(([name, { type, enum: words }]) => {
    const types = [type].flat()
    const all = [words ?? []].flat().filter((word) => word !== null)
    if (all.length > 0) return [name, all.find((word) => word !== present[name])]
    if (types.includes('boolean')) return [name, !present[name]]
    return types.includes('string') ? [name, `${MARK}.${present[name] ?? ''}`] : [name, present[name]]
  })
  return Object.fromEntries(entries)
}

const CUSTOMER = {
  Name: 'Acme',
  isCompany: true,
  LastName: 'Doe',
  RegistrationNumber: 'R 1',
  VatNo: 'V 1',
  Company: 'Acme Ltd',
  Email: 'a@example.com',
  EmailCC: 'b@example.com',
  Tel: '1',
  Address1: 'Street 1',
  Address2: 'Floor 2',
  City: 'Riga',
  State: 'Vidzeme',
  Country: 'Latvia',
  ZipCode: 'LV-1',
  Locale: 'de',
  autoSendInvoice: false,
}

async function shop() {
  const client = await service.newAccount()
  await client.put('/v1/account', { Notes: 'Thanks', Terms: 'Net 14' })
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const { body } = await client.post('/v1/customers', CUSTOMER)
  return { client, customerID: body.customerID as number }
}

const issuedEvents = async (client: TestClient): Promise<any[]> =>
  (await client.get('/v1/events?type=invoice.issued')).body

describe('the event of an issue', () => {
  test('says the same to the byte after every field of invoice, customer and account was edited, and the invoice paid, sent and cancelled', async () => {
    const { client, customerID } = await shop()
    const { packageID } = await addPackage(client)
    await client.post('/v1/subscriptions', { customerID, packageID, poNumber: 'PO 7' })
    const lines = [{ UnitCostEx: 10, Line: 'Hosting' }]
    await client.post('/v1/recurring-invoices', {
      customerID,
      RecurInvoiceCharges: lines,
      InvoiceNotes: 'Of the contract',
    })
    await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }], ...sampled(0) })
    await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 20 }] })
    const draft = await client.post('/v1/invoices', { customerID, isDraft: true, Charges: [{ UnitCostEx: 30 }] })
    expect((await client.put(`/v1/invoices/${draft.body.invoiceID}/issue`)).status).toBe(204)
    const { text: before } = await client.get('/v1/events?type=invoice.issued')
    const invoices = (await client.get('/v1/invoices')).body
    expect(invoices).toHaveLength(5)

    const schemas = (await client.get('/openapi.json')).body
    const bodyOf = (path: string) => {
      const { schema } = schemas.paths[path].put.requestBody.content['application/json']
      return schema.$ref ? schemas.components.schemas[schema.$ref.split('/').at(-1)] : schema
    }
    for (const invoice of invoices) {
      const changes = Object.fromEntries(
        EDITABLE.map((name) => {
          const now = invoice[spellingOf(name)]
          return [spellingOf(name), SAMPLES[name].find((sample) => sample !== now)]
        }),
      )
      expect((await client.put(`/v1/invoices/${invoice.invoiceID}`, { ...invoice, ...changes })).status).toBe(204)
      expect((await client.get(`/v1/invoices/${invoice.invoiceID}`)).body).toMatchObject(changes)
      expect((await client.put(`/v1/invoices/${invoice.invoiceID}/send`)).status).toBe(204)
    }
    const present = (await client.get(`/v1/customers/${customerID}`)).body
    const wanted = {
      ...edited(bodyOf('/v1/customers/{customerID}'), present),
      countryID: 710,
      CustomFields: [],
      Locale: 'en',
      CurrencyCode: 'USD',
    }
    expect((await client.put(`/v1/customers/${customerID}`, wanted)).text).toBe('')
    const settings = { Name: 'Renamed', Notes: 'Bye', Terms: 'Net 1', TimeZone: 'Asia/Tokyo', InvoiceTermDays: 3 }
    expect((await client.put('/v1/account', settings)).text).toBe('')
    expect((await client.post('/v1/payments', paymentOf(customerID, 50, { AutoApply: true }))).status).toBe(201)
    for (const { invoiceID } of invoices.slice(2)) await client.delete(`/v1/invoices/${invoiceID}`)
    await client.put(`/v1/customers/${customerID}/suspend`)

    const { text: after } = await client.get('/v1/events?type=invoice.issued')
    expect(after).toBe(before)
  })

  test('keeps of the customer what documents freeze, and nothing of today', async () => {
    const { client, customerID } = await shop()
    await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
    const [{ Record }] = await issuedEvents(client)
    const customer = (await client.get(`/v1/customers/${customerID}`)).body
    const { autoSendInvoice: _, ...frozen } = CUSTOMER
    const none = Object.fromEntries(Object.keys(customer).map((name) => [name, null]))
    expect(Record.Customer).toEqual({ ...none, ...frozen, customerID })
    expect(Record).toMatchObject({
      Notes: 'Thanks',
      Terms: 'Net 14',
      Name: 'Acme',
      LastName: 'Doe',
      Status: 'Due',
      Balance: 11.5,
    })
  })
})

describe('a plain field', () => {
  test('of a draft is stored, shown, replaced, and part of the ETag', async () => {
    const { client, customerID } = await shop()
    const body = { customerID, isDraft: true, Charges: [{ UnitCostEx: 10 }] }
    const added = await client.post('/v1/invoices', { ...body, ...sampled(0) })
    const path = `/v1/invoices/${added.body.invoiceID}`
    expect(added.body).toMatchObject(sampled(0))
    expect((await client.get(path)).body).toMatchObject(sampled(0))
    let { etag } = added.headers
    for (const name of PLAIN_FIELD_NAMES) {
      const changes = { ...sampled(0), [spellingOf(name)]: SAMPLES[name][1] }
      expect((await client.put(path, { ...body, ...changes })).status, name).toBe(204)
      const read = await client.get(path)
      expect(read.body).toMatchObject(changes)
      expect(read.headers['etag'], name).not.toBe(etag)
      etag = read.headers['etag']
    }
  })

  test('of an issued invoice can change where it is editable, and is refused by its name where it is not', async () => {
    const { client, customerID } = await shop()
    const added = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }], ...sampled(0) })
    const path = `/v1/invoices/${added.body.invoiceID}`
    for (const name of PLAIN_FIELD_NAMES) {
      const changes = { ...added.body, [spellingOf(name)]: SAMPLES[name][1] }
      const reply = await client.put(path, changes)
      if (EDITABLE.includes(name))
        expect((await client.get(path)).body).toMatchObject({ [spellingOf(name)]: SAMPLES[name][1] })
      else expect(reply.body.Errors).toMatchObject([{ Code: 'invoice_issued', Field: spellingOf(name) }])
    }
    const [{ Record }] = await issuedEvents(client)
    expect(Record).toMatchObject(sampled(0))
  })
})
