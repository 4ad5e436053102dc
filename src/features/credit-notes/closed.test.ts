import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { codesOf, differencesOf } from '../../../test/support/shop.ts'
import { creditOf, invoiceOf, ledgerOf } from '../money/money.testing.ts'

/** Closed notes: made for an invoice, or sent. What they correct is fixed, whatever their money does. */

const service = await startTestService()

/** A customer with one tax of 23 % and invoices of 183.27, the first of January. */
async function shop() {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23 }] })
  const customer = { Name: 'Acme', isCompany: true, Email: 'acme@example.test' }
  const customerID: number = (await client.post('/v1/customers', customer)).body.customerID
  const invoice = (more: object = {}) => invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 149 }], ...more })
  return { client, customerID, invoice }
}

const read = async (client: TestClient, id: number) => (await client.get(`/v1/credits/${id}`)).body
const isClean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

describe('a note made for an invoice', () => {
  test('is settled whole at once, allocated or not: 7.00 is 5.69 and 1.31', async () => {
    const { client, customerID, invoice } = await shop()
    const invoiceID = await invoice()
    const body = creditOf(customerID, 7, { invoiceID, Reason: 'Late delivery' })
    const { status, body: note } = await client.post('/v1/credits', body)
    expect(status).toBe(201)
    expect(note).toMatchObject({
      Status: 'Unallocated',
      invoiceID,
      Reason: 'Late delivery',
      TotalEx: 5.69,
      TotalTax: 1.31,
      Taxes: [{ invoiceID, Name: 'VAT', Perc: 0.23, Category: 'S', Base: 5.69, TaxAmount: 1.31 }],
      Unsettled: 0,
      isClosed: true,
      isSent: false,
      DateSent: null,
      Allocations: [],
    })
    expect(await read(client, note.creditNoteID)).toEqual(note)
    expect((await client.get('/v1/credits')).body).toEqual([note])
    const entries = (await client.get('/v1/ledger/entries')).body
    expect(entries.at(-1)).toMatchObject({
      RecordType: 'settlement',
      Event: 'tax_taken_back',
      Amount: 1.31,
      Number: body.CreditNumber,
    })
    await isClean(client)
  })

  test('over what can be credited is refused with both amounts, by either door', async () => {
    const { client, customerID, invoice } = await shop()
    const invoiceID = await invoice()
    await client.post('/v1/credits', creditOf(customerID, 100, { invoiceID }))
    const bad = { customerID, Type: 'negative', AdjustmentType: 'bad_debt', Amount: 40, Date: '2027-01-01', Ref: 'B' }
    const written = { ...bad, Allocations: [{ objectID: invoiceID, AmtAllocated: 40 }] }
    expect((await client.post('/v1/adjustment/add', written)).status).toBe(201)
    const over = await client.post('/v1/credits', creditOf(customerID, 43.28, { invoiceID }))
    expect([over.status, codesOf(over)]).toEqual([409, ['too_little_creditable']])
    expect(over.text).toContain('43.27 USD')
    expect(over.text).toContain('43.28 USD')
    const note = { ...bad, AdjustmentType: 'credit_note', Ref: 'N', Allocations: [], invoiceID }
    const byOther = await client.post('/v1/adjustment/add', { ...note, Amount: 43.28 })
    expect([byOther.status, codesOf(byOther)]).toEqual([409, ['too_little_creditable']])
    const rest = await client.post('/v1/adjustment/add', { ...note, Amount: 43.27, Reason: 'The rest' })
    expect(rest.status, rest.text).toBe(201)
    expect(await read(client, rest.body.AdjustmentID)).toMatchObject({ invoiceID, Reason: 'The rest', Unsettled: 0 })
    await isClean(client)
  })

  test.each([
    ['one that is not there', async () => 999_999, 400, 'invoice_unknown'],
    ['a draft', async ({ invoice }: Shop) => invoice({ isDraft: true }), 409, 'invoice_draft'],
    [
      'a cancelled one',
      async ({ client, invoice }: Shop) => {
        const id = await invoice()
        await client.delete(`/v1/invoices/${id}`)
        return id
      },
      409,
      'invoice_cancelled',
    ],
    [
      "another customer's",
      async ({ client }: Shop) => {
        const { body } = await client.post('/v1/customers', { Name: 'Other', isCompany: true })
        return invoiceOf(client, body.customerID)
      },
      409,
      'other_customer',
    ],
    [
      'one of 0.00',
      async ({ invoice }: Shop) => invoice({ Charges: [{ UnitCostEx: 0 }] }),
      409,
      'too_little_creditable',
    ],
  ] as const)('for %s is refused, and nothing is made', async (_what, make, status, code) => {
    const shopped = await shop()
    const { client, customerID } = shopped
    const invoiceID = await make(shopped)
    const posted = await ledgerOf(service, client)
    const reply = await client.post('/v1/credits', creditOf(customerID, 5, { invoiceID }))
    expect([reply.status, codesOf(reply)]).toEqual([status, [code]])
    expect(reply.body.Errors[0].Field).toMatch(/invoiceID|Amount/)
    expect((await client.get('/v1/credits')).body).toEqual([])
    expect(await ledgerOf(service, client)).toEqual(posted)
  })

  test('its allocations, memo and number change, nothing else does, by either door', async () => {
    const { client, customerID, invoice } = await shop()
    const [a, b] = [await invoice(), await invoice()]
    const sent = creditOf(customerID, 50, { invoiceID: a, Reason: 'Broken' })
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const { body: note } = await client.post('/v1/credits', sent)
    const path = `/v1/credits/${note.creditNoteID}`
    for (const more of [
      { Amount: 49 },
      { Date: '2027-01-02' },
      { CurrencyCode: 'EUR', Allocations: [] },
      { Reason: 'Other' },
    ]) {
      const refused = await client.put(path, { ...note, ...more })
      expect([refused.status, codesOf(refused)], JSON.stringify(more)).toEqual([409, ['note_closed']])
    }
    const edit = {
      customerID,
      Type: 'negative',
      AdjustmentType: 'credit_note',
      AdjustmentID: note.creditNoteID,
      Date: '2027-01-01',
      Amount: 50,
      Allocations: [],
    }
    const byOther = await client.put('/v1/adjustment/edit', { ...edit, Amount: 51 })
    expect([byOther.status, codesOf(byOther)]).toEqual([409, ['note_closed']])
    const moved = { ...note, Memo: 'moved', CreditNumber: 'NEW-1', invoiceID: b }
    const list = [{ invoiceID: b, amountApplied: 50 }]
    expect((await client.put(path, { ...moved, Allocations: list })).status).toBe(204)
    const now = await read(client, note.creditNoteID)
    expect(now).toMatchObject({ Memo: 'moved', CreditNumber: 'NEW-1', invoiceID: a, TotalTax: 9.35, Reason: 'Broken' })
    // A program that does not know of Reason leaves it out.
    const { Reason: _, ...old } = now
    expect((await client.put(path, old)).status).toBe(204)
    expect((await read(client, note.creditNoteID)).Reason).toBe('Broken')
    await isClean(client)
  })

  test('stands against cancelling its invoice until it is deleted; then its number is free', async () => {
    const { client, customerID, invoice } = await shop()
    const [wrong, right] = [await invoice(), await invoice()]
    const sent = creditOf(customerID, 50, { invoiceID: wrong })
    const { body: note } = await client.post('/v1/credits', sent)
    const refused = await client.delete(`/v1/invoices/${wrong}`)
    expect([refused.status, codesOf(refused)]).toEqual([409, ['invoice_credited']])
    expect(refused.text).toContain(sent.CreditNumber)
    expect((await client.delete(`/v1/credits/${note.creditNoteID}`)).status).toBe(204)
    const again = await client.post('/v1/credits', { ...sent, invoiceID: right })
    expect([again.status, again.body.invoiceID]).toEqual([201, right])
    expect((await client.delete(`/v1/invoices/${wrong}`)).status).toBe(204)
    await isClean(client)
  })
})

