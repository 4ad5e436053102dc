import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { invoiceOf, ledgerOf, moneyShop, paymentOf } from '../money/money.testing.ts'

const service = await startTestService()

const shop = (count?: number) => moneyShop(service, count)

describe('recording a payment', () => {
  test('it pays what its list says, and the invoice, the customer and the ledger say so', async () => {
    const { client, customerID, invoices } = await shop()
    const added = await client.post('/v1/payments', {
      ...paymentOf(customerID, 100),
      Ref: 'R1',
      Memo: 'thanks',
      allocations: [{ invoiceID: invoices[0], amountApplied: 60 }],
    })
    expect(added.status).toBe(201)
    expect(added.body).toEqual({
      paymentID: expect.any(Number),
      customerID,
      Amount: 100,
      CurrencyCode: 'USD',
      Date: '2027-01-01T00:00:00.000Z',
      Memo: 'thanks',
      transactionID: null,
      Ref: 'R1',
      Method: 'eft',
      Status: 'Partial',
      Allocations: [
        {
          allocationID: expect.any(Number),
          amountApplied: 60,
          invoiceID: invoices[0],
          invoiceNum: 1,
          positiveAdjustmentID: 0,
          paymentID: added.body.paymentID,
        },
      ],
    })
    expect((await client.get(`/v1/invoices/${invoices[0]}`)).body).toMatchObject({
      TotalActualPaid: 60,
      Balance: 55,
      ActualBalance: 55,
      PaymentsApplied: [{ invoiceID: invoices[0], paymentID: added.body.paymentID, amountApplied: 60 }],
    })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(15)
    expect(await ledgerOf(service, client)).toEqual([
      '2027-01-01 invoice_issued receivable→revenue 10000',
      '2027-01-01 invoice_issued receivable→tax VAT 1500',
      '2027-01-01 payment_recorded cash→unapplied 10000',
      '2027-01-01 allocation_made unapplied→receivable 6000',
    ])
  })

  test('AutoApply pays the earliest first and leaves the rest unallocated', async () => {
    const { client, customerID } = await shop()
    const later = await invoiceOf(client, customerID, { InvoiceDate: '2027-03-01' })
    const earlier = await invoiceOf(client, customerID, { InvoiceDate: '2026-12-01' })
    const { body } = await client.post('/v1/payments', { ...paymentOf(customerID, 200), AutoApply: true })
    expect(body.Allocations.map(({ amountApplied }: { amountApplied: number }) => amountApplied)).toEqual([115, 85])
    expect(body.Allocations[0].invoiceID).toBe(earlier)
    const more = await client.post('/v1/payments', { ...paymentOf(customerID, 200), AutoApply: true })
    expect(more.body.Allocations).toHaveLength(2)
    expect(more.body.Allocations[1]).toMatchObject({ invoiceID: later, amountApplied: 115 })
    expect(more.body.Status).toBe('Partial')
  })
})

describe('correcting a payment', () => {
  test('the list replaces what there was: left out is freed, named is edited, new is added', async () => {
    const { client, customerID, invoices } = await shop(3)
    const [one, two, three] = invoices
    const { body } = await client.post('/v1/payments', {
      ...paymentOf(customerID, 100),
      allocations: [
        { invoiceID: one, amountApplied: 60 },
        { invoiceID: two, amountApplied: 40 },
      ],
    })
    const [first] = body.Allocations
    const edit = await client.put(`/v1/payments/${body.paymentID}`, {
      ...paymentOf(customerID, 100),
      Allocations: [
        { allocationID: first.allocationID, amountApplied: 50 },
        { invoiceID: three, amountApplied: 50 },
      ],
    })
    expect(edit.status).toBe(204)
    const now = (await client.get(`/v1/payments/${body.paymentID}`)).body
    expect(now.Allocations).toMatchObject([
      { allocationID: first.allocationID, invoiceID: one, amountApplied: 50 },
      { invoiceID: three, amountApplied: 50 },
    ])
    expect((await client.get(`/v1/invoices/${two}`)).body.Balance).toBe(115)
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(245)
  })

  test('more than is open, or than the payment has, is refused and names both amounts', async () => {
    const { client, customerID, invoices } = await shop()
    const over = await client.post('/v1/payments', {
      ...paymentOf(customerID, 200),
      allocations: [{ invoiceID: invoices[0], amountApplied: 116 }],
    })
    expect(over.status).toBe(409)
    expect(over.text).toContain('115.00')
    expect(over.text).toContain('116.00')
    const short = await client.post('/v1/payments', {
      ...paymentOf(customerID, 100),
      allocations: [{ invoiceID: invoices[0], amountApplied: 101 }],
    })
    expect(short.status).toBe(409)
  })

  test('a failed cheque frees what it paid, on the day it is known', async () => {
    const { client, customerID, invoices } = await shop()
    const { body } = await client.post('/v1/payments', {
      ...paymentOf(customerID, 115),
      Method: 'cheque',
      allocations: [{ invoiceID: invoices[0], amountApplied: 115 }],
    })
    await client.put('/v1/clock', { Now: '2027-01-10' })
    expect(
      (await client.put(`/v1/payments/${body.paymentID}/fail`, { Date: '2027-01-09', Reason: 'bounced' })).status,
    ).toBe(204)
    expect((await client.get(`/v1/payments/${body.paymentID}`)).body).toMatchObject({
      Status: 'Failed',
      Allocations: [],
      Amount: 115,
    })
    expect((await client.get(`/v1/invoices/${invoices[0]}`)).body).toMatchObject({ Balance: 115, PaymentsApplied: [] })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(115)
    expect((await ledgerOf(service, client)).slice(-2)).toEqual([
      '2027-01-09 payment_returned unapplied→cash 11500',
      '2027-01-09 allocation_ended receivable→unapplied 11500',
    ])
    expect((await client.delete(`/v1/payments/${body.paymentID}`)).status).toBe(204)
    expect((await client.delete(`/v1/payments/${body.paymentID}`)).status).toBe(404)
  })
})

