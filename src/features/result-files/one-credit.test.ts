import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { type CaseShop, entry, report, returned, settled, shopOf, statement } from './cases.testing.ts'

/** Bookings of payments, of which one credit and one return are expected, whatever order its files come in. The batches debit on 13 January 2027; days settle on the 20th. */

const service = await startTestService()

const clean = async ({ client }: CaseShop) => expect(await differencesOf(service, client)).toEqual([])
const byHand = (shop: CaseShop, n: number, Success: boolean, Reason?: string) =>
  shop.must('put', `/v1/batches/${shop.BatchToken}/results`, {
    Results: [{ paymentID: shop.line(n).paymentID, Success, Reason }],
  })

describe('a credit', () => {
  test.each([
    ['before days settle anything', '2027-01-14'],
    ['after days have settled the others', '2027-01-22'],
  ])('after a rejection is listed, read %s', async (_name, day) => {
    const shop = await shopOf(service, 2, { day: '2027-01-06' })
    const payments = [{ e2e: shop.E(1), status: 'RJCT', code: 'AC01' }]
    expect((await shop.send(report({ block: shop.block, payments, at: '2027-01-06T08:00:00' }))).counts).toEqual([
      1, 1, 1, 0, 0,
    ])
    await shop.move(day)
    const file = await shop.send(statement([settled(shop.E(1))]))
    expect(file.counts).toEqual([0, 0, 0, 0, 1])
    expect(file.Lines).toMatchObject([{ Kind: 'credit', paymentID: shop.line(1).paymentID, isCredit: true }])
    expect((await shop.payment(1)).Status).toBe('Failed')
    await clean(shop)
  })

  test('that days had settled is passed and kept; again it is that one, of another day or twice in a file it is one more', async () => {
    const shop = await shopOf(service, 2)
    const first = await shop.send(statement([settled(shop.E(1))], 'camt.054'))
    expect(first.counts).toEqual([1, 0, 0, 0, 0])
    expect((await shop.send(statement([settled(shop.E(1))]))).counts).toEqual([1, 0, 0, 0, 0])
    const more = await shop.send(
      statement([settled(shop.E(1), { on: '2027-01-14' }), settled(shop.E(2)), settled(shop.E(2))]),
    )
    expect(more.counts).toEqual([1, 0, 0, 0, 2])
    expect(more.Lines).toMatchObject([
      { Kind: 'credit', paymentID: shop.line(1).paymentID },
      { Kind: 'credit', paymentID: shop.line(2).paymentID },
    ])
    await clean(shop)
  })

  test('that is read after the return of a later day is passed, and of a later day than the return it is listed', async () => {
    const shop = await shopOf(service, 1, { day: '2027-01-21' })
    await shop.send(statement([returned(shop.E(1), { on: '2027-01-20' })], 'camt.054'))
    expect((await shop.send(statement([settled(shop.E(1))]))).counts).toEqual([1, 0, 0, 0, 0])
    expect((await shop.send(statement([settled(shop.E(1), { on: '2027-01-21' })]))).counts).toEqual([0, 0, 0, 0, 1])
    expect(await shop.statuses()).toEqual(['Failed'])
    await clean(shop)
  })

  test('and a return of one file are one payment changed', async () => {
    const shop = await shopOf(service, 1, { day: '2027-01-14' })
    const file = await shop.send(statement([settled(shop.E(1)), returned(shop.E(1), { on: '2027-01-14' })]))
    expect(file.counts).toEqual([2, 2, 1, 0, 0])
    expect(await shop.statuses()).toEqual(['Failed'])
  })
})

describe('a return', () => {
  test('a person applied is kept: the same in another file is that one, of another day it is one more', async () => {
    const shop = await shopOf(service, 1)
    const unnamed = entry({ amount: '115.00', family: 'IDDT', on: '2027-01-21', parts: [{ name: 'Ada' }] })
    const file = await shop.send(statement([unnamed], 'camt.054'))
    expect((await shop.answer(file, file.Lines[0].lineID, { paymentID: shop.line(1).paymentID })).status).toBe(204)
    expect((await shop.send(statement([returned(shop.E(1), { on: '2027-01-21' })]))).counts).toEqual([1, 0, 0, 0, 0])
    expect((await shop.send(statement([returned(shop.E(1), { on: '2027-01-22' })]))).counts).toEqual([0, 0, 0, 0, 1])
    await clean(shop)
  })

  test('of money that a person took back is passed, and so is its credit', async () => {
    const shop = await shopOf(service, 1)
    await byHand(shop, 1, false, 'MD06')
    expect((await shop.send(statement([returned(shop.E(1)), settled(shop.E(1))]))).counts).toEqual([2, 0, 0, 0, 0])
    expect(await shop.statuses()).toEqual(['Failed'])
    await clean(shop)
  })

  test('of what failed by hand before it was received is listed, and so is its credit', async () => {
    const shop = await shopOf(service, 1, { day: '2027-01-14' })
    await byHand(shop, 1, false, 'AM04')
    const file = await shop.send(statement([returned(shop.E(1), { on: '2027-01-14' }), settled(shop.E(1))]))
    expect(file.counts).toEqual([0, 0, 0, 0, 2])
    expect(file.Lines.map(({ Kind }) => Kind)).toEqual(['return', 'credit'])
  })

  test('of what a status failed after its credit is passed', async () => {
    const shop = await shopOf(service, 1, { day: '2027-01-14' })
    await shop.send(statement([settled(shop.E(1))]))
    await shop.send(report({ block: shop.block, payments: [{ e2e: shop.E(1), status: 'RJCT', code: 'AC04' }] }))
    expect(await shop.statuses()).toEqual(['Failed'])
    expect((await shop.send(statement([returned(shop.E(1), { on: '2027-01-14' })]))).counts).toEqual([1, 0, 0, 0, 0])
    await clean(shop)
  })

  test('that was applied before bookings were kept is that one again on its day', async () => {
    const shop = await shopOf(service, 1)
    await byHand(shop, 1, false, 'MD06')
    const { paymentID } = shop.line(1)
    // As the upgrade writes it of a return that a file brought.
    await service.db.transaction(shop.client.id, (tx) =>
      tx.rows(sql`
        insert into payment_bookings (account_id, payment_id, is_credit, booked_on, has_changed)
        values (${shop.client.id}, ${BigInt(paymentID)}, false, '2027-01-20', true)`),
    )
    expect((await shop.send(statement([returned(shop.E(1))]))).counts).toEqual([1, 0, 0, 0, 0])
  })
})

