import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'

const service = await startTestService()

async function shop(customer: object) {
  const client = await service.newAccount({ name: 'Acme' })
  const wish = { Name: 'Ada', LastName: 'Byron', autoSendInvoice: false, Email: 'ada@example.com', ...customer }
  const { customerID } = (await client.post('/v1/customers', wish)).body
  const { invoiceID } = (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })).body
  const pay = (more: object) =>
    client.post('/v1/payments', {
      customerID,
      Amount: 60,
      CurrencyCode: 'USD',
      Date: '2027-01-05',
      Method: 'eft',
      Ref: 'R1',
      allocations: [{ invoiceID, amountApplied: 50 }],
      ...more,
    })
  return { client, pay }
}

const mails = async (client: TestClient) => (await client.get('/v1/outbox')).body

test('a receipt goes out where it is asked for, and says what the payment paid', async () => {
  const { client, pay } = await shop({})
  expect((await pay({ Amount: 1, allocations: [] })).status).toBe(201)
  expect(await mails(client)).toEqual([])
  const paid = await pay({ sendReceipt: true })
  expect(paid.status).toBe(201)
  expect(paid.body).not.toHaveProperty('sendReceipt')
  const [mail, ...more] = await mails(client)
  expect(more).toEqual([])
  expect(mail).toMatchObject({ To: 'ada@example.com', Template: 'payment_receipt', Subject: 'Receipt from Acme' })
  expect(mail.Text).toContain('Hello Ada Byron,')
  expect(mail.Text).toContain('Amount received: $60.00\n  Reference: R1\n  Invoice 1: $50.00\n  Kept as credit: $10.00')
  const events = (await client.get('/v1/events?type=payment.receipt_queued')).body
  expect(events).toMatchObject([{ RecordID: paid.body.paymentID }])
})

test('speaks German, and without an address the payment is recorded all the same', async () => {
  const german = await shop({ Locale: 'de' })
  await german.pay({ sendReceipt: true })
  expect((await mails(german.client))[0].Text).toContain('Rechnung 1: 50,00')
  const silent = await shop({ Email: null })
  expect((await silent.pay({ sendReceipt: true })).status).toBe(201)
  expect(await mails(silent.client)).toEqual([])
})
