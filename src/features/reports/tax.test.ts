import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { daySummer } from '../ledger/days.testing.ts'
import { creditOf, invoiceOf } from '../money/money.testing.ts'

/** Reports of taxes and of sales, figure by figure. */

const service = await startTestService()
const sumAllDays = await daySummer(service)

const taxesOf = async (client: TestClient, query: string): Promise<any[]> => {
  const { status, body, text } = await client.get(`/v1/reports/tax?${query}`)
  expect(status, text).toBe(200)
  return body
}

/** Keeps of rows the fields that are not 0 or null, so that figures stand out. */
const shortOf = (rows: readonly object[]): object[] =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).filter(([name, value]) => name === 'Name' || (value !== 0 && value !== null)),
    ),
  )

async function shop(more: object = {}) {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23, TaxNumber: 'T-1' }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...more })).body
    .customerID
  const clock = (Now: string) => client.put('/v1/clock', { Now })
  const writeOff = async (invoice: number, Amount: number, debt: object): Promise<number> => {
    const reply = await client.post('/v1/adjustment/add', debtOf(customerID, invoice, Amount, debt))
    expect(reply.status, reply.text).toBe(201)
    return reply.body.AdjustmentID
  }
  return { client, customerID, clock, writeOff }
}

const debtOf = (customerID: number, invoice: number, Amount: number, more: object) => ({
  customerID,
  Type: 'negative',
  AdjustmentType: 'bad_debt',
  Ref: 'lost',
  Amount,
  LinkedAllocations: [{ objectID: invoice, AmtAllocated: Amount, isAdjustment: false }],
  ...more,
})

const VAT = { Name: 'VAT', Perc: 0.23, TaxNumber: 'T-1', CurrencyCode: 'USD', Category: 'S' }
const OCTOBER = 'from=2027-10-01&to=2027-10-31'
const NOVEMBER = 'from=2027-11-01&to=2027-11-30'
const DECEMBER = 'from=2027-12-01&to=2027-12-31'

describe('by rate', () => {
  test('what a period charged, what was cancelled in it, what is at 0 %, and what no rule taxed; all fields', async () => {
    const { client, customerID, clock } = await shop({ countryID: 276 })
    await clock('2027-10-10')
    await invoiceOf(client, customerID, { InvoiceDate: '2027-09-15' })
    const cancelled = await invoiceOf(client, customerID, { InvoiceDate: '2027-09-20' })
    await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 40 }], Taxes: [{ Name: 'Export, "zero"', Perc: 0 }] })
    await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 7 }], Taxes: [] })
    await client.delete(`/v1/invoices/${cancelled}`)
    const nothing = { BaseTakenBack: 0, TaxTakenBack: 0, BadDebtRelief: 0, BaseRelieved: 0 }
    const germany = { countryID: 276, countryStateID: null, ...nothing }
    expect(await taxesOf(client, 'from=2027-09-01&to=2027-09-30')).toEqual([
      { ...VAT, ...germany, Base: 200, NetBase: 200, OutputTax: 46, Net: 46 },
    ])
    const october = await taxesOf(client, '')
    expect(october).toEqual(await taxesOf(client, 'from=2027-10-01&to=2027-10-10&by=rate'))
    expect(shortOf(october)).toEqual([
      { Name: 'Export, "zero"', CurrencyCode: 'USD', countryID: 276, Base: 40, NetBase: 40, ...categoryOf(october[0]) },
      { ...VAT, countryID: 276, Base: -100, NetBase: -100, OutputTax: -23, Net: -23 },
      { Name: null, CurrencyCode: 'USD', countryID: 276, Base: 7, NetBase: 7 },
    ])
    expect(october[2]).toMatchObject({ Perc: null, TaxNumber: null, Category: null })
  })

  test('a note of 60.00 of 30 October, allocated on 6 November to an invoice of 3 November, is unsettled until then', async () => {
    const { client, customerID, clock } = await shop()
    await clock('2027-11-03')
    const invoiceID = await invoiceOf(client, customerID)
    const note = creditOf(customerID, 60, { Date: '2027-10-30' })
    const { body } = await client.post('/v1/credits', note)
    await clock('2027-11-06')
    const unsettled = { Name: null, CurrencyCode: 'USD', Category: 'unsettled' }
    const october = [{ ...unsettled, BaseTakenBack: 60, NetBase: -60 }]
    expect(shortOf(await taxesOf(client, OCTOBER))).toEqual(october)
    const Allocations = [{ invoiceID, amountApplied: 60 }]
    expect((await client.put(`/v1/credits/${body.creditNoteID}`, { ...note, Allocations })).status).toBe(204)
    expect(shortOf(await taxesOf(client, OCTOBER))).toEqual(october)
    const taken = { BaseTakenBack: 48.78, NetBase: 51.22, TaxTakenBack: 11.22, Net: 11.78 }
    expect(shortOf(await taxesOf(client, NOVEMBER))).toEqual([
      { ...VAT, Base: 100, OutputTax: 23, ...taken },
      { ...unsettled, BaseTakenBack: -60, NetBase: 60 },
    ])
    await clock('2027-12-01')
    await client.put(`/v1/credits/${body.creditNoteID}`, { ...note, Allocations: [] })
    const november = await taxesOf(client, NOVEMBER)
    expect((await client.delete(`/v1/invoices/${invoiceID}`)).status).toBe(204)
    // Cancelling ends the settlement: its base comes back on that day, and the note corrects nothing again.
    expect(await taxesOf(client, NOVEMBER)).toEqual(november)
    expect(shortOf(await taxesOf(client, DECEMBER))).toEqual([
      { ...VAT, Base: -100, OutputTax: -23, BaseTakenBack: -48.78, NetBase: -51.22, TaxTakenBack: -11.22, Net: -11.78 },
      { ...unsettled, BaseTakenBack: 60, NetBase: -60 },
    ])
    expect((await client.delete(`/v1/credits/${body.creditNoteID}`)).status).toBe(204)
    expect(shortOf(await taxesOf(client, DECEMBER))).toHaveLength(2)
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('relief of bad debt: its tax and its base in its month, and 1.87 more tax in December when 10.00 comes in', async () => {
    const { client, customerID, clock, writeOff } = await shop()
    await clock('2027-10-05')
    const invoice = await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 26.29 }] })
    await clock('2027-10-20')
    const dates = { Date: '2027-10-10', TaxReliefDate: '2027-10-12' }
    const id = await writeOff(invoice, 16.34, dates)
    const october = await taxesOf(client, OCTOBER)
    expect(shortOf(october)).toEqual([
      { ...VAT, Base: 26.29, NetBase: 26.29, OutputTax: 6.05, BadDebtRelief: 3.06, BaseRelieved: 13.28, Net: 2.99 },
    ])
    await clock('2027-12-05')
    await client.put('/v1/account', { LockDate: '2027-10-31' })
    const lowered = { ...debtOf(customerID, invoice, 6.34, { Date: '2027-10-10' }), AdjustmentID: id }
    expect((await client.put('/v1/adjustment/edit', lowered)).status).toBe(204)
    expect(await taxesOf(client, OCTOBER)).toEqual(october)
    // Ended: 13.28 and 3.06; made: 6.34 − 1.19 = 5.15 and 1.19.
    expect(shortOf(await taxesOf(client, DECEMBER))).toEqual([
      { ...VAT, BadDebtRelief: -1.87, BaseRelieved: -8.13, Net: 1.87 },
    ])
  })

  test('one currency', async () => {
    const { client, customerID } = await shop()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    await invoiceOf(client, customerID)
    await invoiceOf(client, customerID, { CurrencyCode: 'EUR' })
    const currencies = async (query: string) =>
      (await taxesOf(client, query)).map(({ CurrencyCode, Base }: any) => [CurrencyCode, Base])
    expect(await currencies('')).toEqual([
      ['EUR', 100],
      ['USD', 100],
    ])
    expect(await currencies('currency=EUR')).toEqual([['EUR', 100]])
    expect(await currencies('by=customer&currency=EUR')).toHaveLength(1)
  })
})

