import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { account } from './batches.testing.ts'

const service = await startTestService()

describe('a line', () => {
  test('is a pending payment on the day of the debit, of which the batch counts the amount', async () => {
    const { client, customer, batch, line } = await account(service)
    const { customerID, paymentMethodID, invoice } = await customer()
    const invoiceID = await invoice(100)
    const { BatchToken } = await batch()
    const added = await line(BatchToken, {
      customerID,
      paymentMethodID,
      Amount: 120,
      Ref: 'R',
      Memo: 'M',
      PaymentApplied: [{ invoiceID, amount: 100 }],
    })
    const { paymentID } = added.body
    expect(added.body).toEqual({
      paymentID,
      customerID,
      Status: 'Pending',
      Date: '2027-01-05T00:00:00.000Z',
      CurrencyCode: 'USD',
      Amount: 120,
      Method: 'debit_order',
      Ref: 'R',
      Memo: 'M',
      transactionID: null,
      PaymentApplied: [{ allocationID: expect.any(Number), invoiceID, invoiceNum: 1, paymentID, amount: 100 }],
    })
    expect(added.headers['location']).toBe(`/v1/payments/${paymentID}`)
    expect((await client.get(`/v1/batches/${BatchToken}`)).body).toMatchObject({
      NumberOfPayments: 1,
      PaymentsTotal: '120.00',
      Payments: [{ paymentID, Amount: 120 }],
    })
    expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({ Balance: 0, ActualBalance: 100 })
    expect((await client.get(`/v1/customers/${customerID}/balances`)).body[0]).toMatchObject({ Pending: 120 })
  })

  test('pays the earliest invoices by isAutoApply, never an adjustment', async () => {
    const { client, customer, batch, line, must } = await account(service)
    const { customerID, paymentMethodID, invoice } = await customer()
    const owed = { customerID, Type: 'positive', AdjustmentType: 'interest', Amount: 5, Ref: 'I' }
    await must('post', '/v1/adjustment/add', { ...owed, Date: '2026-12-01', DueDate: '2026-12-01' })
    const [first, second] = [await invoice(40), await invoice(100)]
    const { BatchToken } = await batch()
    const { body } = await line(BatchToken, { customerID, paymentMethodID, Amount: 60, isAutoApply: true })
    expect(body.PaymentApplied).toMatchObject([
      { invoiceID: first, amount: 40 },
      { invoiceID: second, amount: 20 },
    ])
    expect((await client.get(`/v1/payments/${body.paymentID}`)).body.Allocations).toHaveLength(2)
  })

  test('is edited with what is left out kept, and deleted', async () => {
    const { client, customer, batch, line } = await account(service)
    const { customerID, paymentMethodID, invoice } = await customer()
    const invoiceID = await invoice(100)
    const { BatchToken } = await batch()
    const applied = [{ invoiceID, amount: 100 }]
    const { body } = await line(BatchToken, { customerID, paymentMethodID, Amount: 100, PaymentApplied: applied })
    const { paymentID } = body
    const edit = (more: object) =>
      client.put('/v1/batches/payments', {
        paymentID,
        BatchToken,
        customerID,
        Amount: 90,
        Date: '2030-01-01',
        PaymentApplied: [{ ...body.PaymentApplied[0], amount: 90 }],
        ...more,
      })
    const edited = await edit({})
    expect([edited.status, edited.text]).toEqual([204, ''])
    const read = (await client.get(`/v1/payments/${paymentID}`)).body
    expect(read).toMatchObject({ Amount: 90, Method: 'debit_order', Date: '2027-01-05T00:00:00.000Z', Ref: null })
    expect(read.Allocations).toMatchObject([{ allocationID: body.PaymentApplied[0].allocationID, amountApplied: 90 }])
    const refusals: [object, number, string][] = [
      [{ BatchToken: '0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60' }, 409, 'other_batch'],
      [{ CurrencyCode: 'EUR' }, 409, 'other_currency'],
      [{ Method: 'cash' }, 409, 'other_method'],
      [{ Amount: 89 }, 409, 'over_allocated'],
      [{ PaymentApplied: undefined }, 400, 'required'],
      [{ PaymentApplied: [{ allocationID: 999, amount: 1 }] }, 400, 'allocation_unknown'],
      [{ paymentID: 999_999 }, 404, 'line_unknown'],
    ]
    for (const [more, status, Code] of refusals) {
      const reply = await edit(more)
      expect([reply.status, reply.body.Errors[0].Code]).toEqual([status, Code])
      if (Code === 'over_allocated') expect(reply.body.Errors[0].Field).toBe('PaymentApplied')
    }
    expect((await client.delete(`/v1/batches/payments/${paymentID}`)).status).toBe(204)
    expect((await client.get(`/v1/payments/${paymentID}`)).status).toBe(404)
    expect((await client.delete(`/v1/batches/payments/${paymentID}`)).status).toBe(404)
    expect((await client.get(`/v1/batches/${BatchToken}`)).body).toMatchObject({ NumberOfPayments: 0, Payments: [] })
    expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({ Balance: 100 })
  })

  test('changes through its payment in nothing but allocations, Memo and Ref', async () => {
    const { client, customer, batch, line } = await account(service)
    const { customerID, paymentMethodID } = await customer()
    const { BatchToken } = await batch()
    const { paymentID } = (await line(BatchToken, { customerID, paymentMethodID, Amount: 10, PaymentApplied: [] })).body
    const present = (await client.get(`/v1/payments/${paymentID}`)).body
    const put = (more: object) => client.put(`/v1/payments/${paymentID}`, { ...present, ...more })
    expect((await put({ Memo: 'New' })).status).toBe(204)
    expect((await put({ Amount: 11 })).body.Errors[0].Code).toBe('payment_fixed')
    expect((await client.delete(`/v1/payments/${paymentID}`)).body.Errors[0].Code).toBe('payment_fixed')
  })

  test('is refused where it does not fit its batch', async () => {
    const { client, customer, batch, line, must, gateway } = await account(service)
    const { customerID, paymentMethodID, invoice } = await customer()
    const other = await customer()
    const { BatchToken } = await batch()
    const right = { customerID, paymentMethodID, Amount: 10, PaymentApplied: [] as object[] }
    const card = await client.post('/v1/paymentmethods/creditcard', {
      customerID,
      isPrimary: false,
      CreditCard: {
        Number: '4242424242424242',
        CardType: 'Visa',
        ExpiryMonth: 12,
        ExpiryYear: 2030,
        NameOnCard: 'Ada',
        LastNameOnCard: 'L',
      },
    })
    const invoiceID = await invoice(5)
    const refusals: [object, number, string, string | null][] = [
      [{ paymentMethodID: other.paymentMethodID }, 409, 'other_customer', 'paymentMethodID'],
      [{ paymentMethodID: card.body.paymentMethodID }, 409, 'payment_method_unfit', 'paymentMethodID'],
      [{ paymentMethodID: 999_999 }, 400, 'payment_method_unknown', 'paymentMethodID'],
      [{ paymentMethodID: undefined }, 400, 'required', 'paymentMethodID'],
      [{ customerID: 999_999 }, 400, 'customer_unknown', 'customerID'],
      [{ Amount: 0 }, 400, 'out_of_range', 'Amount'],
      [{ Amount: 1.005 }, 400, 'too_many_decimals', 'Amount'],
      [{ PaymentApplied: undefined }, 400, 'required', 'PaymentApplied'],
      [{ PaymentApplied: [{ invoiceID, amount: 6 }] }, 409, 'too_little_open', 'PaymentApplied[0].invoiceID'],
      [{ PaymentApplied: [{ invoiceID: 999_999, amount: 1 }] }, 400, 'invoice_unknown', 'PaymentApplied[0].invoiceID'],
      [{ BatchToken: '0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60' }, 404, 'batch_unknown', 'BatchToken'],
    ]
    for (const [change, status, Code, Field] of refusals) {
      const reply = await client.post('/v1/batches/payments', { BatchToken, ...right, ...change })
      expect([reply.status, reply.body.Errors[0]]).toMatchObject([status, { Code, Field }])
    }
    const ofCard = { BatchToken, ...right, paymentMethodID: card.body.paymentMethodID }
    const { Message } = (await client.post('/v1/batches/payments', ofCard)).body.Errors[0]
    expect(Message).toMatch(/cards are charged by POST .*\/collect/)
    await must('put', `/v1/gateways/${gateway.gatewayID}`, { DebitMethods: ['sepa'] })
    expect((await line(BatchToken, right, 409)).body.Errors[0].Code).toBe('payment_method_unfit')
    await client.put(`/v1/customers/${customerID}/archive`)
    await must('put', `/v1/gateways/${gateway.gatewayID}`, { DebitMethods: null })
    expect((await line(BatchToken, right, 409)).body.Errors[0].Code).toBe('customer_archived')
  })

  test('follows its batch to another day and gateway, in the books too', async () => {
    const { client, customer, batch, line, manual } = await account(service)
    const { customerID, paymentMethodID } = await customer()
    const { BatchToken, body } = await batch()
    const { paymentID } = (await line(BatchToken, { customerID, paymentMethodID, Amount: 10, PaymentApplied: [] })).body
    const { GatewayToken } = await manual({ CurrencyCodes: ['USD'] })
    const edited = await client.put('/v1/batches', { BatchToken, ...body, GatewayToken, ActionDate: '2027-01-07' })
    expect([edited.status, edited.text]).toEqual([204, ''])
    expect((await client.get(`/v1/payments/${paymentID}`)).body.Date).toBe('2027-01-07T00:00:00.000Z')
    const entries = (await client.get(`/v1/ledger/entries?customerID=${customerID}`)).body
    expect(entries.map(({ Date }: any) => Date.slice(0, 10))).toEqual(['2027-01-05', '2027-01-05', '2027-01-07'])
    const unfit = await client.put('/v1/batches', { BatchToken, ...body, GatewayToken, CurrencyCode: 'EUR' })
    expect(unfit.status).toBe(400)
    const sepa = await manual({ DebitMethods: ['sepa'] })
    const reply = await client.put('/v1/batches', { BatchToken, ...body, GatewayToken: sepa.GatewayToken })
    expect([reply.status, reply.body.Errors[0].Code]).toEqual([409, 'line_unfit'])
  })

  test('keeps its method from being deleted, and nobody adds one to a batch of 500', async () => {
    const { client, customer, batch, line } = await account(service)
    const { customerID, paymentMethodID } = await customer()
    await customer({ customerID })
    const { BatchToken } = await batch()
    await line(BatchToken, { customerID, paymentMethodID, Amount: 10, PaymentApplied: [] })
    await client.put(`/v1/paymentmethods/${paymentMethodID + 1}/setprimary`)
    const reply = await client.delete(`/v1/paymentmethods/${paymentMethodID}`)
    expect([reply.status, reply.body.Errors[0].Code]).toEqual([409, 'payment_method_in_batch'])
    for (let n = 1; n < 500; n += 1)
      await line(BatchToken, { customerID, paymentMethodID, Amount: 1, PaymentApplied: [] })
    const full = await line(BatchToken, { customerID, paymentMethodID, Amount: 1, PaymentApplied: [] }, 409)
    expect(full.body.Errors[0].Code).toBe('batch_full')
  })
})
