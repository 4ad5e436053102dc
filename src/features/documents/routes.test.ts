import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { invoicesOf, moveTo, subscribe } from '../../../test/support/shop.ts'
import { addComponent, TIERS, use } from '../subscriptions/components.testing.ts'
import { hasPoppler, textOfPdf } from '../../../test/support/poppler.ts'
import { openDatabase } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { applyMuch, newInvoice } from '../invoices/much-applied.testing.ts'
import { momentOf } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { loadInvoiceDocument } from './load.ts'

const service = await startTestService()
const sending = await startTestService({ hasMailServer: true })

async function shop(where = service, customer: object = {}) {
  const client = await where.newAccount({ name: 'Acme' })
  await client.put('/v1/account', { VatNo: '4001', Country: 'South Africa', BankDetails: 'Bank 1' })
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15, TaxNumber: 'T-1' }] })
  const wish = {
    Name: 'Łódź Ltd',
    isCompany: true,
    City: 'Łódź',
    Email: 'ap@example.com',
    autoSendInvoice: false,
    ...customer,
  }
  const { body } = await client.post('/v1/customers', wish)
  return { client, customerID: body.customerID as number, customer: body }
}

const CHARGES = [{ Line: 'Hours', Descrip: 'of work', UnitCostEx: 3.35, Qty: 3 }]
const addInvoice = async (client: TestClient, customerID: number, more: object = {}) =>
  (await client.post('/v1/invoices', { customerID, Charges: CHARGES, ...more })).body.invoiceID as number

async function pdfOf(client: TestClient, id: number | string, headers: Record<string, string> = {}) {
  const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
  const url = `/v1/invoices/${id}/pdf`
  return service.app.server.inject({ method: 'GET', url, headers: { authorization, ...headers } })
}

async function documentOf(client: TestClient, id: number) {
  const db = service.db.reader(client.id)
  const account = await getAccount(db, client.id)
  const caller = { account, keyId: 1n, permission: 'read', isStrict: false } as const
  return loadInvoiceDocument(db, { account, moment: momentOf(account, Date.now), caller, actor: 'test' }, BigInt(id))
}

describe('GET /v1/invoices/{invoiceID}/pdf', () => {
  test('answers a PDF in the language of the customer, to be looked at in the browser', async () => {
    const { client, customerID } = await shop(service, { Locale: 'de-DE' })
    const reply = await pdfOf(client, await addInvoice(client, customerID))
    expect(reply.statusCode).toBe(200)
    expect(reply.rawPayload.subarray(0, 8).toString()).toBe('%PDF-1.7')
    expect(reply.headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-language': 'de',
      'content-disposition': 'inline; filename="Rechnung-1.pdf"',
    })
  })

  test('a draft is named as one', async () => {
    const { client, customerID } = await shop()
    const id = await addInvoice(client, customerID, { isDraft: true })
    const reply = await pdfOf(client, id)
    expect(reply.headers['content-disposition']).toBe(`inline; filename="Invoice-DRAFT-${id}.pdf"`)
  })

  test('what is no invoice of this account is missing', async () => {
    const [{ client, customerID }, { client: other }] = [await shop(), await shop()]
    const id = await addInvoice(client, customerID)
    expect([(await pdfOf(other, id)).statusCode, (await pdfOf(client, 'x')).statusCode]).toEqual([404, 404])
  })

  test('shows the logo; one that is no picture beyond its first bytes harms nobody', async () => {
    const { client, customerID } = await shop()
    const id = await addInvoice(client, customerID)
    const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
    const broken = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(60, 7)])
    const headers = { authorization, 'content-type': 'image/png' }
    await service.app.server.inject({ method: 'PUT', url: '/v1/account/logo', headers, payload: broken })
    expect((await pdfOf(client, id)).statusCode).toBe(200)
  })

  test.skipIf(!hasPoppler)('holds the text of the invoice (needs poppler-utils)', async () => {
    const { client, customerID } = await shop()
    const { rawPayload } = await pdfOf(client, await addInvoice(client, customerID))
    const text = textOfPdf(rawPayload)
    for (const part of ['Tax invoice 1', 'Łódź Ltd', 'Hours', 'VAT 15%', 'US$11,56', 'Bank 1'])
      expect(text).toContain(part)
  })
})

