import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { hasPoppler, textOfPdf } from '../../../test/support/poppler.ts'
import { momentOf } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { loadNegative } from '../money/negative-adjustments.ts'
import type { NegativeRecord } from '../money/records.ts'
import { invoicesOf, subscribe } from '../../../test/support/shop.ts'
import { loadInvoiceDocument } from './load.ts'
import { loadCreditNoteDocument } from './load-credit-note.ts'

const service = await startTestService()

async function shop(customer: object = {}) {
  const client = await service.newAccount({ name: 'Acme', clockAt: '2027-01-11T08:00:00.000Z' })
  await client.put('/v1/account', { VatNo: '4001', BankDetails: 'Bank 1' })
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const wish = { Name: 'Łódź Ltd', isCompany: true, Email: 'ap@example.com', autoSendInvoice: false, ...customer }
  const { body } = await client.post('/v1/customers', wish)
  return { client, customer: body, customerID: body.customerID as number }
}

const invoice = async (client: TestClient, customerID: number, UnitCostEx: number) =>
  (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx }] })).body.invoiceID as number

const credit = async (client: TestClient, customerID: number, wish: object) =>
  (await client.post('/v1/credits', { customerID, CurrencyCode: 'USD', Date: '2027-01-12', allocations: [], ...wish }))
    .body

async function contextOf(client: TestClient) {
  const db = service.db.reader(client.id)
  const account = await getAccount(db, client.id)
  const caller = { account, keyId: 1n, permission: 'read', isStrict: false } as const
  return { db, context: { account, moment: momentOf(account, Date.now), caller, actor: 'test' } }
}

async function documentOf(client: TestClient, id: number) {
  const { db, context } = await contextOf(client)
  return loadCreditNoteDocument(db, context, (await loadNegative(db, client.id, BigInt(id))) as NegativeRecord)
}

function pdfOf(client: TestClient, id: number | string) {
  const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
  return service.app.server.inject({ method: 'GET', url: `/v1/credits/${id}/pdf`, headers: { authorization } })
}

describe('what a credit note shows', () => {
  test("a caller's note: its amount, the taxes it contains by what it is allocated to, and what is left of it", async () => {
    const { client, customerID } = await shop()
    const id = await invoice(client, customerID, 100)
    const { creditNoteID } = await credit(client, customerID, {
      Amount: 60,
      CreditNumber: 'CN-7',
      Memo: 'Sorry.',
      allocations: [{ invoiceID: id, amountApplied: 23 }],
    })
    // 23 of 115 take back 23 × 15 ÷ 115 = 3.
    expect(await documentOf(client, creditNoteID)).toMatchObject({
      number: 'CN-7',
      date: '2027-01-12',
      invoiceNumber: null,
      lines: [],
      taxes: [{ name: 'VAT', amountMinor: 3_00n }],
      totalMinor: 60_00n,
      applied: [{ kind: 'invoice', reference: '1', amountMinor: 23_00n }],
      unallocatedMinor: 37_00n,
      memo: 'Sorry.',
    })
  })

  test('a note of the service: its lines in the language of the document, with tax, for its invoice', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-11T08:00:00.000Z' })
    await client.post('/v1/tax', { Name: 'MwSt', rules: [{ Perc: 0.1 }] })
    const { subscriptionID } = await subscribe(client, { price: 31 }, {}, { Locale: 'de', autoSendInvoice: false })
    await client.put('/v1/clock', { Now: '2027-01-21' })
    expect((await client.put(`/v1/subscriptions/${subscriptionID}/cancel/prorata`)).status).toBe(204)
    const [{ creditNoteID }] = (await client.get('/v1/credits')).body
    const [{ invoiceNum }] = await invoicesOf(client, `subscriptionID=${subscriptionID}`)
    expect(await documentOf(client, creditNoteID)).toMatchObject({
      invoiceNumber: String(invoiceNum),
      lines: [{ name: 'Plan', description: '21.01.2027 bis 10.02.2027, 21 von 31 Tagen', netMinor: 21_00n }],
      taxes: [{ name: 'MwSt', amountMinor: 2_10n }],
      totalMinor: 23_10n,
    })
  })

  test('names and addresses are those of the day it was made, whatever is edited later', async () => {
    const { client, customerID, customer } = await shop()
    const { creditNoteID } = await credit(client, customerID, { Amount: 5, CreditNumber: 'A' })
    const before = await documentOf(client, creditNoteID)
    expect([before.account.name, before.customer.name]).toEqual(['Acme', 'Łódź Ltd'])
    await client.put('/v1/account', { Name: 'Other' })
    await client.put(`/v1/customers/${customerID}`, { ...customer, Name: 'New Ltd' })
    expect({ ...(await documentOf(client, creditNoteID)), createdAt: before.createdAt }).toEqual(before)
    const later = (await credit(client, customerID, { Amount: 5, CreditNumber: 'B' })).creditNoteID
    expect((await documentOf(client, later)).customer.name).toBe('New Ltd')
  })
})

