import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'

const service = await startTestService()

async function shop(wish: Parameters<typeof service.newAccount>[0] = {}) {
  const client = await service.newAccount(wish)
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15, TaxNumber: 'T-1' }] })
  const { body } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, PaymentTermDays: 14 })
  return { client, customerID: body.customerID as number }
}

const codes = (reply: { body: any }) => reply.body.Errors.map(({ Code, Field }: any) => `${Code} ${Field}`)
const draftOf = async (client: TestClient, customerID: number, more: object = {}) =>
  (await client.post('/v1/invoices', { customerID, isDraft: true, Charges: [{ UnitCostEx: 10 }], ...more })).body
const events = async (client: TestClient, id: number): Promise<string[]> =>
  (await client.get(`/v1/events?RecordID=${id}`)).body
    .map(({ Type }: { Type: string }) => Type)
    .filter((type: string) => type.startsWith('invoice.'))

describe('adding', () => {
  test('an invoice is issued at once with its number, defaults, taxes of the rules and what the customer owes', async () => {
    const { client, customerID } = await shop()
    const added = await client.post('/v1/invoices', {
      customerID,
      Charges: [
        { UnitCostEx: 3.35, Qty: 3, Line: 7, Descrip: 'Hours\nof work' },
        { UnitCostEx: 3.33, Qty: -1, Line: 'Discount' },
      ],
      poNumber: 4711,
    })
    expect(added.status).toBe(201)
    expect(added.headers['location']).toBe(`/v1/invoices/${added.body.invoiceID}`)
    expect(added.body).toMatchObject({
      invoiceNum: 1,
      Reference: `I${added.body.invoiceID}`,
      poNumber: '4711',
      CurrencyCode: 'USD',
      InvoiceDate: '2027-01-01T00:00:00Z',
      DueDate: '2027-01-15T00:00:00Z',
      isDraft: false,
      Source: 'App',
      CollectionMethod: 'cash',
      Status: 'Due',
      subscriptionID: null,
      recurInvoiceID: null,
      // Σ 6.72 at 15 % is 1.008: 1.01, and the lines carry it to the cent.
      Total: 7.73,
      Balance: 7.73,
      Taxes: [{ Name: 'VAT', Perc: 0.15 }],
      Charges: [
        {
          Line: '7',
          Descrip: 'Hours\nof work',
          Qty: 3,
          UnitCostEx: 3.35,
          AmountEx: 10.05,
          AmountInc: 11.56,
          DisplayOrder: 1,
        },
        {
          Line: 'Discount',
          Descrip: null,
          Qty: -1,
          UnitCostEx: 3.33,
          AmountEx: -3.33,
          AmountInc: -3.83,
          DisplayOrder: 2,
        },
      ],
    })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(7.73)
    const read = await client.get(`/v1/invoices/${added.body.invoiceID}`)
    expect(read.body).toEqual({ ...added.body, Customer: read.body.Customer })
    expect(read.headers['etag']).toBe(added.headers['etag'])
    expect(await events(client, added.body.invoiceID)).toEqual(['invoice.issued'])
  })

  test('given taxes are used instead of the rules, [] means none, null means found; an exempt customer has given ones only', async () => {
    const { client, customerID } = await shop()
    const charge = { customerID, Charges: [{ UnitCostEx: 100 }] }
    const taxesOf = async (more: object) => (await client.post('/v1/invoices', { ...charge, ...more })).body
    expect(await taxesOf({ Taxes: [{ Name: 'GST', Perc: 0.05 }] })).toMatchObject({
      Total: 105,
      Taxes: [{ Name: 'GST', Perc: 0.05 }],
    })
    expect(await taxesOf({ Taxes: [] })).toMatchObject({ Total: 100, Taxes: [] })
    expect(await taxesOf({ Taxes: null })).toMatchObject({ Total: 115 })
    await client.put(`/v1/customers/${customerID}`, { Name: 'Acme', isCompany: true, isWaiveTaxes: true })
    expect(await taxesOf({})).toMatchObject({ Total: 100, Taxes: [] })
    expect(await taxesOf({ Taxes: [{ Name: 'GST', Perc: 0.05 }] })).toMatchObject({ Total: 105 })
  })

  test('amounts follow the decimals of the currency: 2, 0 and 3', async () => {
    const { client, customerID } = await shop()
    for (const CurrencyCode of ['JPY', 'KWD']) await client.post('/v1/currencies', { CurrencyCode })
    const totalIn = async (CurrencyCode: string) =>
      (
        await client.post('/v1/invoices', {
          customerID,
          CurrencyCode,
          Taxes: [],
          Charges: [{ UnitCostEx: 0.33335, Qty: 10 }],
        })
      ).body
    expect(await totalIn('USD')).toMatchObject({ Total: 3.33 })
    expect(await totalIn('JPY')).toMatchObject({ Total: 3 })
    expect(await totalIn('KWD')).toMatchObject({ Total: 3.334, Charges: [{ UnitCostEx: 0.33335, AmountEx: 3.334 }] })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(3.33)
  })

  test('400 tells everything that is wrong at once', async () => {
    const { client, customerID } = await shop()
    const add = (body: object) => client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 1 }], ...body })
    expect(codes(await client.post('/v1/invoices', {}))).toEqual(['required customerID', 'required Charges'])
    expect(
      codes(
        await add({
          customerID: 999_999_999,
          Charges: [],
          CurrencyCode: 'JPY',
          CollectionMethod: 'credit_card',
          gatewayID: 999_999_999,
          customerPaymentMethodID: 6,
          Taxes: [{ Name: 'X', Perc: 1.5 }],
          InvoiceDate: '2027-01-02',
          DueDate: '2027-01-01',
        }),
      ),
    ).toEqual(
      expect.arrayContaining([
        'customer_unknown customerID',
        'wrong_count Charges',
        'currency_unknown CurrencyCode',
        'gateway_unknown gatewayID',
        'out_of_range Taxes[0].Perc',
        'date_order DueDate',
      ]),
    )
    expect(codes(await add({ Charges: [{ UnitCostEx: 1 }, { Qty: 2, UnitCostEx: null }] }))).toEqual([
      'required Charges[1].UnitCostEx',
    ])
    expect(codes(await add({ Charges: [{ UnitCostEx: 5 }, { UnitCostEx: 6, Qty: -1 }] }))).toEqual([
      'negative_total Charges',
    ])
    expect(codes(await add({ Charges: [{ UnitCostEx: 999999999999, Qty: 2 }] }))).toEqual([
      'amount_too_large Charges[0]',
    ])
    expect(codes(await add({ Charges: [{ UnitCostEx: 999999999999 }] }))).toEqual(['amount_too_large Charges'])
    expect(codes(await add({ Charges: Array.from({ length: 1001 }, () => ({ UnitCostEx: 1 })) }))).toEqual([
      'wrong_count Charges',
    ])
    expect((await client.get('/v1/invoices')).body).toEqual([])
  })

  test('1,000 charges are an invoice', async () => {
    const { client, customerID } = await shop()
    const Charges = Array.from({ length: 1000 }, () => ({ UnitCostEx: 0.01 }))
    const { status, body } = await client.post('/v1/invoices', { customerID, Charges })
    expect([status, body.Total, body.Charges.length]).toEqual([201, 11.5, 1000])
  })

  test('409: the customer is archived, or the Reference is taken, also by the form of the service; suspended customers are billed by hand', async () => {
    const { client, customerID } = await shop()
    const add = (more: object = {}) =>
      client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 1 }], ...more })
    expect((await add({ Reference: 'R1' })).status).toBe(201)
    expect(codes(await add({ Reference: 'R1' }))).toEqual(['reference_taken Reference'])
    const own = await add()
    expect(codes(await add({ Reference: own.body.Reference }))).toEqual(['reference_taken Reference'])
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect((await add()).status).toBe(201)
    await client.put(`/v1/customers/${customerID}/archive`)
    expect(codes(await add())).toEqual(['customer_archived customerID'])
  })

  test('notes and terms are those of the account where none are given, and stay what they were', async () => {
    const { client, customerID } = await shop()
    await client.put('/v1/account', { Notes: 'Thank you', Terms: null })
    const { body } = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 1 }], Terms: 'Cash' })
    await client.put('/v1/account', { Notes: 'Changed', Terms: 'Changed' })
    expect((await client.get(`/v1/invoices/${body.invoiceID}`)).body).toMatchObject({
      Notes: 'Thank you',
      Terms: 'Cash',
    })
  })
})

