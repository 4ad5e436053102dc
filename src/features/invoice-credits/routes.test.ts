import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { codesOf, differencesOf, shop as subscriptionShop } from '../../../test/support/shop.ts'
import { invoiceOf, ledgerOf, paymentOf } from '../money/money.testing.ts'

/** Crediting an invoice by lines, by an amount or whole, figure by figure. */

const service = await startTestService()

interface Shop {
  taxes?: number[]
  currency?: string
}

/** A customer with taxes, and invoices of lines; the clock stands at the first of January. */
async function shop({ taxes = [0.23], currency = 'USD' }: Shop = {}) {
  const client = await service.newAccount()
  if (currency !== 'USD') await client.post('/v1/currencies', { CurrencyCode: currency })
  for (const [place, Perc] of taxes.entries()) await client.post('/v1/tax', { Name: `Tax ${place}`, rules: [{ Perc }] })
  const owner = { Name: 'Acme', isCompany: true, CurrencyCode: currency }
  const { body: customer, text } = await client.post('/v1/customers', owner)
  expect(customer.customerID, text).toBeTypeOf('number')
  const customerID: number = customer.customerID
  const invoice = async (...nets: number[]) => {
    const id = await invoiceOf(client, customerID, { Charges: nets.map((UnitCostEx) => ({ UnitCostEx })) })
    return (await client.get(`/v1/invoices/${id}`)).body
  }
  const pay = async (invoiceID: number, Amount: number): Promise<number> => {
    const allocations = [{ invoiceID, amountApplied: Amount }]
    const { body, text: why } = await client.post('/v1/payments', {
      ...paymentOf(customerID, Amount, { CurrencyCode: currency }),
      allocations,
    })
    expect(body.paymentID, why).toBeTypeOf('number')
    return body.paymentID
  }
  return { client, customerID, invoice, pay }
}

const credit = (client: TestClient, invoiceID: number, body: object, query = '') =>
  client.post(`/v1/invoices/${invoiceID}/credit${query}`, { Reason: 'Late delivery', ...body })

async function credited(client: TestClient, invoiceID: number, body: object) {
  const reply = await credit(client, invoiceID, body)
  expect(reply.status, reply.text).toBe(201)
  return reply.body
}

const balanceOf = async (client: TestClient, id: number): Promise<number> =>
  (await client.get(`/v1/invoices/${id}`)).body.Balance
const isClean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