describe('what an invoice shows', () => {
  test('names, addresses and tax numbers are those of its issue, whatever is edited later', async () => {
    const { client, customerID, customer } = await shop()
    const id = await addInvoice(client, customerID)
    const before = await documentOf(client, id)
    expect(before.account).toMatchObject({ name: 'Acme', vatNumber: '4001', address: ['South Africa'] })
    expect(before.customer).toMatchObject({ name: 'Łódź Ltd', address: ['Łódź'] })
    await client.put('/v1/account', { Name: 'Other', VatNo: null, BankDetails: 'Bank 2', Locale: 'de' })
    await client.put(`/v1/customers/${customerID}`, { ...customer, Name: 'New Ltd', City: 'Kraków' })
    expect({ ...(await documentOf(client, id)), createdAt: before.createdAt }).toEqual(before)
  })

  test('a customer whose country is given by its number alone has its name, as it was at issue', async () => {
    const { client, customerID, customer } = await shop(service, { countryID: 756, Locale: 'de' })
    const id = await addInvoice(client, customerID)
    const draft = await addInvoice(client, customerID, { isDraft: true })
    await client.put(`/v1/customers/${customerID}`, { ...customer, countryID: 40 })
    expect((await documentOf(client, id)).customer.address).toEqual(['Łódź', 'Schweiz'])
    expect((await documentOf(client, draft)).customer.address).toEqual(['Łódź', 'Österreich'])
    expect((await documentOf(client, id)).account.address).toEqual(['Südafrika'])
  })

  test('a draft shows everything as it is now', async () => {
    const { client, customerID, customer } = await shop()
    const id = await addInvoice(client, customerID, { isDraft: true })
    await client.put('/v1/account', { Name: 'Other' })
    await client.put(`/v1/customers/${customerID}`, { ...customer, Name: 'New Ltd' })
    const draft = await documentOf(client, id)
    expect([draft.account.name, draft.customer.name, draft.state, draft.number]).toEqual([
      'Other',
      'New Ltd',
      'draft',
      null,
    ])
  })

  test('a person is shown by both names, and an anonymised one by neither', async () => {
    const { client, customerID } = await shop(service, { isCompany: false, Name: 'Ada', LastName: 'Byron' })
    const id = await addInvoice(client, customerID)
    expect((await documentOf(client, id)).customer.name).toBe('Ada Byron')
    await client.delete(`/v1/invoices/${id}`)
    await client.put(`/v1/customers/${customerID}/archive`)
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
    const { customer } = await documentOf(client, id)
    expect(JSON.stringify(customer)).not.toMatch(/Ada|Byron|Łódź|example\.com/)
  })

  test('lines of the rules tell fees and days in the language of the document, and credits are told with their numbers', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-11T08:00:00.000Z' })
    const wish = { setupFee: 5, price: 31 }
    const { subscriptionID } = await subscribe(client, wish, { firstProrataSyncDate: '2027-02-01' }, { Locale: 'de' })
    const [{ invoiceID }] = await invoicesOf(client, `subscriptionID=${subscriptionID}`)
    const before = await documentOf(client, invoiceID)
    expect(before.lines.map(({ name, description }) => [name, description])).toEqual([
      ['Einrichtungsgebühr', null],
      ['Plan', '11.01.2027 bis 31.01.2027, 21 von 31 Tagen'],
    ])
    expect([before.applied, before.balanceMinor]).toEqual([[], 26_00n])
    expect((await client.put(`/v1/subscriptions/${subscriptionID}/cancel/fullcredit`)).status).toBe(204)
    const after = await documentOf(client, invoiceID)
    expect(after.applied).toMatchObject([{ kind: 'credit_note', date: '2027-01-11', amountMinor: 21_00n }])
    expect([after.applied[0]?.reference, after.balanceMinor]).toEqual([expect.stringMatching(/\d/), 5_00n])
  })
})

