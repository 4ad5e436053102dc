import { afterAll, expect, test } from 'vitest'
import { openMoneyBooks } from '../support/money-books.ts'
import { startTestService } from '../support/app.ts'
import { addCustomer, addPackage, day, differencesOf, moveTo } from '../support/shop.ts'

/**
 * Invoices on their way to being paid by card, through the interface and a moved clock. Days and amounts are worked out by hand: invoices are
 * issued on 1 January 2027 and due on the 5th; the rules try and warn 0, 3, 7 and 14 days later.
 */

const service = await startTestService()
const books = await openMoneyBooks(service.connection)
afterAll(() => books.close())

const GOOD = '4242424242424242'
const POOR = '4000000000009995'

async function shop(number: string) {
  const client = await service.newAccount()
  const customerID = await addCustomer(client, {
    Email: 'ada@example.com',
    PaymentMethod: 'credit_card',
    PaymentTermDays: 4,
  })
  const card = async (Number: string): Promise<number> => {
    const names = { NameOnCard: 'Ada', LastNameOnCard: 'Lovelace' }
    const CreditCard = { Number, CardType: 'Visa', ExpiryMonth: 12, ExpiryYear: 2030, ...names }
    const added = await client.post('/v1/paymentmethods/creditcard', { customerID, isPrimary: true, CreditCard })
    expect(added.status, added.text).toBe(200)
    return added.body.paymentMethodID
  }
  const first = await card(number)
  const invoice = async (amount: number): Promise<number> =>
    (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: amount }] })).body.invoiceID
  const read = async (id: number) => (await client.get(`/v1/invoices/${id}`)).body
  const tries = async (id: number): Promise<string[]> =>
    (await client.get(`/v1/invoices/${id}/attempts`)).body.map(
      ({ Date, Amount, Outcome, Class }: any) => `${day(Date)} ${Amount} ${Outcome}${Class ? ` ${Class}` : ''}`,
    )
  const payments = async (): Promise<string[]> =>
    (await client.get('/v1/payments')).body.map(
      ({ Date, Amount, Status, Ref }: any) => `${day(Date)} ${Amount} ${Status} ${Ref}`,
    )
  const mails = async (): Promise<string[]> =>
    ((await client.get('/v1/outbox?page_size=100')).body as any[])
      .filter(({ Template }) => !['invoice', 'welcome'].includes(Template))
      .map(({ Template, CreatedDate }) => `${day(CreatedDate)} ${Template}`)
      .sort()
  const status = async () => (await client.get(`/v1/customers/${customerID}`)).body.comp_status
  const balance = async () => {
    const [{ Balance, Unallocated, Held }] = (await client.get(`/v1/customers/${customerID}/balances`)).body
    return { Balance, Unallocated, Held }
  }
  /** Leaves a part of the only payment on its invoice; the rest is unallocated. */
  const leaveOn = async (invoiceID: number, amountApplied: number): Promise<number> => {
    const [payment] = (await client.get('/v1/payments')).body
    const Allocations = amountApplied === 0 ? [] : [{ invoiceID, positiveAdjustmentID: 0, amountApplied }]
    const edited = await client.put(`/v1/payments/${payment.paymentID}`, { ...payment, AutoApply: false, Allocations })
    expect(edited.status, edited.text).toBe(204)
    return payment.paymentID
  }
  const clean = async () => {
    expect(await differencesOf(service, client)).toEqual([])
    expect(await books.differences(client.id, false)).toEqual([])
  }
  return { client, customerID, first, card, invoice, read, tries, payments, mails, status, balance, leaveOn, clean }
}

