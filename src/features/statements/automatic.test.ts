import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { hasPoppler, textOfPdf } from '../../../test/support/poppler.ts'
import { sql } from '../../platform/database/sql.ts'

const service = await startTestService()

const START = '2027-03-10T08:00:00.000Z'

async function customerOf(client: TestClient, wish: object = {}) {
  const about = { Name: 'Łódź Ltd', isCompany: true, Email: 'ap@example.com', autoSendInvoice: false, ...wish }
  return (await client.post('/v1/customers', { autoSendStatement: true, ...about })).body
}

const newClient = () => service.newAccount({ name: 'Acme', clockAt: START })

const invoice = async (client: TestClient, customerID: number, UnitCostEx: number) =>
  (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx }] })).body.invoiceID as number

const pay = (client: TestClient, customerID: number, Amount: number, Date: string, more: object = {}) =>
  client.post('/v1/payments', {
    customerID,
    Amount,
    CurrencyCode: 'USD',
    Date,
    Method: 'eft',
    AutoApply: true,
    ...more,
  })

const statements = async (client: TestClient, customerID: number) =>
  (await client.get(`/v1/customers/${customerID}/statements`)).body

function pdfAt(client: TestClient, url: string, headers: Record<string, string> = {}) {
  const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
  return service.app.server.inject({ method: 'GET', url, headers: { authorization, ...headers } })
}

describe('automatic statements', () => {
  test('are made on the first of the month of the month before, kept, mailed, and told of', async () => {
    const client = await newClient()
    const { customerID, StatementDate, StatementLastSentDate } = await customerOf(client)
    expect([StatementDate, StatementLastSentDate]).toEqual(['2027-04-01T00:00:00Z', null])
    await invoice(client, customerID, 115)
    await pay(client, customerID, 50, '2027-03-20')
    await client.put('/v1/clock', { Now: '2027-03-31' })
    expect(await statements(client, customerID)).toEqual([])
    await client.put('/v1/clock', { Now: '2027-04-01' })
    const [kept, ...more] = await statements(client, customerID)
    expect(more).toEqual([])
    expect(kept).toEqual({
      statementID: kept.statementID,
      customerID,
      From: '2027-03-01T00:00:00Z',
      To: '2027-03-31T00:00:00Z',
      CreatedDate: '2027-04-01T00:00:00.000Z',
      ClosingBalances: [{ CurrencyCode: 'USD', ClosingBalance: 65 }],
    })
    expect((await client.get(`/v1/customers/${customerID}`)).body).toMatchObject({
      StatementDate: '2027-05-01T00:00:00Z',
      StatementLastSentDate: '2027-04-01T00:00:00Z',
    })
    expect((await client.get('/v1/outbox')).body).toMatchObject([
      { To: 'ap@example.com', Template: 'statement', Text: expect.stringContaining('Closing balance: $65.00') },
    ])
    const events = (await client.get('/v1/events?type=statement.created')).body
    expect(events).toMatchObject([{ RecordID: kept.statementID, customerID, Record: kept }])
  })

  test('come once a month in order when the clock passes through several, and go on while something is owed', async () => {
    const client = await newClient()
    const { customerID } = await customerOf(client)
    await invoice(client, customerID, 10)
    await client.put('/v1/clock', { Now: '2027-06-15' })
    const list = await statements(client, customerID)
    expect(list.map(({ From, CreatedDate }: Record<string, string>) => [From, CreatedDate])).toEqual([
      ['2027-03-01T00:00:00Z', '2027-04-01T00:00:00.000Z'],
      ['2027-04-01T00:00:00Z', '2027-05-01T00:00:00.000Z'],
      ['2027-05-01T00:00:00Z', '2027-06-01T00:00:00.000Z'],
    ])
    await client.put('/v1/clock', { Now: '2027-06-15' })
    expect(await statements(client, customerID)).toHaveLength(3)
  })

  test('are left out with no movement and nothing owed, and of those who want none', async () => {
    const client = await newClient()
    const [silent, unwilling] = [await customerOf(client), await customerOf(client, { autoSendStatement: false })]
    await invoice(client, unwilling.customerID, 10)
    await client.put('/v1/clock', { Now: '2027-04-02' })
    expect(await statements(client, silent.customerID)).toEqual([])
    expect(await statements(client, unwilling.customerID)).toEqual([])
    expect((await client.get(`/v1/customers/${silent.customerID}`)).body.StatementLastSentDate).toBe(null)
    expect((await client.get('/v1/outbox')).body).toEqual([])
  })

  test('of a customer without an address are kept and not mailed', async () => {
    const client = await newClient()
    const { customerID } = await customerOf(client, { Email: null })
    await invoice(client, customerID, 10)
    await client.put('/v1/clock', { Now: '2027-04-02' })
    expect(await statements(client, customerID)).toHaveLength(1)
    expect((await client.get('/v1/outbox')).body).toEqual([])
  })

  test('begin with the next first of a month when they are switched on, and end when they are switched off', async () => {
    const client = await newClient()
    const customer = await customerOf(client, { autoSendStatement: false })
    const { customerID } = customer
    await invoice(client, customerID, 10)
    await client.put('/v1/clock', { Now: '2027-05-05' })
    const edit = (autoSendStatement: boolean) =>
      client.put(`/v1/customers/${customerID}`, { ...customer, autoSendStatement })
    await edit(true)
    await client.put('/v1/clock', { Now: '2027-06-02' })
    await edit(false)
    await client.put('/v1/clock', { Now: '2027-07-02' })
    const list = await statements(client, customerID)
    expect(list.map(({ To }: { To: string }) => To)).toEqual(['2027-05-31T00:00:00Z'])
  })

  test('pass over suspended customers, and are not made up for when they come back', async () => {
    const client = await newClient()
    const { customerID } = await customerOf(client)
    await invoice(client, customerID, 10)
    await client.put(`/v1/customers/${customerID}/suspend`)
    await client.put('/v1/clock', { Now: '2027-05-05' })
    expect(await statements(client, customerID)).toEqual([])
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    await client.put('/v1/clock', { Now: '2027-06-02' })
    const list = await statements(client, customerID)
    expect(list.map(({ To }: { To: string }) => To)).toEqual(['2027-05-31T00:00:00Z'])
  })

  test('stay as they were sent, whatever is edited later, and lose the name of an anonymised customer', async () => {
    const client = await newClient()
    const customer = await customerOf(client)
    const { customerID } = customer
    const id = await invoice(client, customerID, 115)
    await client.put('/v1/clock', { Now: '2027-04-02' })
    const [{ statementID }] = await statements(client, customerID)
    const url = `/v1/customers/${customerID}/statements/${statementID}/pdf`
    const before = await pdfAt(client, url)
    expect([before.statusCode, before.headers['content-disposition']]).toEqual([
      200,
      'inline; filename="Statement-of-account-2027-03-01-2027-03-31.pdf"',
    ])
    await client.put(`/v1/customers/${customerID}`, { ...customer, Name: 'New Ltd' })
    await client.delete(`/v1/invoices/${id}`)
    expect((await pdfAt(client, url)).rawPayload.equals(before.rawPayload)).toBe(true)
    await client.put(`/v1/customers/${customerID}/archive`)
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
    const [row] = await service.db
      .reader(client.id)
      .rows<{ text: string }>(sql`select document::text as "text" from statements where account_id = ${client.id}`)
    expect(row?.text).not.toMatch(/Łódź|example\.com/)
    expect((await pdfAt(client, url)).statusCode).toBe(200)
    const other = await newClient()
    expect((await pdfAt(other, url)).statusCode).toBe(404)
    expect((await pdfAt(client, `/v1/customers/${customerID}/statements/0/pdf`)).statusCode).toBe(404)
  })
})

