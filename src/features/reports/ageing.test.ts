import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { creditOf, invoiceOf, paymentOf } from '../money/money.testing.ts'

/** Ageing and open items, figure by figure. */

const service = await startTestService()

const ageingOf = async (client: TestClient, query: string): Promise<any[]> => {
  const { status, body, text } = await client.get(`/v1/reports/ageing?${query}`)
  expect(status, text).toBe(200)
  return body
}

/** Keeps of rows what is not 0. */
const shortOf = (rows: readonly object[]): object[] =>
  rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== 0)))

/** 115 of 1 March due 31 March with 50 paid on 20 March; 115 of 1 April due 1 May; 10 unallocated of 5 April. */
async function spring() {
  const client = await service.newAccount()
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  await client.put('/v1/clock', { Now: '2027-04-30' })
  const invoice = (InvoiceDate: string, DueDate: string) =>
    invoiceOf(client, customerID, { InvoiceDate, DueDate, Charges: [{ UnitCostEx: 115 }] })
  const pay = async (Amount: number, Date: string, allocations: object[]): Promise<number> => {
    const body = paymentOf(customerID, Amount, { Date, Method: 'cheque', allocations })
    return (await client.post('/v1/payments', body)).body.paymentID
  }
  const first = await invoice('2027-03-01', '2027-03-31')
  const paid = await pay(50, '2027-03-20', [{ invoiceID: first, amountApplied: 50 }])
  const second = await invoice('2027-04-01', '2027-05-01')
  const waiting = await pay(10, '2027-04-05', [])
  return { client, customerID, first, second, paid, waiting, pay }
}

describe('by customer', () => {
  test('on 30 April 115 is current and 65 a month past due, 10 unallocated: 170; and as it was on days before', async () => {
    const { client, customerID } = await spring()
    const acme = { customerID, Name: 'Acme', CurrencyCode: 'USD' }
    expect(await ageingOf(client, 'date=2027-04-30')).toEqual([
      {
        ...acme,
        Current: 115,
        Days1To30: 65,
        Days31To60: 0,
        Days61To90: 0,
        Days91To120: 0,
        DaysOver120: 0,
        Total: 180,
        Unallocated: 10,
        PendingPassed: 0,
        Balance: 170,
      },
    ])
    expect(await ageingOf(client, '')).toEqual(await ageingOf(client, 'date=2027-04-30&by=customer'))
    expect(await ageingOf(client, 'date=2027-02-28')).toEqual([])
    const march = async (day: string) => shortOf(await ageingOf(client, `date=${day}`))
    expect(await march('2027-03-19')).toEqual([{ ...acme, Current: 115, Total: 115, Balance: 115 }])
    expect(await march('2027-03-31')).toEqual([{ ...acme, Current: 65, Total: 65, Balance: 65 }])
    expect(await march('2027-04-04')).toEqual([{ ...acme, Current: 115, Days1To30: 65, Total: 180, Balance: 180 }])
  })

  test.each([
    ['2027-03-31', 'Current'],
    ['2027-04-01', 'Days1To30'],
    ['2027-04-30', 'Days1To30'],
    ['2027-05-01', 'Days31To60'],
    ['2027-05-30', 'Days31To60'],
    ['2027-05-31', 'Days61To90'],
    ['2027-06-29', 'Days61To90'],
    ['2027-06-30', 'Days91To120'],
    ['2027-07-29', 'Days91To120'],
    ['2027-07-30', 'DaysOver120'],
  ])('what was due on 31 March is on %s in %s', async (day, age) => {
    const { client } = await oneOpen
    expect((await ageingOf(client, `date=${day}`))[0]).toMatchObject({ [age]: 115, Total: 115 })
  })

  test('what failed or was cancelled later counts until then, what was written off and came in later too', async () => {
    const { client, customerID, paid, second } = await spring()
    const debt = { customerID, Type: 'negative', AdjustmentType: 'bad_debt', Ref: 'lost', Date: '2027-04-10' }
    const allocated = (Amount: number) => ({
      ...debt,
      Amount,
      LinkedAllocations: [{ objectID: second, AmtAllocated: Amount, isAdjustment: false }],
    })
    const { AdjustmentID } = (await client.post('/v1/adjustment/add', allocated(40))).body
    await client.put('/v1/clock', { Now: '2027-05-20' })
    const on = async (day: string) => {
      const [row] = shortOf(await ageingOf(client, `date=${day}`))
      const { customerID: _id, Name: _name, CurrencyCode: _code, ...amounts } = row as any
      return amounts
    }
    const april = { Current: 75, Days1To30: 65, Total: 140, Unallocated: 10, Balance: 130 }
    expect(await on('2027-04-30')).toEqual(april)
    await client.put('/v1/account', { LockDate: '2027-04-30' })
    // 15.00 of the bad debt comes in after its books were closed, and the cheque of 20 March bounces.
    expect((await client.put('/v1/adjustment/edit', { ...allocated(25), AdjustmentID })).status).toBe(204)
    expect((await client.put(`/v1/payments/${paid}/fail`, { Date: '2027-05-10', Reason: 'bounced' })).status).toBe(204)
    // The part of the allocation that the recovery took away is gone from the invoice, and waits beside the debt until the recovery.
    expect(await on('2027-04-30')).toMatchObject({ Balance: 130 })
    expect(await on('2027-05-09')).toMatchObject({ Balance: 130 })
    expect(await on('2027-05-10')).toMatchObject({ Days31To60: 115, Balance: 180 })
    expect(await on('2027-05-20')).toEqual({
      Days1To30: 90,
      Days31To60: 115,
      Total: 205,
      Unallocated: 10,
      Balance: 195,
    })
  })
})

