import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf, shop as subscriptionShop } from '../../../test/support/shop.ts'
import { creditOf, invoiceOf, ledgerOf } from './money.testing.ts'

/** Settlements of callers' notes by the doors there are, figure by figure. */

const service = await startTestService()

/** A customer in a place with one tax, on the first of January. */
async function shop(Perc: number) {
  const client = await service.newAccount()
  const { body: tax } = await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoice = (UnitCostEx: number, more: object = {}) =>
    invoiceOf(client, customerID, { Charges: [{ UnitCostEx }], ...more })
  const body = (Amount: number, targets: [number, number][], more: object = {}) => ({
    ...creditOf(customerID, Amount, more),
    Allocations: targets.map(([invoiceID, amountApplied]) => ({ invoiceID, amountApplied })),
  })
  const add = async (Amount: number, targets: [number, number][], more: object = {}) => {
    const sent = body(Amount, targets, more)
    const reply = await client.post('/v1/credits', sent)
    expect(reply.status, reply.text).toBe(201)
    const id: number = reply.body.creditNoteID
    const put = async (amount: number, to: [number, number][], edit: object = {}) => {
      const changed = { ...body(amount, to), CreditNumber: sent.CreditNumber, ...edit }
      const { status, text } = await client.put(`/v1/credits/${id}`, changed)
      expect(status, text).toBe(204)
    }
    return { id, put }
  }
  return { client, tax, customerID, invoice, add }
}

const taxesOf = async (client: TestClient, id: number): Promise<[number, number][]> =>
  (await client.get(`/v1/credits/${id}/explanation`)).body.Taxes.map((one: any) => [one.invoiceID, one.Amount])

const takenBack = async (client: TestClient, from: string, to: string): Promise<number> => {
  const { body } = await client.get(`/v1/reports/tax?from=${from}&to=${to}`)
  return body.reduce((sum: number, { TaxTakenBack }: any) => sum + TaxTakenBack, 0)
}
const takenInJanuary = (client: TestClient) => takenBack(client, '2027-01-01', '2027-01-31')

const isClean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

describe('moving allocations moves money, not tax', () => {
  test('60.00 on A settles A; moved to B nothing; 100.00 on B settles 40.00 of B; that list sent back nothing', async () => {
    const { client, invoice, add } = await shop(0.15)
    const [a, b] = [await invoice(100), await invoice(100)]
    const note = await add(100, [[a, 60]])
    // 60 × 15 ÷ 115 = 7.83; 40 × 15 ÷ 115 = 5.22.
    expect(await taxesOf(client, note.id)).toEqual([[a, 7.83]])
    await note.put(100, [[b, 60]])
    expect(await taxesOf(client, note.id)).toEqual([[a, 7.83]])
    await note.put(100, [[b, 100]])
    const both = [
      [a, 7.83],
      [b, 5.22],
    ]
    expect(await taxesOf(client, note.id)).toEqual(both)
    const posted = await ledgerOf(service, client)
    const { Allocations, ...sent } = (await client.get(`/v1/credits/${note.id}`)).body
    expect((await client.put(`/v1/credits/${note.id}`, { ...sent, Allocations })).status).toBe(204)
    expect(await ledgerOf(service, client)).toEqual(posted)
    await note.put(100, [])
    expect(await taxesOf(client, note.id)).toEqual(both)
    await isClean(client)
  })

  test('AutoApply and the door of adjustments settle as a list does, each under its own identifier and number', async () => {
    const { client, customerID, invoice } = await shop(0.23)
    const [a, b] = [await invoice(48.78), await invoice(149)]
    const first = await client.post('/v1/credits', creditOf(customerID, 100, { CreditNumber: 'A1', AutoApply: true }))
    // 60.00 of 60.00 is all of its tax; 40 × 34.27 ÷ 183.27 = 7.48.
    expect(await taxesOf(client, first.body.creditNoteID)).toEqual([
      [a, 11.22],
      [b, 7.48],
    ])
    const waiting = { ...creditOf(customerID, 20, { CreditNumber: 'A2' }), Allocations: [] }
    const { creditNoteID } = (await client.post('/v1/credits', waiting)).body
    expect(await taxesOf(client, creditNoteID)).toEqual([])
    const put = await client.put(`/v1/credits/${creditNoteID}`, { ...waiting, AutoApply: true })
    expect(put.status, put.text).toBe(204)
    // 60 × 34.27 ÷ 183.27 − 7.48.
    expect(await taxesOf(client, creditNoteID)).toEqual([[b, 3.74]])
    const adjustment = { customerID, Type: 'negative', AdjustmentType: 'credit_note', Date: '2027-01-01', Ref: 'A3' }
    const LinkedAllocations = [{ objectID: b, AmtAllocated: 10, isAdjustment: false }]
    const { AdjustmentID } = (await client.post('/v1/adjustment/add', { ...adjustment, Amount: 10, LinkedAllocations }))
      .body
    // 70 × 34.27 ÷ 183.27 − 11.22; lowered with an empty list 68 × 34.27 ÷ 183.27 − 11.22.
    expect(await taxesOf(client, AdjustmentID)).toEqual([[b, 1.87]])
    const lowered = { ...adjustment, AdjustmentID, Amount: 8, LinkedAllocations: [] }
    expect((await client.put('/v1/adjustment/edit', lowered)).status).toBe(204)
    expect(await taxesOf(client, AdjustmentID)).toEqual([[b, 1.5]])
    const { body: entries } = await client.get('/v1/ledger/entries')
    const settled = entries.filter(({ RecordType }: any) => RecordType === 'settlement')
    expect(settled.slice(0, 3).map(({ Number, Amount }: any) => [Number, Amount])).toEqual([
      ['A1', 11.22],
      ['A1', 7.48],
      ['A2', 3.74],
    ])
    expect(new Set(settled.slice(0, 4).map(({ RecordID }: any) => RecordID)).size).toBe(4)
    await isClean(client)
  })

  test('an invoice at 15 % and one at 20 % in one note keep 15.00 and 20.00 when both are freed', async () => {
    const { client, tax, invoice, add } = await shop(0.15)
    const a = await invoice(100)
    const edited = { Name: 'VAT', rules: [{ Perc: 0.2 }] }
    expect((await client.put(`/v1/tax/${tax.taxSettingID}`, edited)).status).toBe(204)
    const b = await invoice(100)
    const note = await add(235, [
      [a, 115],
      [b, 120],
    ])
    const taxes = [
      [a, 15],
      [b, 20],
    ]
    expect(await taxesOf(client, note.id)).toEqual(taxes)
    await note.put(235, [])
    expect((await client.get(`/v1/credits/${note.id}`)).body.Status).toBe('Unallocated')
    expect(await taxesOf(client, note.id)).toEqual(taxes)
    await isClean(client)
  })
})