describe('GET /v1/customers/{customerID}/statement as PDF', () => {
  test('is answered to Accept or format, and JSON to format=json whatever Accept says', async () => {
    const client = await newClient()
    const { customerID } = await customerOf(client, { Locale: 'de' })
    const url = `/v1/customers/${customerID}/statement`
    const types = []
    for (const [query, accept] of [
      ['', 'application/pdf'],
      ['?format=pdf', 'application/json'],
      ['?format=json', 'application/pdf'],
      ['', '*/*'],
    ] as const)
      types.push((await pdfAt(client, `${url}${query}`, { accept })).headers['content-type'])
    expect(types.map((type) => String(type).split(';')[0])).toEqual([
      'application/pdf',
      'application/pdf',
      'application/json',
      'application/json',
    ])
    const german = await pdfAt(client, `${url}?format=pdf&from=2027-03-01&to=2027-03-31`)
    expect(german.headers['content-disposition']).toBe('inline; filename="Kontoauszug-2027-03-01-2027-03-31.pdf"')
  })

  test.skipIf(!hasPoppler)(
    "has a section for each currency, the customer's own first (needs poppler-utils)",
    async () => {
      const client = await newClient()
      await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
      const { customerID } = await customerOf(client, { Locale: 'en-GB' })
      await invoice(client, customerID, 115)
      await pay(client, customerID, 7, '2027-03-12', { CurrencyCode: 'EUR', Method: 'cheque', Ref: 'Q 9' })
      const { rawPayload } = await pdfAt(client, `/v1/customers/${customerID}/statement?format=pdf&to=2027-03-31`)
      const text = textOfPdf(rawPayload).replaceAll(/[\s\u00a0\u202f]+/g, ' ')
      for (const part of ['10 Mar 2027 Invoice 1 115.00 115.00', '12 Mar 2027 Payment Q 9 Cheque 7.00 -7.00'])
        expect(text).toContain(part)
      expect(text.indexOf('Statement of account (USD)')).toBeLessThan(text.indexOf('Statement of account (EUR)'))
    },
  )
})
