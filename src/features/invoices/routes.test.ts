import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addTax, day, moveTo, rowsOf, shop, subscribe } from '../../../test/support/shop.ts'

const service = await startTestService()

describe('an invoice', () => {
  test('is answered whole, by identifier and by number', async () => {
    const { client, customerID, add } = await shop(service, { setupFee: 10.1, price: 31 })
    await addTax(client, 'VAT', { Perc: 0.15 })
    await client.put('/v1/account', { Notes: 'Thank you', Terms: 'Thirty days' })
    const { subscriptionID } = (await add({ poNumber: 'PO 7' })).body
    const [listed] = (await client.get('/v1/invoices')).body
    const read = await client.get(`/v1/invoices/${listed.invoiceID}`)
    expect([read.status, read.body]).toEqual([200, listed])
    expect(read.headers['etag']).toBeDefined()
    expect((await client.get('/v1/invoices/by_number/1')).body).toEqual(listed)
    const customer = (await client.get(`/v1/customers/${customerID}`)).body
    const [tax] = listed.Taxes
    const [fee, plan] = listed.Charges
    expect(listed).toEqual({
      invoiceID: listed.invoiceID,
      invoiceNum: 1,
      Customer: customer,
      Reference: `I${listed.invoiceID}`,
      poNumber: 'PO 7',
      CurrencyCode: 'USD',
      InvoiceDate: '2027-01-01T00:00:00Z',
      DueDate: '2027-01-01T00:00:00Z',
      SupplyDate: null,
      SupplyFrom: '2027-01-01T00:00:00Z',
      SupplyTo: '2027-01-31T00:00:00Z',
      DateSent: null,
      LastUpdated: '2027-01-01T08:00:00.000Z',
      isDraft: false,
      isCancelled: false,
      Source: 'Auto',
      CollectionMethod: 'cash',
      gatewayID: null,
      isCollectionHold: false,
      customerPaymentMethodID: null,
      NumTries: 0,
      NextTryDate: null,
      Notes: 'Thank you',
      Terms: 'Thirty days',
      Status: 'Due',
      customerID,
      Name: 'Ada',
      LastName: 'Lovelace',
      Total: 47.27,
      TotalEx: 41.1,
      TotalTax: 6.17,
      TotalActualPaid: 0,
      TotalPendingPaid: 0,
      TotalNegativeAdjs: 0,
      Credited: 0,
      WrittenOff: 0,
      isWrittenOff: false,
      Balance: 47.27,
      ActualBalance: 47.27,
      Taxes: [
        {
          invoiceTaxID: tax.invoiceTaxID,
          invoiceID: listed.invoiceID,
          Name: 'VAT',
          Perc: 0.15,
          Base: 41.1,
          TaxAmount: 6.17,
          Category: 'S',
          ReasonCode: null,
          Reason: null,
        },
      ],
      Charges: [
        {
          chargeID: fee.chargeID,
          invoiceID: listed.invoiceID,
          Line: 'Set-up fee',
          Descrip: null,
          Qty: 1,
          UnitCostEx: 10.1,
          AmountEx: 10.1,
          AmountInc: 11.62,
          DisplayOrder: 1,
        },
        {
          chargeID: plan.chargeID,
          invoiceID: listed.invoiceID,
          Line: 'Plan',
          Descrip: '2027-01-01 to 2027-01-31',
          Qty: 1,
          UnitCostEx: 31,
          AmountEx: 31,
          AmountInc: 35.65,
          DisplayOrder: 2,
        },
      ],
      PaymentsApplied: [],
      NegativeAdjustmentsApplied: [],
      subscriptionID,
      recurInvoiceID: null,
    })
  })

  test('keeps its taxes, notes and lines when settings change later; its Customer is the present one', async () => {
    const { client, customerID, add } = await shop(service)
    const taxSettingID = await addTax(client, 'VAT', { Perc: 0.15 })
    await client.put('/v1/account', { Notes: 'old' })
    await add()
    const [before] = (await client.get('/v1/invoices')).body
    await client.put(`/v1/tax/${taxSettingID}`, { Name: 'MwSt', rules: [{ Perc: 0.2 }] })
    await client.put('/v1/account', { Notes: 'new' })
    await client.put(`/v1/customers/${customerID}`, { Name: 'Grace', LastName: 'Hopper' })
    const { Customer, Name, LastName, ...kept } = (await client.get(`/v1/invoices/${before.invoiceID}`)).body
    expect(Customer).toMatchObject({ Name: 'Grace', LastName: 'Hopper' })
    expect([Name, LastName]).toEqual(['Grace', 'Hopper'])
    expect({ ...kept, Customer: before.Customer, Name: 'Ada', LastName: 'Lovelace' }).toEqual(before)
  })

  test('is Due on its due date and Past Due after it', async () => {
    const { client, add } = await shop(service)
    await client.put('/v1/account', { PaymentTermDays: 10 })
    await add({ EndDate: '2027-01-20' })
    const status = async () => (await client.get('/v1/invoices')).body[0].Status
    await moveTo(client, '2027-01-11')
    expect(await status()).toBe('Due')
    await moveTo(client, '2027-01-12')
    expect(await status()).toBe('Past Due')
  })

  test('shows how it is collected: as the subscription says, else as the customer pays', async () => {
    const client = await service.newAccount()
    await subscribe(client, {}, {}, { PaymentMethod: 'cheque' })
    await subscribe(client, {}, {}, { PaymentMethod: 'bank_account' })
    await subscribe(client, {}, { CollectionMethod: 'eft' }, { PaymentMethod: 'cash' })
    const { body } = await client.get('/v1/invoices')
    expect(body.map(({ CollectionMethod }: any) => CollectionMethod)).toEqual(['cash', 'debit_order', 'eft'])
  })

  test('that is not there, of another account, or of no number is 404', async () => {
    const { client, add } = await shop(service)
    await add()
    const [{ invoiceID }] = (await client.get('/v1/invoices')).body
    const stranger = await service.newAccount()
    const paths = [`/v1/invoices/${invoiceID}`, `/v1/invoices/${invoiceID}/explanation`, '/v1/invoices/by_number/1']
    for (const path of paths) {
      expect((await client.get(path)).status).toBe(200)
      expect((await stranger.get(path)).status).toBe(404)
    }
    for (const path of [
      '/v1/invoices/x',
      '/v1/invoices/by_number/0',
      '/v1/invoices/by_number/2',
      '/v1/customers/1/invoices',
    ])
      expect((await stranger.get(path)).status).toBe(404)
  })
})

