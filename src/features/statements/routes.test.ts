import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'

const service = await startTestService()

/** The worked example of ageing: 115 due 31 March with 50 paid, 115 due 1 May, 10 unallocated. */
async function example() {
  const client = await service.newAccount()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  await client.put('/v1/clock', { Now: '2027-04-30' })
  const invoice = async (InvoiceDate: string, DueDate: string) =>
    (await client.post('/v1/invoices', { customerID, InvoiceDate, DueDate, Charges: [{ UnitCostEx: 115 }] })).body
      .invoiceID
  const pay = (Amount: number, Date: string, allocations: object[], more: object = {}) =>
    client.post('/v1/payments', { customerID, Amount, CurrencyCode: 'USD', Date, Method: 'eft', allocations, ...more })
  const first = await invoice('2027-03-01', '2027-03-31')
  await pay(50, '2027-03-20', [{ invoiceID: first, amountApplied: 50 }])
  const second = await invoice('2027-04-01', '2027-05-01')
  const credit = (await pay(10, '2027-04-05', [])).body
  return { client, customerID, pay, first, second, credit }
}

const NO_AGE = { Current: 0, Days1To30: 0, Days31To60: 0, Days61To90: 0, Days91To120: 0, DaysOver120: 0 }

test("balances tell what is open by age, one object a currency, the customer's own first", async () => {
  const { client, customerID } = await example()
  const eur = { customerID, Amount: 7, CurrencyCode: 'EUR', Date: '2027-04-01', Method: 'cash', allocations: [] }
  expect((await client.post('/v1/payments', eur)).status).toBe(201)
  expect((await client.get(`/v1/customers/${customerID}/balances`)).body).toEqual([
    {
      CurrencyCode: 'USD',
      Balance: 170,
      Overdue: 65,
      Pending: 0,
      Unallocated: 10,
      PendingPassed: 0,
      Held: 0,
      Ageing: { ...NO_AGE, Current: 115, Days1To30: 65 },
    },
    {
      CurrencyCode: 'EUR',
      Balance: -7,
      Overdue: 0,
      Pending: 0,
      Unallocated: 7,
      PendingPassed: 0,
      Held: 0,
      Ageing: NO_AGE,
    },
  ])
  expect((await client.get('/v1/customers/999999/balances')).status).toBe(404)
})

test('a statement tells every movement with its running balance, and what was open on its last day', async () => {
  const { client, customerID, first, second, credit } = await example()
  const { body } = await client.get(`/v1/customers/${customerID}/statement?from=2027-04-01&to=2027-04-30`)
  expect(body).toEqual({
    customerID,
    CurrencyCode: 'USD',
    From: '2027-04-01T00:00:00Z',
    To: '2027-04-30T00:00:00Z',
    OpeningBalance: 65,
    Movements: [
      {
        Date: '2027-04-01T00:00:00Z',
        Type: 'invoice',
        ID: second,
        Number: '2',
        Description: 'Invoice',
        Debit: 115,
        Credit: null,
        Balance: 180,
      },
      {
        Date: '2027-04-05T00:00:00Z',
        Type: 'payment',
        ID: credit.paymentID,
        Number: null,
        Description: 'Payment by eft',
        Debit: null,
        Credit: 10,
        Balance: 170,
      },
    ],
    Debits: 115,
    Credits: 10,
    ClosingBalance: 170,
    RecordedLater: 0,
    Ageing: { ...NO_AGE, Current: 115, Days1To30: 65 },
    Unallocated: 10,
    PendingPassed: 0,
  })
  const march = (await client.get(`/v1/customers/${customerID}/statement?from=2027-03-01&to=2027-03-10`)).body
  expect(march).toMatchObject({
    OpeningBalance: 0,
    ClosingBalance: 115,
    RecordedLater: 55,
    Ageing: { ...NO_AGE, Current: 115 },
    Unallocated: 0,
    PendingPassed: 0,
  })
  expect(march.Movements).toMatchObject([{ ID: first }])
})

test('a statement in a currency that the account does not have is refused, whatever its form', async () => {
  const { client, customerID } = await example()
  const of = (query: string) => client.get(`/v1/customers/${customerID}/statement?${query}`)
  for (const query of ['currency=GBP', 'currency=GBP&format=pdf']) {
    const refused = await of(query)
    expect(refused.status).toBe(400)
    expect(refused.body.Errors).toMatchObject([{ Code: 'currency_unknown', Field: 'currency' }])
  }
  // The account has it, and the customer nothing in it.
  expect((await of('currency=EUR')).body).toMatchObject({ CurrencyCode: 'EUR', Movements: [], ClosingBalance: 0 })
  expect((await client.get('/v1/customers/999999/statement?currency=GBP')).status).toBe(404)
})

test('a payment that failed later paid until then, and cancelled invoices were owed until then', async () => {
  const { client, customerID, second, credit, pay } = await example()
  const list = [{ invoiceID: second, amountApplied: 100 }]
  const cheque = (await pay(100, '2027-04-10', list, { Method: 'cheque' })).body
  expect(
    (await client.put(`/v1/payments/${cheque.paymentID}/fail`, { Date: '2027-04-20', Reason: 'bounced' })).status,
  ).toBe(204)
  const until = async (to: string) =>
    (await client.get(`/v1/customers/${customerID}/statement?from=2027-04-01&to=${to}`)).body
  expect(await until('2027-04-15')).toMatchObject({
    ClosingBalance: 70,
    Ageing: { ...NO_AGE, Current: 15, Days1To30: 65 },
    RecordedLater: 100,
  })
  expect(await until('2027-04-30')).toMatchObject({ ClosingBalance: 170, Unallocated: 10, RecordedLater: 0 })
  await client.put('/v1/clock', { Now: '2027-05-02' })
  expect((await client.delete(`/v1/invoices/${second}`)).status).toBe(204)
  expect(await until('2027-05-01')).toMatchObject({ ClosingBalance: 170, RecordedLater: -115 })
  const last = await until('2027-05-02')
  expect(last).toMatchObject({ ClosingBalance: 55, Ageing: { ...NO_AGE, Days31To60: 65 } })
  expect(last.Movements.map(({ Type }: { Type: string }) => Type)).toEqual([
    'invoice',
    'payment',
    'payment',
    'payment_failed',
    'invoice_cancelled',
  ])
  expect(last.Movements.at(-2).Description).toBe('Payment by cheque failed')
  expect(credit.Status).toBe('Unallocated')
})
