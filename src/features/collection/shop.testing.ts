import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'

/** A shop whose only customer pays by a card of the sandbox. */

export const CARDS = {
  good: '4242424242424242',
  declined: '4000000000000341',
  poor: '4000000000009995',
  expired: '4000000000000069',
  byAmount: '4000000000000077',
  confirm: '4000002500003155',
}

export async function addCard(
  client: TestClient,
  customerID: number,
  number: string,
  isPrimary = true,
): Promise<number> {
  const reply = await client.post('/v1/paymentmethods/creditcard', {
    customerID,
    isPrimary,
    CreditCard: {
      Number: number,
      CardType: 'Unknown',
      ExpiryMonth: 12,
      ExpiryYear: 2030,
      NameOnCard: 'Ada',
      LastNameOnCard: 'L',
    },
  })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.paymentMethodID
}

/** A customer with a card of a number, or with none, whose invoices fall due on 5 January 2027; today is the first. */
export async function cardShop(service: TestService, number: string | null, customer: object = {}) {
  const client = await service.newAccount()
  const added = await client.post('/v1/customers', {
    Name: 'Acme',
    isCompany: true,
    Email: 'a@example.com',
    PaymentMethod: 'credit_card',
    PaymentTermDays: 4,
    ...customer,
  })
  const customerID = added.body.customerID as number
  if (number !== null) await addCard(client, customerID, number)
  const invoice = async (amount: number, body: object = {}) =>
    (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: amount }], ...body })).body
      .invoiceID as number
  const read = async (id: number) => (await client.get(`/v1/invoices/${id}`)).body
  const move = async (day: string) => {
    const reply = await client.put('/v1/clock', { Now: `${day}T12:00:00Z` })
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }
  const mails = async () =>
    ((await client.get('/v1/outbox?page_size=100')).body as any[])
      .filter(({ Template }) => !['invoice', 'welcome', 'payment_receipt'].includes(Template))
      .map(({ Template, CreatedDate }) => `${CreatedDate.slice(5, 10)} ${Template}`)
      .sort()
  const attempts = async (id: number) => (await client.get(`/v1/invoices/${id}/attempts`)).body as any[]
  return { client, customerID, invoice, read, move, mails, attempts }
}