describe('a booking of the whole collection', () => {
  const whole = (shop: CaseShop, amount: string, more = {}) =>
    entry({ amount, isCredit: true, on: '2027-01-13', batch: { block: shop.block }, ...more })

  test('is the credit of each payment: again it is that one, also after a return', async () => {
    const shop = await shopOf(service, 3, { day: '2027-01-14' })
    expect((await shop.send(statement([whole(shop, '345.00')], 'camt.054'))).counts).toEqual([1, 1, 3, 0, 0])
    await shop.send(statement([returned(shop.E(2), { on: '2027-01-14' })]))
    expect((await shop.send(statement([whole(shop, '345.00')]))).counts).toEqual([1, 0, 0, 0, 0])
    expect((await shop.send(statement([settled(shop.E(1))], 'camt.052'))).counts).toEqual([1, 0, 0, 0, 0])
    expect(await shop.statuses()).toEqual(['Allocated', 'Failed', 'Allocated'])
    await clean(shop)
  })

  test('of which some payments have a credit is listed; with what is over its entry', async () => {
    const shop = await shopOf(service, 2, { day: '2027-01-14' })
    await shop.send(statement([settled(shop.E(1))], 'camt.054'))
    const file = await shop.send(statement([whole(shop, '230.00')]))
    expect(file.counts).toEqual([0, 0, 0, 0, 1])
    expect(file.Lines).toMatchObject([{ Kind: 'other', Amount: 230, paymentID: null }])
  })
})

describe('what is over an entry', () => {
  const parts = (shop: CaseShop) => [1, 2].map((n) => ({ e2e: shop.E(n), amount: '115.00', returned: 'AM04' }))

  test.each([
    ['a charge that the bank took', '236.00', { Amount: 6, Code: 'CHRG', isCredit: false }],
    ['a difference', '229.00', { Amount: 1, Code: 'difference', isCredit: true }],
  ])('%s is listed once, and known where all parts are there again', async (_name, amount, line) => {
    const shop = await shopOf(service, 2)
    const file = statement([entry({ amount, parts: parts(shop) })])
    const first = await shop.send(file)
    expect(first.counts).toEqual([2, 2, 2, 0, 1])
    expect(first.Lines).toMatchObject([{ Kind: 'other', paymentID: null, ...line }])
    expect((await shop.send(statement([entry({ amount, parts: parts(shop) })], 'camt.054'))).counts).toEqual([
      2, 0, 0, 1, 0,
    ])
  })

  test('counts the payment of a part without an amount, and names the payment of an only part', async () => {
    const shop = await shopOf(service, 2)
    const [one, two] = parts(shop) as [any, any]
    const noAmount = { ...two, amount: undefined }
    const file = await shop.send(statement([entry({ amount: '233.00', parts: [one, noAmount] })]))
    expect(file.counts).toEqual([2, 2, 2, 0, 1])
    expect(file.Lines).toMatchObject([{ Amount: 3, Code: 'CHRG', paymentID: null }])
    const shop2 = await shopOf(service, 1)
    const only = await shop2.send(statement([entry({ amount: '118.00', parts: [{ ...one, e2e: shop2.E(1) }] })]))
    expect(only.Lines).toMatchObject([{ Amount: 3, Code: 'CHRG', paymentID: shop2.line(1).paymentID }])
  })
})

test('a line that names or proposes a payment as a return keeps it from being settled by days', async () => {
  const shop = await shopOf(service, 2, { day: '2027-01-14' })
  const wrong = entry({ amount: '114.00', on: '2027-01-14', parts: [{ e2e: shop.E(1), returned: 'AC04' }] })
  const file = await shop.send(statement([wrong]))
  expect(file.Lines).toMatchObject([{ Kind: 'return', paymentID: shop.line(1).paymentID }])
  await shop.move('2027-01-25')
  expect(await shop.statuses()).toEqual(['Pending', 'Allocated'])
  await shop.answer(file, file.Lines[0].lineID, { isClosed: true })
  await shop.move('2027-01-26')
  expect(await shop.statuses()).toEqual(['Allocated', 'Allocated'])
  await clean(shop)
})
