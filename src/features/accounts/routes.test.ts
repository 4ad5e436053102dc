import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'

const service = await startTestService()
const PATH = '/v1/account'

const eventsOf = (client: TestClient) =>
  service.db
    .reader(client.id)
    .rows<{ type: string; record: any }>(
      sql`select type, record from event_rows where account_id = ${client.id} and type like 'account.%' and type <> 'account.created' order by event_id`,
    )

const fieldsOf = (reply: { body: { Errors: { Field: string }[] } }) =>
  reply.body.Errors.map(({ Field }) => Field).sort()

describe('GET /v1/account', () => {
  test('a new account is answered with its defaults', async () => {
    const client = await service.newAccount({ name: 'Acme', currency: 'ZAR' })
    const read = await client.get(PATH)
    expect(read.status).toBe(200)
    expect(read.body).toEqual({
      AccountID: Number(client.id),
      Name: 'Acme',
      Mode: 'test',
      TimeZone: 'UTC',
      CurrencyCode: 'ZAR',
      Email: null,
      Tel: null,
      WebPage: null,
      Address1: null,
      Address2: null,
      City: null,
      State: null,
      Country: null,
      ZipCode: null,
      VatNo: null,
      BankDetails: null,
      Locale: 'en',
      Notes: null,
      Terms: null,
      Texts: null,
      PaymentTermDays: 0,
      numDaysBeforeToInv: 0,
      NextInvoiceNum: 1,
      isAutoApplyUnallocated: true,
      MailFrom: null,
      Colour: null,
      TestMailTo: null,
      LockDate: null,
    })
  })
})