describe('drafts', () => {
  test('a draft has no number and is owed by nobody; issued it has the dates, taxes and number of that day', async () => {
    const { client, customerID } = await shop()
    const draft = await draftOf(client, customerID)
    expect(draft).toMatchObject({
      invoiceNum: null,
      isDraft: true,
      Status: 'Draft',
      Total: 11.5,
      DueDate: '2027-01-15T00:00:00Z',
    })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(0)
    await client.put('/v1/clock', { Now: '2027-01-10T12:00:00Z' })
    const [setting] = (await client.get('/v1/tax')).body
    await client.put(`/v1/tax/${setting.taxSettingID}`, { Name: 'VAT', rules: [{ Perc: 0.2 }] })
    const path = `/v1/invoices/${draft.invoiceID}`
    expect((await client.put(`${path}/issue`)).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      invoiceNum: 1,
      isDraft: false,
      InvoiceDate: '2027-01-10T00:00:00Z',
      DueDate: '2027-01-24T00:00:00Z',
      Total: 12,
      Taxes: [{ Perc: 0.2 }],
      Charges: [{ chargeID: draft.Charges[0].chargeID, AmountInc: 12 }],
    })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(12)
    expect((await client.put(`${path}/issue`)).status).toBe(409)
    expect(await events(client, draft.invoiceID)).toEqual(['invoice.created', 'invoice.issued'])
  })

  test('given dates and taxes stay at issue; one whose given DueDate has been passed by its InvoiceDate is 409', async () => {
    const { client, customerID } = await shop()
    const given = await draftOf(client, customerID, {
      InvoiceDate: '2027-01-03',
      DueDate: '2027-01-04',
      Taxes: [{ Name: 'VAT', Perc: 0.15 }],
    })
    const stale = await draftOf(client, customerID, { DueDate: '2027-01-04' })
    await client.put('/v1/clock', { Now: '2027-01-10T12:00:00Z' })
    expect((await client.put(`/v1/invoices/${given.invoiceID}/issue`)).status).toBe(204)
    expect((await client.get(`/v1/invoices/${given.invoiceID}`)).body).toMatchObject({
      InvoiceDate: '2027-01-03T00:00:00Z',
      DueDate: '2027-01-04T00:00:00Z',
      Status: 'Past Due',
    })
    expect(codes(await client.put(`/v1/invoices/${stale.invoiceID}/issue`))).toEqual(['date_order DueDate'])
  })

  test('a draft that is read and sent back stays as it was: defaults stay defaults, found taxes stay found, lines keep their identifiers', async () => {
    const { client, customerID } = await shop()
    const draft = await draftOf(client, customerID, { Charges: [{ UnitCostEx: 10, Line: 'Work' }] })
    const path = `/v1/invoices/${draft.invoiceID}`
    await client.put('/v1/clock', { Now: '2027-01-05T12:00:00Z' })
    expect((await client.put(path, (await client.get(path)).body)).status).toBe(204)
    await client.put('/v1/clock', { Now: '2027-01-10T12:00:00Z' })
    const [setting] = (await client.get('/v1/tax')).body
    await client.put(`/v1/tax/${setting.taxSettingID}`, { Name: 'VAT', rules: [{ Perc: 0.2 }] })
    await client.put(`${path}/issue`)
    expect((await client.get(path)).body).toMatchObject({
      InvoiceDate: '2027-01-10T00:00:00Z',
      DueDate: '2027-01-24T00:00:00Z',
      Total: 12,
      Reference: draft.Reference,
      Charges: [{ chargeID: draft.Charges[0].chargeID }],
    })
  })

  test('PUT replaces a draft: absent fields return to their defaults, Reference and CurrencyCode stay, isDraft is ignored', async () => {
    const { client, customerID } = await shop()
    await client.post('/v1/currencies', { CurrencyCode: 'JPY' })
    const draft = await draftOf(client, customerID, {
      Reference: 'R9',
      CurrencyCode: 'JPY',
      poNumber: 'P',
      Notes: 'N',
      DueDate: '2027-02-01',
      Taxes: [],
    })
    const path = `/v1/invoices/${draft.invoiceID}`
    const before = await client.get(path)
    const put = await client.put(
      path,
      { customerID, isDraft: false, Charges: [{ UnitCostEx: 7 }, { UnitCostEx: 8 }] },
      { 'if-match': before.headers['etag'] as string },
    )
    expect(put.status).toBe(204)
    const after = await client.get(path)
    expect(after.body).toMatchObject({
      Reference: 'R9',
      CurrencyCode: 'JPY',
      poNumber: null,
      Notes: null,
      DueDate: '2027-01-15T00:00:00Z',
      isDraft: true,
      Total: 15,
      Taxes: [],
    })
    expect(after.headers['etag']).toBe(put.headers['etag'])
    expect((await client.put(path, after.body, { 'if-match': before.headers['etag'] as string })).status).toBe(412)
    expect((await client.put(path, { ...after.body, Taxes: null })).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({ Total: 17, Taxes: [{ Name: 'VAT' }] })
    expect(codes(await client.put(path, { customerID, Charges: [] }))).toEqual(['wrong_count Charges'])
  })

  test('given taxes that are kept are taken of the new lines', async () => {
    const { client, customerID } = await shop()
    const draft = await draftOf(client, customerID, { Taxes: [{ Name: 'GST', Perc: 0.1 }] })
    const path = `/v1/invoices/${draft.invoiceID}`
    await client.put(path, { customerID, Charges: [{ UnitCostEx: 200 }] })
    expect((await client.get(path)).body).toMatchObject({ Total: 220, Charges: [{ AmountInc: 220 }] })
    const explained = await client.get(`${path}/explanation`)
    expect(explained.body.Taxes).toMatchObject([{ Name: 'GST', Base: 200, Amount: 20 }])
  })

  test('a draft can move to another customer; a deleted one is gone, its customer too', async () => {
    const { client, customerID } = await shop()
    const other = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
    const draft = await draftOf(client, customerID)
    const path = `/v1/invoices/${draft.invoiceID}`
    expect((await client.put(path, { customerID: other, Charges: [{ UnitCostEx: 1 }] })).status).toBe(204)
    expect((await client.get(path)).body.customerID).toBe(other)
    expect((await client.delete(`/v1/customers/${other}`)).status).toBe(204)
    expect((await client.get(path)).status).toBe(404)
    const second = await draftOf(client, customerID)
    expect((await client.delete(`/v1/invoices/${second.invoiceID}`)).status).toBe(204)
    expect((await client.delete(`/v1/invoices/${second.invoiceID}`)).status).toBe(404)
    expect((await client.get('/v1/invoices')).body).toEqual([])
  })
})

