import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { creditOf, invoiceOf, ledgerOf, moneyShop, paymentOf } from '../money/money.testing.ts'
import { codesOf, differencesOf, moveTo, shop as subscriptionShop } from '../../../test/support/shop.ts'

const service = await startTestService()
const shop = (count?: number) => moneyShop(service, count)

const ISSUED = [
  '2027-01-01 invoice_issued receivable→revenue 10000',
  '2027-01-01 invoice_issued receivable→tax VAT 1500',
]

describe('adding a credit note', () => {
  test('it credits what its list says; the invoice, the customer and the ledger say so, and its share of the tax is taken back', async () => {
    const { client, customerID, invoices } = await shop()
    const added = await client.post('/v1/credits', {
      ...creditOf(customerID, 46, { CreditNumber: 'C-7', Memo: 'late' }),
      Allocations: [{ invoiceID: invoices[0], amountApplied: 23 }],
    })
    expect(added.status).toBe(201)
    expect(added.body).toEqual({
      creditNoteID: expect.any(Number),
      customerID,
      Status: 'Partial',
      Date: '2027-01-01T00:00:00Z',
      CurrencyCode: 'USD',
      Amount: 46,
      CreditNumber: 'C-7',
      Memo: 'late',
      Reason: null,
      invoiceID: invoices[0],
      invoiceNum: 1,
      TotalEx: 43,
      TotalTax: 3,
      Taxes: [
        { invoiceID: invoices[0], invoiceNum: 1, Name: 'VAT', Perc: 0.15, Category: 'S', Base: 20, TaxAmount: 3 },
      ],
      Lines: [],
      Unsettled: 23,
      isClosed: false,
      isSent: false,
      DateSent: null,
      Allocations: [
        {
          allocationID: expect.any(Number),
          amountApplied: 23,
          invoiceID: invoices[0],
          invoiceNum: 1,
          positiveAdjustmentID: 0,
          creditNoteID: added.body.creditNoteID,
        },
      ],
    })
    expect((await client.get(`/v1/credits/${added.body.creditNoteID}`)).body).toEqual(added.body)
    expect((await client.get(`/v1/invoices/${invoices[0]}`)).body).toMatchObject({
      TotalNegativeAdjs: 23,
      Balance: 92,
      NegativeAdjustmentsApplied: [{ NegativeAdjustmentID: added.body.creditNoteID, amountApplied: 23 }],
    })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(69)
    // 15 of 115 is tax, so 3.00 of 23.00.
    expect(await ledgerOf(service, client)).toEqual([
      ...ISSUED,
      '2027-01-01 credit_note_made revenue→unapplied 4600',
      '2027-01-01 allocation_made unapplied→receivable 2300',
      '2027-01-01 tax_taken_back tax→revenue VAT 300',
    ])
  })

  test('eleven credits of 1.00 and one of 0.49 on 9.99 + 1.50 take back 1.50 of tax in all, whatever is deleted between', async () => {
    const { client, customerID } = await shop(0)
    const invoice = await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 9.99 }] })
    const credit = async (amount: number) =>
      (
        await client.post('/v1/credits', {
          ...creditOf(customerID, amount),
          Allocations: [{ invoiceID: invoice, amountApplied: amount }],
        })
      ).body.creditNoteID as number
    const notes: number[] = []
    for (let n = 0; n < 11; n += 1) notes.push(await credit(1))
    notes.push(await credit(0.49))
    const taken = async () =>
      (await ledgerOf(service, client))
        .filter((line) => line.includes('tax_taken_back'))
        .map((line) => (line.includes('reversed') ? -1 : 1) * Number(line.split(' ').at(-1)))
    const sum = (some: number[]) => some.reduce((all, one) => all + one, 0)
    // round(C × 1.50 ÷ 11.49), each what it adds: 0.13 nine times, 0.14 at 10.00, 0.13 at 11.00, 0.06 for the last.
    expect(await taken()).toEqual([13, 13, 13, 13, 13, 13, 13, 13, 13, 14, 13, 6])
    expect((await client.get(`/v1/invoices/${invoice}`)).body).toMatchObject({ Status: 'Paid', Balance: 0 })
    await client.delete(`/v1/credits/${notes[4]}`)
    expect(sum(await taken())).toBe(137)
    notes.push(await credit(1))
    expect(sum(await taken())).toBe(150)
    const shares = []
    for (const id of notes.filter((one) => one !== notes[4]))
      shares.push((await client.get(`/v1/credits/${id}/explanation`)).body)
    const cents = shares.flatMap(({ Taxes }) => Taxes).map(({ Amount }) => Math.round(Amount * 100))
    expect(sum(cents)).toBe(150)
    expect(shares[0]).toMatchObject({
      creditNoteID: notes[0],
      Net: 0.87,
      Taxes: [{ Name: 'VAT', Perc: 0.15, Amount: 0.13, invoiceID: invoice }],
      Lines: [],
    })
  })

  test('AutoApply credits invoices only, the earliest first, and takes any of its spellings', async () => {
    const { client, customerID } = await shop()
    const earlier = await invoiceOf(client, customerID, { InvoiceDate: '2026-12-01' })
    const adjustment = {
      customerID,
      Type: 'positive',
      AdjustmentType: 'interest',
      Amount: 10,
      Date: '2026-11-01',
      DueDate: '2026-12-01',
      Ref: 'I',
    }
    await client.post('/v1/adjustment/add', adjustment)
    const { Allocations, ...body } = creditOf(customerID, 300, { isAutoApply: true })
    const added = await client.post('/v1/credits', body)
    expect(Allocations).toEqual([])
    expect(added.body.Allocations.map((one: any) => one.amountApplied)).toEqual([115, 115])
    expect(added.body.Allocations[0].invoiceID).toBe(earlier)
    expect(added.body.Status).toBe('Partial')
  })

  test('a number is taken once among credit notes, whatever its letter case and through whichever door', async () => {
    const { client, customerID } = await shop()
    const first = await client.post('/v1/credits', creditOf(customerID, 1, { CreditNumber: 'Abc' }))
    const { CreditNumber: _, ...unnamed } = creditOf(customerID, 1)
    const again = await client.post('/v1/credits', { ...unnamed, Ref: 'aBC' })
    expect([again.status, codesOf(again)]).toEqual([409, ['credit_number_taken']])
    const negative = { customerID, Type: 'negative', Amount: 1, Date: '2027-01-01', Ref: 'ABC', Allocations: [] }
    const byOther = await client.post('/v1/adjustment/add', { ...negative, AdjustmentType: 'credit_note' })
    expect([byOther.status, codesOf(byOther)]).toEqual([409, ['credit_number_taken']])
    const debt = await client.post('/v1/adjustment/add', { ...negative, AdjustmentType: 'bad_debt' })
    expect(debt.status).toBe(201)
    await client.delete(`/v1/credits/${first.body.creditNoteID}`)
    expect((await client.post('/v1/credits', { ...unnamed, Ref: 'aBC' })).status).toBe(201)
  })

  test('what is wrong is told together: amounts over 0, a list unless AutoApply, known invoices, one target', async () => {
    const { client, customerID, invoices } = await shop()
    const { Allocations: _, ...body } = creditOf(customerID, 0)
    const bare = await client.post('/v1/credits', body)
    expect(bare.status).toBe(400)
    expect(codesOf(bare).sort()).toEqual(['out_of_range', 'required'])
    const wrong = await client.post('/v1/credits', {
      ...creditOf(customerID, 5),
      Allocations: [
        { invoiceID: 999_999, amountApplied: 1 },
        { invoiceID: invoices[0], positiveAdjustmentID: 5, amountApplied: 1 },
        { invoiceNumber: '888', amountApplied: 1 },
        { amountApplied: 1 },
      ],
    })
    expect(wrong.status).toBe(400)
    expect(codesOf(wrong)).toEqual(['two_targets', 'invoice_unknown', 'required', 'invoice_unknown'])
    expect(wrong.body.Errors[2].Message).toBe(
      'Allocations[3] must say what it pays: invoiceID, invoiceNumber or positiveAdjustmentID.',
    )
  })

  test('an entry that cannot be allocated is named', async () => {
    const { client, customerID, invoices } = await shop()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const other = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
    const first = { invoiceID: invoices[0], amountApplied: 1 }
    const second = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 20 }] })
    const last = { invoiceID: second.body.invoiceID, amountApplied: 500 }
    const refused = await Promise.all([
      client.post('/v1/credits', creditOf(customerID, 999, { Allocations: [first, last] })),
      client.post('/v1/credits', creditOf(other, 5, { Allocations: [first] })),
      client.post('/v1/credits', creditOf(customerID, 5, { CurrencyCode: 'EUR', Allocations: [first] })),
    ])
    expect(refused.map(({ body }) => [body.Errors[0].Code, body.Errors[0].Field])).toEqual([
      ['too_little_open', 'Allocations[1].invoiceID'],
      ['other_customer', 'Allocations[0].invoiceID'],
      ['other_currency', 'Allocations[0].invoiceID'],
    ])
  })
})