describe('PUT /v1/account', () => {
  test('only what is sent is changed; null clears', async () => {
    const client = await service.newAccount()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const before = (await client.get(PATH)).body
    const changes = {
      Name: 'New name',
      TimeZone: 'Africa/Johannesburg',
      CurrencyCode: 'EUR',
      Email: 'a@example.com',
      VatNo: 4_123,
      BankDetails: 'Line 1\r\nLine 2',
      Locale: 'de-CH',
      PaymentTermDays: 30,
      numDaysBeforeToInv: 7,
      NextInvoiceNum: 1000,
      isAutoApplyUnallocated: false,
      MailFrom: 'billing@example.com',
      LockDate: null,
      AccountID: 5,
      Mode: 'live',
    }
    const edited = await client.put(PATH, changes)
    expect([edited.status, edited.text]).toEqual([204, ''])
    const read = await client.get(PATH)
    const expected = {
      ...before,
      ...changes,
      AccountID: before.AccountID,
      Mode: 'test',
      VatNo: '4123',
      BankDetails: 'Line 1\nLine 2',
    }
    expect(read.body).toEqual(expected)
    expect(read.headers.etag).toBe(edited.headers.etag)
    expect((await client.put(PATH, { Email: null, Locale: null, PaymentTermDays: null, VatNo: '' })).status).toBe(204)
    expect((await client.get(PATH)).body).toEqual({
      ...expected,
      Email: null,
      Locale: 'en',
      PaymentTermDays: 0,
      VatNo: null,
    })
  })

  test('an account read can be sent back, also with strict handling, and changes nothing', async () => {
    const client = await service.newAccount()
    const { body } = await client.get(PATH)
    expect((await client.put(PATH, body, { prefer: 'handling=strict' })).status).toBe(204)
    expect((await client.get(PATH)).body).toEqual(body)
  })

  test('all problems are told together and nothing is changed', async () => {
    const client = await service.newAccount()
    const before = (await client.get(PATH)).body
    const refused = await client.put(PATH, {
      Name: ' ',
      TimeZone: '+02:00',
      CurrencyCode: 'EUR',
      Email: 'nobody',
      Locale: 'not a tag',
      PaymentTermDays: -1,
      numDaysBeforeToInv: 91,
      NextInvoiceNum: null,
      isAutoApplyUnallocated: 'yes',
      LockDate: '2027-01-01',
      terms: 'x',
    })
    expect(refused.status).toBe(400)
    expect(fieldsOf(refused)).toEqual([
      'CurrencyCode',
      'Email',
      'Locale',
      'LockDate',
      'Name',
      'NextInvoiceNum',
      'PaymentTermDays',
      'TimeZone',
      'isAutoApplyUnallocated',
      'numDaysBeforeToInv',
      'terms',
    ])
    expect((await client.get(PATH)).body).toEqual(before)
  })

  test('a changed LockDate leaves an event with the day before and after', async () => {
    const client = await service.newAccount({ clockAt: '2027-03-10T12:00:00.000Z' })
    const days: (string | null)[] = ['2027-01-31', '2027-01-31', '2027-02-28', null]
    for (const LockDate of days) expect((await client.put(PATH, { LockDate })).status).toBe(204)
    const changed = (await eventsOf(client)).filter(({ type }) => type === 'account.lock_date_changed')
    const [january, february] = ['2027-01-31', '2027-02-28'].map((day) => expect.stringContaining(day))
    expect(changed.map(({ record }) => record)).toEqual([
      { From: null, To: january },
      { From: january, To: february },
      { From: february, To: null },
    ])
  })

  test('NextInvoiceNum can only be raised, and an event tells the gap', async () => {
    const client = await service.newAccount()
    expect((await client.put(PATH, { NextInvoiceNum: 100 })).status).toBe(204)
    expect((await client.put(PATH, { NextInvoiceNum: 100 })).status).toBe(204)
    const refused = await client.put(PATH, { NextInvoiceNum: 99, Name: 'Changed too' })
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'invoice_number_lowered'])
    expect((await client.get(PATH)).body).toMatchObject({ NextInvoiceNum: 100, Name: 'Test' })
    const raised = (await eventsOf(client)).filter(({ type }) => type === 'account.invoice_number_raised')
    expect(raised.map(({ record }) => record)).toEqual([{ From: 1, To: 100 }])
  })

  test('TestMailTo is for test accounts; a line break in an address is refused', async () => {
    const client = await service.newAccount()
    expect((await client.put(PATH, { TestMailTo: 'testers@example.com' })).status).toBe(204)
    expect((await client.get(PATH)).body.TestMailTo).toBe('testers@example.com')
    const broken = await client.put(PATH, { TestMailTo: 'a@example.com\r\nBcc: b@example.com' })
    expect([broken.status, fieldsOf(broken)]).toEqual([400, ['TestMailTo']])
    const live = await service.newAccount({ mode: 'live', clockAt: null })
    const refused = await live.put(PATH, { TestMailTo: 'testers@example.com' })
    expect([refused.status, fieldsOf(refused)]).toEqual([409, ['TestMailTo']])
    expect((await live.put(PATH, { TestMailTo: null })).status).toBe(204)
  })

  test('what documents freeze is kept under its version before it changes, and only then', async () => {
    const client = await service.newAccount({ name: 'Old' })
    await client.put(PATH, { Notes: 'Thank you' })
    await client.put(PATH, { PaymentTermDays: 14, NextInvoiceNum: 7 })
    await client.put(PATH, { Name: 'New' })
    const versions = await service.db
      .reader(client.id)
      .rows<{ version: number; document: any }>(
        sql`select version, document from account_versions where account_id = ${client.id} order by version`,
      )
    expect(versions.map(({ version, document }) => [version, document.name, document.notes])).toEqual([
      [1, 'Old', null],
      [2, 'Old', 'Thank you'],
    ])
  })

  test('a changed zone counts from the next request on', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-31T23:30:00.000Z' })
    const added = await client.post('/v1/customers', { Name: 'Ada', isCompany: true, autoSendStatement: true })
    expect(added.body.StatementDate).toBe('2027-02-01T00:00:00Z')
    await client.put(PATH, { TimeZone: 'Africa/Johannesburg' })
    const read = await client.get(`/v1/customers/${added.body.customerID}`)
    expect(read.body.StatementDate).toBe('2027-03-01T00:00:00+02:00')
  })

  test('a default currency cannot be deleted, the former one can', async () => {
    const client = await service.newAccount({ currency: 'USD' })
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    await client.put(PATH, { CurrencyCode: 'EUR' })
    expect((await client.delete('/v1/currencies', { CurrencyCode: 'EUR' })).status).toBe(409)
    expect((await client.delete('/v1/currencies', { CurrencyCode: 'USD' })).status).toBe(204)
  })

  test('a stale tag is refused; a number that invoices move on makes none stale', async () => {
    const client = await service.newAccount()
    const tag = (await client.get(PATH)).headers.etag as string
    expect((await client.put(PATH, { NextInvoiceNum: 5 }, { 'if-match': tag })).status).toBe(204)
    expect((await client.put(PATH, { Name: 'A' }, { 'if-match': tag })).status).toBe(204)
    expect((await client.put(PATH, { Name: 'B' }, { 'if-match': tag })).status).toBe(412)
  })

  test('a key that may only read changes nothing', async () => {
    const client = await service.newAccount()
    const reader = await readOnlyClientOf(service, client)
    expect((await reader.get(PATH)).status).toBe(200)
    expect((await reader.put(PATH, { Name: 'X' })).status).toBe(403)
    expect((await reader.delete(`${PATH}/logo`)).status).toBe(403)
  })
})

