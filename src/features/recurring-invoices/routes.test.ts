import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'

const service = await startTestService()

const PATH = '/v1/recurring-invoices'
const LINES = [
  { UnitCostEx: 10, Line: 'Hosting' },
  { UnitCostEx: 2.5, Qty: 2, Line: 'Boxes', Descrip: 'Of last month' },
]

async function shop(wish: Parameters<typeof service.newAccount>[0] = {}) {
  const client = await service.newAccount(wish)
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, PaymentTermDays: 14 })
  return { client, customerID: body.customerID as number }
}

const codes = (reply: { body: any }) => reply.body.Errors.map(({ Code, Field }: any) => `${Code} ${Field}`)
const add = (client: TestClient, customerID: number, more: object = {}) =>
  client.post(PATH, { customerID, RecurInvoiceCharges: LINES, ...more })
const invoicesOf = async (client: TestClient, recurInvoiceID: number) =>
  (await client.get(`/v1/invoices?recurInvoiceID=${recurInvoiceID}`)).body
const datesOf = async (client: TestClient, recurInvoiceID: number) =>
  (await invoicesOf(client, recurInvoiceID)).map(({ InvoiceDate }: any) => InvoiceDate.slice(0, 10))
const eventsOf = async (client: TestClient, id: number) =>
  (await client.get('/v1/events?page_size=200')).body
    .filter(({ RecordID, Type }: any) => RecordID === id && Type.startsWith('recurring_invoice.'))
    .map(({ Type }: any) => Type.slice('recurring_invoice.'.length))

describe('adding', () => {
  test('takes its defaults and invoices what is due today at once', async () => {
    const { client, customerID } = await shop()
    const added = await add(client, customerID)
    expect(added.status).toBe(201)
    const id = added.body.recurInvoiceID
    expect(added.headers['location']).toBe(`${PATH}/${id}`)
    expect(added.body).toMatchObject({
      Reference: `RI${id}`,
      CurrencyCode: 'USD',
      Term: 1,
      TermType: 'months',
      StartDate: '2027-01-01T00:00:00Z',
      EndDate: null,
      lastInvDate: '2027-01-01T00:00:00Z',
      lastRenewDate: '2027-01-01T00:00:00Z',
      nextRenewDate: '2027-02-01T00:00:00Z',
      numDaysBeforeToInv: 0,
      comp_Status: 'Active',
      CollectionMethod: null,
      Taxes: null,
      RecurInvoiceCharges: [
        { Line: 'Hosting', Descrip: null, Qty: 1, AmountEx: 10, AmountInc: 11.5, DisplayOrder: 1 },
        {
          Line: 'Boxes',
          Descrip: 'Of last month',
          Qty: 2,
          UnitCostEx: 2.5,
          AmountEx: 5,
          AmountInc: 5.75,
          DisplayOrder: 2,
        },
      ],
    })
    const [invoice, ...others] = await invoicesOf(client, id)
    expect(others).toEqual([])
    expect(invoice).toMatchObject({
      invoiceNum: 1,
      recurInvoiceID: id,
      subscriptionID: null,
      Source: 'Auto',
      InvoiceDate: '2027-01-01T00:00:00Z',
      DueDate: '2027-01-15T00:00:00Z',
      Total: 17.25,
      Charges: [
        { Line: 'Hosting', Descrip: '2027-01-01 to 2027-01-31' },
        { Line: 'Boxes', Descrip: 'Of last month' },
      ],
    })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(17.25)
    expect(await eventsOf(client, id)).toEqual(['created'])
  })

  test('a past StartDate bills every period since, a future one is Future; more than 1,000 at once are 400', async () => {
    const { client, customerID } = await shop()
    const past = await add(client, customerID, { StartDate: '2026-10-31' })
    expect(await datesOf(client, past.body.recurInvoiceID)).toEqual(['2027-01-01', '2027-01-01', '2027-01-01'])
    const future = await add(client, customerID, { StartDate: '2027-03-01' })
    expect(future.body).toMatchObject({
      comp_Status: 'Future',
      nextRenewDate: '2027-03-01T00:00:00Z',
      lastInvDate: null,
    })
    expect(codes(await add(client, customerID, { StartDate: '2000-01-01', Term: 1, TermType: 'days' }))).toEqual([
      'too_many_periods StartDate',
    ])
  })

  test('both names of the list are taken; with different values they contradict each other', async () => {
    const { client, customerID } = await shop()
    const other = [{ UnitCostEx: 1 }]
    expect((await client.post(PATH, { customerID, RecurInvoiceCharge: other, reference: 'x' })).body).toMatchObject({
      Reference: 'x',
      RecurInvoiceCharges: [{ AmountEx: 1 }],
    })
    expect(
      codes(await client.post(PATH, { customerID, RecurInvoiceCharge: other, RecurInvoiceCharges: LINES })),
    ).toContain('contradiction RecurInvoiceCharge')
  })

  test('400 tells everything that is wrong at once, and leaves nothing', async () => {
    const { client, customerID } = await shop()
    expect(codes(await client.post(PATH, {}))).toEqual(['required customerID', 'required RecurInvoiceCharges'])
    const wrong = await add(client, customerID, {
      customerID: 999_999_999,
      RecurInvoiceCharges: [],
      CurrencyCode: 'JPY',
      Term: 1201,
      EndDate: '2027-01-01',
      numDaysBeforeToInv: 91,
      CollectionMethod: 'debit_order',
      gatewayID: 999_999_999,
      customerPaymentMethodID: 1,
      Taxes: [{ Name: 'A', Perc: -1 }],
    })
    expect(codes(wrong)).toEqual(
      expect.arrayContaining([
        'customer_unknown customerID',
        'wrong_count RecurInvoiceCharges',
        'currency_unknown CurrencyCode',
        'out_of_range Term',
        'date_order EndDate',
        'out_of_range numDaysBeforeToInv',
        'gateway_unknown gatewayID',
        'out_of_range Taxes[0].Perc',
      ]),
    )
    expect(codes(await add(client, customerID, { RecurInvoiceCharges: [{ UnitCostEx: 1, Qty: -1 }] }))).toEqual([
      'negative_total RecurInvoiceCharges',
    ])
    expect((await client.get(PATH)).body).toEqual([])
  })

  test('409: the Reference is taken, the customer is suspended or archived', async () => {
    const { client, customerID } = await shop()
    await add(client, customerID, { Reference: 'Mine' })
    expect(codes(await add(client, customerID, { Reference: 'Mine' }))).toEqual(['reference_taken Reference'])
    expect(codes(await add(client, customerID, { Reference: 'RI1' }))).toEqual(['reference_taken Reference'])
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect(codes(await add(client, customerID))).toEqual(['customer_suspended customerID'])
    expect((await client.get(PATH)).body[0].SuspendedDate).toBe('2027-01-01T00:00:00.000Z')
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    await client.put(`/v1/customers/${customerID}/archive`)
    expect(codes(await add(client, customerID))).toEqual(['customer_archived customerID'])
  })
})