describe('what a body means', () => {
  test('an edit of the memo moves nothing, though the account has moved to another zone', async () => {
    const { client, customerID } = await shop()
    await client.put('/v1/account', { TimeZone: 'Africa/Johannesburg' })
    const body = { ...paymentOf(customerID, 10), Date: '2027-03-10' }
    const { paymentID } = (await client.post('/v1/payments', { ...body, allocations: [] })).body
    await client.put('/v1/account', { TimeZone: 'America/New_York' })
    const posted = await ledgerOf(service, client)
    const shown = (await client.get(`/v1/payments/${paymentID}`)).body
    expect((await client.put(`/v1/payments/${paymentID}`, { ...shown, Memo: 'found' })).status).toBe(204)
    expect(await ledgerOf(service, client)).toEqual(posted)
    expect((await client.get('/v1/payments?startDate=2027-03-10&endDate=2027-03-10')).body).toHaveLength(1)
  })

  test('with AutoApply the list is not looked at, whatever stands in it', async () => {
    const { client, customerID, invoices } = await shop()
    for (const allocations of [[{}], [{ amountApplied: 'q' }], 'x', 5, [{ invoiceID: 999999, amountApplied: 1 }]]) {
      const added = await client.post('/v1/payments', { ...paymentOf(customerID, 1), AutoApply: true, allocations })
      expect([added.status, added.body.Allocations?.[0]?.invoiceID]).toEqual([201, invoices[0]])
    }
  })

  test('a problem names the field as it was sent, and no second one is invented', async () => {
    const { client, customerID, invoices } = await shop()
    const fieldsOf = async (key: string, entry: object) =>
      (await client.post('/v1/payments', { ...paymentOf(customerID, 5), [key]: [entry] })).body.Errors.map(
        ({ Field }: { Field: string }) => Field,
      )
    const unknown = { amountApplied: 5, invoiceID: 999999 }
    expect(await fieldsOf('allocations', unknown)).toEqual(['allocations[0].invoiceID'])
    expect(await fieldsOf('Allocations', unknown)).toEqual(['Allocations[0].invoiceID'])
    expect(await fieldsOf('allocations', { invoiceID: invoices[0] })).toEqual(['allocations[0].amountApplied'])
    expect(await fieldsOf('allocations', { amountApplied: 5, invoiceNumber: 1, positiveAdjustmentID: 11 })).toEqual([
      'allocations[0].positiveAdjustmentID',
    ])
  })
})

test('AutoApply makes at most 1,000 allocations, and says so', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body
  for (const StartDate of ['2025-08-01', '2025-08-02']) {
    const daily = {
      customerID,
      StartDate,
      EndDate: '2026-12-15',
      TermType: 'days',
      RecurInvoiceCharges: [{ UnitCostEx: 1 }],
    }
    expect((await client.post('/v1/recurring-invoices', daily)).status).toBe(201)
  }
  const pay = (Amount: number) =>
    client.post('/v1/payments', {
      customerID,
      Amount,
      CurrencyCode: 'USD',
      Date: '2027-01-01',
      Method: 'eft',
      AutoApply: true,
    })
  const refused = await pay(1001)
  expect([refused.status, refused.body.Errors[0].Code]).toEqual([400, 'too_many_allocations'])
  expect(refused.body.Errors[0].Message).toContain('1000')
  const { body } = await pay(1000)
  expect(body.Allocations).toHaveLength(1000)
})