describe('what is credited', () => {
  test('of 149.00 + 34.27, paid: a line of 10.00 with 2.30, then 50.00 with 9.35, then the rest 120.97 with 22.62', async () => {
    const { client, invoice, pay } = await shop()
    const { invoiceID, Charges } = await invoice(100, 49)
    await pay(invoiceID, 183.27)
    const { chargeID } = Charges[0]
    const line = await credited(client, invoiceID, { Lines: [{ chargeID, AmountEx: 10 }], CreditNumber: 'G-1' })
    expect(line).toMatchObject({
      Amount: 12.3,
      TotalEx: 10,
      TotalTax: 2.3,
      CreditNumber: 'G-1',
      Reason: 'Late delivery',
      invoiceID,
      Lines: [{ chargeID, AmountEx: 10 }],
      Taxes: [{ invoiceID, Perc: 0.23, Base: 10, TaxAmount: 2.3 }],
      Unsettled: 0,
      isClosed: true,
      Status: 'Unallocated',
      refundAdjustmentID: null,
    })
    const { refundAdjustmentID: _none, ...note } = line
    expect((await client.get(`/v1/credits/${line.creditNoteID}`)).body).toEqual(note)
    const part = await credited(client, invoiceID, { Amount: 50 })
    expect(part).toMatchObject({ Amount: 50, TotalTax: 9.35, Lines: [] })
    expect(part.CreditNumber).toMatch(/^CN-\d+$/)
    expect(await credited(client, invoiceID, { isWhole: true })).toMatchObject({ Amount: 120.97, TotalTax: 22.62 })
    const over = await credit(client, invoiceID, { isWhole: true })
    expect([over.status, codesOf(over)]).toEqual([409, ['too_little_creditable']])
    expect(over.body.Errors[0].Message).toBe(`Of invoice ${invoiceID} 0.00 USD can be credited: nothing of it is left.`)
    const { body: tax } = await client.get('/v1/reports/tax?from=2027-01-01&to=2027-01-31')
    expect(tax.reduce((sum: number, row: any) => sum + row.Net * 100, 0)).toBeCloseTo(0)
    const explained = (await client.get(`/v1/credits/${line.creditNoteID}/explanation`)).body
    expect(explained).toMatchObject({
      Net: 10,
      Lines: [{ chargeID, Formula: '10.00' }],
      Settlements: [{ invoiceID, Gross: 12.3, CreditedBefore: 0, NetBefore: 0, TaxBefore: 0 }],
    })
    expect(explained.Settlements[0].Formula).toBe('10.00 × 0.23 = 2.30')
    const [ofPart] = (await client.get(`/v1/credits/${part.creditNoteID}/explanation`)).body.Settlements
    expect(ofPart).toEqual({
      invoiceID,
      invoiceNum: expect.any(Number),
      Gross: 50,
      CreditedBefore: 12.3,
      NetBefore: 10,
      TaxBefore: 2.3,
      Formula: '(12.30 + 50.00) × 34.27 ÷ 183.27 − 2.30 = 9.35',
      Sentence: `50.00 USD of invoice ${invoiceID} is credited, after 12.30 USD before: 9.35 USD of that is tax.`,
    })
    await isClean(client)
  })

  test('eleven notes of 1.00 and one of 0.49 on 9.99 + 1.50 take back 1.50', async () => {
    const { client, invoice } = await shop({ taxes: [0.15] })
    const { invoiceID } = await invoice(9.99)
    let tax = 0
    for (let n = 0; n < 11; n += 1) tax += (await credited(client, invoiceID, { Amount: 1 })).TotalTax * 100
    tax += (await credited(client, invoiceID, { Amount: 0.49 })).TotalTax * 100
    expect(Math.round(tax)).toBe(150)
    expect(await balanceOf(client, invoiceID)).toBe(0)
    await isClean(client)
  })

  test('60 of 100 lines of 0.04 at 15 %, one by one: 0.36 of 0.60', async () => {
    const { client, invoice } = await shop({ taxes: [0.15] })
    const { invoiceID, Charges } = await invoice(...Array.from({ length: 100 }, () => 0.04))
    let tax = 0
    for (const { chargeID } of Charges.slice(0, 60))
      tax += (await credited(client, invoiceID, { Lines: [{ chargeID, AmountEx: 0.04 }] })).TotalTax * 100
    expect(Math.round(tax)).toBe(36)
    await isClean(client)
  })

  test('two taxes, and currencies without decimals and with three', async () => {
    const two = await shop({ taxes: [0.1, 0.05] })
    const both = await two.invoice(100)
    const [{ chargeID }] = both.Charges
    expect(await credited(two.client, both.invoiceID, { Lines: [{ chargeID, AmountEx: 10 }] })).toMatchObject({
      Amount: 11.5,
      Taxes: [{ TaxAmount: 1 }, { TaxAmount: 0.5 }],
    })
    // 500 × 100 ÷ 1,100 = 45.45.
    const yen = await shop({ taxes: [0.1], currency: 'JPY' })
    const inYen = await yen.invoice(1000)
    expect(await credited(yen.client, inYen.invoiceID, { Amount: 500 })).toMatchObject({ TotalEx: 455, TotalTax: 45 })
    expect((await credit(yen.client, inYen.invoiceID, { Amount: 1.5 })).status).toBe(400)
    // 1.000 × 0.500 ÷ 10.500 = 0.0476.
    const dinar = await shop({ taxes: [0.05], currency: 'KWD' })
    const inDinar = await dinar.invoice(10)
    expect(await credited(dinar.client, inDinar.invoiceID, { Amount: 1 })).toMatchObject({ TotalTax: 0.048 })
    for (const { client } of [two, yen, dinar]) await isClean(client)
  })

  test('a bad debt lowers what can be credited, and a line no more than it has left', async () => {
    const { client, customerID, invoice } = await shop()
    const { invoiceID, Charges } = await invoice(149)
    const [{ chargeID }] = Charges
    await credited(client, invoiceID, { Lines: [{ chargeID, AmountEx: 100 }] })
    const line = await credit(client, invoiceID, { Lines: [{ chargeID, AmountEx: 49.01 }] })
    expect([line.status, codesOf(line)]).toEqual([409, ['too_little_creditable']])
    expect(line.text).toContain('49.00 net')
    const bad = { customerID, Type: 'negative', AdjustmentType: 'bad_debt', Amount: 40, Date: '2027-01-01', Ref: 'B' }
    const written = { ...bad, Allocations: [{ objectID: invoiceID, AmtAllocated: 40 }] }
    expect((await client.post('/v1/adjustment/add', written)).status).toBe(201)
    const over = await credit(client, invoiceID, { Amount: 20.28 })
    expect([over.status, codesOf(over)]).toEqual([409, ['too_little_creditable']])
    expect(over.text).toContain('20.27 USD')
    await credited(client, invoiceID, { Amount: 20.27 })
    await isClean(client)
  })

  test('deleted, a note gives its lines back to be credited again', async () => {
    const { client, invoice } = await shop()
    const { invoiceID, Charges } = await invoice(149)
    const Lines = [{ chargeID: Charges[0].chargeID, AmountEx: 149 }]
    const { creditNoteID } = await credited(client, invoiceID, { Lines })
    expect(await balanceOf(client, invoiceID)).toBe(0)
    expect((await client.delete(`/v1/invoices/${invoiceID}`)).status).toBe(409)
    expect((await client.delete(`/v1/credits/${creditNoteID}`)).status).toBe(204)
    expect(await balanceOf(client, invoiceID)).toBe(183.27)
    await credited(client, invoiceID, { Lines })
    await isClean(client)
  })

  test.each([
    ['by 10.00', { Amount: 10 }, 22.3, 3.35],
    ['by a line of 10.00', null, 21, 3.15],
  ])('a subscription credited %s and then cancelled gives back the rest', async (_how, body, net, tax) => {
    const { client, add } = await subscriptionShop(service, { price: 31 })
    await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
    const { body: subscription } = await add()
    const [{ invoiceID, Charges }] = (await client.get('/v1/invoices')).body
    await credited(client, invoiceID, body ?? { Lines: [{ chargeID: Charges[0].chargeID, AmountEx: 10 }] })
    const cancelled = await client.put(`/v1/subscriptions/${subscription.subscriptionID}/cancel/fullcredit`)
    expect(cancelled.status, cancelled.text).toBe(204)
    const [, ofService] = (await client.get('/v1/credits')).body
    expect(ofService).toMatchObject({ TotalEx: net, TotalTax: tax })
    await isClean(client)
  })

  test('a preview answers the same and writes nothing', async () => {
    const { client, invoice } = await shop()
    const { invoiceID } = await invoice(149)
    const posted = await ledgerOf(service, client)
    const preview = await credit(client, invoiceID, { Amount: 50 }, '?preview=true')
    expect(preview.status).toBe(200)
    expect(preview.body).toMatchObject({ Amount: 50, TotalTax: 9.35, Allocations: [{ invoiceID, amountApplied: 50 }] })
    expect(await ledgerOf(service, client)).toEqual(posted)
    expect((await client.get('/v1/credits')).body).toEqual([])
    const drawn = { creditNoteID: null, CreditNumber: null, refundAdjustmentID: null }
    expect(preview.body).toMatchObject({ ...drawn, Allocations: [{ allocationID: null, creditNoteID: null }] })
    const named = await credit(client, invoiceID, { Amount: 50, CreditNumber: 'G-1' }, '?preview=true')
    expect(named.body).toMatchObject({ ...drawn, CreditNumber: 'G-1' })
    const refunded = await credit(client, invoiceID, { Amount: 150, Refund: { Ref: 'R' } }, '?preview=true')
    expect(refunded.status, refunded.text).toBe(409)
    const made = await credited(client, invoiceID, { Amount: 50 })
    expect(made).toMatchObject({ Amount: preview.body.Amount, TotalTax: preview.body.TotalTax, CreditNumber: 'CN-1' })
    await client.post('/v1/payments', {
      customerID: made.customerID,
      CurrencyCode: made.CurrencyCode,
      Date: '2027-01-01',
      Amount: 133.27,
      Method: 'eft',
      AutoApply: true,
    })
    const back = await credit(client, invoiceID, { Amount: 20, Refund: { Ref: 'R' } }, '?preview=true')
    expect(back.body).toMatchObject({
      ...drawn,
      Allocations: [{ amountApplied: 20, invoiceID: 0, positiveAdjustmentID: null }],
    })
  })

  test('twenty at once: never more than the invoice, and a number for each', async () => {
    const { client, invoice } = await shop()
    const { invoiceID } = await invoice(149)
    const replies = await Promise.all(Array.from({ length: 20 }, () => credit(client, invoiceID, { Amount: 10 })))
    const made = replies.filter(({ status }) => status === 201)
    expect(made).toHaveLength(18)
    expect(new Set(made.map(({ body }) => body.CreditNumber)).size).toBe(18)
    expect(replies.filter(({ status }) => status === 409)).toHaveLength(2)
    expect(await balanceOf(client, invoiceID)).toBe(3.27)
    await isClean(client)
  })
})