test('an invoice tells payments, credit notes and what was written off, in the order in which they came', async () => {
  const { client, customerID } = await shop()
  const invoiceID = await invoice(client, customerID, 100)
  const allocations = (amountApplied: number) => [{ invoiceID, amountApplied }]
  const pay = { customerID, CurrencyCode: 'USD', Date: '2027-01-13', Method: 'eft' }
  await client.post('/v1/payments', { ...pay, Amount: 50, allocations: allocations(50) })
  await client.post('/v1/payments', { ...pay, Amount: 5, Ref: 'R5', allocations: allocations(5) })
  await credit(client, customerID, { Amount: 20, CreditNumber: 'CN1', allocations: allocations(20) })
  const { db, context } = await contextOf(client)
  const shown = await loadInvoiceDocument(db, context, BigInt(invoiceID))
  expect(shown.applied).toEqual([
    { date: '2027-01-13', kind: 'payment', reference: null, method: 'eft', isPending: false, amountMinor: 50_00n },
    { date: '2027-01-13', kind: 'payment', reference: 'R5', method: 'eft', isPending: false, amountMinor: 5_00n },
    { date: '2027-01-12', kind: 'credit_note', reference: 'CN1', method: null, isPending: false, amountMinor: 20_00n },
  ])
  expect(shown.balanceMinor).toBe(40_00n)
})

describe('GET /v1/credits/{creditNoteID}/pdf', () => {
  test('answers a PDF named after its number, and 404 for what is no credit note of this account', async () => {
    const [{ client, customerID }, { client: other }] = [await shop({ Locale: 'de' }), await shop()]
    const { creditNoteID } = await credit(client, customerID, { Amount: 5, CreditNumber: 'CN/7 ä' })
    const reply = await pdfOf(client, creditNoteID)
    expect([reply.statusCode, reply.headers['content-disposition']]).toEqual([
      200,
      'inline; filename="Gutschrift-CN-7-.pdf"',
    ])
    expect([(await pdfOf(other, creditNoteID)).statusCode, (await pdfOf(client, 'x')).statusCode]).toEqual([404, 404])
  })

  test.skipIf(!hasPoppler)('holds the text of the credit note (needs poppler-utils)', async () => {
    const { client, customerID } = await shop({ Locale: 'en' })
    const id = await invoice(client, customerID, 100)
    const allocations = [{ invoiceID: id, amountApplied: 23 }]
    const { creditNoteID } = await credit(client, customerID, { Amount: 23, CreditNumber: 'CN7', allocations })
    const text = textOfPdf((await pdfOf(client, creditNoteID)).rawPayload).replaceAll(/[\s\u00a0\u202f]+/g, ' ')
    for (const part of [
      'Credit note CN7',
      'Łódź Ltd',
      'Amount credited $23.00 of which VAT 15% 3.00',
      'Invoice 1 Jan 12, 2027 23.00',
    ])
      expect(text).toContain(part)
  })
})

describe('PUT /v1/credits/{creditNoteID}/send', () => {
  test('puts a mail that names the credit note into the outbox; without an address it is refused', async () => {
    const { client, customerID } = await shop()
    const { body: silent } = await client.post('/v1/customers', { Name: 'Silent', isCompany: true })
    const sent = await credit(client, customerID, { Amount: 5, CreditNumber: 'A' })
    const unreachable = await credit(client, silent.customerID, { Amount: 5, CreditNumber: 'B' })
    expect((await client.put(`/v1/credits/${sent.creditNoteID}/send`)).status).toBe(204)
    const refused = await client.put(`/v1/credits/${unreachable.creditNoteID}/send`)
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'email_missing'])
    expect((await client.put('/v1/credits/99999999/send')).status).toBe(404)
    expect((await client.get('/v1/outbox')).body).toMatchObject([
      { To: 'ap@example.com', Template: 'credit_note', Subject: 'Credit note A from Acme' },
    ])
    const events = (await client.get('/v1/events?type=credit_note.mail_queued')).body
    expect(events).toMatchObject([{ RecordID: sent.creditNoteID, Record: { CreditNumber: 'A' } }])
  })
})