const oneOpen = (async () => {
  const client = await service.newAccount()
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  await client.put('/v1/clock', { Now: '2027-03-01' })
  await invoiceOf(client, customerID, { DueDate: '2027-03-31', Charges: [{ UnitCostEx: 115 }] })
  return { client }
})()

describe('by document', () => {
  test('are the open items: invoices, other debts, and money that was not wholly allocated', async () => {
    const { client, customerID, first, second, waiting } = await spring()
    const interest = {
      customerID,
      Type: 'positive',
      AdjustmentType: 'interest',
      Amount: 4,
      Date: '2027-04-02',
      DueDate: '2027-04-12',
      Ref: 'I-1',
    }
    const { AdjustmentID } = (await client.post('/v1/adjustment/add', interest)).body
    const note = creditOf(customerID, 7, { Date: '2027-04-06' })
    const { creditNoteID } = (await client.post('/v1/credits', note)).body
    const acme = { customerID, Name: 'Acme', CurrencyCode: 'USD' }
    const items = await ageingOf(client, 'date=2027-04-30&by=document')
    expect(shortOf(items)).toEqual([
      {
        ...acme,
        Type: 'invoice',
        DocumentID: first,
        Number: '1',
        Date: '2027-03-01T00:00:00Z',
        DueDate: '2027-03-31T00:00:00Z',
        Amount: 115,
        Days1To30: 65,
        Total: 65,
        Balance: 65,
      },
      {
        ...acme,
        Type: 'payment',
        DocumentID: waiting,
        Number: null,
        Date: '2027-04-05T00:00:00Z',
        DueDate: null,
        Amount: 10,
        Unallocated: 10,
        Balance: -10,
      },
      {
        ...acme,
        Type: 'credit_note',
        DocumentID: creditNoteID,
        Number: note.CreditNumber,
        Date: '2027-04-06T00:00:00Z',
        DueDate: null,
        Amount: 7,
        Unallocated: 7,
        Balance: -7,
      },
      {
        ...acme,
        Type: 'interest',
        DocumentID: AdjustmentID,
        Number: 'I-1',
        Date: '2027-04-02T00:00:00Z',
        DueDate: '2027-04-12T00:00:00Z',
        Amount: 4,
        Days1To30: 4,
        Total: 4,
        Balance: 4,
      },
      {
        ...acme,
        Type: 'invoice',
        DocumentID: second,
        Number: '2',
        Date: '2027-04-01T00:00:00Z',
        DueDate: '2027-05-01T00:00:00Z',
        Amount: 115,
        Current: 115,
        Total: 115,
        Balance: 115,
      },
    ])
  })

  test('as CSV in German writing, and of one currency', async () => {
    const { client, customerID, first } = await spring()
    const query = 'date=2027-03-31&by=document&format=csv&locale=de'
    const reply = await client.get(`/v1/reports/ageing?${query}`)
    expect(reply.headers['content-disposition']).toBe('attachment; filename="open-items-2027-03-31.csv"')
    expect(reply.text.split('\r\n')).toEqual([
      '\ufeffcustomerID;Name;CurrencyCode;Type;DocumentID;Number;Date;DueDate;Amount;Current;Days1To30;Days31To60;Days61To90;Days91To120;DaysOver120;Total;Unallocated;PendingPassed;Balance',
      `${customerID};Acme;USD;invoice;${first};1;2027-03-01;2027-03-31;115,00;65,00;0,00;0,00;0,00;0,00;0,00;65,00;0,00;0,00;65,00`,
      '',
    ])
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    await invoiceOf(client, customerID, { CurrencyCode: 'EUR' })
    const euros = await ageingOf(client, 'currency=EUR')
    expect(euros.map(({ CurrencyCode, Balance }) => [CurrencyCode, Balance])).toEqual([['EUR', 100]])
    expect(await ageingOf(client, '')).toHaveLength(2)
  })
})
