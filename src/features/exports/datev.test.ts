import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { authorization } from '../../../test/api/world.ts'
import { readStack, type ReadStackRow } from '../../rails/datev/check-stack.testing.ts'
import { creditOf, invoiceOf } from '../money/money.testing.ts'
import { FIRST, History, step } from '../reports/history.testing.ts'
import { CODES, exportOf } from './exports.testing.ts'
import { entriesOf } from './reconciliation.testing.ts'
import { addSums, computedSums, ledgerOf } from './stack-sums.testing.ts'

/** Stacks of DATEV: every field is checked, and what the program of the accountant computes comes to the ledger except for the differences that are named. */

const service = await startTestService()

const DATEV = { Consultant: 29_098, Client: 55_003, Initials: 'WD', Chart: '04' }
const JANUARY = { Format: 'datev', From: '2027-01-01', To: '2027-01-31', CurrencyCode: 'EUR' }

/** A German seller with 19 % on an automatic account, and a customer at home. */
async function germanShop(more: object = {}) {
  const client = await service.newAccount()
  await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
  await client.put('/v1/account', { Country: 'DE', CurrencyCode: 'EUR' })
  await client.put('/v1/glcodes', { ...CODES, Datev: { ...DATEV, AutomaticAccounts: ['4400'] }, ...more })
  const rules = [
    { countryID: 276, Perc: 0.19, DatevKey: '3' },
    { Area: 'EU', AppliesTo: 'business', Perc: 0, Category: 'AE', RevenueGLCode: '4336' },
    { Area: 'EU', AppliesTo: 'consumer', Perc: 0.2, RevenueGLCode: '4320', DatevKey: '240' },
    { countryID: 710, Perc: 0.15, DatevKey: '9' },
    { Area: 'nonEU', Perc: 0, Category: 'O', RevenueGLCode: '4338' },
  ]
  expect((await client.post('/v1/tax', { Name: 'USt', rules })).status).toBe(201)
  const customer = async (about: object = {}): Promise<number> => {
    const body = { Name: 'Berlin GmbH', isCompany: true, countryID: 276, GLCode: '10042', ...about }
    return (await client.post('/v1/customers', body)).body.customerID
  }
  const invoice = async (customerID: number, amounts: number[], about: object = {}): Promise<number> =>
    invoiceOf(client, customerID, {
      CurrencyCode: 'EUR',
      Charges: amounts.map((UnitCostEx) => ({ UnitCostEx })),
      ...about,
    })
  return { client, customer, invoice }
}

async function bytesOf(client: TestClient, exportID: number, part = 1): Promise<Buffer> {
  const url = `/v1/exports/${exportID}/file?part=${part}`
  const { rawPayload, headers } = await service.app.server.inject({
    url,
    headers: { authorization: authorization(client) },
  })
  expect(headers['content-type']).toBe('text/csv; charset=windows-1252')
  return rawPayload
}

async function stackOf(client: TestClient, { exportID }: { exportID: number }): Promise<ReadStackRow[]> {
  const { problems, rows } = readStack(await bytesOf(client, exportID))
  expect(problems).toEqual([])
  return rows
}

const lineOf = ({ amount, side, account, contra, key, day, document, text }: ReadStackRow): string =>
  [amount, side, account, contra, key || '-', day, document, text].join(' ')