describe('lists', () => {
  test('filter by dates, customer, subscription and status', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
    const first = await subscribe(client, { price: 10 })
    const second = await subscribe(client, { price: 20 }, { StartDate: '2027-01-15' })
    await moveTo(client, '2027-02-20')
    const totals = async (path: string) => (await client.get(path)).body.map(({ Total }: any) => Total)
    expect(await totals('/v1/invoices')).toEqual([10, 20, 10, 20])
    expect(await totals('/v1/invoices?startDate=2027-01-15&endDate=2027-02-01')).toEqual([20, 10])
    expect(await totals('/v1/invoices?startDate=2027-02-02')).toEqual([20])
    expect(await totals('/v1/invoices?endDate=01 Jan 2027')).toEqual([10])
    expect(await totals(`/v1/invoices?customerID=${first.customerID}`)).toEqual([10, 10])
    expect(await totals(`/v1/customers/${second.customerID}/invoices`)).toEqual([20, 20])
    expect(await totals(`/v1/customers/${second.customerID}/invoices?endDate=2027-01-31`)).toEqual([20])
    expect(await totals(`/v1/invoices?subscriptionID=${second.subscriptionID}`)).toEqual([20, 20])
    expect(await totals(`/v1/invoices?subscriptionID=${second.subscriptionID}&customerID=999999`)).toEqual([])
    expect(await totals('/v1/invoices?subscriptionID=999999')).toEqual([])
    expect(await totals('/v1/invoices?recurInvoiceID=1')).toEqual([])
    expect(await totals('/v1/invoices?status=past due')).toEqual([10, 20, 10, 20])
    expect(await totals('/v1/invoices?status=Due')).toEqual([])
    expect(await totals('/v1/invoices?page_size=3&page=2')).toEqual([20])
    for (const query of ['startDate=2027-02-01&endDate=2027-01-01', 'status=Open', 'startDate=31 Feb 2027'])
      expect((await client.get(`/v1/invoices?${query}`)).status).toBe(400)
  })
})