describe('issued invoices', () => {
  test('of one read and sent back nothing changes; poNumber and Notes can change, anything else is 409', async () => {
    const { client, customerID } = await shop()
    const { body } = await client.post('/v1/invoices', {
      customerID,
      Charges: [{ UnitCostEx: 10, Line: 'Work' }],
      Notes: 'N',
    })
    const path = `/v1/invoices/${body.invoiceID}`
    expect((await client.put(path, body)).status).toBe(204)
    expect((await client.get(path)).body).toEqual({ ...body, Customer: expect.anything() })
    expect(
      (await client.put(path, { ...body, poNumber: 'PO', Notes: 'New', CollectionMethod: 'eft', isDraft: true }))
        .status,
    ).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      poNumber: 'PO',
      Notes: 'New',
      CollectionMethod: 'eft',
      isDraft: false,
      invoiceNum: 1,
    })
    const changes = {
      customerID: customerID + 1,
      Charges: [{ UnitCostEx: 11, Line: 'Work' }],
      InvoiceDate: '2027-01-02',
      DueDate: '2027-01-16',
      CurrencyCode: 'EUR',
      Reference: 'Mine',
      Terms: 'New',
      Taxes: [],
    }
    for (const [field, value] of Object.entries(changes))
      expect(codes(await client.put(path, { ...body, [field]: value })), field).toEqual([`invoice_issued ${field}`])
  })

  test('one of the rules can be sent back too, and its note changed', async () => {
    const { client, customerID } = await shop()
    const group = await client.post('/v1/packagegroups', { GroupName: 'G' })
    const rate = {
      CurrencyCode: 'USD',
      SetupFee: 5,
      TrialFee: 0,
      TrialPeriod: 0,
      TrialPeriodType: 'days',
      PackageRateTerms: [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }],
    }
    const sold = await client.post('/v1/packages', {
      packageGroupID: group.body.packageGroupID,
      packageCode: 'P',
      Name: 'Plan',
      Descrip: 'A plan',
      isActive: true,
      PackageVersion: { VersionName: '1', isActive: true, isDefault: true, packageVersionRates: [rate] },
    })
    await client.post('/v1/subscriptions', { customerID, packageID: sold.body.packageID })
    const [invoice] = (await client.get('/v1/invoices')).body
    expect(invoice.Charges).toHaveLength(2)
    expect((await client.put(`/v1/invoices/${invoice.invoiceID}`, { ...invoice, Notes: 'Hello' })).status).toBe(204)
    expect((await client.get(`/v1/invoices/${invoice.invoiceID}`)).body).toMatchObject({
      Notes: 'Hello',
      Total: invoice.Total,
      Source: 'Auto',
    })
  })

  test('cancelling keeps the number and takes back what was owed; again it is 409, and nothing can be edited', async () => {
    const { client, customerID } = await shop()
    const { body } = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
    const path = `/v1/invoices/${body.invoiceID}`
    expect((await client.delete(path, undefined, { 'if-match': '"other"' })).status).toBe(412)
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      invoiceNum: 1,
      isCancelled: true,
      Status: 'Cancelled',
      Total: 11.5,
    })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(0)
    expect((await client.delete(path)).status).toBe(409)
    expect((await client.put(path, body)).status).toBe(409)
    expect((await client.put(`${path}/issue`)).status).toBe(409)
    const next = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
    expect(next.body.invoiceNum).toBe(2)
    expect((await client.get('/v1/invoices?status=cancelled')).body).toHaveLength(1)
    expect(await events(client, body.invoiceID)).toEqual(['invoice.issued', 'invoice.cancelled'])
  })

  test('every line is explained from what was written, and recomputes to what is stored', async () => {
    const { client, customerID } = await shop()
    const { body } = await client.post('/v1/invoices', {
      customerID,
      Charges: [
        { UnitCostEx: 3.35, Qty: 3, Line: 'Hours' },
        { UnitCostEx: 1, Qty: -1 },
      ],
    })
    const { body: explained } = await client.get(`/v1/invoices/${body.invoiceID}/explanation`)
    expect(explained.Lines).toMatchObject([
      { Kind: 'manual', Facts: { From: null, Price: 3.35, Quantity: 3 }, Formula: '3.35 × 3 = 10.05' },
      { Kind: 'manual', Facts: { Price: 1, Quantity: -1 }, Formula: '1.00 × -1 = -1.00' },
    ])
    expect(explained.Taxes).toMatchObject([{ Name: 'VAT', TaxNumber: 'T-1', Base: 9.05, Amount: 1.36 }])
  })
})

