import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { acting, begunPayment, invoiceOf } from './money.testing.ts'
import { addMoneyBack, type NewMoneyCause, returnPayment } from './new-money.ts'
import { sendPaymentHeld } from './payment-queries.ts'
import { failPayment, lockedPayment, settlePayment } from './payments.ts'

/** Money that a gateway moves after the outcome of a payment was known. */

const service = await startTestService()

/** A payment of 115.00 through a gateway that paid its invoice of 115.00 on 3 January; today is the 20th. */
async function paid() {
  const shop = await begunPayment(service)
  const { client, id } = shop
  await client.put('/v1/clock', { Now: '2027-01-20' })
  const at = <T>(work: (...of: any[]) => Promise<T>) =>
    acting(service, client, async (tx, context) => work(tx, context, (await lockedPayment(tx, id))!))
  await at((tx, context, payment) => settlePayment(tx, context, payment, '2027-01-03'))
  const returned = (returnedMinor: bigint, on = '2027-01-13') =>
    at((tx, context, payment) => returnPayment(tx, context, payment, { returnedMinor, on, reason: 'returned' }))
  const back = (cause: NewMoneyCause, amountMinor: bigint, on = '2027-01-18') =>
    at((tx, context, payment) => addMoneyBack(tx, context, payment, { cause, amountMinor, on }))
  const payments = async () =>
    (await client.get('/v1/payments')).body.map(({ Ref, Amount, Status, allocations, Allocations }: any) => ({
      Ref,
      Amount,
      Status,
      to: (Allocations ?? allocations).map((a: any) => [a.invoiceID || -a.positiveAdjustmentID, a.amountApplied]),
    }))
  return { ...shop, at, returned, back, payments }
}

const bodyOf = (customerID: number) => ({
  customerID,
  Amount: 115,
  CurrencyCode: 'USD',
  Date: '2027-01-01T08:00:00Z',
  Method: 'credit_card',
})

/** Takes 40 of the payment off its invoice and gives them back to the customer. */
async function refund40(client: TestClient, customerID: number, id: bigint, invoiceID: number): Promise<number> {
  const put = await client.put(`/v1/payments/${id}`, {
    ...bodyOf(customerID),
    Allocations: [{ invoiceID, amountApplied: 75 }],
  })
  expect(put.status).toBe(204)
  const refund = { customerID, AdjustmentType: 'refund', Type: 'positive', Ref: 'R', DueDate: '2027-01-20' }
  const added = await client.post('/v1/adjustment/add', { ...refund, Amount: 40, Date: '2027-01-20' })
  expect(added.status).toBe(201)
  return added.body.AdjustmentID
}

test('a return of the whole leaves nothing; of a part, the rest is kept and pays the same invoice', async () => {
  const whole = await paid()
  await whole.returned(11500n)
  expect(await whole.payments()).toEqual([{ Ref: null, Amount: 115, Status: 'Failed', to: [] }])
  expect(await whole.invoice()).toMatchObject({ Balance: 115 })

  const part = await paid()
  await part.returned(5750n)
  expect(await part.payments()).toEqual([
    { Ref: null, Amount: 115, Status: 'Failed', to: [] },
    { Ref: `Kept of payment ${part.id}`, Amount: 57.5, Status: 'Allocated', to: [[part.invoiceID, 57.5]] },
  ])
  expect(await part.invoice()).toMatchObject({ Balance: 57.5, TotalActualPaid: 57.5, TotalPendingPaid: 0 })
  for (const shop of [whole, part]) expect(await differencesOf(service, shop.client)).toEqual([])
})

test('what is kept goes to the refund that the payment paid first: 115 paid, 40 refunded, 75 disputed, 75 owed', async () => {
  const { client, customerID, id, invoiceID, returned, payments, balances } = await paid()
  const refund = await refund40(client, customerID, id, invoiceID)
  await returned(7500n, '2027-01-20')
  expect((await payments())[1]).toEqual({
    Ref: `Kept of payment ${id}`,
    Amount: 40,
    Status: 'Allocated',
    to: [[-refund, 40]],
  })
  expect(await balances()).toMatchObject({ Balance: 115, Unallocated: 0 })
  expect(await differencesOf(service, client)).toEqual([])
})