describe('correcting a credit note', () => {
  test('the list replaces what there was, an unchanged PUT posts nothing, and a new day moves the allocations too', async () => {
    const { client, customerID, invoices } = await shop(2)
    const body = creditOf(customerID, 46)
    const { creditNoteID, Allocations } = (
      await client.post('/v1/credits', { ...body, Allocations: [{ invoiceID: invoices[0], amountApplied: 46 }] })
    ).body
    const before = await ledgerOf(service, client)
    expect((await client.put(`/v1/credits/${creditNoteID}`, { ...body, Allocations })).status).toBe(204)
    expect(await ledgerOf(service, client)).toEqual(before)
    const moved = [{ allocationID: Allocations[0].allocationID, invoiceID: invoices[1], amountApplied: 46 }]
    await client.put(`/v1/credits/${creditNoteID}`, { ...body, Date: '2027-02-01', Allocations: moved })
    expect((await client.get(`/v1/credits/${creditNoteID}`)).body).toMatchObject({
      Status: 'Allocated',
      Date: '2027-02-01T00:00:00Z',
      Allocations: moved,
    })
    expect((await ledgerOf(service, client)).slice(before.length)).toEqual([
      '2027-01-01 credit_note_made_reversed unapplied→revenue 4600',
      '2027-01-01 allocation_made_reversed receivable→unapplied 4600',
      '2027-01-01 tax_taken_back_reversed revenue→tax VAT 600',
      '2027-02-01 credit_note_made revenue→unapplied 4600',
      '2027-02-01 allocation_made unapplied→receivable 4600',
      '2027-02-01 tax_taken_back tax→revenue VAT 600',
    ])
    expect((await client.get(`/v1/invoices/${invoices[0]}`)).body.Balance).toBe(115)
  })

  test('it keeps its customer, and its currency while anything is allocated; a lowered amount must hold what is', async () => {
    const { client, customerID, invoices } = await shop()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const other = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
    const body = creditOf(customerID, 50)
    const list = [{ invoiceID: invoices[0], amountApplied: 40 }]
    const { creditNoteID } = (await client.post('/v1/credits', { ...body, Allocations: list })).body
    const put = (changes: object) =>
      client.put(`/v1/credits/${creditNoteID}`, { ...body, Allocations: list, ...changes })
    const refusals = [
      await put({ customerID: other }),
      await put({ CurrencyCode: 'EUR' }),
      await put({ Amount: 39.99 }),
      await put({ Allocations: [{ invoiceID: invoices[0], amountApplied: 51 }] }),
    ]
    expect(refusals.map((reply) => [reply.status, ...codesOf(reply)])).toEqual([
      [409, 'other_customer'],
      [409, 'currency_allocated'],
      [409, 'over_allocated'],
      [409, 'over_allocated'],
    ])
    expect(refusals[2]?.body.Errors[0].Field).toBe('Allocations')
    expect(refusals[3]?.body.Errors[0].Field).toBe('Allocations')
    expect(refusals[2]?.text).toContain('40.00')
    expect(refusals[2]?.text).toContain('39.99')
    expect((await put({ CurrencyCode: 'EUR', Allocations: [] })).status).toBe(204)
    const now = (await client.get(`/v1/credits/${creditNoteID}`)).body
    expect(now).toMatchObject({ CurrencyCode: 'EUR', Status: 'Unallocated', Allocations: [] })
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(115)
  })

  test('AutoApply on a PUT keeps what there is, the newest giving way to a lower amount, and applies the rest', async () => {
    const { client, customerID, invoices } = await shop(3)
    const [one, two, three] = invoices
    const body = creditOf(customerID, 100)
    const list = [
      { invoiceID: three, amountApplied: 60 },
      { invoiceID: two, amountApplied: 40 },
    ]
    const { creditNoteID } = (await client.post('/v1/credits', { ...body, Allocations: list })).body
    const put = (changes: object) => client.put(`/v1/credits/${creditNoteID}`, { ...body, AutoApply: true, ...changes })
    const now = async () =>
      (await client.get(`/v1/credits/${creditNoteID}`)).body.Allocations.map((a: any) => [a.invoiceID, a.amountApplied])
    await put({ Amount: 70 })
    expect(await now()).toEqual([
      [three, 60],
      [two, 10],
    ])
    await put({ Amount: 200 })
    expect(await now()).toEqual([
      [three, 60],
      [two, 10],
      [one, 115],
      [two, 15],
    ])
  })

  test('If-Match and the Idempotency-Key hold here as everywhere', async () => {
    const { client, customerID } = await shop()
    const body = creditOf(customerID, 5)
    const added = await client.post('/v1/credits', body, { 'idempotency-key': 'a' })
    const again = await client.post('/v1/credits', body, { 'idempotency-key': 'a' })
    expect([again.status, again.body]).toEqual([201, added.body])
    const url = `/v1/credits/${added.body.creditNoteID}`
    const { etag } = (await client.get(url)).headers
    expect((await client.put(url, { ...body, Amount: 6 }, { 'if-match': String(etag) })).status).toBe(204)
    expect((await client.put(url, { ...body, Amount: 7 }, { 'if-match': String(etag) })).status).toBe(412)
    expect((await client.delete(url)).status).toBe(204)
    expect([(await client.delete(url)).status, (await client.put(url, body)).status]).toEqual([404, 404])
  })
})

