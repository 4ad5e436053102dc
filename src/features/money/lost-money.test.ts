import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { acting, creditOf, invoiceOf, ledgerOf, paymentOf } from './money.testing.ts'
import { returnPayment } from './new-money.ts'
import { lockedPayment } from './payments.ts'

/** A payment fails or comes back: unallocated notes that were settled for its invoices take its place. */

const service = await startTestService()

/** A customer with invoices of 183.27 (149.00 and 23 %) of the first of January, paid by one payment; the clock is at 10 January. */
async function shop(count = 1) {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23 }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoices: number[] = []
  for (let n = 0; n < count; n += 1)
    invoices.push(await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 149 }] }))
  const allocations = invoices.map((invoiceID) => ({ invoiceID, amountApplied: 183.27 }))
  const paid = { ...paymentOf(customerID, Number((183.27 * count).toFixed(2))), Method: 'cheque', allocations }
  const { paymentID } = (await client.post('/v1/payments', paid)).body
  await client.put('/v1/clock', { Now: '2027-01-10' })
  const credit = async (Amount: number, invoiceID: number, more: object = {}): Promise<number> => {
    const { status, body, text } = await client.post(
      '/v1/credits',
      creditOf(customerID, Amount, { invoiceID, ...more }),
    )
    expect(status, text).toBe(201)
    return body.creditNoteID
  }
  const fail = async (day = '2027-01-09') =>
    expect((await client.put(`/v1/payments/${paymentID}/fail`, { Date: day, Reason: 'bounced' })).status).toBe(204)
  return { client, customerID, invoices, paymentID: paymentID as number, credit, fail }
}

const balanceOf = async (client: TestClient, id: number) => (await client.get(`/v1/invoices/${id}`)).body.Balance
const noteOf = async (client: TestClient, id: number) => (await client.get(`/v1/credits/${id}`)).body
const isClean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

test('50.00 credited and unallocated goes to the invoice when its payment bounces: 133.27 is open, from that day on', async () => {
  const { client, invoices, credit, fail } = await shop()
  const [invoiceID] = invoices as [number]
  const note = await credit(50, invoiceID)
  expect(await noteOf(client, note)).toMatchObject({ Status: 'Unallocated', TotalTax: 9.35 })
  const posted = await ledgerOf(service, client)
  await fail()
  expect(await balanceOf(client, invoiceID)).toBe(133.27)
  expect(await noteOf(client, note)).toMatchObject({
    Allocations: [{ invoiceID, amountApplied: 50 }],
    TotalTax: 9.35,
    Unsettled: 0,
  })
  expect((await ledgerOf(service, client)).slice(posted.length)).toEqual([
    '2027-01-09 payment_returned unapplied→cash 18327',
    '2027-01-09 allocation_ended receivable→unapplied 18327',
    '2027-01-09 allocation_made unapplied→receivable 5000',
  ])
  await isClean(client)
})

test('it goes there though the account leaves unallocated money alone, and nothing else of the customer does', async () => {
  const { client, customerID, invoices, credit, fail } = await shop()
  const [invoiceID] = invoices as [number]
  expect((await client.put('/v1/account', { isAutoApplyUnallocated: false })).status).toBe(204)
  await credit(50, invoiceID)
  const { body: other } = await client.post('/v1/credits', creditOf(customerID, 20))
  await client.post('/v1/payments', { ...paymentOf(customerID, 30), allocations: [] })
  await fail()
  expect(await balanceOf(client, invoiceID)).toBe(133.27)
  expect(await noteOf(client, other.creditNoteID)).toMatchObject({ Status: 'Unallocated' })
  await isClean(client)
})

test('each note goes to its own invoice, and no further than is open', async () => {
  const { client, invoices, credit, fail } = await shop(2)
  const [a, b] = invoices as [number, number]
  const whole = await credit(183.27, a)
  const part = await credit(0.27, b)
  await fail()
  expect([await balanceOf(client, a), await balanceOf(client, b)]).toEqual([0, 183])
  expect(await noteOf(client, whole)).toMatchObject({ Allocations: [{ invoiceID: a, amountApplied: 183.27 }] })
  expect(await noteOf(client, part)).toMatchObject({ Allocations: [{ invoiceID: b, amountApplied: 0.27 }] })
  await isClean(client)
})

test('a part that comes back opens the part: what is kept stays where it was, and the note fills the rest', async () => {
  const { client, invoices, paymentID, credit } = await shop()
  const [invoiceID] = invoices as [number]
  const note = await credit(50, invoiceID)
  await acting(service, client, async (tx, context) => {
    const payment = await lockedPayment(tx, BigInt(paymentID))
    if (!payment) throw new Error('the payment exists')
    return returnPayment(tx, context, payment, { returnedMinor: 2000n, on: '2027-01-09', reason: 'disputed' })
  })
  expect(await balanceOf(client, invoiceID)).toBe(0)
  expect(await noteOf(client, note)).toMatchObject({ Allocations: [{ invoiceID, amountApplied: 20 }] })
  await isClean(client)
})

test('a note that is spent elsewhere, or deleted, takes no place', async () => {
  const { client, customerID, invoices, credit, fail } = await shop()
  const [invoiceID] = invoices as [number]
  const other = await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 149 }] })
  await credit(50, invoiceID, { Allocations: [{ invoiceID: other, amountApplied: 50 }] })
  const gone = await credit(10, invoiceID)
  expect((await client.delete(`/v1/credits/${gone}`)).status).toBe(204)
  await fail()
  expect(await balanceOf(client, invoiceID)).toBe(183.27)
  await isClean(client)
})

test('lost on a day before a part of it gave way, it paid nothing from that day on: no money is unapplied that never was', async () => {
  const { client, invoices, fail } = await shop()
  const body = { Amount: 50, Reason: 'Late', isFreePayments: true }
  expect((await client.post(`/v1/invoices/${invoices[0]}/credit`, body)).status).toBe(201)
  await fail('2027-01-05')
  const balances = (await client.get('/v1/ledger/balances?date=2027-01-07')).body
  const of = (name: string) => balances.find(({ Account }: any) => Account === name)?.Balance ?? 0
  expect([of('receivable'), of('unapplied')]).toEqual([183.27, 0])
  expect(await balanceOf(client, invoices[0]!)).toBe(133.27)
  await isClean(client)
})

test('in closed books both happen on the day after the lock', async () => {
  const { client, invoices, credit, fail } = await shop()
  const [invoiceID] = invoices as [number]
  await credit(50, invoiceID)
  expect((await client.put('/v1/account', { LockDate: '2027-01-09' })).status).toBe(204)
  await fail('2027-01-05')
  expect((await ledgerOf(service, client)).slice(-2)).toEqual([
    '2027-01-10 allocation_ended receivable→unapplied 18327',
    '2027-01-10 allocation_made unapplied→receivable 5000',
  ])
  await isClean(client)
})
