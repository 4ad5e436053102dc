import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { creditOf, ledgerOf, moneyShop, paymentOf } from '../money/money.testing.ts'
import { codesOf } from '../../../test/support/shop.ts'

const service = await startTestService()
const shop = (count?: number) => moneyShop(service, count)

const positiveOf = (customerID: number, AdjustmentType: string, Amount: number, more: object = {}) => ({
  customerID,
  Type: 'positive',
  AdjustmentType,
  Amount,
  Date: '2027-01-01',
  DueDate: '2027-01-31',
  Ref: 'P',
  ...more,
})

const negativeOf = (customerID: number, AdjustmentType: string, Amount: number, more: object = {}) => ({
  customerID,
  Type: 'negative',
  AdjustmentType,
  Amount,
  Date: '2027-01-01',
  Ref: `N${Amount}`,
  Allocations: [],
  ...more,
})

async function add(client: TestClient, body: object): Promise<number> {
  const added = await client.post('/v1/adjustment/add', body)
  expect(added.text).toContain('AdjustmentID')
  return added.body.AdjustmentID
}

const urlOf = (type: string, adjustmentID: number, customerID: number) =>
  `/v1/adjustment/get?type=${type}&adjustmentID=${adjustmentID}&customerID=${customerID}`

const read = async (client: TestClient, type: string, adjustmentID: number, customerID: number) =>
  (await client.get(urlOf(type, adjustmentID, customerID))).body.adjustment

const pay = async (client: TestClient, customerID: number, amount: number, more: object = {}): Promise<number> =>
  (await client.post('/v1/payments', paymentOf(customerID, amount, { Allocations: [], ...more }))).body.paymentID

const balanceOf = async (client: TestClient, customerID: number) =>
  (await client.get(`/v1/customers/${customerID}`)).body.Balance

/** Shows allocations as short rows: the other side, whether that is an adjustment, how much. */
const rowsOf = ({ allocations }: { allocations: any[] }) =>
  allocations.map(({ objectID, isAdjustment, amountApplied }) => [objectID, isAdjustment, amountApplied])

