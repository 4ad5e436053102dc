import { beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addTax, shop as subscriptionShop } from '../../../test/support/shop.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { account as batchAccount } from '../batches/batches.testing.ts'
import { CARDS, cardShop } from '../collection/shop.testing.ts'
import { creditOf, invoiceOf, moneyShop, paymentOf } from './money.testing.ts'

/** The number of an invoice beside its identifier, wherever an answer of money names one. */

const service = await startTestService()

/** Two invoices whose numbers are 700 and 701: far from their identifiers. */
async function numberedShop() {
  const { client, customerID } = await moneyShop(service, 0)
  expect((await client.put('/v1/account', { NextInvoiceNum: 700 })).status).toBe(204)
  const invoices = [await invoiceOf(client, customerID), await invoiceOf(client, customerID)] as const
  const reply = await client.get('/v1/invoices')
  expect(reply.body.map(({ invoiceNum }: { invoiceNum: number }) => invoiceNum)).toEqual([700, 701])
  const dated = { customerID, Date: '2027-01-01', Ref: 'R' }
  const interest = { ...dated, Type: 'positive', AdjustmentType: 'Interest', Amount: 5, DueDate: '2027-01-31' }
  const debt = { ...dated, Type: 'negative', AdjustmentType: 'bad_debt', Amount: 3 }
  const added = async (body: object): Promise<number> => {
    const reply = await client.post('/v1/adjustment/add', body)
    expect(reply.text).toContain('AdjustmentID')
    return reply.body.AdjustmentID
  }
  return { client, customerID, invoices, interest, debt, added }
}

const numbersOf = (list: { invoiceNum: number | null }[]) => list.map(({ invoiceNum }) => invoiceNum)

let shop: Awaited<ReturnType<typeof numberedShop>>
beforeAll(async () => {
  shop = await numberedShop()
})

/** The answer as it was before it had numbers: what an ETag is made of. */
const recordedText = (text: string) => text.replaceAll(/,"invoiceNum":(\d+|null)/g, '')

async function eventsOf(client: TestClient): Promise<string> {
  const types = ['payment', 'credit_note', 'refund', 'positive_adjustment', 'bad_debt', 'allocation']
  const events = (await client.get('/v1/events?page_size=200')).body as { Type: string; Record: object }[]
  const ofMoney = events.filter(({ Type }) => types.includes(Type.split('.')[0]!))
  expect(ofMoney.length).toBeGreaterThan(0)
  return JSON.stringify(ofMoney)
}

describe('a payment', () => {
  test('names the numbers of the invoices that it pays when it is made, read, listed and corrected', async () => {
    const { client, customerID, invoices, interest, added } = shop
    const positiveAdjustmentID = await added(interest)
    const made = await client.post('/v1/payments', {
      ...paymentOf(customerID, 30),
      Allocations: [
        { invoiceID: invoices[1], amountApplied: 10 },
        { positiveAdjustmentID, amountApplied: 1 },
        { invoiceNumber: 700, amountApplied: 2 },
      ],
    })
    const path = `/v1/payments/${made.body.paymentID}`
    const one = await client.get(path)
    const listed = await client.get(`/v1/payments?invoiceID=${invoices[1]}`)
    for (const { Allocations: shown } of [made.body, one.body, listed.body[0]])
      expect([numbersOf(shown), Object.keys(shown[0]).slice(2, 4)]).toEqual([
        [701, null, 700],
        ['invoiceID', 'invoiceNum'],
      ])
    expect(made.headers.etag).toBe(one.headers.etag)
    expect(one.headers.etag).toBe(etagOf(recordedText(one.text)))
    const [first] = one.body.Allocations
    const moved = { ...one.body, Allocations: [{ ...first, invoiceID: invoices[0], invoiceNum: 701 }] }
    const put = await client.put(path, moved, { 'if-match': String(one.headers.etag), prefer: 'return=representation' })
    expect([put.status, numbersOf(put.body.Allocations)]).toEqual([200, [700]])
    expect((await client.delete(path)).status).toBe(204)
  })

  test('is told of a number that its allocations were sent with and that is not theirs', async () => {
    const { client, customerID, invoices } = shop
    const paid = (invoiceNum: number | null, list = 'Allocations') =>
      client.post('/v1/payments', {
        ...paymentOf(customerID, 1),
        [list]: [{ invoiceID: invoices[0], invoiceNum, amountApplied: 1 }],
      })
    const told = async (reply: ReturnType<typeof paid>) => [
      (await reply).status,
      (await reply).headers['perennial-ignored'],
    ]
    expect(await told(paid(9))).toEqual([201, '"Allocations[0].invoiceNum";computed'])
    expect(await told(paid(9, 'allocations'))).toEqual([201, '"Allocations[0].invoiceNum";computed'])
    expect(await told(paid(700))).toEqual([201, undefined])
    expect(await told(paid(null))).toEqual([201, undefined])
  })
})