test('an invoice to which much is applied lists the first 1,000, and the rest as one sum', async () => {
  const owner = openDatabase(service.connection, { role: undefined, poolSize: 1, lanes: 1 })
  afterAll(() => owner.close())
  const client = await service.newAccount()
  const invoice = await newInvoice(client)
  await applyMuch(owner, client, invoice, 1002)
  const { applied, appliedAfterMinor, balanceMinor } = await documentOf(client, invoice.id)
  expect([applied.length, appliedAfterMinor, balanceMinor]).toEqual([1000, 2n, 1_000_000_00n - 1002n])
  expect((await pdfOf(client, invoice.id)).statusCode).toBe(200)
})

test('a line whose quantity does not tell it says how many units it is for, as the JSON does', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const { componentID } = await addComponent(client, { type: 'metered', brackets: TIERS, name: 'Messages' })
  const wish = { componentUsage: [{ componentID, NumUnits: 8 }] }
  const { subscriptionID } = await subscribe(client, { price: 31 }, wish, { Locale: 'de' })
  await moveTo(client, '2027-02-03')
  const late = { componentID, NumUnits: 5, Date: '2027-01-20' }
  expect((await use(client, subscriptionID, late)).status).toBe(204)
  await moveTo(client, '2027-03-01')
  const { invoiceID } = (await invoicesOf(client)).at(-1)
  const descriptions = (await documentOf(client, invoiceID)).lines.map(({ description }) => description)
  expect(descriptions.at(-1)).toBe('01.01.2027 bis 31.01.2027, nachgemeldet: 8 → 13 Einheiten')
})

