import { expect, test } from 'vitest'
import { addCustomer, addTax, checkBooks, moveTo, rowsOf } from '../support/shop.ts'
import { startTestService } from '../support/app.ts'
import { bookOf } from './year.testing.ts'

/** Stories of what callers write themselves: recurring invoices for a year, and a draft on its way. */

const service = await startTestService()

test('a shop bills three customers a year long in dollars, yen and dinars, each to its own smallest unit', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-31T08:00:00.000Z' })
  for (const CurrencyCode of ['JPY', 'KWD']) await client.post('/v1/currencies', { CurrencyCode })
  await addTax(client, 'VAT', { Perc: 0.075 })
  const add = async (CurrencyCode: string, wish: object) => {
    const customerID = await addCustomer(client, { CurrencyCode, PaymentTermDays: 10 })
    const added = await client.post('/v1/recurring-invoices', { customerID, ...wish })
    expect(added.status).toBe(201)
    return { customerID, id: added.body.recurInvoiceID as number }
  }
  // 3 × 4.99 = 14.97, less a third of a dollar: 14.64; 7.5 % of it is 1.098.
  const dollars = await add('USD', {
    RecurInvoiceCharges: [
      { Line: 'Seats', UnitCostEx: 4.99, Qty: 3 },
      { Line: 'Loyalty', UnitCostEx: 0.33, Qty: -1 },
    ],
  })
  // 100.5 yen are 101, 2.5 × 33.3 = 83.25 are 83; 7.5 % of 184 is 13.8. Every quarter, invoiced five days ahead.
  const yen = await add('JPY', {
    Term: 3,
    numDaysBeforeToInv: 5,
    RecurInvoiceCharges: [
      { Line: 'Rent', UnitCostEx: 100.5 },
      { Line: 'Hours', UnitCostEx: 33.3, Qty: 2.5 },
    ],
  })
  // 1.2345 × 7 = 8.6415 dinars are 8.642 (8.6415 rounds up); own tax of 5 %: 0.4321. Every 100 days, until the end of August.
  const dinars = await add('KWD', {
    Term: 100,
    TermType: 'days',
    EndDate: '2027-09-01',
    Taxes: [{ Name: 'Levy', Perc: 0.05 }],
    RecurInvoiceCharges: [{ Line: 'Feed', UnitCostEx: 1.2345, Qty: 7 }],
  })
  const moved = await moveTo(client, '2028-01-30')
  expect(moved).toMatchObject({ Invoices: 17, Renewals: 17, Expired: 1, Failed: [] })
  const dollarsOn = (number: number, from: string, due: string, until: string): string =>
    `${number} | ${from} due ${due} | Seats ${from} to ${until}: 3 × 4.99 = 14.97 + Loyalty ${from} to ${until}: -1 × 0.33 = -0.33 | VAT 1.1 | 15.74 | Past Due`
  const yenOn = (number: number, on: string, due: string, from: string, until: string, status = 'Past Due'): string =>
    `${number} | ${on} due ${due} | Rent ${from} to ${until}: 101 + Hours ${from} to ${until}: 2.5 × 33.3 = 83 | VAT 14 | 198 | ${status}`
  const dinarsOn = (number: number, from: string, due: string, until: string): string =>
    `${number} | ${from} due ${due} | Feed ${from} to ${until}: 7 × 1.2345 = 8.642 | Levy 0.432 | 9.074 | Past Due`
  // Yen fall due ten days after the period that they pay for begins.
  expect(await bookOf(client)).toEqual([
    dollarsOn(1, '2027-01-31', '2027-02-10', '2027-02-27'),
    yenOn(2, '2027-01-31', '2027-02-10', '2027-01-31', '2027-04-29'),
    dinarsOn(3, '2027-01-31', '2027-02-10', '2027-05-10'),
    dollarsOn(4, '2027-02-28', '2027-03-10', '2027-03-30'),
    dollarsOn(5, '2027-03-31', '2027-04-10', '2027-04-29'),
    yenOn(6, '2027-04-25', '2027-05-10', '2027-04-30', '2027-07-30'),
    dollarsOn(7, '2027-04-30', '2027-05-10', '2027-05-30'),
    dinarsOn(8, '2027-05-11', '2027-05-21', '2027-08-18'),
    dollarsOn(9, '2027-05-31', '2027-06-10', '2027-06-29'),
    dollarsOn(10, '2027-06-30', '2027-07-10', '2027-07-30'),
    yenOn(11, '2027-07-26', '2027-08-10', '2027-07-31', '2027-10-30'),
    dollarsOn(12, '2027-07-31', '2027-08-10', '2027-08-30'),
    dinarsOn(13, '2027-08-19', '2027-08-29', '2027-11-26'),
    dollarsOn(14, '2027-08-31', '2027-09-10', '2027-09-29'),
    dollarsOn(15, '2027-09-30', '2027-10-10', '2027-10-30'),
    yenOn(16, '2027-10-26', '2027-11-10', '2027-10-31', '2028-01-30'),
    dollarsOn(17, '2027-10-31', '2027-11-10', '2027-11-29'),
    dollarsOn(18, '2027-11-30', '2027-12-10', '2027-12-30'),
    dollarsOn(19, '2027-12-31', '2028-01-10', '2028-01-30'),
    yenOn(20, '2028-01-26', '2028-02-10', '2028-01-31', '2028-04-29', 'Due'),
  ])
  const balance = async (customerID: number) => (await client.get(`/v1/customers/${customerID}`)).body.Balance
  expect(await balance(dollars.customerID)).toBe(188.88)
  expect(await balance(yen.customerID)).toBe(990)
  expect(await balance(dinars.customerID)).toBe(27.222)
  expect((await client.get(`/v1/recurring-invoices/${dinars.id}`)).body.comp_Status).toBe('Expired')
  await checkBooks(service, client)
})