/** Returns the category of a rate of 0 that a caller wrote, which the report shows as it was frozen. */
const categoryOf = ({ Category }: { Category: string | null }) => (Category === null ? {} : { Category })

test('by customer, place, VAT number and category: turnover, what was taken back of it, and tax; the number stays as it was', async () => {
  const { client, customerID, clock } = await shop({ countryID: 276, VatNo: 'DE136695976' })
  await client.post('/v1/customers', { Name: 'Idle', isCompany: true })
  await clock('2027-10-10')
  const invoiceID = await invoiceOf(client, customerID)
  await client.post(
    '/v1/credits',
    creditOf(customerID, 60, { Date: '2027-10-05', Allocations: [{ invoiceID, amountApplied: 60 }] }),
  )
  await client.post('/v1/credits', creditOf(customerID, 5, { Date: '2027-10-05' }))
  await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 7 }], Taxes: [] })
  const { body: customer } = await client.get(`/v1/customers/${customerID}`)
  await client.put(`/v1/customers/${customerID}`, { ...customer, Name: 'Acme & Sons', VatNo: '' })
  const german = { customerID, Name: 'Acme & Sons', countryID: 276, VatNo: 'DE136695976', CurrencyCode: 'USD' }
  expect(await taxesOf(client, `${OCTOBER}&by=customer`)).toEqual([
    { ...german, Category: null, Turnover: 7, TurnoverTakenBack: 0, NetTurnover: 7, Tax: 0 },
    { ...german, Category: 'S', Turnover: 100, TurnoverTakenBack: 48.78, NetTurnover: 51.22, Tax: 11.78 },
    { ...german, Category: 'unsettled', Turnover: 0, TurnoverTakenBack: 5, NetTurnover: -5, Tax: 0 },
  ])
})

