import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addTax, codesOf, differencesOf, moveTo, shop as subscriptionShop } from '../../../test/support/shop.ts'
import { creditOf, invoiceOf, ledgerOf, paymentOf } from '../money/money.testing.ts'

/** The dated cases of docs/domain/credit-notes.md, worked out by hand. */

const service = await startTestService()

async function shop(CurrencyCode: string, ...rates: number[]) {
  const client = await service.newAccount()
  await client.post('/v1/currencies', { CurrencyCode })
  for (const [place, Perc] of rates.entries()) await addTax(client, `Tax ${place + 1}`, { Perc })
  const customer = { Name: 'Acme', isCompany: true, CurrencyCode }
  const customerID: number = (await client.post('/v1/customers', customer)).body.customerID
  const invoice = (UnitCostEx: number, more: object = {}) =>
    invoiceOf(client, customerID, { Charges: [{ UnitCostEx }], ...more })
  const post = (Amount: number, more: object = {}) =>
    client.post('/v1/credits', creditOf(customerID, Amount, { CurrencyCode, ...more }))
  const note = async (Amount: number, invoiceID: number, more: object = {}) => {
    const { status, body, text } = await post(Amount, { invoiceID, ...more })
    expect(status, text).toBe(201)
    expect(body.TotalEx + body.TotalTax).toBeCloseTo(Amount, 6)
    return body
  }
  return { client, customerID, invoice, post, note }
}

const taxesOf = ({ Taxes }: any): number[] => Taxes.map(({ TaxAmount }: any) => TaxAmount)
const isClean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])
const takenBack = async (client: TestClient, from: string, to: string): Promise<number> => {
  const { body } = await client.get(`/v1/reports/tax?from=${from}&to=${to}`)
  return body.reduce((sum: number, { TaxTakenBack }: any) => sum + TaxTakenBack, 0)
}

describe('an invoice credited in pieces gives back exactly its taxes', () => {
  test('1,000 + 10 % in yen: 333, 333 and 434 take back 30, 31 and 39', async () => {
    const { client, invoice, note } = await shop('JPY', 0.1)
    const id = await invoice(1000)
    const taxes = [await note(333, id), await note(333, id), await note(434, id)].map(taxesOf)
    expect(taxes).toEqual([[30], [31], [39]])
    await isClean(client)
  })

  test('9.999 + 15 % in Kuwaiti dinars: 1.000 and 10.499 take back 0.130 and 1.370', async () => {
    const { client, invoice, note } = await shop('KWD', 0.15)
    const id = await invoice(9.999)
    expect([await note(1, id), await note(10.499, id)].map(taxesOf)).toEqual([[0.13], [1.37]])
    await isClean(client)
  })

  test('100 + 15 % + 5 %: 60.00 takes 7.50 and 2.50 of 50.00, one cent neither, the rest what is left', async () => {
    const { client, invoice, note } = await shop('USD', 0.15, 0.05)
    const id = await invoice(100)
    const first = await note(60, id)
    expect(first.Taxes.map(({ Name, Base, TaxAmount }: any) => [Name, Base, TaxAmount])).toEqual([
      ['Tax 1', 50, 7.5],
      ['Tax 2', 50, 2.5],
    ])
    expect([await note(0.01, id), await note(59.99, id)].map(taxesOf)).toEqual([
      [0, 0],
      [7.5, 2.5],
    ])
    await isClean(client)
  })

  test('9.99 + 1.50 by eleven notes of 1.00 and one of 0.49: 1.50 in all, none of them allocated', async () => {
    const { client, invoice, note } = await shop('USD', 0.15)
    const id = await invoice(9.99)
    const taxes: number[] = []
    for (const amount of [...Array(11).fill(1), 0.49]) taxes.push(...taxesOf(await note(amount, id)))
    expect(taxes).toEqual([0.13, 0.13, 0.13, 0.13, 0.13, 0.13, 0.13, 0.13, 0.13, 0.14, 0.13, 0.06])
    await isClean(client)
  })
})