test('a dispute won pays what the payment had paid, as far as it is open; the rest is unallocated', async () => {
  const { client, customerID, invoiceID, id, returned, back, payments, invoice } = await paid()
  await returned(11500n)
  const eft = { customerID, Amount: 100, CurrencyCode: 'USD', Date: '2027-01-15', Method: 'eft' }
  await client.post('/v1/payments', { ...eft, allocations: [{ invoiceID, amountApplied: 100 }] })
  await back('Dispute won', 11500n)
  expect((await payments()).at(-1)).toEqual({
    Ref: `Dispute won: payment ${id}`,
    Amount: 115,
    Status: 'Partial',
    to: [[invoiceID, 15]],
  })
  expect(await invoice()).toMatchObject({ Balance: 0, Status: 'Paid' })
  expect(await differencesOf(service, client)).toEqual([])
})

test('a charge that was recorded as failed and succeeded pays what it was to pay', async () => {
  const { client, id, invoiceID } = await begunPayment(service)
  await acting(service, client, async (tx, context) => {
    await failPayment(tx, context, (await lockedPayment(tx, id))!, { on: '2027-01-01', reason: 'unknown' })
    const money = { cause: 'Late success' as const, amountMinor: 11500n, on: '2027-01-01' }
    await addMoneyBack(tx, context, (await lockedPayment(tx, id))!, money)
  })
  expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({ Status: 'Paid' })
  expect((await client.get('/v1/payments')).body[1]).toMatchObject({ Ref: `Late success: payment ${id}` })
  expect(await differencesOf(service, client)).toEqual([])
})

test('a refund that failed later is new money that waits, and a cancelled invoice takes none', async () => {
  const { client, customerID, id, invoiceID, returned, back, payments } = await paid()
  await refund40(client, customerID, id, invoiceID)
  await back('Refund failed', 4000n)
  expect((await payments()).at(-1)).toEqual({
    Ref: `Refund failed: payment ${id}`,
    Amount: 40,
    Status: 'Unallocated',
    to: [],
  })
  await returned(11500n, '2027-01-20')
  expect((await client.delete(`/v1/invoices/${invoiceID}`)).status).toBe(204)
  await back('Dispute won', 11500n)
  expect((await payments()).at(-1)).toMatchObject({ Status: 'Partial', to: [[expect.any(Number), 40]] })
  expect(await differencesOf(service, client)).toEqual([])
})

test('money that comes from outside into closed books takes the day after', async () => {
  const { client, returned, back } = await paid()
  await returned(11500n)
  await client.put('/v1/account', { LockDate: '2027-01-18' })
  await back('Dispute won', 11500n, '2027-01-15')
  expect((await client.get('/v1/payments')).body.at(-1).Date).toMatch(/^2027-01-19/)
  expect(await differencesOf(service, client)).toEqual([])
})

test('what is held for a refund is taken by no allocation, AutoApply, invoice or refund, and counts in balances', async () => {
  const { client, customerID, id, invoiceID, at, balances } = await paid()
  const list = (amountApplied: number, more = {}) =>
    client.put(`/v1/payments/${id}`, {
      ...bodyOf(customerID),
      Allocations: [{ invoiceID, amountApplied }],
      ...more,
    })
  expect((await list(75)).status).toBe(204)
  await at(async (tx) => sendPaymentHeld(tx, id, 3000n))
  expect(await balances()).toMatchObject({ Balance: 0, Unallocated: 40, Held: 30 })
  const refused = await list(86)
  expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'held_for_refund'])
  expect(refused.body.Errors[0].Message).toContain('30')
  const other = await invoiceOf(client, customerID)
  expect((await list(75, { AutoApply: true })).status).toBe(204)
  expect((await client.get(`/v1/payments/${id}`)).body.Status).toBe('Partial')
  const refund = { customerID, AdjustmentType: 'refund', Type: 'positive', Ref: 'R', DueDate: '2027-01-20' }
  await client.post('/v1/adjustment/add', { ...refund, Amount: 100, Date: '2027-01-20' })
  const { Unallocated } = await balances()
  expect(Unallocated).toBe(30)
  expect((await client.get(`/v1/invoices/${other}`)).body.Balance + 0).toBeGreaterThan(0)
  await at(async (tx) => sendPaymentHeld(tx, id, -3000n))
  expect(await balances()).toMatchObject({ Held: 0 })
  expect(await differencesOf(service, client)).toEqual([])
})