describe('its money', () => {
  test('goes to the invoice as far as that is open, and with AutoApply on to others', async () => {
    const { client, invoice, pay } = await shop()
    const [first, second] = [await invoice(149), await invoice(100)]
    await pay(first.invoiceID, 150)
    const waits = await credited(client, first.invoiceID, { Amount: 50 })
    expect(waits.Allocations).toMatchObject([{ invoiceID: first.invoiceID, amountApplied: 33.27 }])
    expect(waits.Status).toBe('Partial')
    const goesOn = await credited(client, first.invoiceID, { Amount: 50, AutoApply: true })
    expect(goesOn.Allocations).toMatchObject([{ invoiceID: second.invoiceID, amountApplied: 50 }])
    expect(goesOn.Taxes).toMatchObject([{ invoiceID: first.invoiceID, TaxAmount: 9.35 }])
    await isClean(client)
  })

  test('a number that is taken is refused, and passed over where the service numbers, whatever the note would have paid', async () => {
    const { client, customerID, invoice, pay } = await shop()
    const [{ invoiceID }] = [await invoice(149), await invoice(20), await invoice(30)]
    await pay(invoiceID, 180)
    const note = {
      customerID,
      Amount: 1,
      CurrencyCode: 'USD',
      Date: '2027-01-01',
      CreditNumber: 'cn-1',
      Allocations: [],
    }
    expect((await client.post('/v1/credits', note)).status).toBe(201)
    const before = await ledgerOf(service, client)
    const taken = await credit(client, invoiceID, { Amount: 60, AutoApply: true, CreditNumber: 'CN-1' })
    expect([taken.status, codesOf(taken), taken.body.Errors[0].Field]).toEqual([
      409,
      ['credit_number_taken'],
      'CreditNumber',
    ])
    expect(await ledgerOf(service, client)).toEqual(before)
    const passed = await credited(client, invoiceID, { Amount: 60, AutoApply: true })
    expect([passed.CreditNumber, passed.Allocations.length]).toEqual(['CN-2', 3])
    await isClean(client)
  })

  test('payments give way, the newest first, on the day of the note: what was open in January stays', async () => {
    const { client, invoice, pay } = await shop()
    const { invoiceID } = await invoice(149)
    const older = await pay(invoiceID, 100)
    const newer = await pay(invoiceID, 83.27)
    await client.put('/v1/clock', { Now: '2027-02-10' })
    const posted = await ledgerOf(service, client)
    const balances = async () =>
      (await client.get('/v1/ledger/balances?date=2027-01-31')).body.map(
        ({ Debit: _d, Credit: _c, ...rest }: any) => rest,
      )
    const january = await balances()
    const note = await credited(client, invoiceID, { Amount: 90, isFreePayments: true })
    expect(note.Allocations).toMatchObject([{ invoiceID, amountApplied: 90 }])
    const unallocated = async (id: number) => {
      const { Amount, Allocations } = (await client.get(`/v1/payments/${id}`)).body
      return Amount - Allocations.reduce((sum: number, { amountApplied }: any) => sum + amountApplied, 0)
    }
    expect(await unallocated(newer)).toBeCloseTo(83.27)
    expect(await unallocated(older)).toBeCloseTo(6.73)
    expect(await balanceOf(client, invoiceID)).toBe(0)
    const net = (lines: string[]) => lines.filter((line) => line.startsWith('2027-02-10'))
    expect(net((await ledgerOf(service, client)).slice(posted.length)).toSorted()).toEqual([
      '2027-02-10 allocation_ended receivable→unapplied 673',
      '2027-02-10 allocation_ended receivable→unapplied 8327',
      '2027-02-10 allocation_made unapplied→receivable 9000',
      '2027-02-10 credit_note_made revenue→unapplied 9000',
      '2027-02-10 tax_taken_back tax→revenue Tax 0 1683',
    ])
    expect(await balances()).toEqual(january)
    // What gave way may be allocated elsewhere, and the payment corrected.
    const other = await invoice(10)
    const shown = (await client.get(`/v1/payments/${newer}`)).body
    const Allocations = [{ invoiceID: other.invoiceID, amountApplied: 12.3 }]
    expect((await client.put(`/v1/payments/${newer}`, { ...shown, Allocations })).status).toBe(204)
    await isClean(client)
    expect((await client.put(`/v1/payments/${newer}`, { ...shown, Date: '2027-02-05', Allocations: [] })).status).toBe(
      204,
    )
    await isClean(client)
    expect((await client.delete(`/v1/payments/${newer}`)).status).toBe(204)
    await isClean(client)
  })

  test('payments of a month whose books are closed give way in part: balances of days before the note stay', async () => {
    const { client, invoice, pay } = await shop()
    const { invoiceID } = await invoice(149)
    await pay(invoiceID, 183.27)
    await client.put('/v1/clock', { Now: '2027-02-10T08:00:00.000Z' })
    expect((await client.put('/v1/account', { LockDate: '2027-01-31' })).status).toBe(204)
    const balances = async (day: string) =>
      (await client.get(`/v1/ledger/balances?date=${day}`)).body.map(({ Account, Balance }: any) => [Account, Balance])
    const before = [await balances('2027-01-31'), await balances('2027-02-09')]
    const note = await credited(client, invoiceID, { Amount: 50, isFreePayments: true })
    expect(note).toMatchObject({ Status: 'Allocated', Allocations: [{ invoiceID, amountApplied: 50 }] })
    expect([await balances('2027-01-31'), await balances('2027-02-09')]).toEqual(before)
    await isClean(client)
  })

  test('what is left is refunded, and a refund of nothing is refused', async () => {
    const { client, invoice, pay } = await shop()
    const { invoiceID } = await invoice(149)
    const nothing = await credit(client, invoiceID, { Amount: 50, Refund: { Ref: 'Cash' } })
    expect([nothing.status, codesOf(nothing)]).toEqual([409, ['nothing_to_refund']])
    await pay(invoiceID, 150)
    const note = await credited(client, invoiceID, { Amount: 50, Refund: { Ref: 'Cash' } })
    expect(note.Status).toBe('Allocated')
    expect(note.Allocations).toMatchObject([
      { invoiceID, amountApplied: 33.27 },
      { positiveAdjustmentID: note.refundAdjustmentID, amountApplied: 16.73 },
    ])
    await isClean(client)
  })
})