describe('a stack', () => {
  test('has gross rows of the debtor, without a key on automatic accounts', async () => {
    const { client, customer, invoice } = await germanShop()
    const customerID = await customer()
    await client.put('/v1/account', { NextInvoiceNum: 950 })
    await invoice(customerID, [1000], { InvoiceDate: '2027-01-01' })
    await client.post('/v1/payments', {
      ...{
        customerID,
        Amount: 500,
        CurrencyCode: 'EUR',
        Date: '2027-01-01',
        Method: 'eft',
        Ref: 'RF 1/27',
        allocations: [],
      },
    })
    const made = await exportOf(client, JANUARY)
    expect(made).toMatchObject({ Format: 'datev', Debit: 1690, Credit: 1690 })
    const bytes = await bytesOf(client, made.exportID)
    expect(bytes.toString('latin1').split('\r\n')[2]).toMatch(
      /^1190,00;"S";"EUR";;;"";10042;4400;"";0101;"950";"";;"Invoice 950";;"";/,
    )
    expect(readStack(bytes).head[26]).toBe('"04"')
    const rows = await stackOf(client, made)
    expect(rows.map(lineOf).map((line) => line.replace(/Payment \d+/, 'Payment'))).toEqual([
      '119000 S 10042 4400 - 0101 950 Invoice 950',
      '50000 H 1590 1800 - 0101 RF1/27 Payment',
    ])
    expect(made.Differences.map(({ Problem, Expected, Computed }: any) => [Problem, Expected, Computed])).toEqual([
      ['number', 'RF 1/27', 'RF1/27'],
    ])
    expect((await client.get(`/v1/exports/${made.exportID}/file`)).headers['content-disposition']).toContain('EXTF_')
  })

  test('has a note that is not settled against unsettled, without tax', async () => {
    const { client, customer } = await germanShop({ unapplied: null })
    const customerID = await customer()
    await client.post('/v1/credits', creditOf(customerID, 60, { CurrencyCode: 'EUR', CreditNumber: 'G 7' }))
    const rows = await stackOf(client, await exportOf(client, JANUARY))
    expect(rows.map(lineOf)).toEqual(['6000 H 10042 1499 - 0101 G7 Credit note G 7'])
  })

  test('names every row whose tax the program computes otherwise', async () => {
    const { client, customer, invoice } = await germanShop({ revenue: '4410', unapplied: null })
    const invoiceID = await invoice(await customer({ countryID: 710 }), [9.99])
    await exportOf(client, JANUARY)
    for (let n = 0; n < 11; n += 1) {
      const reply = await client.post(`/v1/invoices/${invoiceID}/credit`, {
        Amount: 1,
        Reason: 'piece',
        CreditNumber: `P${n}`,
      })
      expect(reply.status, reply.text).toBe(201)
    }
    const made = await exportOf(client, JANUARY)
    const rows = await stackOf(client, made)
    expect([...new Set(rows.map(({ amount, side, key, contra }) => `${amount} ${side} ${key} ${contra}`))]).toEqual([
      '100 H 0009 4410',
    ])
    expect(rows).toHaveLength(11)
    const own = made.Differences.map(({ Problem, Expected, Computed }: any) => [Problem, Expected, Computed].join(' '))
    expect(own).toEqual(['tax -0.14 -0.13'])
  })

  test('has VAT numbers of businesses in the EU, and country and rate where the tax is of another state', async () => {
    const { client, customer, invoice } = await germanShop()
    await invoice(await customer({ Name: 'Paris SAS', countryID: 250, VatNo: 'FR40303265045' }), [100])
    await invoice(await customer({ Name: 'Claire', LastName: 'Durand', isCompany: false, countryID: 250 }), [100])
    await invoice(await customer({ Name: 'Zürich AG', countryID: 756 }), [100])
    const rows = await stackOf(client, await exportOf(client, JANUARY))
    expect(rows.map(({ contra, key, euVatNumber, euRate }) => [contra, key, euVatNumber, euRate])).toEqual([
      ['4336', '', 'FR40303265045', ''],
      ['4320', '0240', 'FR', '20,00'],
      ['4338', '', '', ''],
    ])
  })

  test('has no letters that the code page does not hold, and names what was changed', async () => {
    const { client, customer } = await germanShop({ unapplied: null })
    const customerID = await customer()
    for (const CreditNumber of ['Ł-1', 'Ж-1'])
      await client.post('/v1/credits', creditOf(customerID, 1, { CurrencyCode: 'EUR', CreditNumber }))
    const made = await exportOf(client, JANUARY)
    expect((await stackOf(client, made)).map(({ document, text }) => [document, text])).toEqual([
      ['-1', 'Credit note ?-1'],
      ['-1-2', 'Credit note ?-1'],
    ])
    expect(made.Differences.map(({ Row, Problem, Number: number }: any) => [Row, Problem, number])).toEqual([
      [1, 'number', 'Ł-1'],
      [1, 'text', 'Ł-1'],
      [2, 'number', 'Ж-1'],
      [2, 'text', 'Ж-1'],
    ])
  })
})

