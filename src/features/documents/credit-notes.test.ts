import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { hasPoppler, textOfPdf } from '../../../test/support/poppler.ts'
import { momentOf } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { loadNegative } from '../money/negative-adjustments.ts'
import type { NegativeRecord } from '../money/types.ts'
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
  test("a caller's note: what it corrects of which invoice, and the part that corrects none", async () => {
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
      isSent: false,
      invoices: [{ number: '1', date: '2027-01-11', netMinor: 20_00n, grossMinor: 23_00n }],
      lines: [],
      taxes: [{ name: 'VAT', amountMinor: 3_00n, baseMinor: 20_00n }],
      totalMinor: 60_00n,
      unsettledMinor: 37_00n,
      reason: 'Sorry.',
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
      invoices: [{ number: String(invoiceNum), grossMinor: 23_10n }],
      reason: `Abonnement ${subscriptionID}: 21.01.2027 bis 10.02.2027 nicht genutzt`,
      lines: [{ name: 'Plan', description: '21.01.2027 bis 10.02.2027, 21 von 31 Tagen', netMinor: 21_00n }],
      taxes: [{ name: 'MwSt', amountMinor: 2_10n }],
      totalMinor: 23_10n,
    })
  })

  test('names, addresses and language are those of the moment it was sent, before that those of today', async () => {
    const { client, customerID, customer } = await shop()
    const { creditNoteID } = await credit(client, customerID, { Amount: 5, CreditNumber: 'A' })
    const rename = async (account: string, name: string, Locale: string) => {
      await client.put('/v1/account', { Name: account })
      await client.put(`/v1/customers/${customerID}`, { ...customer, Name: name, Locale })
    }
    const shown = async () => {
      const { account, customer: to, locale } = await documentOf(client, creditNoteID)
      return [account.name, to.name, locale]
    }
    expect(await shown()).toEqual(['Acme', 'Łódź Ltd', 'en'])
    await rename('Other', 'New Ltd', 'de')
    expect(await shown()).toEqual(['Other', 'New Ltd', 'de'])
    await client.put(`/v1/credits/${creditNoteID}/send`, { isMailed: false })
    const sent = await documentOf(client, creditNoteID)
    await rename('Third', 'Newer Ltd', 'en')
    expect(await documentOf(client, creditNoteID)).toEqual(sent)
    expect([sent.account.name, sent.customer.name, sent.locale]).toEqual(['Other', 'New Ltd', 'de'])
    // Sending again changes nothing.
    await client.put(`/v1/credits/${creditNoteID}/send`, { isMailed: false })
    expect(await documentOf(client, creditNoteID)).toEqual(sent)
  })

  test('the Memo of the service is in the language of the customer, and plain English as in the country of the account', async () => {
    const memoOf = async (customer: object) => {
      const client = await service.newAccount({ clockAt: '2025-12-15T08:00:00.000Z' })
      await client.put('/v1/account', { Country: 'ZA' })
      const { subscriptionID } = await subscribe(client, { price: 31 }, {}, { autoSendInvoice: false, ...customer })
      await client.put('/v1/clock', { Now: '2025-12-25' })
      await client.put(`/v1/subscriptions/${subscriptionID}/cancel/prorata`)
      const [{ Memo, creditNoteID }] = (await client.get('/v1/credits')).body
      expect((await documentOf(client, creditNoteID)).reason).toBe(Memo)
      return Memo.replace(String(subscriptionID), '26')
    }
    expect(await memoOf({ Locale: 'en-US' })).toBe('Subscription 26: unused Dec 25, 2025 to Jan 14, 2026')
    expect(await memoOf({})).toBe('Subscription 26: unused 25 Dec 2025 to 14 Jan 2026')
    expect(await memoOf({ Locale: 'de' })).toBe('Abonnement 26: 25.12.2025 bis 14.01.2026 nicht genutzt')
  })
})

test('a note that corrects an exempt invoice has the reason that this froze, whatever the rule says now', async () => {
  const { client, customerID, customer } = await shop()
  const exempt = { ...customer, isWaiveTaxes: true, TaxCategory: 'E', TaxReason: 'A school.' }
  expect((await client.put(`/v1/customers/${customerID}`, exempt)).status).toBe(204)
  const id = await invoice(client, customerID, 100)
  await client.put(`/v1/customers/${customerID}`, { ...exempt, TaxReason: 'Another.' })
  const { body } = await client.post(`/v1/invoices/${id}/credit`, { Amount: 10, Reason: 'Late.' })
  const { taxes } = await documentOf(client, body.creditNoteID)
  expect(taxes).toMatchObject([{ category: 'E', amountMinor: 0n, baseMinor: 10_00n, reason: { und: 'A school.' } }])
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
      'Part of the total of invoice 1 of Jan 11, 2027 20.00',
      'Subtotal 20.00 VAT 15% on 20.00 3.00 Amount credited $23.00',
    ])
      expect(text).toContain(part)
  })
})

test.skipIf(!hasPoppler)(
  'a preview shows a note as it would be sent, and that it would correct no invoice (needs poppler-utils)',
  async () => {
    const { client, customerID } = await shop({ Locale: 'en' })
    const { creditNoteID } = await credit(client, customerID, { Amount: 7, CreditNumber: 'K-9' })
    const textOf = async (query: string) => {
      const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
      const url = `/v1/credits/${creditNoteID}/pdf${query}`
      const { rawPayload } = await service.app.server.inject({ method: 'GET', url, headers: { authorization } })
      return textOfPdf(rawPayload).replaceAll(/\s+/g, ' ')
    }
    const none = 'This credit note corrects no invoice, and takes back no tax.'
    const [before, preview] = [await textOf(''), await textOf('?preview=true')]
    expect(before).toContain('provisional')
    expect(preview).toContain(none)
    expect(preview).not.toContain('provisional')
    expect((await client.put(`/v1/credits/${creditNoteID}/send`, { isMailed: false })).status).toBe(204)
    expect(await textOf('')).toBe(preview)
  },
)

test('a note that was sent is the same PDF for ever, wherever its money goes', async () => {
  const { client, customerID } = await shop({ Locale: 'en' })
  const ids = [await invoice(client, customerID, 100), await invoice(client, customerID, 50)]
  const sent = { Amount: 23, CreditNumber: 'CN9', allocations: [{ invoiceID: ids[0], amountApplied: 23 }] }
  const { creditNoteID } = await credit(client, customerID, sent)
  const provisional = (await pdfOf(client, creditNoteID)).rawPayload
  expect((await client.put(`/v1/credits/${creditNoteID}/send`, { isMailed: false })).status).toBe(204)
  const first = (await pdfOf(client, creditNoteID)).rawPayload
  expect(first.equals(provisional)).toBe(false)
  await client.put('/v1/clock', { Now: '2027-02-11' })
  const { body: note } = await client.get(`/v1/credits/${creditNoteID}`)
  const Allocations = [{ invoiceID: ids[1], amountApplied: 10 }]
  expect((await client.put(`/v1/credits/${creditNoteID}`, { ...note, Allocations })).status).toBe(204)
  expect((await pdfOf(client, creditNoteID)).rawPayload.equals(first)).toBe(true)
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