describe('positive adjustments', () => {
  test('interest and opening balances raise what is owed and take nothing by themselves', async () => {
    const { client, customerID } = await shop(0)
    await pay(client, customerID, 30)
    const opening = await add(client, positiveOf(customerID, 'opening_balance', 20, { Memo: 'brought over' }))
    await add(client, positiveOf(customerID, 'Interest', 5))
    expect((await client.get(urlOf('positive', opening, customerID))).body).toEqual({
      isSuccess: true,
      type: 'positive',
      adjustment: {
        customerID,
        positiveAdjustmentID: opening,
        positiveAdjustmentType: 'opening_balance',
        Date: '2027-01-01T00:00:00Z',
        DueDate: '2027-01-31T00:00:00Z',
        Amount: 20,
        CurrencyCode: 'USD',
        Status: 'Unpaid',
        isActive: true,
        isSuccess: true,
        Ref: 'P',
        Memo: 'brought over',
        allocations: [],
      },
    })
    expect(await balanceOf(client, customerID)).toBe(-5)
    expect((await ledgerOf(service, client)).slice(-2)).toEqual([
      '2027-01-01 opening_balance_set receivable→opening_balance 2000',
      '2027-01-01 interest_charged receivable→interest 500',
    ])
  })

  test('a refund takes unallocated payments, then credit notes, the oldest first, never bad debt; the rest stays owed', async () => {
    const { client, customerID } = await shop(0)
    const note = (await client.post('/v1/credits', creditOf(customerID, 10, { Date: '2026-12-01' }))).body.creditNoteID
    const late = await pay(client, customerID, 20, { Date: '2027-01-05' })
    const early = await pay(client, customerID, 30, { Date: '2027-01-02' })
    await add(client, negativeOf(customerID, 'bad_debt', 7))
    const refund = await add(client, positiveOf(customerID, 'refund', 70, { Date: '2027-01-03' }))
    const detail = await read(client, 'positive', refund, customerID)
    expect(rowsOf(detail)).toEqual([
      [early, false, 30],
      [late, false, 20],
      [note, true, 10],
    ])
    expect(detail.Status).toBe('Partially Paid')
    expect((await client.get(`/v1/payments/${early}`)).body.Allocations).toMatchObject([
      { invoiceID: 0, positiveAdjustmentID: refund, amountApplied: 30 },
    ])
    expect(await balanceOf(client, customerID)).toBe(3)
    expect((await ledgerOf(service, client)).slice(-4)).toEqual([
      '2027-01-03 refund_paid receivable→cash 7000',
      '2027-01-03 allocation_made unapplied→receivable 3000',
      '2027-01-05 allocation_made unapplied→receivable 2000',
      '2027-01-03 allocation_made unapplied→receivable 1000',
    ])
  })

  test('a refund takes nothing where the account says that nothing is taken by itself', async () => {
    const { client, customerID } = await shop(0)
    await client.put('/v1/account', { isAutoApplyUnallocated: false })
    await pay(client, customerID, 20)
    const refund = await add(client, positiveOf(customerID, 'refund', 20))
    expect((await read(client, 'positive', refund, customerID)).allocations).toEqual([])
  })

  test('statuses: unpaid, partly paid, past due the day after its due date, paid; the passing of time changes no ETag', async () => {
    const { client, customerID } = await shop(0)
    const id = await add(client, positiveOf(customerID, 'interest', 20, { DueDate: '2027-01-02' }))
    const status = async () => (await read(client, 'positive', id, customerID)).Status
    expect(await status()).toBe('Unpaid')
    const first = [{ positiveAdjustmentID: id, amountApplied: 5 }]
    await pay(client, customerID, 5, { Allocations: first })
    expect(await status()).toBe('Partially Paid')
    const { etag } = (await client.get(urlOf('positive', id, customerID))).headers
    await client.put('/v1/clock', { Now: '2027-01-02' })
    expect(await status()).toBe('Partially Paid')
    await client.put('/v1/clock', { Now: '2027-01-03' })
    expect(await status()).toBe('Past Due')
    expect((await client.get(urlOf('positive', id, customerID))).headers['etag']).toBe(etag)
    await client.post('/v1/credits', {
      ...creditOf(customerID, 15),
      Allocations: [{ invoiceID: 0, positiveAdjustmentID: id, amountApplied: 15 }],
    })
    expect(await status()).toBe('Paid')
  })

  test('the list of an edit says which money pays it; left out, it stays; a new day moves its allocations', async () => {
    const { client, customerID } = await shop(0)
    const payment = await pay(client, customerID, 30)
    const note = (await client.post('/v1/credits', creditOf(customerID, 10))).body.creditNoteID
    const id = await add(client, positiveOf(customerID, 'interest', 25))
    const edit = (changes: object) =>
      client.put('/v1/adjustment/edit', { AdjustmentID: id, ...positiveOf(customerID, 'interest', 25), ...changes })
    const list = [
      { objectID: payment, isAdjustment: false, AmtAllocated: 12 },
      { objectID: note, isAdjustment: true, AmtAllocated: 10 },
    ]
    expect((await edit({ LinkedAllocations: list })).status).toBe(204)
    const detail = await read(client, 'positive', id, customerID)
    expect(rowsOf(detail)).toEqual([
      [payment, false, 12],
      [note, true, 10],
    ])
    const before = await ledgerOf(service, client)
    expect((await edit({})).status).toBe(204)
    expect((await edit({ Allocations: detail.allocations })).status).toBe(204)
    expect(await ledgerOf(service, client)).toEqual(before)
    expect((await edit({ Date: '2027-01-10' })).status).toBe(204)
    expect((await ledgerOf(service, client)).slice(before.length)).toEqual([
      '2027-01-01 interest_charged_reversed interest→receivable 2500',
      '2027-01-01 allocation_made_reversed receivable→unapplied 1200',
      '2027-01-01 allocation_made_reversed receivable→unapplied 1000',
      '2027-01-10 interest_charged receivable→interest 2500',
      '2027-01-10 allocation_made unapplied→receivable 1200',
      '2027-01-10 allocation_made unapplied→receivable 1000',
    ])
    const [first] = detail.allocations
    await edit({ LinkedAllocations: [{ allocationID: first.allocationID, amountApplied: 20 }] })
    const after = await read(client, 'positive', id, customerID)
    expect(after.allocations).toMatchObject([{ ...first, amountApplied: 20 }])
    expect((await client.get(`/v1/credits/${note}`)).body).toMatchObject({ Status: 'Unallocated', Allocations: [] })
    expect((await client.get(`/v1/payments/${payment}`)).body.Status).toBe('Partial')
  })

  test('isAutoApply on an edit keeps what there is and takes what is missing as a refund does', async () => {
    const { client, customerID } = await shop(0)
    const one = await pay(client, customerID, 10)
    const id = await add(client, positiveOf(customerID, 'refund', 30))
    const two = await pay(client, customerID, 50)
    const edit = (changes: object) =>
      client.put('/v1/adjustment/edit', {
        AdjustmentID: id,
        ...positiveOf(customerID, 'refund', 30),
        isAutoApply: true,
        ...changes,
      })
    await edit({})
    expect(rowsOf(await read(client, 'positive', id, customerID))).toEqual([
      [one, false, 10],
      [two, false, 20],
    ])
    await edit({ Amount: 15 })
    expect(rowsOf(await read(client, 'positive', id, customerID))).toEqual([
      [one, false, 10],
      [two, false, 5],
    ])
  })

  test('its list is refused where money is unknown, another’s, in another currency, failed, or too little', async () => {
    const { client, customerID } = await shop(0)
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const other = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
    const mine = await pay(client, customerID, 10)
    const failed = await pay(client, customerID, 10, { Method: 'cheque' })
    await client.put(`/v1/payments/${failed}/fail`, { Date: '2027-01-01', Reason: 'bounced' })
    const id = await add(client, positiveOf(customerID, 'interest', 25))
    const edit = async (...list: object[]) => {
      const LinkedAllocations = list.map((one) => ({ AmtAllocated: 5, isAdjustment: false, ...one }))
      const body = { AdjustmentID: id, ...positiveOf(customerID, 'interest', 25), LinkedAllocations }
      const reply = await client.put('/v1/adjustment/edit', body)
      if (reply.status === 409) expect(reply.body.Errors[0].Field).toBe('LinkedAllocations')
      return reply.status === 204 ? [204] : [reply.status, ...codesOf(reply)]
    }
    expect(await edit({ objectID: 999_999 })).toEqual([400, 'payment_unknown'])
    expect(await edit({ objectID: mine, isAdjustment: true })).toEqual([400, 'adjustment_unknown'])
    expect(await edit({ objectID: mine, allocationID: 999_999 })).toEqual([400, 'allocation_unknown'])
    expect(await edit({})).toEqual([400, 'required'])
    expect(await edit({ objectID: await pay(client, other, 10) })).toEqual([409, 'other_customer'])
    const euros = await pay(client, customerID, 10, { CurrencyCode: 'EUR' })
    expect(await edit({ objectID: euros })).toEqual([409, 'other_currency'])
    expect(await edit({ objectID: failed })).toEqual([409, 'payment_failed'])
    expect(await edit({ objectID: mine, AmtAllocated: 26 })).toEqual([409, 'over_allocated'])
    expect(await edit({ objectID: mine }, { objectID: mine, AmtAllocated: 6 })).toEqual([409, 'too_little_unallocated'])
    expect(await edit({ objectID: mine }, { objectID: mine })).toEqual([204])
    const lowered = { AdjustmentID: id, ...positiveOf(customerID, 'interest', 9) }
    const { status, body } = await client.put('/v1/adjustment/edit', lowered)
    expect([status, body.Errors]).toMatchObject([409, [{ Code: 'over_allocated', Field: 'Amount' }]])
  })

  test('one with allocations cannot be deleted: they are named; afterwards it is gone and can be told of no more', async () => {
    const { client, customerID } = await shop(0)
    const payment = await pay(client, customerID, 10)
    const id = await add(client, positiveOf(customerID, 'refund', 10))
    const url = `/v1/adjustment/delete?type=positive&adjustmentID=${id}&customerID=${customerID}`
    const refused = await client.delete(url)
    expect([refused.status, codesOf(refused)]).toEqual([409, ['adjustment_allocated']])
    expect(refused.text).toContain(`payment ${payment}`)
    await client.put(`/v1/payments/${payment}`, paymentOf(customerID, 10, { Allocations: [] }))
    expect((await client.delete(url)).status).toBe(204)
    expect((await client.delete(url)).status).toBe(404)
    expect(await balanceOf(client, customerID)).toBe(-10)
    expect((await ledgerOf(service, client)).at(-1)).toBe('2027-01-01 refund_paid_reversed cash→receivable 1000')
  })
})