describe('a credit note', () => {
  test('names the number of what it corrects, of its taxes, its settlements and its allocations', async () => {
    const { client, customerID, invoices } = shop
    const Allocations = [{ invoiceID: invoices[1], amountApplied: 23 }]
    const made = await client.post('/v1/credits', creditOf(customerID, 23, { Allocations }))
    const path = `/v1/credits/${made.body.creditNoteID}`
    const one = await client.get(path)
    const listed = await client.get(`/v1/credits?invoiceID=${invoices[1]}`)
    for (const note of [made.body, one.body, listed.body[0]])
      expect([note.invoiceNum, numbersOf(note.Taxes), numbersOf(note.Allocations)]).toEqual([701, [701], [701]])
    expect(one.headers.etag).toBe(etagOf(recordedText(one.text)))
    const { Taxes, Settlements } = (await client.get(`${path}/explanation`)).body
    expect([numbersOf(Taxes), numbersOf(Settlements)]).toEqual([[701], [701]])
  })

  test('of no invoice, and of several, has none', async () => {
    const { client, customerID, invoices } = shop
    const none = await client.post('/v1/credits', creditOf(customerID, 5))
    expect(none.body).toMatchObject({ invoiceID: null, invoiceNum: null })
    const Allocations = invoices.map((invoiceID) => ({ invoiceID, amountApplied: 1 }))
    const several = await client.post('/v1/credits', creditOf(customerID, 2, { Allocations }))
    expect(several.body).toMatchObject({
      invoiceID: null,
      invoiceNum: null,
      Taxes: [{ invoiceNum: 700 }, { invoiceNum: 701 }],
    })
  })

  test('made for an invoice names it, also in its preview, and tells of another number', async () => {
    const { client, invoices } = shop
    const path = `/v1/invoices/${invoices[0]}/credit`
    const body = { Amount: 11.5, Reason: 'late', invoiceNum: 5 }
    const preview = await client.post(`${path}?preview=true`, body)
    const made = await client.post(path, body)
    for (const { body: note } of [preview, made])
      expect([note.invoiceNum, numbersOf(note.Taxes), numbersOf(note.Allocations)]).toEqual([700, [700], [700]])
    expect(made.headers['perennial-ignored']).toBe('"invoiceNum";computed')
    const { Taxes, Settlements } = (await client.get(`/v1/credits/${made.body.creditNoteID}/explanation`)).body
    expect([numbersOf(Taxes), numbersOf(Settlements)]).toEqual([[700], [700]])
  })

  test('of the service names the invoice that it gives back', async () => {
    const { client, add } = await subscriptionShop(service, { price: 31 })
    await addTax(client, 'VAT', { Perc: 0.15 })
    await client.put('/v1/account', { NextInvoiceNum: 40 })
    const { subscriptionID } = (await add()).body
    await client.put(`/v1/subscriptions/${subscriptionID}/cancel/fullcredit`)
    const [note] = (await client.get('/v1/credits')).body
    expect([note.invoiceNum, numbersOf(note.Taxes), numbersOf(note.Allocations)]).toEqual([40, [40], [40]])
    const { Taxes, Settlements } = (await client.get(`/v1/credits/${note.creditNoteID}/explanation`)).body
    expect([numbersOf(Taxes), numbersOf(Settlements)]).toEqual([[40], [40]])
    expect(await eventsOf(client)).not.toContain('invoiceNum')
  })
})