describe('as CSV', () => {
  const csvOf = async (client: TestClient, query: string, headers: Record<string, string> = {}) => {
    const reply = await client.get(`/v1/reports/tax?${query}`, undefined, headers)
    expect(reply.status, reply.text).toBe(200)
    expect(reply.headers['content-type']).toBe('text/csv; charset=utf-8')
    return reply
  }

  test('in English and in German writing, by rate and by customer', async () => {
    const { client, customerID } = await shop({ Name: '=Acme; "Sons"', countryID: 276 })
    await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 1234.5 }] })
    await client.post('/v1/credits', creditOf(customerID, 1))
    const titles =
      'Name,Perc,TaxNumber,CurrencyCode,Base,OutputTax,TaxTakenBack,Net,Category,countryID,countryStateID,BaseTakenBack,NetBase,BadDebtRelief,BaseRelieved'
    const english = await csvOf(client, 'format=csv')
    expect(english.headers['content-disposition']).toBe('attachment; filename="tax-2027-01-01-2027-01-01.csv"')
    expect(english.text.split('\r\n')).toEqual([
      titles,
      'VAT,0.23,T-1,USD,1234.50,283.94,0.00,283.94,S,276,,0.00,1234.50,0.00,0.00',
      ',,,USD,0.00,0.00,0.00,0.00,unsettled,276,,1.00,-1.00,0.00,0.00',
      '',
    ])
    const german = await csvOf(client, 'format=csv&locale=de')
    expect(german.text.split('\r\n')).toEqual([
      `\ufeff${titles.replaceAll(',', ';')}`,
      'VAT;0,23;T-1;USD;1234,50;283,94;0,00;283,94;S;276;;0,00;1234,50;0,00;0,00',
      ';;;USD;0,00;0,00;0,00;0,00;unsettled;276;;1,00;-1,00;0,00;0,00',
      '',
    ])
    const sales = await csvOf(client, 'by=customer&locale=DE', { accept: 'text/csv' })
    expect(sales.headers['content-disposition']).toBe('attachment; filename="sales-2027-01-01-2027-01-01.csv"')
    expect(sales.text.split('\r\n').slice(0, 2)).toEqual([
      '\ufeffcustomerID;Name;countryID;VatNo;Category;CurrencyCode;Turnover;TurnoverTakenBack;NetTurnover;Tax',
      `${customerID};"'=Acme; ""Sons""";276;;S;USD;1234,50;0,00;1234,50;283,94`,
    ])
  })

  test('of no rows is a line of titles', async () => {
    const { client } = await shop()
    expect((await csvOf(client, 'format=csv')).text.split('\r\n')).toHaveLength(2)
    expect((await client.get('/v1/reports/tax')).body).toEqual([])
  })
})

test('the years from 1900 to 2999 are a period as any other', async () => {
  const { client, customerID } = await shop()
  await invoiceOf(client, customerID)
  for (const by of ['rate', 'customer'])
    expect(await taxesOf(client, `from=1900-01-01&to=2999-12-31&by=${by}`)).toHaveLength(1)
})

test('is the same of invoices, of sums of their days, and of both: drafts, lines of 0.00 and what is cancelled later too', async () => {
  const { client, customerID, clock } = await shop({ countryID: 276 })
  await clock('2027-10-10')
  const period = 'from=2027-10-01&to=2027-11-30'
  const month = async () => [
    await taxesOf(client, period),
    await taxesOf(client, OCTOBER),
    await taxesOf(client, NOVEMBER),
  ]
  const draft = await invoiceOf(client, customerID, { isDraft: true, Charges: [{ UnitCostEx: 5 }] })
  const cancelled = await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 7 }] })
  await invoiceOf(client, customerID)
  await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 0 }] })
  await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 3 }], Taxes: [] })
  const unsummed = await month()
  await sumAllDays()
  expect(await month()).toEqual(unsummed)
  expect(shortOf(unsummed[1]!)).toMatchObject([
    { Name: 'VAT', Base: 107, OutputTax: 24.61 },
    { Name: null, Base: 3 },
  ])
  await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 20 }] })
  expect((await client.put(`/v1/invoices/${draft}/issue`)).status).toBe(204)
  await clock('2027-11-10')
  await client.delete(`/v1/invoices/${cancelled}`)
  const after = await month()
  await sumAllDays()
  expect(await month()).toEqual(after)
  expect(shortOf(after[1]!)).toMatchObject([
    { Name: 'VAT', Base: 132, OutputTax: 30.36 },
    { Name: null, Base: 3 },
  ])
  expect(shortOf(after[2]!)).toMatchObject([{ Name: 'VAT', Base: -7, OutputTax: -1.61 }])
  expect(await differencesOf(service, client)).toEqual([])
})

test.each([
  [{ Name: 'Ada', isCompany: false, LastName: 'Lovelace', Company: 'Acme GmbH' }, 'Acme GmbH'],
  [{ Name: 'Acme', isCompany: true, Company: 'Group' }, 'Acme'],
  [{ Name: 'Ada', isCompany: false, LastName: 'Lovelace' }, 'Ada Lovelace'],
])('sales of %o are under the name %s', async (customer, Name) => {
  const client = await service.newAccount()
  const { customerID } = (await client.post('/v1/customers', customer)).body
  await invoiceOf(client, customerID)
  expect(await taxesOf(client, 'from=2027-01-01&to=2027-01-31&by=customer')).toMatchObject([{ Name }])
})