type Shop = Awaited<ReturnType<typeof shop>>

describe('a note that was sent', () => {
  test('unallocated: 204 with a warning; allocated afterwards it moves money only', async () => {
    const { client, customerID, invoice } = await shop()
    const invoiceID = await invoice()
    const { body: note } = await client.post('/v1/credits', creditOf(customerID, 7, { CreditNumber: 'K-9' }))
    const path = `/v1/credits/${note.creditNoteID}`
    const reply = await client.put(`${path}/send`, undefined)
    expect([reply.status, reply.headers['perennial-warning']]).toEqual([204, 'unsettled;amount=7.00'])
    const sent = await read(client, note.creditNoteID)
    expect(sent).toMatchObject({ isClosed: true, isSent: true, Unsettled: 7, TotalTax: 0, Taxes: [], invoiceID: null })
    expect(sent.DateSent).not.toBeNull()
    const list = [{ invoiceID, amountApplied: 7 }]
    expect((await client.put(path, { ...sent, Allocations: list })).status).toBe(204)
    const later = await read(client, note.creditNoteID)
    expect(later).toMatchObject({ Status: 'Allocated', Unsettled: 7, TotalTax: 0, Taxes: [] })
    await isClean(client)
    // Its open settlements were none, so the invoice goes once the allocation is off.
    expect((await client.put(path, { ...later, Allocations: [] })).status).toBe(204)
    expect((await client.delete(`/v1/invoices/${invoiceID}`)).status).toBe(204)
    await isClean(client)
  })

  test('without a mail, twice: sent once, nothing in the outbox, the customer needs no Email', async () => {
    const { client, customerID, invoice } = await shop()
    await client.put(`/v1/customers/${customerID}`, { Name: 'Acme', isCompany: true, Email: null })
    const list = [{ invoiceID: await invoice(), amountApplied: 10 }]
    const { body: note } = await client.post('/v1/credits', creditOf(customerID, 10, { Allocations: list }))
    const send = (body: object | undefined) => client.put(`/v1/credits/${note.creditNoteID}/send`, body)
    expect(codesOf(await send(undefined))).toEqual(['email_missing'])
    expect((await read(client, note.creditNoteID)).isSent).toBe(false)
    const first = await send({ isMailed: false })
    expect([first.status, first.headers['perennial-warning']]).toEqual([204, undefined])
    const { DateSent } = await read(client, note.creditNoteID)
    await client.put('/v1/clock', { Now: '2027-01-05' })
    expect((await send({ isMailed: false })).status).toBe(204)
    expect((await read(client, note.creditNoteID)).DateSent).toBe(DateSent)
    expect((await client.get('/v1/outbox')).body).toEqual([])
    const types = (await client.get('/v1/events?type=credit_note.sent')).body.map((one: any) => one.Record.isSent)
    expect(types).toEqual([true, true])
    expect(codesOf(await send({ isMailed: 'no' }))).toEqual(['wrong_type'])
  })

  test('keeps everything but its allocations, and is not deleted, by either door', async () => {
    const { client, customerID, invoice } = await shop()
    const list = [{ invoiceID: await invoice(), amountApplied: 10 }]
    const body = creditOf(customerID, 10, { Allocations: list, Memo: 'ours' })
    const { body: made } = await client.post('/v1/credits', body)
    const path = `/v1/credits/${made.creditNoteID}`
    await client.put(`${path}/send`, { isMailed: false })
    const note = await read(client, made.creditNoteID)
    for (const more of [{ Amount: 9 }, { Memo: 'x' }, { Memo: null }, { CreditNumber: 'X' }, { Reason: 'x' }]) {
      const refused = await client.put(path, { ...note, ...more, Allocations: [] })
      expect([refused.status, codesOf(refused)], JSON.stringify(more)).toEqual([409, ['note_closed']])
    }
    const { Memo: _, ...withoutMemo } = note
    expect((await client.put(path, { ...withoutMemo, Allocations: [] })).status).toBe(204)
    expect(await read(client, made.creditNoteID)).toEqual({ ...note, Status: 'Unallocated', Allocations: [] })
    const query = `type=negative&adjustmentID=${made.creditNoteID}&customerID=${customerID}`
    for (const refused of [await client.delete(path), await client.delete(`/v1/adjustment/delete?${query}`)])
      expect([refused.status, codesOf(refused)]).toEqual([409, ['note_sent']])
    await isClean(client)
  })

  test('in part settled stands against cancelling, and takes nothing more when its rest is allocated', async () => {
    const { client, customerID, invoice } = await shop()
    const [a, b] = [await invoice(), await invoice()]
    const list = [{ invoiceID: a, amountApplied: 50 }]
    const { body: made } = await client.post('/v1/credits', creditOf(customerID, 60, { Allocations: list }))
    const path = `/v1/credits/${made.creditNoteID}`
    const sent = await client.put(`${path}/send`, { isMailed: false })
    expect(sent.headers['perennial-warning']).toBe('unsettled;amount=10.00')
    const both = [
      { invoiceID: a, amountApplied: 50 },
      { invoiceID: b, amountApplied: 10 },
    ]
    expect((await client.put(path, { ...(await read(client, made.creditNoteID)), Allocations: both })).status).toBe(204)
    expect(await read(client, made.creditNoteID)).toMatchObject({ TotalTax: 9.35, Unsettled: 10, invoiceID: a })
    expect((await client.put(path, { ...(await read(client, made.creditNoteID)), Allocations: [] })).status).toBe(204)
    expect(codesOf(await client.delete(`/v1/invoices/${a}`))).toEqual(['invoice_credited'])
    expect((await client.delete(`/v1/invoices/${b}`)).status).toBe(204)
    await isClean(client)
  })
})
