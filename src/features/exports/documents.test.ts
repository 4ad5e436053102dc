import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { readStack, type ReadStackRow } from '../../rails/datev/check-stack.testing.ts'
import { authorization } from '../../../test/api/world.ts'
import { creditOf } from '../money/money.testing.ts'
import { exportOf, linesOf, rowsOf } from './exports.testing.ts'

/** Rows for an accountant of what nobody taxed, and the document that each payment is for. */

const service = await startTestService()

const CODES = {
  ...{ receivable: '1200', cash: '1460', revenue: '4400', tax: '3806', bad_debt: '6930', unsettled: '1370' },
  Debtor: '10000',
  Datev: { Consultant: 29_098, Client: 55_003, AutomaticAccounts: ['4400', '4300'], Chart: '04' },
}
const JANUARY = { Format: 'datev', From: '2027-01-01', To: '2027-01-31', CurrencyCode: 'EUR' }
const GERMAN = { Perc: 0.19, countryID: 276, RevenueGLCode: '4400', GLCode: '3806' }

async function shop({ rules = [GERMAN] as object[], codes = {} } = {}) {
  const client = await service.newAccount({ currency: 'EUR', clockAt: '2027-01-10T08:00:00Z' })
  expect((await client.put('/v1/account', { Country: 'Germany' })).status).toBe(204)
  expect((await client.post('/v1/tax', { Name: 'USt', rules })).status).toBe(201)
  expect((await client.put('/v1/glcodes', { ...CODES, ...codes })).status).toBe(204)
  const customer = async (about: object = {}): Promise<number> => {
    const { status, body, text } = await client.post('/v1/customers', {
      ...{ Name: 'Berlin GmbH', isCompany: true, Country: 'Deutschland', ...about },
    })
    expect(status, text).toBe(201)
    return body.customerID
  }
  const invoice = async (customerID: number, net = 100, about: object = {}) => {
    const Charges = [{ Descrip: 'Work', Qty: 1, UnitCostEx: net }]
    const { status, body, text } = await client.post('/v1/invoices', {
      customerID,
      InvoiceDate: '2027-01-10',
      Charges,
      ...about,
    })
    expect(status, text).toBe(201)
    return body as { invoiceID: number; invoiceNum: number; Total: number }
  }
  const pay = async (customerID: number, Amount: number, about: object = {}): Promise<number> => {
    const { status, body, text } = await client.post('/v1/payments', {
      ...{ customerID, Amount, CurrencyCode: 'EUR', Date: '2027-01-10', Method: 'eft', ...about },
    })
    expect(status, text).toBe(201)
    return body.paymentID
  }
  return { client, customer, invoice, pay }
}

async function stackOf(client: TestClient, { exportID }: { exportID: number }): Promise<ReadStackRow[]> {
  const { rawPayload } = await service.app.server.inject({
    url: `/v1/exports/${exportID}/file`,
    headers: { authorization: authorization(client) },
  })
  const { problems, rows } = readStack(rawPayload)
  expect(problems).toEqual([])
  return rows
}

const sideOf = ({ amount, side, account, contra, key }: ReadStackRow) => [amount, side, account, contra, key].join(' ')