test('235.00 on an invoice at 15 % and one at 20 %: one entry of each in Taxes, also when both are freed', async () => {
  const { client, invoice, post } = await shop('USD', 0.15)
  const [{ taxSettingID }] = (await client.get('/v1/tax')).body
  const a = await invoice(100)
  await client.put(`/v1/tax/${taxSettingID}`, { Name: 'Tax 1', rules: [{ Perc: 0.2 }] })
  const b = await invoice(100)
  const Allocations = [
    { invoiceID: a, amountApplied: 115 },
    { invoiceID: b, amountApplied: 120 },
  ]
  const { body: note } = await post(235, { Allocations })
  const entry = (invoiceID: number, Perc: number, TaxAmount: number) => ({
    invoiceID,
    Name: 'Tax 1',
    Perc,
    Category: 'S',
    Base: 100,
    TaxAmount,
  })
  const Taxes = [entry(a, 0.15, 15), entry(b, 0.2, 20)]
  expect(note).toMatchObject({ invoiceID: null, TotalEx: 200, TotalTax: 35, Taxes, Unsettled: 0 })
  await client.put(`/v1/credits/${note.creditNoteID}`, { ...note, Allocations: [] })
  const freed = (await client.get(`/v1/credits/${note.creditNoteID}`)).body
  expect(freed).toMatchObject({ Status: 'Unallocated', TotalTax: 35, Taxes, Unsettled: 0 })
  expect((await client.get('/v1/credits')).body).toEqual([freed])
  // Sent it is closed: both invoices are open again, to be paid, not cancelled.
  expect((await client.put(`/v1/credits/${note.creditNoteID}/send`, { isMailed: false })).status).toBe(204)
  for (const id of [a, b]) expect(codesOf(await client.delete(`/v1/invoices/${id}`))).toEqual(['invoice_credited'])
  await isClean(client)
})

test('P31 + 15 %: 10.00 for the invoice, freed or never allocated, then fullcredit gives back 22.30 and 3.35, and then nothing', async () => {
  const { client, customerID, add } = await subscriptionShop(service, { price: 31 })
  await addTax(client, 'VAT', { Perc: 0.15 })
  const { body: subscription } = await add()
  const [{ invoiceID }] = (await client.get('/v1/invoices')).body
  const { body: note } = await client.post('/v1/credits', creditOf(customerID, 10, { invoiceID }))
  expect([note.TotalTax, note.Status]).toEqual([1.3, 'Unallocated'])
  await client.put(`/v1/subscriptions/${subscription.subscriptionID}/cancel/fullcredit`)
  const [, ofService] = (await client.get('/v1/credits')).body
  expect(ofService).toMatchObject({
    Amount: 25.65,
    TotalEx: 22.3,
    TotalTax: 3.35,
    invoiceID,
    Reason: null,
    isClosed: true,
    isSent: false,
    Unsettled: 0,
    Lines: [{ chargeID: expect.any(Number), Name: expect.any(String), AmountEx: expect.any(Number) }],
  })
  const over = await client.post('/v1/credits', creditOf(customerID, 0.01, { invoiceID }))
  expect([over.status, codesOf(over)]).toEqual([409, ['too_little_creditable']])
  await isClean(client)
})

test('bad debt on an invoice that is credited leaves nothing to be credited, and 0.00 is named', async () => {
  const { client, customerID, invoice, note, post } = await shop('USD', 0.23)
  const id = await invoice(149)
  await note(100, id)
  const debt = {
    customerID,
    Type: 'negative',
    AdjustmentType: 'bad_debt',
    Amount: 183.27,
    Date: '2027-01-01',
    Ref: 'B',
  }
  const Allocations = [{ objectID: id, AmtAllocated: 183.27 }]
  expect((await client.post('/v1/adjustment/add', { ...debt, Allocations })).status).toBe(201)
  const over = await post(1, { invoiceID: id })
  expect([over.status, codesOf(over)]).toEqual([409, ['too_little_creditable']])
  expect(over.text).toContain('0.00 USD can be credited')
  await isClean(client)
})

test('books closed to 31 October: a note of 5 November for an invoice of 20 October is dated the 5th; one of 30 October is refused', async () => {
  const { client, invoice, note, post } = await shop('USD', 0.15)
  await moveTo(client, '2027-11-06')
  const id = await invoice(100, { InvoiceDate: '2027-10-20' })
  expect((await client.put('/v1/account', { LockDate: '2027-10-31' })).status).toBe(204)
  const { creditNoteID } = await note(23, id, { Date: '2027-11-05' })
  expect((await ledgerOf(service, client)).at(-1)).toBe('2027-11-05 tax_taken_back tax→revenue Tax 1 300')
  const locked = await post(23, { invoiceID: id, Date: '2027-10-30' })
  expect([locked.status, codesOf(locked)]).toEqual([409, ['books_locked']])
  expect(await takenBack(client, '2027-10-01', '2027-10-31')).toBe(0)
  expect((await client.delete(`/v1/credits/${creditNoteID}`)).status).toBe(204)
  expect(await takenBack(client, '2027-11-01', '2027-11-30')).toBe(0)
  await isClean(client)
})

