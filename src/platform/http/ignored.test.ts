import { describe, expect, test } from 'vitest'
import { startTestService, strictClientOf, type TestClient } from '../../../test/support/app.ts'

/** Every answer says which names of its request nobody knows. */

const service = await startTestService()
const HEADER = 'perennial-ignored'
const company = { Name: 'Acme', isCompany: true }

async function withCustomer() {
  const client = await service.newAccount()
  const { body } = await client.post('/v1/customers', company)
  return { client, customerID: body.customerID as number }
}

const ignoredBy = async (answer: ReturnType<TestClient['get']>) => {
  const { status, headers } = await answer
  return [status, headers[HEADER]]
}

describe('computed fields that differ from what is answered', () => {
  test('are told on the answer of a POST, also of its replay, and never refused in strict handling', async () => {
    const { client, customerID } = await withCustomer()
    const body = {
      customerID,
      Charges: [{ UnitCostEx: 100, AmountInc: 1, chargeID: 9 }],
      Taxes: [{ Name: 'VAT', Perc: 0.15, TaxAmount: 9, Base: 100 }],
      Total: 5,
      TotalEx: 100,
      invoiceNum: 77,
      invoiceID: 12,
      Status: null,
      Customer: { Name: 'Somebody else' },
      Colour: 'red',
    }
    const told =
      '"Colour", "invoiceNum";computed, "Taxes[0].TaxAmount";computed, "Charges[0].AmountInc";computed, "Total";computed'
    const sorted = (header: unknown) => String(header).split(', ').toSorted()
    const key = { 'idempotency-key': 'computed' }
    for (const replayed of [undefined, 'true']) {
      const { status, headers } = await client.post('/v1/invoices', body, key)
      expect([status, headers['idempotency-replayed'], sorted(headers[HEADER])]).toEqual([201, replayed, sorted(told)])
    }
    const strict = await strictClientOf(service, client)
    const { Colour: _unknown, ...known } = body
    const { status, headers } = await strict.post('/v1/invoices', known)
    expect([status, headers[HEADER]]).toEqual([201, expect.stringContaining('"Total";computed')])
  })

  test('are not told of a record that is sent back as it was read, of a date in another form, of a refusal or a PUT', async () => {
    const { client, customerID } = await withCustomer()
    const plan = { customerID, Charges: [{ UnitCostEx: 100 }], InvoiceDate: '2027-01-01' }
    const made = (await client.post('/v1/invoices', plan)).body
    const { Reference: _unique, ...again } = made
    const copy = await client.post('/v1/invoices', { ...again, invoiceNum: null, isDraft: false })
    expect([copy.status, copy.headers[HEADER]]).toEqual([201, undefined])
    expect(await ignoredBy(client.post('/v1/invoices', { ...plan, Total: 7, Charges: [] }))).toEqual([400, undefined])
    const put = await client.put(`/v1/invoices/${made.invoiceID}`, { ...made, Total: 7 })
    expect([put.status, put.headers[HEADER]]).toEqual([204, undefined])
  })
})