describe('negative adjustments', () => {
  test('a conflict names the list as it was sent', async () => {
    const { client, customerID, invoices } = await shop()
    for (const name of ['LinkedAllocations', 'allocations', 'Allocations']) {
      const list = [{ objectID: invoices[0], AmtAllocated: 5000, isAdjustment: false }]
      const body = negativeOf(customerID, 'BAD_DEBT', 6000, { Allocations: undefined, [name]: list })
      const reply = await client.post('/v1/adjustment/add', body)
      expect([reply.status, reply.body.Errors[0].Field]).toEqual([409, `${name}[0].objectID`])
    }
  })

  test('a bad debt is written off gross: no tax comes back, and both amounts of an over-allocation are told', async () => {
    const { client, customerID, invoices } = await shop()
    const list = [{ objectID: invoices[0], AmtAllocated: 100, isAdjustment: false }]
    const id = await add(
      client,
      negativeOf(customerID, 'BAD_DEBT', 115, { Type: 'Negative', LinkedAllocations: list, Allocations: undefined }),
    )
    expect(await read(client, 'negative', id, customerID)).toEqual({
      customerID,
      NegativeAdjustmentID: id,
      NegativeAdjustmentType: 'bad_debt',
      Date: '2027-01-01T00:00:00Z',
      Amount: 115,
      CurrencyCode: 'USD',
      Status: 'Partially Allocated',
      isActive: true,
      isSuccess: true,
      Ref: 'N115',
      TaxReliefDate: null,
      Memo: null,
      Reason: null,
      isClosed: false,
      isSent: false,
      allocations: [
        {
          allocationID: expect.any(Number),
          objectID: invoices[0],
          invoiceNum: 1,
          amountApplied: 100,
          isAdjustment: false,
        },
      ],
    })
    expect((await ledgerOf(service, client)).slice(-2)).toEqual([
      '2027-01-01 bad_debt_written_off bad_debt→unapplied 11500',
      '2027-01-01 allocation_made unapplied→receivable 10000',
    ])
    expect((await client.get(`/v1/credits/${id}`)).status).toBe(404)
    const over = negativeOf(customerID, 'bad_debt', 20, { Allocations: [{ objectID: invoices[0], AmtAllocated: 16 }] })
    const refused = await client.post('/v1/adjustment/add', over)
    expect([refused.status, codesOf(refused)]).toEqual([409, ['too_little_open']])
    expect(refused.text).toContain('15.00')
    expect(refused.text).toContain('16.00')
  })

  test('AutoApply takes invoices and positive adjustments together, by date, invoices first on one day', async () => {
    const { client, customerID, invoices } = await shop()
    const same = await add(client, positiveOf(customerID, 'interest', 10))
    const earlier = await add(client, positiveOf(customerID, 'interest', 20, { Date: '2026-12-01' }))
    const id = await add(
      client,
      negativeOf(customerID, 'credit_note', 140, { isAutoApply: true, Allocations: undefined }),
    )
    expect(rowsOf(await read(client, 'negative', id, customerID))).toEqual([
      [earlier, true, 20],
      [invoices[0], false, 115],
      [same, true, 5],
    ])
    // A credit note through either door is the same record, each in its own words.
    expect((await client.get(`/v1/credits/${id}`)).body).toMatchObject({
      CreditNumber: 'N140',
      Status: 'Allocated',
      Allocations: [
        { invoiceID: 0, positiveAdjustmentID: earlier },
        { invoiceID: invoices[0], positiveAdjustmentID: 0 },
        { invoiceID: 0, positiveAdjustmentID: same },
      ],
    })
  })

  test('an edit replaces its list, keeps its currency and the number of a credit note that is left out', async () => {
    const { client, customerID, invoices } = await shop()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const note = (
      await client.post('/v1/credits', creditOf(customerID, 50, { CurrencyCode: 'EUR', CreditNumber: 'E1' }))
    ).body.creditNoteID
    const { Ref: _, Allocations: __, ...body } = negativeOf(customerID, 'credit_note', 40)
    const edit = (id: number, changes: object) =>
      client.put('/v1/adjustment/edit', { AdjustmentID: id, ...body, ...changes })
    expect((await edit(note, {})).status).toBe(400)
    expect((await edit(note, { LinkedAllocations: [] })).status).toBe(204)
    expect((await client.get(`/v1/credits/${note}`)).body).toMatchObject({
      Amount: 40,
      CurrencyCode: 'EUR',
      CreditNumber: 'E1',
    })
    const id = await add(client, negativeOf(customerID, 'credit_note', 50))
    const list = [{ objectID: invoices[0], AmtAllocated: 40 }]
    expect((await edit(id, { LinkedAllocations: list })).status).toBe(204)
    expect(rowsOf(await read(client, 'negative', id, customerID))).toEqual([[invoices[0], false, 40]])
    const asOther = await edit(id, { AdjustmentType: 'bad_debt', LinkedAllocations: list })
    expect([asOther.status, codesOf(asOther)]).toEqual([409, ['kind_fixed']])
  })

  test('deleting one by its body frees what it paid', async () => {
    const { client, customerID, invoices } = await shop()
    const list = [{ objectID: invoices[0], AmtAllocated: 115 }]
    const adjustmentID = await add(client, negativeOf(customerID, 'credit_note', 115, { Allocations: list }))
    expect(await balanceOf(client, customerID)).toBe(0)
    const named = await client.request(
      'DELETE',
      '/v1/adjustment/delete',
      JSON.stringify({ type: 'NEGATIVE', adjustmentID, customerID }),
    )
    expect(named.status).toBe(204)
    expect(await balanceOf(client, customerID)).toBe(115)
    expect((await ledgerOf(service, client)).slice(-3)).toEqual([
      '2027-01-01 credit_note_made_reversed unapplied→revenue 11500',
      '2027-01-01 allocation_made_reversed receivable→unapplied 11500',
      '2027-01-01 tax_taken_back_reversed revenue→tax VAT 1500',
    ])
    expect((await client.delete('/v1/adjustment/delete')).status).toBe(400)
  })
})