describe('credit notes of the service', () => {
  /** 31.00 and 15 %, cancelled on 16 January: 16 of 31 days come back. */
  async function credited() {
    const { client, customerID, add } = await subscriptionShop(service)
    const { body } = await add()
    await moveTo(client, '2027-01-16')
    await client.put(`/v1/subscriptions/${body.subscriptionID}/cancel/prorata`)
    const [note] = (await client.get('/v1/credits')).body
    return { client, customerID, note }
  }

  test('only number, memo and allocations change, by either door', async () => {
    const { client, customerID, note } = await credited()
    expect(note).toMatchObject({ CreditNumber: 'CN-1', Amount: 16, Status: 'Allocated', customerID })
    const url = `/v1/credits/${note.creditNoteID}`
    const refused = await client.put(url, { ...note, Amount: 15, Date: '2027-01-17' })
    expect([refused.status, codesOf(refused)]).toEqual([409, ['note_closed']])
    expect(refused.text).toContain('Amount and Date')
    const change = { CreditNumber: 'My-1', Memo: 'mine', Allocations: [] }
    expect((await client.put(url, { ...note, ...change })).status).toBe(204)
    expect((await client.get(url)).body).toMatchObject({ ...change, Status: 'Unallocated', Amount: 16 })
    const found = `/v1/adjustment/get?type=negative&adjustmentID=${note.creditNoteID}&customerID=${customerID}`
    const { adjustment } = (await client.get(found)).body
    const edit = { ...adjustment, Type: 'negative', DueDate: null }
    const byOther = await client.put('/v1/adjustment/edit', { ...edit, Amount: 15 })
    expect([byOther.status, codesOf(byOther)]).toEqual([409, ['note_closed']])
    expect((await client.put('/v1/adjustment/edit', { ...edit, Memo: 'theirs' })).status).toBe(204)
  })

  test('deleting one undoes the money, not the cancellation; the invoice can be cancelled then', async () => {
    const { client, customerID, note } = await credited()
    const [invoice] = (await client.get('/v1/invoices')).body
    expect((await client.delete(`/v1/invoices/${invoice.invoiceID}`)).status).toBe(409)
    expect((await client.delete(`/v1/credits/${note.creditNoteID}`)).status).toBe(204)
    expect((await client.get(`/v1/customers/${customerID}`)).body.Balance).toBe(31)
    expect((await ledgerOf(service, client)).slice(-2)).toEqual([
      '2027-01-16 credit_note_made_reversed unapplied→revenue 1600',
      '2027-01-16 allocation_made_reversed receivable→unapplied 1600',
    ])
    expect((await client.get('/v1/subscriptions')).body[0].comp_Status).toBe('Cancelled')
    expect((await client.delete(`/v1/invoices/${invoice.invoiceID}`)).status).toBe(204)
  })

  test('what a deleted one had taken of a tax, later notes on that invoice take; what was settled stays', async () => {
    const { client, customerID, add } = await subscriptionShop(service)
    await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
    const { body } = await add()
    await moveTo(client, '2027-01-16')
    await client.put(`/v1/subscriptions/${body.subscriptionID}/cancel/prorata`)
    const [note] = (await client.get('/v1/credits')).body
    const [invoice] = (await client.get('/v1/invoices')).body
    expect([invoice.Total, note.Amount]).toEqual([35.65, 18.4])
    await client.put(`/v1/credits/${note.creditNoteID}`, { ...note, Allocations: [] })
    const credit = async (amount: number): Promise<number> => {
      const list = [{ invoiceID: invoice.invoiceID, amountApplied: amount }]
      return (await client.post('/v1/credits', creditOf(customerID, amount, { Allocations: list }))).body.creditNoteID
    }
    const taxes = async (id: number) =>
      (await client.get(`/v1/credits/${id}/explanation`)).body.Taxes.map((one: any) => one.Amount)
    const first = await credit(20)
    // Of 35.65 the service has settled 18.40, so 17.25 can still be credited: with them the tax that is left of 4.65.
    expect(await taxes(first)).toEqual([2.25])
    await client.delete(`/v1/credits/${note.creditNoteID}`)
    expect((await ledgerOf(service, client)).slice(-2)).toEqual([
      '2027-01-16 credit_note_made_reversed unapplied→revenue 1600',
      '2027-01-16 credit_note_made_reversed unapplied→tax VAT 240',
    ])
    expect(await taxes(first)).toEqual([2.25])
    // round(32.90 × 4.65 ÷ 35.65) − 2.25.
    expect(await taxes(await credit(15.65))).toEqual([2.04])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('the explanation tells its lines by their facts', async () => {
    const { client, note } = await credited()
    const { body } = await client.get(`/v1/credits/${note.creditNoteID}/explanation`)
    expect(body).toMatchObject({
      creditNoteID: note.creditNoteID,
      Net: 16,
      Taxes: [],
      Lines: [
        {
          Kind: 'package',
          Facts: {
            From: '2027-01-16T00:00:00Z',
            To: '2027-01-31T00:00:00Z',
            WholeFrom: '2027-01-01T00:00:00Z',
            WholeTo: '2027-01-31T00:00:00Z',
            UnusedDays: 16,
            WholeDays: 31,
            Price: 31,
            CreditedBefore: 0,
          },
          Formula: '31.00 × 16 ÷ 31 = 16.00',
        },
      ],
    })
    expect(body.Sentence).toContain('CN-1')
  })
})

describe('lists of credit notes', () => {
  test('show credit notes alone, by customer, day and status', async () => {
    const { client, customerID, invoices } = await shop()
    const other = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
    const list = [{ invoiceID: invoices[0], amountApplied: 5 }]
    await client.post('/v1/credits', creditOf(customerID, 5, { CreditNumber: 'A', Allocations: list }))
    await client.post('/v1/credits', creditOf(other, 5, { CreditNumber: 'B', Date: '2027-02-01' }))
    await client.post('/v1/credits', creditOf(customerID, 6, { CreditNumber: 'C', Allocations: [] }))
    await client.post('/v1/payments', paymentOf(customerID, 5, { Allocations: [] }))
    const debt = { customerID, Type: 'negative', AdjustmentType: 'bad_debt', Amount: 1, Date: '2027-01-01', Ref: 'D' }
    await client.post('/v1/adjustment/add', { ...debt, Allocations: [] })
    const found = async (url: string) => (await client.get(url)).body.map((one: any) => one.CreditNumber)
    expect(await found('/v1/credits')).toEqual(['A', 'B', 'C'])
    expect(await found(`/v1/customers/${customerID}/credits`)).toEqual(['A', 'C'])
    expect(await found('/v1/credits?status=allocated')).toEqual(['A'])
    expect(await found('/v1/credits?startDate=2027-01-15&endDate=2027-02-01')).toEqual(['B'])
    expect(await found(`/v1/credits?customerID=${customerID}&page=2&page_size=1`)).toEqual(['C'])
    expect((await client.get('/v1/credits?startDate=2027-02-02&endDate=2027-02-01')).status).toBe(400)
    expect((await client.get('/v1/customers/999999/credits')).status).toBe(404)
  })
})