describe('names that nobody knows', () => {
  test('are told by what they are near to, and the credit is as without them', async () => {
    const { client, customerID } = await withCustomer()
    const { status, body, headers } = await client.post('/v1/credits', {
      customerID,
      Amount: 5,
      Date: '2027-01-01',
      CurrencyCode: 'USD',
      CreditNumber: 'K-9',
      AutoAply: true,
      Allocations: [],
    })
    expect([status, body.Status, headers[HEADER]]).toEqual([201, 'Unallocated', '"AutoAply";near="AutoApply"'])
  })

  test('are told by their place in lists, beside those of the query', async () => {
    const { client, customerID } = await withCustomer()
    const charge = { Descrip: 'Work', Qty: 1, UnitCostEx: 10, Quantity: 2 }
    const answer = client.post('/v1/invoices?colour=red&colour=blue', {
      customerID,
      InvoiceDate: '2027-01-01',
      Charges: [charge],
      currency: 'USD',
    })
    expect(await ignoredBy(answer)).toEqual([
      201,
      '"Charges[0].Quantity";near="Qty", "colour", "currency";near="CurrencyCode"',
    ])
  })

  test('are told by reads, lists, HEAD and refusals, and by nothing where there are none', async () => {
    const { client, customerID } = await withCustomer()
    const path = `/v1/customers/${customerID}`
    expect(await ignoredBy(client.get(`${path}?colour=red`))).toEqual([200, '"colour"'])
    expect(await ignoredBy(client.request('HEAD', `${path}?colour=red`))).toEqual([200, '"colour"'])
    expect(await ignoredBy(client.get('/v1/customers?customer_id=1'))).toEqual([200, '"customer_id"'])
    expect(await ignoredBy(client.get('/v1/invoices?customer_id=1'))).toEqual([200, '"customer_id";near="customerID"'])
    expect(await ignoredBy(client.get('/v1/customers/999999?colour=red'))).toEqual([404, '"colour"'])
    expect(await ignoredBy(client.post('/v1/customers', { isCompany: true, Naem: 'x' }))).toEqual([
      400,
      '"Naem";near="Name"',
    ])
    expect(await ignoredBy(client.post('/v1/customers', '{"Naem":'))).toEqual([400, undefined])
    expect(await ignoredBy(client.post('/v1/customers', company))).toEqual([201, undefined])
    expect(await ignoredBy(client.get('/v1/customers'))).toEqual([200, undefined])
  })

  test('are those of the request itself, on a kept answer too', async () => {
    const client = await service.newAccount()
    const key = { 'idempotency-key': 'one' }
    const send = (path: string, body: object, headers = key) => client.post(path, body, headers)
    const first = await send('/v1/customers?colour=red', company)
    const again = await send('/v1/customers?shape=round', company)
    expect(again.body).toEqual(first.body)
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, 'true'])
    expect([first.headers[HEADER], again.headers[HEADER]]).toEqual(['"colour"', '"shape"'])
    expect((await send('/v1/customers', company)).headers[HEADER]).toBeUndefined()
    expect(await ignoredBy(send('/v1/customers', { ...company, Colour: 'red' }))).toEqual([422, '"Colour"'])
  })

  test('are told by work that is long or calls a gateway, and by its kept answer', async () => {
    const { client, customerID } = await withCustomer()
    const sentTwice = async (method: string, path: string, body: object) => {
      const headers = { 'idempotency-key': path }
      const answers = [
        await client.request(method, path, body, headers),
        await client.request(method, path, body, headers),
      ]
      expect(answers.map((answer) => answer.status)).toEqual([200, 200])
      expect(answers[1]?.headers['idempotency-replayed']).toBe('true')
      return answers.map((answer) => answer.headers[HEADER])
    }
    const clock = await sentTwice('PUT', '/v1/clock', { Now: '2027-01-02', Nwo: 1 })
    expect(clock).toEqual(['"Nwo";near="Now"', '"Nwo";near="Now"'])
    const CreditCard = {
      CardType: 'Visa',
      Number: '4242424242424242',
      NameOnCard: 'Ada',
      LastNameOnCard: 'Lovelace',
      ExpiryMonth: 12,
      ExpiryYear: 2030,
      name_on_card: 'Ada',
    }
    const card = await sentTwice('POST', '/v1/paymentmethods/creditcard', { customerID, isPrimary: true, CreditCard })
    const near = '"CreditCard.name_on_card";near="NameOnCard"'
    expect(card).toEqual([near, near])
  })

  test('are neither computed fields nor paging, and are not looked for where no body is', async () => {
    const { client, customerID } = await withCustomer()
    const path = `/v1/customers/${customerID}`
    const { body } = await client.get(path)
    expect(await ignoredBy(client.put(`${path}?page=2&page_size=9`, { ...body, page: 1 }))).toEqual([204, undefined])
    expect(await ignoredBy(client.put(`${path}/archive`, { Colour: 'red' }))).toEqual([204, undefined])
    const strictly = { prefer: 'handling=strict' }
    expect((await client.get('/v1/account?page=1', undefined, strictly)).status).toBe(200)
    expect((await client.get('/v1/ledger/balances?page=1')).status).toBe(200)
  })

  test('are counted and their header stays short in a body of thousands, whatever they hold', async () => {
    const client = await service.newAccount()
    const names = Array.from({ length: 5_000 }, (_, index) => [`X-${index}\r\nSet-Cookie: "é\\${'y'.repeat(90)}`, 1])
    const { status, headers } = await client.post('/v1/customers', { ...company, ...Object.fromEntries(names) })
    expect(status).toBe(201)
    expect(headers['set-cookie']).toBeUndefined()
    expect(headers[HEADER]).toMatch(/^"X-0%0D%0ASet-Cookie: \\"%C3%A9\\\\y+\.\.\.", .*;more=4980$/)
    expect(headers[HEADER]?.length).toBeLessThan(4_096)
    const deep = `{"Name":"Acme","isCompany":true,"a":${'{"b":'.repeat(30)}1${'}'.repeat(30)}}`
    expect(await ignoredBy(client.post('/v1/customers', deep))).toEqual([201, '"a"'])
    const prototype = '{"Name":"Acme","isCompany":true,"__proto__":{"Memo":1},"constructor":1}'
    expect(await ignoredBy(client.post('/v1/customers?__proto__=1', prototype))).toEqual([
      201,
      '"__proto__", "__proto__", "constructor"',
    ])
  })

  test('beside the number of a card are not repeated, unless they are nearly known', async () => {
    const { client, customerID } = await withCustomer()
    const answer = client.post('/v1/paymentmethods/creditcard', {
      customerID,
      is_primary: true,
      'hunter-two': 1,
    })
    const [status, header] = await ignoredBy(answer)
    expect(header).toBe('"is_primary";near="isPrimary", "*"')
    expect(status).toBe(400)
  })

  test('are counted for each operation', async () => {
    const client = await service.newAccount()
    await client.get('/v1/account?one=1&two=2')
    const { text } = await service.anonymous.get('/metrics')
    expect(text).toMatch(/^perennial_ignored_names_total\{operation="getAccount"\} [2-9]/m)
  })
})