describe('183.27 with 34.27 of tax', () => {
  test('50.00 stay settled with 9.35 when they are freed; the invoice is cancelled with the reverse of that day; the note is deleted', async () => {
    const { client, invoice, add } = await shop(0.23)
    const id = await invoice(149)
    const note = await add(50, [[id, 50]])
    await note.put(50, [])
    expect(await takenInJanuary(client)).toBe(9.35)
    await client.put('/v1/clock', { Now: '2027-02-10' })
    expect((await client.delete(`/v1/invoices/${id}`)).status).toBe(204)
    expect((await ledgerOf(service, client)).slice(-3)).toContain(
      '2027-02-10 tax_taken_back_reversed revenue→tax VAT 935',
    )
    expect(await takenInJanuary(client)).toBe(9.35)
    expect(await takenBack(client, '2027-02-01', '2027-02-28')).toBe(-9.35)
    await isClean(client)
    expect((await client.delete(`/v1/credits/${note.id}`)).status).toBe(204)
    await isClean(client)
  })

  test('60.00 with 11.22, lowered to 50.00 with an empty list: 50.00 stay settled with 9.35', async () => {
    const { client, invoice, add } = await shop(0.23)
    const id = await invoice(149)
    const note = await add(60, [[id, 60]])
    expect(await taxesOf(client, note.id)).toEqual([[id, 11.22]])
    await note.put(50, [])
    expect(await taxesOf(client, note.id)).toEqual([[id, 9.35]])
    expect(await takenInJanuary(client)).toBe(9.35)
    await isClean(client)
  })

  test('a part that lost its settlement is settled again by freeing and allocating it', async () => {
    const { client, invoice, add } = await shop(0.23)
    const [first, second] = [await invoice(149), await invoice(149)]
    const note = await add(60, [[first, 60]])
    await note.put(60, [[second, 60]])
    expect((await client.delete(`/v1/invoices/${first}`)).status).toBe(204)
    expect(await taxesOf(client, note.id)).toEqual([])
    await note.put(60, [[second, 60]])
    expect(await taxesOf(client, note.id)).toEqual([])
    await note.put(60, [])
    await note.put(60, [[second, 60]])
    expect(await taxesOf(client, note.id)).toEqual([[second, 11.22]])
    await isClean(client)
  })

  test('a deleted note gives its settlement back: another credits the same amount', async () => {
    const { client, invoice, add } = await shop(0.23)
    const id = await invoice(149)
    const note = await add(183.27, [[id, 183.27]])
    expect((await client.delete(`/v1/credits/${note.id}`)).status).toBe(204)
    expect(await takenInJanuary(client)).toBe(0)
    const again = await add(183.27, [[id, 183.27]])
    expect(await taxesOf(client, again.id)).toEqual([[id, 34.27]])
    await isClean(client)
  })

  test('bad debt leaves less to be settled', async () => {
    const { client, customerID, invoice, add } = await shop(0.23)
    const id = await invoice(149)
    const debt = {
      customerID,
      Type: 'negative',
      AdjustmentType: 'bad_debt',
      Amount: 83.27,
      Date: '2027-01-01',
      Ref: 'B1',
      Allocations: [{ objectID: id, AmtAllocated: 83.27 }],
    }
    expect((await client.post('/v1/adjustment/add', debt)).status).toBe(201)
    const note = await add(120, [[id, 100]])
    // 100 × 34.27 ÷ 183.27 = 18.70.
    expect(await taxesOf(client, note.id)).toEqual([[id, 18.7]])
    await isClean(client)
  })

  test('another currency takes all settlements away', async () => {
    const { client, invoice, add } = await shop(0.23)
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const id = await invoice(149)
    const note = await add(50, [[id, 50]])
    await note.put(50, [], { CurrencyCode: 'EUR' })
    expect(await taxesOf(client, note.id)).toEqual([])
    expect(await takenInJanuary(client)).toBe(0)
    await isClean(client)
  })
})