describe('the text of a charge', () => {
  const textOf = (lines: number) => Array.from({ length: lines }, (_, index) => `line ${index + 1}`).join('\n')
  const charges = (Descrip: string) => [{ UnitCostEx: 1 }, { UnitCostEx: 1, Descrip }]
  const refused = (field: string) => [
    400,
    [
      {
        Code: 'too_many_lines',
        Field: field,
        Message: `${field} may have at most 100 lines; 101 were sent.`,
      },
    ],
  ]
  const answered = ({ status, body }: { status: number; body: any }) => [status, body?.Errors]

  test('has at most 100 lines: on a new invoice, a draft, and a recurring invoice', async () => {
    const { client, customerID } = await shop()
    const add = (Charges: object[], more: object = {}) => client.post('/v1/invoices', { customerID, Charges, ...more })
    expect((await add(charges(textOf(100)))).status).toBe(201)
    expect(answered(await add(charges(textOf(101))))).toEqual(refused('Charges[1].Descrip'))
    expect(answered(await add(charges(`${textOf(101)}\r\n`)))).toEqual(refused('Charges[1].Descrip'))
    const { invoiceID } = (await add(charges('short'), { isDraft: true })).body
    const edited = { customerID, Charges: charges(textOf(101)) }
    expect(answered(await client.put(`/v1/invoices/${invoiceID}`, edited))).toEqual(refused('Charges[1].Descrip'))
    const recurring = { customerID, RecurInvoiceCharges: charges(textOf(101)) }
    expect(answered(await client.post('/v1/recurring-invoices', recurring))).toEqual(
      refused('RecurInvoiceCharges[1].Descrip'),
    )
  })

  test('that is older and longer is cut on paper, and may be sent back with its draft', async () => {
    const { client, customerID } = await shop(service, { Locale: 'de' })
    const { invoiceID } = (await client.post('/v1/invoices', { customerID, Charges: charges('old'), isDraft: true }))
      .body
    await service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update charge_rows set description = ${textOf(150)} where account_id = ${client.id} and description = 'old'`,
      ),
    )
    const [, line] = (await documentOf(client, invoiceID)).lines
    expect(line?.description?.split('\n').slice(99)).toEqual(['line 100', '… (50 weitere Zeilen)'])
    const { body } = await client.get(`/v1/invoices/${invoiceID}`)
    expect(body.Charges[1].Descrip).toBe(textOf(150))
    expect((await client.put(`/v1/invoices/${invoiceID}`, { ...body, Notes: 'new' })).status).toBe(204)
  })
})

describe('PUT /v1/invoices/{invoiceID}/send', () => {
  const mails = async (client: TestClient) => (await client.get('/v1/outbox')).body
  const rows = (client: TestClient, where = service) =>
    where.db.reader(client.id).rows<{ cc: string | null; kind: string; document: bigint }>({
      text: `select cc_address as "cc", document_kind as "kind", document_id as "document" from outbox where account_id = $1 order by outbox_id`,
      name: 'documents of mails',
      values: [client.id],
    })

  test('puts a mail that names the invoice into the outbox, and without a mail server that is when it was sent', async () => {
    const { client, customerID } = await shop(service, { EmailCC: 'cc@example.com' })
    const id = await addInvoice(client, customerID)
    expect((await client.get(`/v1/invoices/${id}`)).body.DateSent).toBe(null)
    const sent = await client.put(`/v1/invoices/${id}/send`)
    expect([sent.status, sent.text]).toEqual([204, ''])
    expect(await mails(client)).toMatchObject([
      { To: 'ap@example.com', Template: 'invoice', Subject: 'Invoice 1 from Acme', Status: 'Queued' },
    ])
    expect(await rows(client)).toEqual([{ cc: 'cc@example.com', kind: 'invoice', document: BigInt(id) }])
    const read = await client.get(`/v1/invoices/${id}`)
    expect(read.body.DateSent).toBe('2027-01-01T00:00:00.000Z')
    expect(read.headers.etag).toBe(sent.headers.etag)
    const events = (await client.get('/v1/events')).body.map(({ Type }: { Type: string }) => Type)
    expect(events.filter((type: string) => type === 'invoice.mail_queued')).toHaveLength(1)
  })

  test('with a mail server it is sent once a receiver took it', async () => {
    const { client, customerID } = await shop(sending)
    const id = await addInvoice(client, customerID)
    expect((await client.put(`/v1/invoices/${id}/send`)).status).toBe(204)
    expect(await rows(client, sending)).toHaveLength(1)
    expect((await client.get(`/v1/invoices/${id}`)).body.DateSent).toBe(null)
  })

  test('a draft, a cancelled invoice and a customer without an address are refused, and nothing is sent', async () => {
    const { client, customerID } = await shop()
    const { body: silent } = await client.post('/v1/customers', { Name: 'Silent', isCompany: true })
    const draft = await addInvoice(client, customerID, { isDraft: true })
    const cancelled = await addInvoice(client, customerID)
    await client.delete(`/v1/invoices/${cancelled}`)
    const unreachable = await addInvoice(client, silent.customerID)
    const codes = []
    for (const id of [draft, cancelled, unreachable]) {
      const refused = await client.put(`/v1/invoices/${id}/send`)
      codes.push(`${refused.status} ${refused.body.Errors[0].Code}`)
    }
    expect(codes).toEqual(['409 invoice_draft', '409 invoice_cancelled', '409 email_missing'])
    expect((await client.put('/v1/invoices/99999999/send')).status).toBe(404)
    expect(await mails(client)).toEqual([])
  })

  test('an invoice of a customer who wants that is mailed when it is issued, a draft not before', async () => {
    const { client, customerID } = await shop(service, { autoSendInvoice: true })
    const added = await client.post('/v1/invoices', { customerID, Charges: CHARGES })
    expect(added.body.DateSent).toBe('2027-01-01T00:00:00.000Z')
    const draft = await addInvoice(client, customerID, { isDraft: true })
    expect(await mails(client)).toHaveLength(1)
    expect((await client.put(`/v1/invoices/${draft}/issue`)).status).toBe(204)
    expect((await mails(client)).map(({ Subject }: { Subject: string }) => Subject)).toEqual([
      'Invoice 1 from Acme',
      'Invoice 2 from Acme',
    ])
  })

  test('is not mailed at issue where the customer wants none, or cannot be reached', async () => {
    const { client, customerID } = await shop(service, { autoSendInvoice: false })
    const { body } = await client.post('/v1/customers', { Name: 'Silent', isCompany: true, autoSendInvoice: true })
    await addInvoice(client, customerID)
    await addInvoice(client, body.customerID)
    expect(await mails(client)).toEqual([])
  })
})
