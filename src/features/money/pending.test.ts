import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { acting, begunPayment, ledgerOf } from './money.testing.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { failPayment, lockedPayment, settlePayment } from './payments.ts'

/** Payments whose outcome is not known yet: begun as a gateway will begin them, through the actions that it will use. */

const service = await startTestService()

test('a pending payment covers its invoice, counts in balances, and can neither be corrected nor deleted', async () => {
  const { client, customerID, invoiceID, id, invoice, shown, balances } = await begunPayment(service)
  expect(await shown()).toMatchObject({ Status: 'Pending', Amount: 115 })
  expect(await invoice()).toMatchObject({
    Status: 'Pending',
    TotalPendingPaid: 115,
    TotalActualPaid: 0,
    Balance: 0,
    ActualBalance: 115,
  })
  expect(await balances()).toMatchObject({ Balance: 0, Pending: 115, Unallocated: 0 })
  expect((await client.get('/v1/payments?status=Pending')).body).toHaveLength(1)
  expect((await client.delete(`/v1/payments/${id}`)).status).toBe(409)
  expect((await client.delete(`/v1/invoices/${invoiceID}`)).status).toBe(409)
  const body = { customerID, Amount: 115, CurrencyCode: 'USD', Date: '2027-01-01T08:00:00Z', Method: 'credit_card' }
  expect((await client.put(`/v1/payments/${id}`, { ...body, Amount: 100, Allocations: [] })).status).toBe(409)
  expect((await client.put(`/v1/payments/${id}`, { ...body, Ref: 'G-1', Allocations: [] })).status).toBe(204)
  expect(await balances()).toMatchObject({ Balance: 0, Unallocated: 115 })
})

test('received, it pays; returned after that, what it paid is open again on that day', async () => {
  const { client, id, invoice, shown, balances } = await begunPayment(service)
  await client.put('/v1/clock', { Now: '2027-01-15' })
  await acting(service, client, async (tx, context) =>
    settlePayment(tx, context, (await lockedPayment(tx, id))!, '2027-01-03'),
  )
  expect(await shown()).toMatchObject({ Status: 'Allocated' })
  expect(await invoice()).toMatchObject({ Status: 'Paid', TotalActualPaid: 115, TotalPendingPaid: 0 })
  expect(await balances()).toMatchObject({ Balance: 0, Pending: 0 })
  const failure = { on: '2027-01-13', reason: 'returned' }
  await acting(service, client, async (tx, context) =>
    failPayment(tx, context, (await lockedPayment(tx, id))!, failure),
  )
  expect(await shown()).toMatchObject({ Status: 'Failed', Allocations: [], Amount: 115 })
  expect(await invoice()).toMatchObject({ TotalActualPaid: 0, Balance: 115 })
  expect((await ledgerOf(service, client)).slice(2)).toEqual([
    '2027-01-01 payment_begun clearing→unapplied 11500',
    '2027-01-01 allocation_made unapplied→receivable 11500',
    '2027-01-03 payment_settled cash→clearing 11500',
    '2027-01-13 payment_returned unapplied→cash 11500',
    '2027-01-13 allocation_ended receivable→unapplied 11500',
  ])
  expect(await differencesOf(service, client)).toEqual([])
})

test('declined while it waits, clearing is empty again', async () => {
  const { client, id, balances } = await begunPayment(service)
  const failure = { on: '2027-01-01', reason: 'declined' }
  await acting(service, client, async (tx, context) =>
    failPayment(tx, context, (await lockedPayment(tx, id))!, failure),
  )
  expect(await balances()).toMatchObject({ Balance: 115, Pending: 0, Unallocated: 0 })
  expect((await ledgerOf(service, client)).slice(4)).toEqual([
    '2027-01-01 payment_failed unapplied→clearing 11500',
    '2027-01-01 allocation_ended receivable→unapplied 11500',
  ])
  expect(await differencesOf(service, client)).toEqual([])
})