describe('reading', () => {
  test('AmountInc follows its own taxes, else those that match when it is read', async () => {
    const { client, customerID } = await shop()
    const own = await add(client, customerID, { Taxes: [{ Name: 'GST', Perc: 0.1 }] })
    expect(own.body).toMatchObject({
      Taxes: [{ Name: 'GST', Perc: 0.1, recurringinvoiceID: own.body.recurInvoiceID }],
      RecurInvoiceCharges: [{ AmountInc: 11 }, { AmountInc: 5.5 }],
    })
    const none = await add(client, customerID, { Taxes: [] })
    expect(none.body).toMatchObject({ Taxes: [], RecurInvoiceCharges: [{ AmountInc: 10 }, { AmountInc: 5 }] })
    const found = await add(client, customerID)
    const [setting] = (await client.get('/v1/tax')).body
    await client.put(`/v1/tax/${setting.taxSettingID}`, { Name: 'VAT', rules: [{ Perc: 0.2 }] })
    expect((await client.get(`${PATH}/${found.body.recurInvoiceID}`)).body).toMatchObject({
      Taxes: null,
      RecurInvoiceCharges: [{ AmountInc: 12 }, { AmountInc: 6 }],
    })
    const list = await client.get(`${PATH}?page_size=2`)
    expect(list.body).toHaveLength(2)
    expect(list.headers['link']).toContain('rel="next"')
    expect((await client.get(`/v1/customers/${customerID}/recurring-invoices`)).body).toHaveLength(3)
    expect((await client.get('/v1/customers/999999999/recurring-invoices')).status).toBe(404)
  })

  test('the preview is the next invoice in lines, taxes, totals and dates; none when nothing will follow', async () => {
    const { client, customerID } = await shop()
    const { body } = await add(client, customerID, {
      numDaysBeforeToInv: 3,
      EndDate: '2027-02-02',
      InvoiceNotes: 'Hello',
    })
    const path = `${PATH}/${body.recurInvoiceID}`
    const preview = (await client.get(`${path}/preview`)).body
    expect(preview).toMatchObject({
      invoiceID: null,
      isDraft: true,
      InvoiceDate: '2027-01-29T00:00:00Z',
      DueDate: '2027-02-15T00:00:00Z',
      Notes: 'Hello',
      recurInvoiceID: body.recurInvoiceID,
    })
    await client.put('/v1/clock', { Now: '2027-01-29T12:00:00Z' })
    const made = (await invoicesOf(client, body.recurInvoiceID)).at(-1)
    const bare = (charge: any) => ({ ...charge, chargeID: null, invoiceID: null })
    expect(made.Charges.map(bare)).toEqual(preview.Charges)
    for (const field of ['InvoiceDate', 'DueDate', 'Total', 'CurrencyCode', 'Notes'])
      expect(made[field]).toEqual(preview[field])
    expect((await client.get(`${path}/preview`)).body).toMatchObject({ Charges: [], Total: 0, InvoiceDate: null })
  })
})