test('with books closed to 31 October a note of 5 November settles an invoice of 20 October on the 5th, and an older note on the 1st', async () => {
  const { client, invoice, add } = await shop(0.15)
  await client.put('/v1/clock', { Now: '2027-11-06' })
  const early = await invoice(100, { InvoiceDate: '2027-10-20' })
  const late = await invoice(100, { InvoiceDate: '2027-10-28' })
  const open = await add(23, [], { Date: '2027-10-30' })
  expect((await client.put('/v1/account', { LockDate: '2027-10-31' })).status).toBe(204)
  await add(23, [[early, 23]], { Date: '2027-11-05' })
  expect((await ledgerOf(service, client)).at(-1)).toBe('2027-11-05 tax_taken_back tax→revenue VAT 300')
  await open.put(23, [[late, 23]], { Date: '2027-10-30' })
  expect((await ledgerOf(service, client)).at(-1)).toBe('2027-11-01 tax_taken_back tax→revenue VAT 300')
  await open.put(23, [], { Date: '2027-10-30' })
  expect(await takenBack(client, '2027-10-01', '2027-10-31')).toBe(0)
  expect(await takenBack(client, '2027-11-01', '2027-11-30')).toBe(6)
  await isClean(client)
})

test('of two taxes alike with other numbers a note of the service gives back each to its own, and takes each away again when it is deleted', async () => {
  const { client, customerID, add } = await subscriptionShop(service, { price: 31 })
  for (const TaxNumber of ['A', 'B']) await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15, TaxNumber }] })
  const { body: subscription } = await add()
  const [{ invoiceID }] = (await client.get('/v1/invoices')).body
  const Allocations = [{ invoiceID, amountApplied: 10 }]
  expect((await client.post('/v1/credits', creditOf(customerID, 10, { Allocations }))).status).toBe(201)
  await client.put(`/v1/subscriptions/${subscription.subscriptionID}/cancel/fullcredit`)
  const taken = async () =>
    (await client.get('/v1/reports/tax?from=2027-01-01&to=2027-01-31')).body.map((row: any) => [
      row.TaxNumber,
      row.TaxTakenBack,
    ])
  // 10.00 of 40.30 is 1.15 of each 4.65; the rest is 3.50.
  expect(await taken()).toEqual([
    ['A', 4.65],
    ['B', 4.65],
  ])
  await isClean(client)
  const [, ofService] = (await client.get('/v1/credits')).body
  expect((await client.delete(`/v1/credits/${ofService.creditNoteID}`)).status).toBe(204)
  expect(await taken()).toEqual([
    ['A', 1.15],
    ['B', 1.15],
  ])
  await isClean(client)
})