describe('rows on an automatic account', () => {
  test('have the key without tax where nobody charged any, so that the program declares none', async () => {
    const { client, customer, invoice } = await shop()
    await invoice(await customer())
    await invoice(await customer({ Country: 'Schweiz' }))
    await invoice(await customer({ isWaiveTaxes: true }))
    await client.put('/v1/clock', { Now: '2027-02-03' })
    const made = await exportOf(client, JANUARY)
    expect((await stackOf(client, made)).map(sideOf)).toEqual([
      '11900 S 10000 4400 ',
      '10000 S 10000 4400 0040',
      '10000 S 10000 4400 0040',
    ])
    expect([made.DifferenceCount, made.Differences]).toEqual([0, []])
  })

  test('have it at 0 % too, and on accounts of other kinds, as that of what is lost', async () => {
    const zero = { Perc: 0, Area: 'nonEU', Category: 'O', RevenueGLCode: '4338' }
    const codes = { Datev: { ...CODES.Datev, AutomaticAccounts: ['4400', '4338', '6930'], KeyWithoutTax: '41' } }
    const { client, customer, invoice } = await shop({ rules: [GERMAN, zero], codes })
    const customerID = await customer({ Country: 'Suisse' })
    const { invoiceID } = await invoice(customerID)
    const lost = await client.post('/v1/adjustment/add', {
      ...{ customerID, Type: 'negative', AdjustmentType: 'bad_debt', Amount: 100, Date: '2027-01-10', Ref: 'lost' },
      LinkedAllocations: [{ objectID: invoiceID, AmtAllocated: 100, isAdjustment: false }],
    })
    expect(lost.status, lost.text).toBe(201)
    const made = await exportOf(client, JANUARY)
    const rows = await stackOf(client, made)
    expect(rows.map(({ contra, key }) => [contra, key]).toSorted()).toEqual([
      ['4338', '0041'],
      ['6930', '0041'],
    ])
    expect(made.DifferenceCount).toBe(0)
  })

  test('are compared by the rate of the rule whose account it is, and by their own where rules of two rates name it', async () => {
    const reduced = { Perc: 0.07, countryID: 250 }
    const differing = await shop({ rules: [GERMAN, reduced] })
    await differing.invoice(await differing.customer({ Country: 'France' }))
    const made = await exportOf(differing.client, JANUARY)
    expect(made.Differences.map(({ Problem, Expected, Computed }: any) => [Problem, Expected, Computed])).toEqual([
      ['tax', '7.00', '17.08'],
    ])
    const several = await shop({ rules: [GERMAN, { ...reduced, RevenueGLCode: '4400' }] })
    await several.invoice(await several.customer({ Country: 'France' }))
    expect((await exportOf(several.client, JANUARY)).DifferenceCount).toBe(0)
  })
})