describe('a strict key', () => {
  test('is refused what nobody knows, with what is near, unless a request asks for leniency', async () => {
    const strict = strictClientOf(service, await service.newAccount())
    const client = await strict
    const sent = { ...company, Tlephone: '1' }
    const { status, body, headers } = await client.post('/v1/customers', sent)
    expect([status, headers[HEADER]]).toEqual([400, undefined])
    expect(body.Errors).toEqual([
      { Code: 'unknown_field', Field: 'Tlephone', Message: expect.stringMatching(/^The field Tlephone is not known/) },
    ])
    expect((await client.get('/v1/customers?colour=red')).status).toBe(400)
    const lenient = { prefer: 'handling=lenient' }
    expect((await client.post('/v1/customers', sent, lenient)).headers[HEADER]).toContain('"Tlephone"')
    expect((await client.post('/v1/customers', sent, { prefer: 'respond-async' })).status).toBe(400)
    expect((await client.post('/v1/customers', company)).status).toBe(201)
  })

  test('hears of the name that was meant', async () => {
    const client = await strictClientOf(service, await service.newAccount())
    const { body } = await client.post('/v1/customers', { ...company, vat_no: '1' })
    expect(body.Errors[0].Message).toBe('The field vat_no is not known; did you mean VatNo?')
  })

  test('a report refuses an unknown parameter with any key and any preference', async () => {
    const client = await service.newAccount()
    const lenient = { prefer: 'handling=lenient' }
    const { status, body } = await client.get('/v1/reports/tax?form=2027-01-01', undefined, lenient)
    expect(status).toBe(400)
    expect(body.Errors).toEqual([
      {
        Code: 'unknown_parameter',
        Field: 'form',
        Message: 'The parameter form is not known; did you mean from?',
      },
    ])
  })
})