test('a number is written the same in later batches, and two of different batches that come to the same are kept apart', async () => {
  const { client, customer, invoice } = await germanShop({ unapplied: null })
  const customerID = await customer()
  const note = async (CreditNumber: string): Promise<number> =>
    (await client.post('/v1/credits', creditOf(customerID, 1, { CurrencyCode: 'EUR', CreditNumber }))).body.creditNoteID
  const documents = async (made: { exportID: number }) => (await stackOf(client, made)).map(({ document }) => document)
  const first = await note('K 9')
  const invoiceID = await invoice(customerID, [10])
  expect((await documents(await exportOf(client, JANUARY))).filter((one) => one.startsWith('K'))).toEqual(['K9'])
  await note('K_9')
  await note('K9')
  const allocated = creditOf(customerID, 1, { CurrencyCode: 'EUR', CreditNumber: 'K 9' })
  const Allocations = [{ invoiceID, amountApplied: 1 }]
  expect((await client.put(`/v1/credits/${first}`, { ...allocated, Allocations })).status).toBe(204)
  const second = await exportOf(client, JANUARY)
  expect([...new Set(await documents(second))].toSorted()).toEqual(['K9', 'K9-2', 'K9-3'])
  const changed = second.Differences.filter(({ Problem }: any) => Problem === 'number')
  expect(changed.map(({ Expected, Computed }: any) => `${Expected} ${Computed}`).toSorted()).toEqual([
    'K 9 K9',
    'K9 K9-3',
    'K_9 K9-2',
  ])
  expect((await client.delete(`/v1/exports/${second.exportID}`)).status).toBe(204)
  expect((await exportOf(client, JANUARY)).Sha256).toBe(second.Sha256)
})

describe('refused', () => {
  const refusal = async (client: TestClient, more: object = {}) => {
    const { status, body } = await client.post('/v1/exports', { ...JANUARY, ...more })
    return [status, body.Errors[0].Code]
  }

  test('are other currencies, two fiscal years, and accounts without numbers of consultant and client', async () => {
    const { client, customer, invoice } = await germanShop()
    await invoice(await customer(), [10])
    expect(await refusal(client, { CurrencyCode: 'USD' })).toEqual([400, 'datev_currency'])
    expect(await refusal(client, { From: '2026-12-31' })).toEqual([409, 'two_fiscal_years'])
    await client.put('/v1/glcodes', { Datev: { YearStartMonth: 7 } })
    expect(await refusal(client, { To: '2027-07-01' })).toEqual([409, 'two_fiscal_years'])
    await client.put('/v1/glcodes', { Datev: { Client: null } })
    expect(await refusal(client)).toEqual([409, 'datev_settings_missing'])
  })

  test('are codes that are no accounts, or too long', async () => {
    const { client, customer, invoice } = await germanShop({ tax: 'UST' })
    await invoice(await customer({ GLCode: '1000042' }), [10])
    const { body } = await client.post('/v1/exports', JANUARY)
    expect(body.Errors.map(({ Message }: any) => Message).slice(1)).toEqual([
      'DATEV takes no account 1000042: it has at most 5 digits, and nothing else.',
    ])
  })

  test('is a fiscal year that an export has closed up to its end', async () => {
    const { client, customer, invoice } = await germanShop()
    const customerID = await customer()
    await invoice(customerID, [10])
    await client.put('/v1/clock', { Now: '2028-02-01' })
    const year = { ...JANUARY, To: '2027-12-31' }
    expect((await exportOf(client, { ...year, isLock: true })).isLock).toBe(true)
    expect((await client.post('/v1/exports', year)).status).toBe(200)
    await client.put('/v1/account', { LockDate: '2026-12-31' })
    await invoice(customerID, [20], { InvoiceDate: '2027-06-01' })
    expect(await refusal(client, { To: '2027-12-31' })).toEqual([409, 'fiscal_year_closed'])
    const [row] = await stackOf(client, await exportOf(client, { ...JANUARY, From: '2028-01-01', To: '2028-01-31' }))
    expect([row?.day, row?.text.replace(/\d+ /, '')]).toEqual(['0101', 'Invoice of 2027-06-01'])
  })
})

test('the stacks of random histories come to the ledger by what the program computes and the differences', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 40 }), async (taken) => {
    const client = await service.newAccount()
    await client.put('/v1/glcodes', { ...CODES, Datev: DATEV })
    const history = new History(client, ['EUR'])
    await history.begin()
    const stacks: Record<string, bigint>[] = []
    const year = { ...JANUARY, To: '2027-12-31' }
    for (const [number, one] of taken.entries()) {
      await history.take(one)
      if (number % 8 !== 7 && number !== taken.length - 1) continue
      const { status, body, text } = await client.post('/v1/exports', { ...year, From: FIRST })
      if (status !== 201) expect([200, 409], text).toContain(status)
      else stacks.push(computedSums(await stackOf(client, body), body.Differences))
    }
    const euros = (await entriesOf(client)).filter(({ CurrencyCode }) => CurrencyCode === 'EUR')
    expect(addSums(stacks)).toEqual(ledgerOf(euros))
  })
  await fc.assert(property, { numRuns: 5, seed: 20_271_123 })
})