test('a card that is declined, from the due day to the suspension; a good one, and the customer is back', async () => {
  const { client, customerID, card, tries, mails, status, read, balance, clean } = await shop(POOR)
  const { packageID } = await addPackage(client, { price: 31 })
  const { subscriptionID } = (await client.post('/v1/subscriptions', { customerID, packageID })).body
  const [january] = (await client.get(`/v1/invoices?subscriptionID=${subscriptionID}`)).body
  await moveTo(client, '2027-01-18')
  expect(await status()).toBe('Active')
  await moveTo(client, '2027-01-25')
  expect(await tries(january.invoiceID)).toEqual([
    '2027-01-05 31 declined insufficient_funds',
    '2027-01-08 31 declined insufficient_funds',
    '2027-01-12 31 declined insufficient_funds',
    '2027-01-19 31 declined insufficient_funds',
  ])
  expect(await status()).toBe('Suspended')
  await card(GOOD)
  expect(await moveTo(client, '2027-01-26')).toMatchObject({ Collected: 1, Declined: 0 })
  expect(await read(january.invoiceID)).toMatchObject({ Status: 'Paid', NumTries: 5, NextTryDate: null })
  expect(await status()).toBe('Active')
  expect(await mails()).toEqual([
    '2027-01-05 payment_unsuccessful',
    '2027-01-08 warning',
    '2027-01-12 final_warning',
    '2027-01-19 account_suspended',
    '2027-01-26 payment_receipt',
  ])
  // The month that was paid for goes on; the next one is billed on its day, and charged on its due date.
  await moveTo(client, '2027-02-05')
  const [february, ...others] = (await client.get(`/v1/invoices?subscriptionID=${subscriptionID}`)).body.slice(1)
  expect(others).toEqual([])
  expect([day(february.InvoiceDate), february.Total, february.Status]).toEqual(['2027-02-01', 31, 'Paid'])
  expect(await tries(february.invoiceID)).toEqual(['2027-02-05 31 succeeded'])
  expect(await balance()).toEqual({ Balance: 0, Unallocated: 0, Held: 0 })
  await clean()
})

test('a card replaced half-way is tried the day after, as no step; the old one can go', async () => {
  const { client, first, card, invoice, tries, mails, read, clean } = await shop(POOR)
  const id = await invoice(115)
  await moveTo(client, '2027-01-09')
  expect((await read(id)).NextTryDate).toBe('2027-01-12T00:00:00Z')
  await card(GOOD)
  expect((await read(id)).NextTryDate).toBe('2027-01-10T00:00:00Z')
  await moveTo(client, '2027-02-20')
  expect(await tries(id)).toEqual([
    '2027-01-05 115 declined insufficient_funds',
    '2027-01-08 115 declined insufficient_funds',
    '2027-01-10 115 succeeded',
  ])
  expect(await mails()).toEqual(['2027-01-05 payment_unsuccessful', '2027-01-08 warning', '2027-01-10 payment_receipt'])
  expect((await client.delete(`/v1/paymentmethods/${first}`)).status).toBe(204)
  await clean()
})

test('a dispute after ten days that is lost: the steps after the first follow without tries, to the suspension', async () => {
  const { client, invoice, tries, payments, mails, read, status, balance, clean } = await shop('4000000000000259')
  const id = await invoice(115)
  await moveTo(client, '2027-01-14')
  expect(await read(id)).toMatchObject({ Status: 'Paid', Balance: 0 })
  await moveTo(client, '2027-01-15')
  expect(await read(id)).toMatchObject({ Status: 'Past Due', Balance: 115, NextTryDate: null })
  await moveTo(client, '2027-03-01')
  expect(await tries(id)).toEqual(['2027-01-05 115 returned refunded_late'])
  const { invoiceNum } = await read(id)
  expect(await payments()).toEqual([`2027-01-05 115 Failed Invoices ${invoiceNum}`])
  expect(await mails()).toEqual([
    '2027-01-05 payment_receipt',
    '2027-01-15 payment_unsuccessful',
    '2027-01-18 warning',
    '2027-01-22 final_warning',
    '2027-01-29 account_suspended',
  ])
  expect(await status()).toBe('Suspended')
  expect(await balance()).toEqual({ Balance: 115, Unallocated: 0, Held: 0 })
  await clean()
})

test('a dispute that is won twenty days later pays the invoice again, and brings the customer back', async () => {
  const { client, invoice, tries, payments, read, status, balance, clean } = await shop('4000000000001976')
  const id = await invoice(115)
  await moveTo(client, '2027-02-03')
  expect(await status()).toBe('Suspended')
  await moveTo(client, '2027-02-04')
  expect(await read(id)).toMatchObject({ Status: 'Paid', Balance: 0 })
  expect(await status()).toBe('Active')
  await moveTo(client, '2027-03-01')
  const [{ paymentID }] = (await client.get('/v1/payments')).body
  const { invoiceNum } = await read(id)
  expect(await payments()).toEqual([
    `2027-01-05 115 Failed Invoices ${invoiceNum}`,
    `2027-02-04 115 Allocated Dispute won: payment ${paymentID}`,
  ])
  expect(await tries(id)).toEqual(['2027-01-05 115 succeeded'])
  expect(await balance()).toEqual({ Balance: 0, Unallocated: 0, Held: 0 })
  await clean()
})