test('an invoice of another account does not exist, and a customer of another account is no customer', async () => {
  const { client, customerID } = await shop()
  const stranger = await shop()
  const draft = await draftOf(client, customerID)
  const path = `/v1/invoices/${draft.invoiceID}`
  const body = { customerID: stranger.customerID, Charges: [{ UnitCostEx: 1 }] }
  expect((await stranger.client.put(path, body)).status).toBe(404)
  expect((await stranger.client.put(`${path}/issue`)).status).toBe(404)
  expect((await stranger.client.delete(path)).status).toBe(404)
  expect(codes(await client.post('/v1/invoices', body))).toEqual(['customer_unknown customerID'])
})

test('numbers have no gap though invoices are made at once and some are refused', async () => {
  const { client, customerID } = await shop()
  const add = (n: number) =>
    client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 1 }], Reference: n % 3 === 0 ? 'same' : `R${n}` })
  await Promise.all(Array.from({ length: 12 }, (_, n) => add(n)))
  const { body } = await client.get('/v1/invoices')
  expect(body.map(({ invoiceNum }: any) => invoiceNum).sort((a: number, b: number) => a - b)).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9,
  ])
})

test('a draft that is issued twice at the same moment gets one number and is owed once; edits beside it are before or refused', async () => {
  const { client, customerID } = await shop()
  const draft = await draftOf(client, customerID)
  const path = `/v1/invoices/${draft.invoiceID}`
  const edit = () => client.put(path, { customerID, Charges: [{ UnitCostEx: 20 }] })
  const replies = await Promise.all([client.put(`${path}/issue`), edit(), client.put(`${path}/issue`), edit()])
  expect(replies.map(({ status }) => status).filter((status) => status !== 204 && status !== 409)).toEqual([])
  expect([replies[0]?.status, replies[2]?.status].sort()).toEqual([204, 409])
  const { body } = await client.get(path)
  expect(body).toMatchObject({ invoiceNum: 1, isDraft: false })
  expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(body.Total)
})