describe('explanations', () => {
  test('tell every line from its facts, and every tax', async () => {
    const { client, add } = await shop(service, { setupFee: 5 }, '2027-02-11T08:00:00.000Z')
    await addTax(client, 'VAT', { Perc: 0.15, TaxNumber: 'TN1' })
    const { subscriptionID } = (await add({ firstProrataSyncDate: '2027-03-01', EndDate: '2027-02-20' })).body
    expect(await rowsOf(client)).toEqual([
      '2027-02-11: Set-up fee 5 + 2027-02-11 to 2027-02-19, 9 of 28 days 9.96 = 17.2',
    ])
    const [{ invoiceID, Charges }] = (await client.get('/v1/invoices')).body
    const { body } = await client.get(`/v1/invoices/${invoiceID}/explanation`)
    expect(body).toEqual({
      invoiceID,
      Lines: [
        {
          chargeID: Charges[0].chargeID,
          Kind: 'setup',
          Facts: {
            From: null,
            To: null,
            WholeFrom: null,
            WholeTo: null,
            Days: null,
            WholeDays: null,
            Price: 5,
            Quantity: 1,
            TotalQuantity: null,
            QuantityBefore: null,
            Scheme: null,
            Brackets: null,
            subscriptionID,
            Stretch: 1,
            Part: 0,
          },
          Formula: '5.00',
          Sentence: 'The set-up fee of 5.00 USD is charged once, when the subscription starts.',
        },
        {
          chargeID: Charges[1].chargeID,
          Kind: 'package',
          Facts: {
            From: '2027-02-11T00:00:00Z',
            To: '2027-02-19T00:00:00Z',
            WholeFrom: '2027-02-01T00:00:00Z',
            WholeTo: '2027-02-28T00:00:00Z',
            Days: 9,
            WholeDays: 28,
            Price: 31,
            Quantity: 1,
            TotalQuantity: null,
            QuantityBefore: null,
            Scheme: null,
            Brackets: null,
            subscriptionID,
            Stretch: 1,
            Part: 0,
          },
          Formula: '31.00 × 9 ÷ 28, rounded to 9.96',
          Sentence:
            'Plan from 2027-02-11 to 2027-02-19: 9 of the 28 days of the period from 2027-02-01 to 2027-02-28 are charged, so 31.00 × 9 ÷ 28, rounded to 9.96 USD.',
        },
      ],
      Taxes: [
        {
          Name: 'VAT',
          Perc: 0.15,
          TaxNumber: 'TN1',
          Category: 'S',
          ReasonCode: null,
          Reason: null,
          Base: 14.96,
          Amount: 2.24,
          Formula: '14.96 × 15 %, rounded to 2.24',
          Sentence: 'VAT is 15 % of 14.96 USD, the sum of the lines: 14.96 × 15 %, rounded to 2.24 USD.',
        },
      ],
    })
  })

  test('do not change with the catalogue: a renamed package keeps the words of the day', async () => {
    const { client, plan, add } = await shop(service)
    await add()
    const [{ invoiceID }] = (await client.get('/v1/invoices')).body
    const before = (await client.get(`/v1/invoices/${invoiceID}/explanation`)).body
    const { packageGroupID, packageCode, packageID } = plan
    const renamed = { packageGroupID, packageCode, Name: 'New name', Descrip: 'x', isActive: true }
    await client.put(`/v1/packages/${packageID}`, renamed)
    expect((await client.get(`/v1/invoices/${invoiceID}/explanation`)).body).toEqual(before)
    await moveTo(client, '2027-02-01')
    const { body } = await client.get('/v1/invoices')
    expect(body.map((invoice: any) => [day(invoice.InvoiceDate), invoice.Charges[0].Line])).toEqual([
      ['2027-01-01', 'Plan'],
      ['2027-02-01', 'New name'],
    ])
  })
})