describe('editing', () => {
  test('counts from the next invoice; a record that is read can be sent back unchanged', async () => {
    const { client, customerID } = await shop()
    const { body } = await add(client, customerID, { Reference: 'Mine', InvoiceNotes: 'Old', EndDate: '2028-01-01' })
    const path = `${PATH}/${body.recurInvoiceID}`
    const read = await client.get(path)
    expect((await client.put(path, read.body, { 'if-match': read.headers['etag'] as string })).status).toBe(204)
    const again = await client.get(path)
    const withoutIds = (record: any) => ({
      ...record,
      LastModified: null,
      RecurInvoiceCharges: record.RecurInvoiceCharges.map((line: any) => ({ ...line, recurInvoiceChargeID: null })),
    })
    expect(withoutIds(again.body)).toEqual(withoutIds(read.body))
    const edited = await client.put(path, {
      customerID,
      RecurInvoiceCharges: [{ UnitCostEx: 20 }],
      Taxes: [{ Name: 'GST', Perc: 0.1 }],
    })
    expect(edited.status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      Reference: 'Mine',
      InvoiceNotes: null,
      EndDate: null,
      StartDate: '2027-01-01T00:00:00Z',
      RecurInvoiceCharges: [{ UnitCostEx: 20 }],
    })
    await client.put('/v1/clock', { Now: '2027-02-01T12:00:00Z' })
    expect((await invoicesOf(client, body.recurInvoiceID)).map(({ Total }: any) => Total)).toEqual([17.25, 22])
    expect((await client.put(path, read.body, { 'if-match': read.headers['etag'] as string })).status).toBe(412)
    expect(await eventsOf(client, body.recurInvoiceID)).toEqual(['created', 'updated', 'updated'])
  })

  test('another term counts from the next renewal and keeps the day of the month', async () => {
    const { client, customerID } = await shop({ clockAt: '2027-01-31T08:00:00.000Z' })
    const { body } = await add(client, customerID)
    const path = `${PATH}/${body.recurInvoiceID}`
    await client.put(path, { customerID, RecurInvoiceCharges: LINES, Term: 3 })
    expect((await client.get(path)).body).toMatchObject({ Term: 3, nextRenewDate: '2027-02-28T00:00:00Z' })
    await client.put('/v1/clock', { Now: '2027-09-01T00:00:00Z' })
    expect(await datesOf(client, body.recurInvoiceID)).toEqual(['2027-01-31', '2027-02-28', '2027-05-31', '2027-08-31'])
  })

  test('StartDate is free until the first invoice and bills at once when it comes to lie in the past; then it is 409', async () => {
    const { client, customerID } = await shop()
    const { body } = await add(client, customerID, { StartDate: '2027-03-01' })
    const path = `${PATH}/${body.recurInvoiceID}`
    const wish = { customerID, RecurInvoiceCharges: LINES }
    expect((await client.put(path, { ...wish, StartDate: '2026-12-01' })).status).toBe(204)
    expect(await datesOf(client, body.recurInvoiceID)).toEqual(['2027-01-01', '2027-01-01'])
    expect((await client.get(path)).body).toMatchObject({ nextRenewDate: '2027-02-01T00:00:00Z' })
    expect(codes(await client.put(path, { ...wish, StartDate: '2027-03-01' }))).toEqual(['start_date_fixed StartDate'])
    expect(codes(await client.put(path, { ...wish, EndDate: '2026-12-15' }))).toEqual(['end_date_past EndDate'])
    expect(codes(await client.put(path, { ...wish, EndDate: '2026-12-01' }))).toEqual(['date_order EndDate'])
    const other = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
    expect(codes(await client.put(path, { ...wish, customerID: other }))).toEqual(['customer_fixed customerID'])
  })
})

