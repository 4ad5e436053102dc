import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { daySummer } from '../ledger/days.testing.ts'
import { creditOf, invoiceOf, paymentOf } from '../money/money.testing.ts'

/** Trial balances, figure by figure. */

const service = await startTestService()
const sumAllDays = await daySummer(service)

const trialBalanceOf = async (client: TestClient, query: string): Promise<any[]> => {
  const { status, body, text } = await client.get(`/v1/reports/trialbalance?${query}`)
  expect(status, text).toBe(200)
  return body
}

/** Rows as texts: account and tax, opening, debit, credit, closing. */
const shortOf = (rows: readonly any[]): string[] =>
  rows.map(({ CurrencyCode, Account, TaxName, Opening, Debit, Credit, Closing }) =>
    [CurrencyCode, Account, ...(TaxName === null ? [] : [TaxName]), Opening, Debit, Credit, Closing].join(' '),
  )

/** 123.00 of 15 September, 50.00 of it paid on 5 October; 40.00 + 9.20 of 10 October; a note of 60.00 of 12 October that corrects nothing. */
async function autumn() {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23 }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  await client.put('/v1/clock', { Now: '2027-10-20' })
  const invoiceID = await invoiceOf(client, customerID, { InvoiceDate: '2027-09-15' })
  await invoiceOf(client, customerID, { InvoiceDate: '2027-10-10', Charges: [{ UnitCostEx: 40 }] })
  const allocations = [{ invoiceID, amountApplied: 50 }]
  await client.post('/v1/payments', paymentOf(customerID, 50, { Date: '2027-10-05', allocations }))
  await client.post('/v1/credits', creditOf(customerID, 60, { Date: '2027-10-12' }))
  return { client, customerID }
}

const OCTOBER = [
  'USD cash 0 50 0 50',
  'USD receivable 123 49.2 50 122.2',
  'USD revenue -100 60 40 -80',
  'USD tax VAT -23 0 9.2 -32.2',
  'USD unapplied 0 50 110 -60',
]

describe('the trial balance', () => {
  test('has what each account stood at before a month, what moved in it, and where it stands: each column balances', async () => {
    const { client } = await autumn()
    const october = await trialBalanceOf(client, 'from=2027-10-01&to=2027-10-31')
    expect(shortOf(october)).toEqual(OCTOBER)
    expect(october[3]).toEqual({
      CurrencyCode: 'USD',
      Account: 'tax',
      TaxName: 'VAT',
      GLCode: null,
      Opening: -23,
      Debit: 0,
      Credit: 9.2,
      Closing: -32.2,
    })
    expect(shortOf(await trialBalanceOf(client, 'from=2027-09-01&to=2027-09-30'))).toEqual([
      'USD receivable 0 123 0 123',
      'USD revenue 0 0 100 -100',
      'USD tax VAT 0 0 23 -23',
    ])
    expect(await trialBalanceOf(client, 'to=2027-08-31')).toEqual([])
    expect(await trialBalanceOf(client, '')).toEqual(await trialBalanceOf(client, 'from=2027-10-01&to=2027-10-20'))
  })

  test('has the codes of the chart: of ledger accounts, and of a tax those of its rules, where they agree', async () => {
    const { client } = await autumn()
    const codesOf = async () =>
      (await trialBalanceOf(client, 'to=2027-10-31')).map(({ Account, TaxName, GLCode }) =>
        [Account, TaxName, GLCode].join(' '),
      )
    await client.put('/v1/glcodes', { revenue: '4400', tax: '3800', unsettled: '1499' })
    const others = ['cash  ', 'receivable  ', 'revenue  4400']
    expect(await codesOf()).toEqual([...others, 'tax VAT 3800', 'unapplied  '])
    const [{ taxSettingID }] = (await client.get('/v1/tax')).body
    const rule = async (...rules: object[]) =>
      expect((await client.put(`/v1/tax/${taxSettingID}`, { Name: 'VAT', rules })).status).toBe(204)
    await rule({ Perc: 0.23, GLCode: '3806' }, { countryID: 710, Perc: 0 })
    expect(await codesOf()).toEqual([...others, 'tax VAT 3806', 'unapplied  '])
    await rule({ Perc: 0.23, GLCode: '3806' }, { countryID: 276, Perc: 0.19 })
    expect(await codesOf()).toEqual([...others, 'tax VAT ', 'unapplied  '])
    await rule({ Perc: 0.23, GLCode: '3806' }, { countryID: 276, Perc: 0.19, GLCode: '3806' })
    const csv = (await client.get('/v1/reports/trialbalance?to=2027-10-31&format=csv')).text
    expect(csv).toContain('USD,tax,VAT,3806,')
    expect(csv).toContain('USD,revenue,,4400,')
    expect(csv).toContain('USD,cash,,,')
  })

  test('is the same of entries, of sums of their days, and of both; a correction of a day that is summed counts on it', async () => {
    const { client, customerID } = await autumn()
    await sumAllDays()
    expect(shortOf(await trialBalanceOf(client, 'from=2027-10-01&to=2027-10-31'))).toEqual(OCTOBER)
    await invoiceOf(client, customerID, { InvoiceDate: '2027-09-15', Charges: [{ UnitCostEx: 1 }] })
    const both = [
      'USD receivable 124.23 49.2 50 123.43',
      'USD revenue -101 60 40 -81',
      'USD tax VAT -23.23 0 9.2 -32.43',
    ]
    const rows = async () => shortOf(await trialBalanceOf(client, 'from=2027-10-01&to=2027-10-31')).slice(1, 4)
    expect(await rows()).toEqual(both)
    await sumAllDays()
    expect(await rows()).toEqual(both)
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('as CSV in German writing, and of one currency', async () => {
    const { client, customerID } = await autumn()
    await client.post('/v1/currencies', { CurrencyCode: 'JPY' })
    await invoiceOf(client, customerID, { CurrencyCode: 'JPY', InvoiceDate: '2027-10-11', Taxes: [] })
    const query = 'from=2027-10-01&to=2027-10-31&format=csv&locale=de'
    const reply = await client.get(`/v1/reports/trialbalance?${query}&currency=JPY`)
    expect(reply.headers['content-disposition']).toBe('attachment; filename="trial-balance-2027-10-01-2027-10-31.csv"')
    expect(reply.text.split('\r\n')).toEqual([
      '\ufeffCurrencyCode;Account;TaxName;GLCode;Opening;Debit;Credit;Closing',
      'JPY;receivable;;;0;100;0;100',
      'JPY;revenue;;;0;0;100;-100',
      '',
    ])
    const all = (await client.get(`/v1/reports/trialbalance?${query}`)).text.split('\r\n')
    expect(all).toHaveLength(9)
    expect(all).toContain('USD;tax;VAT;;-23,00;0,00;9,20;-32,20')
  })
})