test('a paid invoice, credited and refunded: the refund takes the money of the note and no tax', async () => {
  const { client, customerID, invoice, note } = await shop('USD', 0.23)
  const id = await invoice(149)
  const paid = paymentOf(customerID, 183.27, { Allocations: [{ invoiceID: id, amountApplied: 183.27 }] })
  expect((await client.post('/v1/payments', paid)).status).toBe(201)
  const made = await note(50, id, { Reason: 'Two of three arrived' })
  const refund = { customerID, Type: 'positive', AdjustmentType: 'refund', Amount: 50, Ref: 'R' }
  const dates = { Date: '2027-01-01', DueDate: '2027-01-01' }
  expect((await client.post('/v1/adjustment/add', { ...refund, ...dates })).status).toBe(201)
  const now = (await client.get(`/v1/credits/${made.creditNoteID}`)).body
  expect(now).toMatchObject({ Status: 'Allocated', TotalTax: 9.35, TotalEx: 40.65, Unsettled: 0, invoiceID: id })
  expect(await takenBack(client, '2027-01-01', '2027-01-31')).toBe(9.35)
  await isClean(client)
})

describe('many at once', () => {
  test('of twenty notes of 10.00 for an invoice of 183.27 eighteen are made, and their taxes come to 33.66', async () => {
    const { client, invoice, post } = await shop('USD', 0.23)
    const id = await invoice(149)
    const replies = await Promise.all(Array.from({ length: 20 }, () => post(10, { invoiceID: id })))
    expect(replies.map(({ status }) => status).toSorted()).toEqual([...Array(18).fill(201), 409, 409])
    const notes = (await client.get('/v1/credits')).body
    expect(notes).toHaveLength(18)
    // 180 × 34.27 ÷ 183.27.
    expect(Math.round(notes.reduce((sum: number, { TotalTax }: any) => sum + TotalTax * 100, 0))).toBe(3366)
    await isClean(client)
  })

  test('of eight with one number one is made', async () => {
    const { client, invoice, post } = await shop('USD', 0.23)
    const invoiceID = await invoice(149)
    const replies = await Promise.all(Array.from({ length: 8 }, () => post(10, { invoiceID, CreditNumber: 'ONE' })))
    expect(replies.map(({ status }) => status).toSorted()).toEqual([201, ...Array(7).fill(409)])
    await isClean(client)
  })
})

describe('bad input', () => {
  test.each([
    [{ invoiceID: -1 }, 'invoiceID'],
    [{ invoiceID: 'seven' }, 'invoiceID'],
    [{ invoiceID: 1.5 }, 'invoiceID'],
    [{ Reason: 'x'.repeat(256) }, 'Reason'],
    [{ Reason: 7 }, 'Reason'],
    [{ Reason: ['late'] }, 'Reason'],
  ])('%j is refused by name', async (more, field) => {
    const { client, post } = await shop('USD', 0.23)
    const reply = await post(5, more)
    expect([reply.status, reply.body.Errors[0].Field]).toEqual([400, field])
    expect((await client.get('/v1/credits')).body).toEqual([])
  })

  test.each(['bad_debt', 'refund'])('an invoice and a reason of a %s are refused by name', async (AdjustmentType) => {
    const { client, customerID, invoice } = await shop('USD', 0.23)
    const Type = AdjustmentType === 'refund' ? 'positive' : 'negative'
    const common = { customerID, Type, AdjustmentType, Amount: 5, Date: '2027-01-01', DueDate: '2027-01-01', Ref: 'A' }
    const sent = { ...common, Allocations: [], invoiceID: await invoice(149), Reason: 'none' }
    const reply = await client.post('/v1/adjustment/add', sent)
    expect([reply.status, reply.body.Errors.map(({ Field }: any) => Field)]).toEqual([400, ['invoiceID', 'Reason']])
    const { invoiceID: _i, Reason: _r, ...plain } = sent
    expect((await client.post('/v1/adjustment/add', { ...plain, invoiceID: null, Reason: null })).status).toBe(201)
  })

  test('a reason of 255 characters is kept', async () => {
    const { invoice, note } = await shop('USD', 0.23)
    const Reason = 'é'.repeat(255)
    expect((await note(5, await invoice(149), { Reason })).Reason).toBe(Reason)
  })
})