describe('an adjustment', () => {
  test('names the number of an invoice on the other side, and none of anything else', async () => {
    const { client, customerID, invoices, interest, debt, added } = shop
    const Allocations = [{ objectID: invoices[1], AmtAllocated: 3, isAdjustment: false, invoiceNum: 1 }]
    const read = (type: string, id: number) =>
      client.get(`/v1/adjustment/get?type=${type}&adjustmentID=${id}&customerID=${customerID}`)
    const negative = await read('negative', await added({ ...debt, Allocations }))
    expect(negative.body.adjustment.allocations).toMatchObject([{ objectID: invoices[1], invoiceNum: 701 }])
    const positiveAdjustmentID = await added(interest)
    const paid = { ...paymentOf(customerID, 1), Allocations: [{ positiveAdjustmentID, amountApplied: 1 }] }
    const { paymentID } = (await client.post('/v1/payments', paid)).body
    const shown = await read('positive', positiveAdjustmentID)
    expect(shown.body.adjustment.allocations).toMatchObject([{ objectID: paymentID, invoiceNum: null }])
    for (const { headers, text } of [negative, shown]) {
      const [, adjustment = ''] = /"adjustment":(.*),"type"/.exec(text) ?? []
      expect(headers.etag).toBe(etagOf(recordedText(adjustment)))
    }
  })
})

test('a line of a batch names the numbers of the invoices that it pays, and tells of another', async () => {
  const { client, batch, customer, line } = await batchAccount(service)
  await client.put('/v1/account', { NextInvoiceNum: 300 })
  const { customerID, paymentMethodID, invoice } = await customer()
  const PaymentApplied = [{ invoiceID: await invoice(20), amount: 20, invoiceNum: 299 }]
  const { BatchToken } = await batch()
  const added = await line(BatchToken, { customerID, paymentMethodID, Amount: 20, PaymentApplied })
  expect(added.body.PaymentApplied).toMatchObject([{ invoiceNum: 300 }])
  expect(added.headers['perennial-ignored']).toBe('"PaymentApplied[0].invoiceNum";computed')
  const { paymentID } = added.body
  expect((await client.get(`/v1/payments/${paymentID}`)).headers.etag).toBe(added.headers.etag)
  // Its invoice counts it among its attempts.
  const attempts = (await client.get(`/v1/invoices/${PaymentApplied[0]!.invoiceID}/attempts`)).body
  expect(attempts).toMatchObject([{ paymentID, invoiceID: PaymentApplied[0]!.invoiceID, invoiceNum: 300 }])
})

test('an attempt names its invoice, and a draft has none', async () => {
  const { client, invoice, attempts } = await cardShop(service, CARDS.good)
  await client.put('/v1/account', { NextInvoiceNum: 80 })
  const draft = await invoice(10, { isDraft: true })
  expect(await attempts(draft)).toEqual([])
  expect((await client.put(`/v1/invoices/${draft}/issue`)).status).toBe(204)
  const collected = await client.post(`/v1/invoices/${draft}/collect`)
  expect([collected.status, numbersOf(collected.body.Allocations)]).toEqual([201, [80]])
  expect(await attempts(draft)).toMatchObject([{ invoiceID: draft, invoiceNum: 80, Outcome: 'succeeded' }])
})

test('events of money keep identifiers alone: numbers are of answers', async () => {
  expect(await eventsOf(shop.client)).not.toContain('invoiceNum')
  expect(await eventsOf(shop.client)).toContain('invoiceID')
})