describe('what is refused', () => {
  const wrong: [string, object, number, string][] = [
    ['nothing to credit', {}, 400, 'one_needed'],
    ['isWhole false alone', { isWhole: false }, 400, 'one_needed'],
    ['two of three', { Amount: 1, isWhole: true }, 400, 'one_needed'],
    ['no lines', { Lines: [] }, 400, 'wrong_count'],
    ['a line of another invoice', { Lines: [{ chargeID: 1, AmountEx: 1 }] }, 400, 'charge_unknown'],
    ['a line without its identifier', { Lines: [{ AmountEx: 1 }] }, 400, 'required'],
    ['an amount of 0', { Amount: 0 }, 400, 'out_of_range'],
    ['a negative amount', { Amount: -1 }, 400, 'out_of_range'],
    ['a tenth of a cent', { Amount: 0.001 }, 400, 'too_many_decimals'],
    ['too much', { Amount: 183.28 }, 409, 'too_little_creditable'],
    ['a day before the invoice', { Amount: 1, Date: '2026-12-31' }, 400, 'before_invoice'],
    ['a day after today', { Amount: 1, Date: '2099-01-01' }, 400, 'date_in_future'],
    ['a refund beside AutoApply', { Amount: 1, AutoApply: true, Refund: { Ref: 'R' } }, 400, 'refund_elsewhere'],
    [
      'a refund beside isFreePayments',
      { Amount: 1, isFreePayments: true, Refund: { Ref: 'R' } },
      400,
      'refund_elsewhere',
    ],
    ['a refund without Ref', { Amount: 1, Refund: {} }, 400, 'required'],
    ['a refund after today', { Amount: 1, Refund: { Ref: 'R', Date: '2099-01-01' } }, 400, 'date_in_future'],
    ['a refund before the invoice', { Amount: 1, Refund: { Ref: 'R', Date: '2026-12-31' } }, 400, 'before_invoice'],
    ['no Reason', { Amount: 1, Reason: null }, 400, 'required'],
    ['a Reason of 64 kB', { Amount: 1, Reason: 'x'.repeat(65_536) }, 400, 'too_long'],
    ['a preview in the body', { Amount: 1, preview: true }, 400, 'preview_misplaced'],
  ]
  test.each(wrong)('%s', async (_what, body, status, code) => {
    const { client, invoice } = await shop()
    const { invoiceID } = await invoice(149)
    const reply = await credit(client, invoiceID, body)
    expect([reply.status, codesOf(reply)], reply.text).toEqual([status, [code]])
    expect((await client.get('/v1/credits')).body).toEqual([])
  })

  test('a line named twice, a draft, a cancelled invoice, one of nothing, one of another account, closed books', async () => {
    const { client, customerID, invoice } = await shop()
    const { invoiceID, Charges } = await invoice(149)
    const line = { chargeID: Charges[0].chargeID, AmountEx: 1 }
    const codes = async (id: number, body: object) => {
      const reply = await credit(client, id, body)
      return [reply.status, ...codesOf(reply)]
    }
    expect(await codes(invoiceID, { Lines: [line, line] })).toEqual([400, 'duplicate'])
    const other = { chargeID: (await invoice(20)).Charges[0].chargeID, AmountEx: 1 }
    expect(await codes(invoiceID, { Lines: [other] })).toEqual([400, 'charge_unknown'])
    expect(await codes(invoiceID, { Lines: [{ ...line, AmountEx: -1 }] })).toEqual([400, 'out_of_range'])
    const over = { ...line, AmountEx: 149.01 }
    expect(await codes(invoiceID, { Lines: [over] })).toEqual([409, 'too_little_creditable'])
    const draft = await invoiceOf(client, customerID, { isDraft: true })
    expect(await codes(draft, { Amount: 1 })).toEqual([409, 'invoice_draft'])
    const cancelled = await invoiceOf(client, customerID)
    await client.delete(`/v1/invoices/${cancelled}`)
    expect(await codes(cancelled, { Amount: 1 })).toEqual([409, 'invoice_cancelled'])
    const { invoiceID: free } = await invoice(0)
    expect(await codes(free, { isWhole: true })).toEqual([409, 'invoice_of_nothing'])
    const foreign = await (await shop()).invoice(1)
    expect((await credit(client, foreign.invoiceID, { Amount: 1 })).status).toBe(404)
    await client.put('/v1/clock', { Now: '2027-01-10' })
    await client.put('/v1/account', { LockDate: '2027-01-05' })
    expect((await credit(client, invoiceID, { Amount: 1, Date: '2027-01-05' })).status).toBe(409)
    const late = await credit(client, invoiceID, { Amount: 1, Refund: { Ref: 'R', Date: '2027-01-05' } })
    expect([late.status, late.body.Errors[0].Code, late.body.Errors[0].Field]).toEqual([
      409,
      'books_locked',
      'Refund.Date',
    ])
    expect((await credited(client, invoiceID, { Amount: 1 })).Date).toContain('2027-01-10')
    await isClean(client)
  })

  test('a preview that is nearly asked for: nothing is credited; other unknown parameters are named as ever', async () => {
    const { client, invoice } = await shop()
    const { invoiceID } = await invoice(149)
    for (const name of ['previw', 'perview', 'pre_view', 'previews', 'isPreview', 'dry_run', 'dryRun', 'simulate']) {
      const reply = await credit(client, invoiceID, { Amount: 1 }, `?${name}=true`)
      expect([reply.status, codesOf(reply), reply.body.Errors[0].Field]).toEqual([400, ['preview_misnamed'], name])
    }
    const strict = { prefer: 'handling=strict' }
    const path = `/v1/invoices/${invoiceID}/credit?previw=true`
    const refused = await client.post(path, { Amount: 1, Reason: 'Late', preview: true }, strict)
    expect([refused.status, codesOf(refused)]).toEqual([400, ['unknown_field', 'unknown_field']])
    expect((await client.get('/v1/credits')).body).toEqual([])
    const reply = await credit(client, invoiceID, { Amount: 1, preview: false }, '?overview=true')
    expect([reply.status, reply.headers['perennial-ignored']]).toEqual([201, '"overview", "preview"'])
  })
})