test('a dispute of half: the other half still pays', async () => {
  const { client, invoice, tries, payments, read, balance, clean } = await shop('4000000000002685')
  const id = await invoice(115)
  await moveTo(client, '2027-01-15')
  const [{ paymentID }] = (await client.get('/v1/payments')).body
  const { invoiceNum } = await read(id)
  expect(await payments()).toEqual([
    `2027-01-05 115 Failed Invoices ${invoiceNum}`,
    `2027-01-15 57.5 Allocated Kept of payment ${paymentID}`,
  ])
  expect(await read(id)).toMatchObject({ Balance: 57.5, NextTryDate: null })
  await moveTo(client, '2027-01-28')
  expect(await tries(id)).toEqual(['2027-01-05 115 returned refunded_late'])
  expect(await balance()).toEqual({ Balance: 57.5, Unallocated: 0, Held: 0 })
  await clean()
})

test('a refund that is answered the next day: its money is held, then given back', async () => {
  const { client, invoice, balance, leaveOn, clean } = await shop('4000000000007726')
  const id = await invoice(115)
  await moveTo(client, '2027-01-06')
  const paymentID = await leaveOn(id, 75)
  const reply = await client.post(`/v1/payments/${paymentID}/refund`, { Amount: 40 })
  expect(reply.status, reply.text).toBe(202)
  expect(await balance()).toEqual({ Balance: 0, Unallocated: 40, Held: 40 })
  expect((await client.post(`/v1/payments/${paymentID}/refund`, {})).status).toBe(409)
  await moveTo(client, '2027-01-07')
  const [refund] = (await client.get(`/v1/payments/${paymentID}/refunds`)).body
  expect(refund).toMatchObject({ Amount: 40, State: 'succeeded', Date: '2027-01-07T00:00:00Z' })
  // 115 invoiced and 40 given back are owed, 115 was received.
  expect(await balance()).toEqual({ Balance: 40, Unallocated: 0, Held: 0 })
  await clean()
})

test('a refund that fails the day after is new money, which waits', async () => {
  const { client, invoice, payments, balance, leaveOn, clean } = await shop('4000000000005126')
  const id = await invoice(115)
  await moveTo(client, '2027-01-06')
  const paymentID = await leaveOn(id, 75)
  expect((await client.post(`/v1/payments/${paymentID}/refund`, { Amount: 40 })).status).toBe(201)
  expect(await balance()).toEqual({ Balance: 40, Unallocated: 0, Held: 0 })
  await moveTo(client, '2027-01-07')
  expect((await payments()).slice(1)).toEqual([`2027-01-07 40 Unallocated Refund failed: payment ${paymentID}`])
  expect((await client.get(`/v1/payments/${paymentID}/refunds`)).body).toMatchObject([{ State: 'failed' }])
  expect(await balance()).toEqual({ Balance: 0, Unallocated: 40, Held: 0 })
  await clean()
})

test('a refund that is refused changes nothing', async () => {
  const { client, invoice, payments, balance, leaveOn, clean } = await shop('4000000000000077')
  const id = await invoice(115)
  await moveTo(client, '2027-01-06')
  const paymentID = await leaveOn(id, 74.95)
  const reply = await client.post(`/v1/payments/${paymentID}/refund`, { Amount: 40.05 })
  expect([reply.status, reply.body.Errors[0].Code]).toEqual([409, 'refund_refused'])
  expect(await payments()).toHaveLength(1)
  expect(await balance()).toEqual({ Balance: 0, Unallocated: 40.05, Held: 0 })
  await clean()
})

test('a goodwill refund: nothing is charged, warned about or suspended for because of it; only collect charges', async () => {
  const { client, invoice, tries, mails, read, status, leaveOn, balance, clean } = await shop(GOOD)
  const id = await invoice(115)
  await moveTo(client, '2027-01-06')
  const paymentID = await leaveOn(id, 75)
  expect((await client.post(`/v1/payments/${paymentID}/refund`, {})).status).toBe(201)
  expect((await read(id)).NextTryDate).toBeNull()
  expect(await moveTo(client, '2027-03-31')).toMatchObject({ Collected: 0, Declined: 0, Unknown: 0 })
  expect(await tries(id)).toEqual(['2027-01-05 115 succeeded'])
  expect(await mails()).toEqual(['2027-01-05 payment_receipt'])
  expect(await status()).toBe('Active')
  expect(await balance()).toEqual({ Balance: 40, Unallocated: 0, Held: 0 })
  expect((await client.post(`/v1/invoices/${id}/collect`)).status).toBe(201)
  expect(await tries(id)).toEqual(['2027-01-05 115 succeeded', '2027-03-31 40 succeeded'])
  await clean()
})