describe('allocations', () => {
  const separate = { codes: { unapplied: '1718', interest: '7110' } }

  test('have the number of the invoice that is paid, and name both', async () => {
    const { client, customer, invoice, pay } = await shop(separate)
    const customerID = await customer({ GLCode: '10042' })
    const { invoiceID, invoiceNum } = await invoice(customerID, 1000, { Reference: 'PO 7' })
    const paymentID = await pay(customerID, 1190, { allocations: [{ invoiceID, amountApplied: 1190 }], Ref: 'BANK1' })
    const about = `Payment ${paymentID} for invoice ${invoiceNum}`
    const made = await exportOf(client, JANUARY)
    const rows = await stackOf(client, made)
    expect(rows.map(({ account, contra, document, text }) => [account, contra, document, text])).toEqual([
      ['1718', '10042', '1', about],
      ['10042', '4400', '1', 'Invoice 1'],
      ['1718', '1460', 'BANK1', `Payment ${paymentID}`],
    ])
    expect((await client.delete(`/v1/exports/${made.exportID}`)).status).toBe(204)
    const csv = await rowsOf(client, await exportOf(client, { ...JANUARY, Format: 'csv' }))
    const joined = csv.filter(({ Text }) => Text === about)
    expect(joined.map(({ GLCode, Number: number, Reference }) => [GLCode, number, Reference])).toEqual([
      ['1718', '1', 'PO 7'],
      ['10042', '1', 'PO 7'],
    ])
  })

  test('of credit notes have the number of the invoice, and those to adjustments their Ref', async () => {
    const { client, customer, invoice, pay } = await shop(separate)
    const customerID = await customer()
    const { invoiceID } = await invoice(customerID)
    const Allocations = [{ invoiceID, amountApplied: 19 }]
    const note = creditOf(customerID, 19, { CurrencyCode: 'EUR', CreditNumber: 'K9', Date: '2027-01-10', Allocations })
    expect((await client.post('/v1/credits', note)).status).toBe(201)
    const added = await client.post('/v1/adjustment/add', {
      ...{ customerID, Type: 'positive', AdjustmentType: 'interest', Amount: 5, Ref: 'Z-1' },
      ...{ Date: '2027-01-10', DueDate: '2027-01-10' },
    })
    expect(added.status, added.text).toBe(201)
    const paymentID = await pay(customerID, 5, {
      Allocations: [{ invoiceID: 0, positiveAdjustmentID: added.body.AdjustmentID, amountApplied: 5 }],
    })
    const rows = await rowsOf(client, await exportOf(client, { ...JANUARY, Format: 'csv' }))
    const joined = rows.filter(({ Text, Account }) => Text.includes(' for ') && Account === 'receivable')
    expect(joined.map(({ Number: number, Reference, Text }) => [number, Reference, Text])).toEqual([
      ['1', expect.stringMatching(/^I\d+$/), 'Credit note K9 for invoice 1'],
      ['', 'Z-1', `Payment ${paymentID} for adjustment Z-1`],
    ])
  })

  test('that were taken away name what they were for beside the reversal, when their payment is gone too', async () => {
    const { client, customer, invoice, pay } = await shop(separate)
    const customerID = await customer()
    const [first, second] = [await invoice(customerID), await invoice(customerID)]
    const paymentID = await pay(customerID, 30, { Allocations: [{ invoiceID: first.invoiceID, amountApplied: 30 }] })
    const joined = async () => {
      const rows = await rowsOf(client, await exportOf(client, { ...JANUARY, Format: 'csv' }))
      expect(rows.filter(({ Text }) => Text.startsWith('Allocation'))).toEqual([])
      return rows
        .filter(({ Text, Account }) => Text.includes(' for ') && Account === 'receivable')
        .map(({ Number: number, Reference, Text }) => [number, Reference.slice(0, 1), Text])
    }
    const about = (number: number) => `Payment ${paymentID} for invoice ${number}`
    expect(await joined()).toEqual([['1', 'I', about(1)]])
    const { Allocations: _all, ...payment } = (await client.get(`/v1/payments/${paymentID}`)).body
    const moved = { ...payment, Allocations: [{ invoiceID: second.invoiceID, amountApplied: 20 }] }
    expect((await client.put(`/v1/payments/${paymentID}`, moved)).status).toBe(204)
    expect(await joined()).toEqual([
      ['1', 'I', `${about(1)} reversed`],
      ['2', 'I', about(2)],
    ])
    expect((await client.delete(`/v1/payments/${paymentID}`)).status).toBe(204)
    expect(await joined()).toEqual([['2', 'I', `${about(2)} reversed`]])
  })

  test.each([
    ['no code', {}],
    ["the debtor's code", { codes: { unapplied: '10000' } }],
  ])(
    'without rows of their own (unapplied has %s) leave the number to a payment that pays one invoice alone',
    async (_, codes) => {
      const { client, customer, invoice, pay } = await shop(codes)
      const customerID = await customer()
      const [one, two] = [await invoice(customerID), await invoice(customerID)]
      const part = (amountApplied: number, { invoiceID }: { invoiceID: number }) => ({ invoiceID, amountApplied })
      const single = await pay(customerID, 60, { allocations: [part(50, one)], Ref: 'A' })
      const both = await pay(customerID, 20, { allocations: [part(10, one), part(10, two)], Ref: 'B' })
      const none = await pay(customerID, 7, { allocations: [], isAutoApply: false, Ref: 'C' })
      const rows = (await stackOf(client, await exportOf(client, JANUARY))).filter(({ contra }) => contra === '1460')
      expect(rows.map(({ document, text }) => [document, text])).toEqual([
        ['1', `Payment ${single} for invoice 1`],
        ['B', `Payment ${both}`],
        ['C', `Payment ${none}`],
      ])
    },
  )

  test('stay as they are in files that were handed over', async () => {
    const { client, customer, invoice, pay } = await shop(separate)
    const customerID = await customer()
    const { invoiceID } = await invoice(customerID)
    await pay(customerID, 119, { allocations: [{ invoiceID, amountApplied: 119 }] })
    const made = await exportOf(client, { ...JANUARY, Format: 'csv' })
    const before = linesOf(await rowsOf(client, made))
    await client.put('/v1/glcodes', { unapplied: null })
    expect(linesOf(await rowsOf(client, made))).toEqual(before)
  })
})