describe('finding adjustments', () => {
  test('a list is of one kind or both, in the order of creation, positive first on a tie, paged as one', async () => {
    const { client, customerID } = await shop(0)
    const other = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
    await add(client, negativeOf(customerID, 'bad_debt', 1))
    await add(client, positiveOf(customerID, 'refund', 2))
    await client.put('/v1/clock', { Now: '2027-01-05T00:00:00Z' })
    await add(client, negativeOf(customerID, 'credit_note', 3))
    await add(client, positiveOf(other, 'interest', 4))
    const list = async (query: string) => (await client.get(`/v1/adjustment/list?${query}`)).body
    const all = await list('type=all')
    expect(all.isSuccess).toBe(true)
    const kinds = ({ adjustments }: any) => adjustments.map((one: any) => [one.Type, one.AdjustmentType, one.Amount])
    expect(kinds(all)).toEqual([
      ['positive', 'refund', 2],
      ['negative', 'bad_debt', 1],
      ['positive', 'interest', 4],
      ['negative', 'credit_note', 3],
    ])
    expect(all.adjustments[1]).toEqual({
      adjustmentID: expect.any(Number),
      customerID,
      Date: '2027-01-01T00:00:00Z',
      DueDate: null,
      CurrencyCode: 'USD',
      Amount: 1,
      Ref: 'N1',
      Memo: null,
      AdjustmentType: 'bad_debt',
      Type: 'negative',
    })
    expect(kinds(await list(`type=All&customerID=${customerID}&page=2&page_size=2`))).toEqual([
      ['negative', 'credit_note', 3],
    ])
    expect(kinds(await list('type=positive'))).toHaveLength(2)
    expect(kinds(await list(`type=negative&customerID=${other}`))).toEqual([])
  })

  test('another customer’s record, an unknown one and an unknown customer are 404; what does not fit is 400', async () => {
    const { client, customerID } = await shop(0)
    const other = (await client.post('/v1/customers', { Name: 'Other', isCompany: true })).body.customerID
    const id = await add(client, positiveOf(customerID, 'interest', 5))
    const edit = { AdjustmentID: id, ...positiveOf(customerID, 'interest', 5) }
    const replies = [
      await client.get(urlOf('positive', id, other)),
      await client.get(urlOf('negative', id + 1000, customerID)),
      await client.get('/v1/adjustment/list?type=all&customerID=999999'),
      await client.post('/v1/adjustment/add', positiveOf(999_999, 'interest', 5)),
      await client.put('/v1/adjustment/edit', { ...edit, customerID: other }),
      await client.delete(`/v1/adjustment/delete?type=positive&adjustmentID=${id}&customerID=${other}`),
      await client.get(`/v1/adjustment/get?type=positive&adjustmentID=${id}`),
      await client.get('/v1/adjustment/list?type=some'),
      await client.post('/v1/adjustment/add', positiveOf(customerID, 'bad_debt', 5)),
      await client.post('/v1/adjustment/add', positiveOf(customerID, 'interest', 5, { DueDate: null })),
      await client.post('/v1/adjustment/add', positiveOf(customerID, 'interest', 5, { DueDate: '2026-12-31' })),
      await client.post('/v1/adjustment/add', { ...negativeOf(customerID, 'bad_debt', 5), Allocations: undefined }),
    ]
    expect(replies.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404, 400, 400, 400, 400, 400, 400])
    expect(replies.slice(8).map(codesOf)).toEqual([['kind_mismatch'], ['required'], ['due_before_date'], ['required']])
  })

  test('type and identifier are taken under each of their names, in query and body, and keys tell them apart', async () => {
    const { client, customerID } = await shop(0)
    const ids = [
      await add(client, positiveOf(customerID, 'interest', 5)),
      await add(client, positiveOf(customerID, 'interest', 6)),
    ]
    const get = `/v1/adjustment/get?Type=Positive&positiveAdjustmentID=${ids[0]}&customerID=${customerID}`
    expect((await client.get(get)).body.adjustment.Amount).toBe(5)
    const { body } = await client.get(
      `/v1/adjustment/get?type=positive&adjustmentID=${ids[1]}&customerID=${customerID}`,
    )
    const sent = { ...body.adjustment, type: 'positive', Memo: 'sent back' }
    expect((await client.put('/v1/adjustment/edit', sent)).status).toBe(204)
    const gone = (id: number | undefined) =>
      client.request(
        'DELETE',
        `/v1/adjustment/delete?Type=positive&AdjustmentID=${id}&customerID=${customerID}`,
        undefined,
        { 'idempotency-key': 'd' },
      )
    expect([(await gone(ids[0])).status, (await gone(ids[1])).status, (await gone(ids[0])).status]).toEqual([
      204, 422, 204,
    ])
  })

  test('If-Match tells of a change by the other door', async () => {
    const { client, customerID } = await shop()
    const body = creditOf(customerID, 5)
    const { creditNoteID } = (await client.post('/v1/credits', body)).body
    const { etag } = (await client.get(urlOf('negative', creditNoteID, customerID))).headers
    await client.put(`/v1/credits/${creditNoteID}`, { ...body, Memo: 'changed' })
    const edit = { AdjustmentID: creditNoteID, ...negativeOf(customerID, 'credit_note', 5), LinkedAllocations: [] }
    const stale = await client.put('/v1/adjustment/edit', { ...edit, Allocations: [] }, { 'if-match': String(etag) })
    expect(stale.status).toBe(412)
  })
})