describe('ending and starting again', () => {
  test('a cancelled one is invoiced no more; started again it goes on at its own first renewal, and missed ones are not billed', async () => {
    const { client, customerID } = await shop()
    const { body } = await add(client, customerID)
    const path = `${PATH}/${body.recurInvoiceID}`
    expect((await client.put(`${path}/reactivate`)).status).toBe(409)
    await client.put('/v1/clock', { Now: '2027-01-10T12:00:00Z' })
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      comp_Status: 'Cancelled',
      isCancelled: true,
      nextRenewDate: null,
    })
    expect((await client.delete(path)).status).toBe(409)
    expect((await client.put(path, { customerID, RecurInvoiceCharges: LINES })).status).toBe(409)
    await client.put('/v1/clock', { Now: '2027-03-15T12:00:00Z' })
    expect((await client.put(`${path}/reactivate`)).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      comp_Status: 'Active',
      nextRenewDate: '2027-04-01T00:00:00Z',
    })
    await client.put('/v1/clock', { Now: '2027-04-01T12:00:00Z' })
    expect(await datesOf(client, body.recurInvoiceID)).toEqual(['2027-01-01', '2027-04-01'])
    expect(await eventsOf(client, body.recurInvoiceID)).toEqual(['created', 'cancelled', 'reactivated'])
  })

  test('started again on a renewal, it is invoiced at once; a suspended customer is 409', async () => {
    const { client, customerID } = await shop()
    const { body } = await add(client, customerID)
    const path = `${PATH}/${body.recurInvoiceID}`
    await client.delete(path)
    await client.put('/v1/clock', { Now: '2027-03-01T12:00:00Z' })
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect(codes(await client.put(`${path}/reactivate`))).toEqual(['customer_suspended customerID'])
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    await client.put(`${path}/reactivate`)
    expect(await datesOf(client, body.recurInvoiceID)).toEqual(['2027-01-01', '2027-03-01'])
  })

  test('every period that begins before EndDate is charged in full, then it is Expired; it can go on without an end', async () => {
    const { client, customerID } = await shop()
    const { body } = await add(client, customerID, { EndDate: '2027-02-02' })
    const path = `${PATH}/${body.recurInvoiceID}`
    const moved = await client.put('/v1/clock', { Now: '2027-02-10T12:00:00Z' })
    expect(moved.body).toMatchObject({ Invoices: 1, Renewals: 1, Expired: 1, Failed: [] })
    expect((await invoicesOf(client, body.recurInvoiceID)).at(-1)).toMatchObject({
      Total: 17.25,
      Charges: [{ Descrip: '2027-02-01 to 2027-02-28' }, {}],
    })
    expect((await client.get(path)).body).toMatchObject({
      comp_Status: 'Expired',
      isExpired: true,
      nextRenewDate: null,
    })
    expect((await client.put(`${path}/reactivate`)).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      comp_Status: 'Active',
      EndDate: null,
      nextRenewDate: '2027-03-01T00:00:00Z',
    })
    expect(await eventsOf(client, body.recurInvoiceID)).toEqual(['created', 'expired', 'reactivated'])
  })
})

test('a customer with a running recurring invoice keeps its currency and is not deleted; with one that has ended and was never invoiced it goes', async () => {
  const { client, customerID } = await shop()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const { body } = await add(client, customerID, { StartDate: '2027-06-01' })
  const customer = `/v1/customers/${customerID}`
  expect(codes(await client.put(customer, { Name: 'Acme', isCompany: true, CurrencyCode: 'EUR' }))).toEqual([
    'currency_fixed CurrencyCode',
  ])
  expect((await client.delete(customer)).status).toBe(409)
  expect((await client.delete('/v1/currencies?CurrencyCode=EUR')).status).toBe(204)
  await client.post('/v1/currencies', { CurrencyCode: 'JPY' })
  await add(client, customerID, {
    StartDate: '2027-06-01',
    CurrencyCode: 'JPY',
    RecurInvoiceCharges: [{ UnitCostEx: 100 }],
  })
  expect((await client.delete('/v1/currencies?CurrencyCode=JPY')).status).toBe(409)
  for (const one of (await client.get(PATH)).body) await client.delete(`${PATH}/${one.recurInvoiceID}`)
  expect((await client.delete(customer)).status).toBe(204)
  expect((await client.get(`${PATH}/${body.recurInvoiceID}`)).status).toBe(404)
})

test('a recurring invoice of another account does not exist', async () => {
  const { client, customerID } = await shop()
  const stranger = await shop()
  const { body } = await add(client, customerID)
  const path = `${PATH}/${body.recurInvoiceID}`
  const wish = { customerID: stranger.customerID, RecurInvoiceCharges: LINES }
  expect((await stranger.client.get(path)).status).toBe(404)
  expect((await stranger.client.get(`${path}/preview`)).status).toBe(404)
  expect((await stranger.client.put(path, wish)).status).toBe(404)
  expect((await stranger.client.put(`${path}/reactivate`)).status).toBe(404)
  expect((await stranger.client.delete(path)).status).toBe(404)
  expect(codes(await client.post(PATH, wish))).toEqual(['customer_unknown customerID'])
})
