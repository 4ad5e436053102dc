import { afterAll, describe, expect, test } from 'vitest'
import { creditOf, ledgerOf, moneyShop, paymentOf } from '../../src/features/money/money.testing.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { openMoneyBooks } from '../support/money-books.ts'

/** Faults that random histories of money have found, each as a test with a name so that it stays mended. */

const service = await startTestService()
const sql = await openMoneyBooks(service.connection)
afterAll(() => sql.close())

const soundBooks = async (client: TestClient) => expect(await sql.differences(client.id, false)).toEqual([])

const refundOf = (customerID: number, Amount: number) => ({
  ...{
    customerID,
    Type: 'positive',
    AdjustmentType: 'refund',
    Amount,
    Date: '2027-01-01',
    DueDate: '2027-01-31',
    Ref: 'R',
  },
})

test('the list of a positive adjustment moves an allocation to other money and keeps its identifier', async () => {
  const { client, customerID } = await moneyShop(service, 0)
  const first = (await client.post('/v1/payments', { ...paymentOf(customerID, 50), Allocations: [] })).body.paymentID
  const AdjustmentID = (await client.post('/v1/adjustment/add', refundOf(customerID, 20))).body.AdjustmentID
  const second = (await client.post('/v1/credits', creditOf(customerID, 30))).body.creditNoteID
  const [allocation] = (await client.get(`/v1/payments/${first}`)).body.Allocations
  const moved = { allocationID: allocation.allocationID, objectID: second, isAdjustment: true, AmtAllocated: 20 }
  const edit = { ...refundOf(customerID, 20), AdjustmentID, LinkedAllocations: [moved] }
  expect((await client.put('/v1/adjustment/edit', edit)).status).toBe(204)
  expect((await client.get(`/v1/payments/${first}`)).body).toMatchObject({ Status: 'Unallocated', Allocations: [] })
  expect((await client.get(`/v1/credits/${second}`)).body).toMatchObject({
    Status: 'Partial',
    Allocations: [{ allocationID: allocation.allocationID, amountApplied: 20, positiveAdjustmentID: AdjustmentID }],
  })
  await soundBooks(client)
})

describe('what a failed payment had been allocated to', () => {
  /** A payment of 1 January on a refund, which bounced on the 10th. */
  async function bounced() {
    const { client, customerID } = await moneyShop(service, 0)
    const paymentID = (await client.post('/v1/payments', { ...paymentOf(customerID, 50), Allocations: [] })).body
      .paymentID
    const adjustmentID = (await client.post('/v1/adjustment/add', refundOf(customerID, 20))).body.AdjustmentID
    await client.put('/v1/clock', { Now: '2027-01-15' })
    expect((await client.put(`/v1/payments/${paymentID}/fail`, { Date: '2027-01-10', Reason: 'bounced' })).status).toBe(
      204,
    )
    return { client, customerID, paymentID, adjustmentID }
  }
  const REVERSED = [
    '2027-01-01 allocation_made_reversed receivable→unapplied 2000',
    '2027-01-10 allocation_ended_reversed unapplied→receivable 2000',
  ]

  test('leaves the ledger with the payment, so that every day before shows the corrected truth', async () => {
    const { client, paymentID } = await bounced()
    expect((await client.delete(`/v1/payments/${paymentID}`)).status).toBe(204)
    expect(await ledgerOf(service, client)).toEqual(expect.arrayContaining(REVERSED))
    const unapplied = (await client.get('/v1/ledger/balances?date=2027-01-05')).body
    expect(unapplied.find(({ Account }: { Account: string }) => Account === 'unapplied').Balance).toBe(0)
    await soundBooks(client)
  })

  test('leaves the ledger with the positive adjustment', async () => {
    const { client, customerID, adjustmentID } = await bounced()
    const path = `/v1/adjustment/delete?type=positive&adjustmentID=${adjustmentID}&customerID=${customerID}`
    expect((await client.delete(path)).status).toBe(204)
    expect(await ledgerOf(service, client)).toEqual(expect.arrayContaining(REVERSED))
    await soundBooks(client)
  })

  test('goes to a later day with the positive adjustment', async () => {
    const { client, customerID, adjustmentID } = await bounced()
    const days = { Date: '2027-01-12', DueDate: '2027-01-31' }
    const edit = { ...refundOf(customerID, 20), ...days, AdjustmentID: adjustmentID }
    expect((await client.put('/v1/adjustment/edit', edit)).status).toBe(204)
    expect((await client.get('/v1/ledger/balances?date=2027-01-11')).body).not.toContainEqual(
      expect.objectContaining({ Account: 'receivable', Balance: expect.toSatisfy((balance: number) => balance !== 0) }),
    )
    await soundBooks(client)
  })
})