describe('/v1/account/logo', () => {
  const png = Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    Buffer.from([0, 255, 128, 1]),
  ])
  const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.from([9, 8, 200])])

  function put(client: TestClient, payload: Buffer, headers: Record<string, string> = { 'content-type': 'image/png' }) {
    const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
    return service.app.server.inject({
      method: 'PUT',
      url: `${PATH}/logo`,
      headers: { authorization, ...headers },
      payload,
    })
  }

  function read(client: TestClient) {
    const authorization = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`
    return service.app.server.inject({ method: 'GET', url: `${PATH}/logo`, headers: { authorization } })
  }

  test('an image is answered byte for byte until it is replaced or taken away', async () => {
    const client = await service.newAccount()
    expect((await read(client)).statusCode).toBe(404)
    expect((await client.delete(`${PATH}/logo`)).status).toBe(404)
    const added = await put(client, png)
    expect([added.statusCode, added.payload]).toEqual([204, ''])
    const found = await read(client)
    expect([found.statusCode, found.headers['content-type'], found.headers.etag]).toEqual([
      200,
      'image/png',
      added.headers.etag,
    ])
    expect(found.rawPayload).toEqual(png)
    expect((await put(client, jpeg, { 'content-type': 'image/jpeg; x=1' })).statusCode).toBe(204)
    const replaced = await read(client)
    expect([replaced.headers['content-type'], replaced.rawPayload]).toEqual(['image/jpeg', jpeg])
    expect((await client.delete(`${PATH}/logo`)).status).toBe(204)
    expect((await read(client)).statusCode).toBe(404)
    expect((await eventsOf(client)).map(({ type, record }) => [type, record])).toEqual([
      ['account.logo_changed', { MediaType: 'image/png', Bytes: png.length }],
      ['account.logo_changed', { MediaType: 'image/jpeg', Bytes: jpeg.length }],
      ['account.logo_changed', { MediaType: null, Bytes: null }],
    ])
  })

  test.each([
    [400, 'bytes that are no image', Buffer.from('<svg/>'), 'image/png'],
    [400, 'nothing', Buffer.alloc(0), 'image/png'],
    [415, 'an image that is said to be JSON', png, 'application/json'],
    [413, 'an image over 512 KiB', Buffer.concat([png, Buffer.alloc(512 * 1024)]), 'image/png'],
  ])('%s: %s is refused', async (status, _what, payload, type) => {
    const client = await service.newAccount()
    expect((await put(client, payload, { 'content-type': type })).statusCode).toBe(status)
    expect((await read(client)).statusCode).toBe(404)
  })

  test('is replaced and taken away only as it was read, where If-Match says so', async () => {
    const client = await service.newAccount()
    const type = { 'content-type': 'image/png' }
    // There is no state to have read before the first.
    expect((await put(client, png, { ...type, 'if-match': '"any"' })).statusCode).toBe(412)
    const { etag } = (await put(client, png)).headers as { etag: string }
    expect((await put(client, jpeg, { 'content-type': 'image/jpeg', 'if-match': etag })).statusCode).toBe(204)
    const stale = await put(client, png, { ...type, 'if-match': etag })
    expect([stale.statusCode, stale.json().Errors[0].Code]).toEqual([412, 'etag_mismatch'])
    expect((await client.delete(`${PATH}/logo`, undefined, { 'if-match': etag })).status).toBe(412)
    const present = await read(client)
    expect(present.rawPayload).toEqual(jpeg)
    expect((await client.delete(`${PATH}/logo`, undefined, { 'if-match': String(present.headers.etag) })).status).toBe(
      204,
    )
  })

  test('an Idempotency-Key tells two images apart', async () => {
    const client = await service.newAccount()
    const headers = { 'content-type': 'image/png', 'idempotency-key': 'logo-1' }
    expect((await put(client, png, headers)).statusCode).toBe(204)
    expect((await put(client, png, headers)).headers['idempotency-replayed']).toBe('true')
    expect((await put(client, jpeg, headers)).statusCode).toBe(422)
  })

  test("another account's logo is not seen", async () => {
    const [owner, other] = [await service.newAccount(), await service.newAccount()]
    await put(owner, png)
    expect((await read(other)).statusCode).toBe(404)
  })
})