test('documents on or before the lock date can be neither made nor moved; allocations go to the day after it', async () => {
  const { client, customerID, invoices } = await shop()
  const early = await add(client, positiveOf(customerID, 'interest', 5))
  const note = creditOf(customerID, 10)
  const { creditNoteID } = (await client.post('/v1/credits', note)).body
  await client.put('/v1/clock', { Now: '2027-01-02' })
  expect((await client.put('/v1/account', { LockDate: '2027-01-01' })).status).toBeLessThan(300)
  const edit = { AdjustmentID: early, ...positiveOf(customerID, 'interest', 5) }
  const refused = [
    await client.post('/v1/adjustment/add', positiveOf(customerID, 'interest', 5)),
    await client.put('/v1/adjustment/edit', { ...edit, Amount: 6 }),
    await client.delete(`/v1/adjustment/delete?type=positive&adjustmentID=${early}&customerID=${customerID}`),
    await client.put(`/v1/credits/${creditNoteID}`, { ...note, Date: '2027-01-02' }),
    await client.delete(`/v1/credits/${creditNoteID}`),
  ]
  expect(refused.map((reply) => [reply.status, ...codesOf(reply)])).toEqual(refused.map(() => [409, 'books_locked']))
  expect((await client.put('/v1/adjustment/edit', { ...edit, Memo: 'only that' })).status).toBe(204)
  const list = [{ invoiceID: invoices[0], amountApplied: 10 }]
  expect((await client.put(`/v1/credits/${creditNoteID}`, { ...note, Allocations: list })).status).toBe(204)
  expect((await ledgerOf(service, client)).slice(-2)).toEqual([
    '2027-01-02 allocation_made unapplied→receivable 1000',
    '2027-01-02 tax_taken_back tax→revenue VAT 130',
  ])
})