test('a draft is written, corrected, issued, found by its number, and cancelled; the next one takes the next number', async () => {
  const client = await service.newAccount({ clockAt: '2027-03-01T08:00:00.000Z', currency: 'EUR' })
  await client.put('/v1/account', { PaymentTermDays: 30, Terms: 'Net 30', TimeZone: 'Europe/Berlin' })
  await addTax(client, 'MwSt', { Perc: 0.19, countryID: 276 })
  const customerID = await addCustomer(client, { Country: 'Germany' })
  const draft = await client.post('/v1/invoices', {
    customerID,
    isDraft: true,
    Charges: [{ Line: 'Consulting', UnitCostEx: 95, Qty: 7.5 }],
  })
  const path = `/v1/invoices/${draft.body.invoiceID}`
  expect(draft.body).toMatchObject({ Total: 847.88, Terms: 'Net 30', invoiceNum: null, Status: 'Draft' })
  const Charges = [
    ...draft.body.Charges,
    { Line: 'Travel', UnitCostEx: 49.99 },
    { Line: 'Rebate', UnitCostEx: 50, Qty: -1 },
  ]
  expect((await client.put(path, { ...draft.body, Charges, poNumber: 'PO 7' })).status).toBe(204)
  await moveTo(client, '2027-03-15')
  expect((await client.put(`${path}/issue`)).status).toBe(204)
  const found = await client.get('/v1/invoices/by_number/1')
  // 712.50 + 49.99 − 50.00 = 712.49; 19 % of it are 135.3731.
  expect(found.body).toMatchObject({
    invoiceID: draft.body.invoiceID,
    poNumber: 'PO 7',
    InvoiceDate: '2027-03-15T00:00:00+01:00',
    DueDate: '2027-04-14T00:00:00+02:00',
    Total: 847.86,
    Status: 'Due',
  })
  await moveTo(client, '2027-04-15')
  expect((await client.get(path)).body.Status).toBe('Past Due')
  expect((await client.get('/v1/invoices?status=past due')).body).toHaveLength(1)
  expect((await client.delete(path)).status).toBe(204)
  expect((await client.get(path)).body).toMatchObject({ Status: 'Cancelled', invoiceNum: 1 })
  const second = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 1 }] })
  expect(second.body).toMatchObject({ invoiceNum: 2, Total: 1.19 })
  expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(1.19)
  expect(await rowsOf(client, 'status=Due')).toEqual(['2027-04-15: null 1 = 1.19'])
})
