import { createHmac } from 'node:crypto'
import pino from 'pino'
import { afterAll, afterEach, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { GoCardlessSimulator } from '../../../test/simulators/gocardless.ts'
import { sql } from '../../platform/database/sql.ts'
import { batchesDuty } from '../batches/duty.ts'
import { afterMethodOfCustomer } from '../collection/actions.ts'
import { linesOfService } from '../collection/line-hooks.ts'
import { workAt } from '../gateway-reports/reports.testing.ts'
import type { GatewayAdapter } from '../gateways/contract.ts'
import { removalDuty } from '../payment-methods/removal.ts'
import { mandateSetupsDuty } from './duty.ts'

/** Mandates that payers give on the page of GoCardless, against its simulator. */

const simulator = await GoCardlessSimulator.start()
const PAGE_ORIGIN = 'https://pay.example.org'
const service = await startTestService({ endpoints: { gocardless: simulator.address }, publicUrl: PAGE_ORIGIN })
const worker = { db: service.db, log: pino({ level: process.env['TEST_LOG'] ?? 'silent' }), realClock: Date.now }

afterEach(() => {
  simulator.faults.clear()
  expect(simulator.problems.splice(0)).toEqual([])
})
afterAll(() => simulator.stop())

/** Looks at what is to be looked at, as a worker does; with an adapter in place of the gateway's. */
const look = (adapter?: GatewayAdapter) => {
  const adapters = new Map(service.calling.adapters)
  if (adapter) adapters.set('gocardless', adapter)
  const duty = mandateSetupsDuty({ ...service.calling, adapters, onMethodChanged: afterMethodOfCustomer })
  return duty.run(worker, () => {})
}

/** Lets ten seconds pass since the last look. */
const later = (client: TestClient) =>
  service.db.transaction(client.id, (tx) =>
    tx.rows(
      sql`update mandate_setups set looked_at = looked_at - interval '11 seconds' where account_id = ${client.id}`,
    ),
  )

async function shopOf(customerFields: object = {}) {
  const client = await service.newAccount()
  const { token, book, webhooks } = simulator.openAccount()
  const Settings = { AccessToken: token, WebhookSecrets: [webhooks.secret] }
  const added = await client.post('/v1/gateways', { GatewayType: 'gocardless', CurrencyCodes: ['USD'], Settings })
  expect(added.status, added.text).toBe(201)
  const gateway = added.body as { gatewayID: number; GatewayToken: string }
  const named = { Name: 'Ada', LastName: 'Lovelace', Email: 'ada@example.com', PaymentMethod: 'bank_account' }
  const { customerID } = (await client.post('/v1/customers', { ...named, ...customerFields })).body
  const make = async (more: object = {}) => {
    const reply = await client.post('/v1/paymentmethods/mandate', { customerID, ...more })
    expect(reply.status, reply.text).toBe(201)
    return reply.body as { mandateSetupID: number; Url: string; State: string; Expires: string }
  }
  const read = async (id: number) => (await client.get(`/v1/paymentmethods/mandate/${id}`)).body
  return { client, gateway, token, book, webhooks, customerID: customerID as number, make, read }
}

/** Opens the page of a link, or presses its button, as a browser at phone width does. */
async function visit(url: string, method: 'GET' | 'POST' = 'GET', language = 'en') {
  const { pathname } = new URL(url)
  const headers: Record<string, string> = { 'accept-language': language, 'sec-fetch-dest': 'document' }
  if (method === 'POST')
    Object.assign(headers, { origin: PAGE_ORIGIN, 'content-type': 'application/x-www-form-urlencoded' })
  const reply = await service.app.server.inject({
    method,
    url: pathname,
    headers,
    ...(method === 'POST' && { payload: '' }),
  })
  return {
    status: reply.statusCode,
    text: reply.body,
    headers: reply.headers,
    location: String(reply.headers.location ?? ''),
  }
}

/** Gives the mandate on the page of GoCardless, or leaves it; returns where that leads back to. */
async function atGoCardless(address: string, press: 'give' | 'leave'): Promise<string> {
  expect(await (await fetch(address)).text()).toContain('Give the mandate')
  const reply = await fetch(address, { method: 'POST', body: `do=${press}`, redirect: 'manual' })
  return String(reply.headers.get('location'))
}

test('a link is sent, signed on a phone, and the batch leaves on its own; the debit fails late, and dunning follows', async () => {
  const { client, book, customerID, make, read } = await shopOf({ Locale: 'de-DE' })
  const { mandateSetupID, Url, State } = await make({ ReturnUrl: 'https://shop.example/thanks?a=1', isPrimary: true })
  expect(State).toBe('open')
  const first = await visit(Url)
  expect(first.status).toBe(200)
  expect(first.text).toContain('Lastschrift für Test')
  expect(first.headers['content-security-policy']).toContain(`form-action 'self' ${simulator.address}`)
  const pressed = await visit(Url, 'POST')
  expect([pressed.status, new URL(pressed.location).origin]).toEqual([303, simulator.address])
  expect(await atGoCardless(pressed.location, 'give')).toBe(Url)
  expect((await visit(Url)).text).toContain('Einen Moment bitte')
  await look()
  const done = await visit(Url)
  expect(done.text).toContain('Ihr Mandat ist eingerichtet')
  expect(done.text).toContain(`https://shop.example/thanks?a=1&amp;setup=${mandateSetupID}&amp;result=done`)
  const after = await read(mandateSetupID)
  expect(after.State).toBe('done')
  const method = (await client.get(`/v1/paymentmethods/${after.customerPaymentMethodID}`)).body
  expect(method).toMatchObject({
    customerID,
    isPrimary: true,
    isValid: true,
    BankAccount: { AccountHolder: 'Ann Lee' },
  })

  const move = (day: string) => client.put('/v1/clock', { Now: `${day}T12:00:00Z` })
  const { invoiceID } = (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })).body
  await move('2027-01-04')
  await batchesDuty({ ...service.calling, linesOfService }).run(worker, () => {})
  const [payment] = [...book.payments.values()]
  book.movePayment(String(payment?.id), 'confirmed')
  await move('2027-01-08')
  const status = async () => (await client.get(`/v1/invoices/${invoiceID}`)).body.Status
  expect(await status()).toBe('Paid')
  book.movePayment(String(payment?.id), 'failed', { cause: 'insufficient_funds' })
  await move('2027-01-11')
  expect(await status()).not.toBe('Paid')
  const attempts = (await client.get(`/v1/invoices/${invoiceID}/attempts`)).body
  expect(attempts.map(({ Outcome, Class }: any) => [Outcome, Class])).toEqual([
    ['returned', 'insufficient_funds'],
    ['pending', null],
  ])
  const types = (await client.get('/v1/events?pageSize=200')).body.map(({ Type }: any) => Type)
  expect(types).toContain('payment.failed')
  expect(types.filter((type: string) => type.startsWith('mandate_setup.'))).toEqual([
    'mandate_setup.created',
    'mandate_setup.done',
  ])
  expect(await differencesOf(service, client)).toEqual([])
})

test('pressed again it is the same storing with a fresh page, and whoever leaves it can begin again', async () => {
  const { client, book, make, read } = await shopOf()
  const { mandateSetupID, Url } = await make()
  const one = (await visit(Url, 'POST')).location
  const other = (await visit(Url, 'POST')).location
  expect(one).not.toBe(other)
  expect(book.requests.size).toBe(1)
  expect(await atGoCardless(other, 'leave')).toBe(Url)
  expect((await visit(Url)).text).toContain('One moment')
  await look()
  expect((await visit(Url)).text).toContain('Continue to GoCardless')
  expect((await read(mandateSetupID)).State).toBe('open')
  expect((await client.get('/v1/paymentmethods')).body).toEqual([])
})

test.each(['500 before', '500 after', 'cut after'] as const)(
  'where the page meets %s it says so, and the next press goes on',
  async (kind) => {
    const { book, make } = await shopOf()
    const { Url } = await make()
    simulator.faults.add({ kind, on: 'POST /billing_requests', times: 2 })
    const away = await visit(Url, 'POST')
    expect([away.status, away.text.includes('could not be reached')]).toEqual([503, true])
    simulator.faults.clear()
    expect((await visit(Url, 'POST')).status).toBe(303)
    expect(book.requests.size).toBe(1)
  },
)

test('nobody comes back: the report of the gateway brings the method, once, however often it arrives and whoever dies', async () => {
  const { client, gateway, book, webhooks, make, read } = await shopOf()
  const { mandateSetupID, Url } = await make()
  await visit(Url, 'POST')
  const [request = ''] = book.requests.keys()
  book.give(request, { isLate: true })
  await later(client)
  await visit(Url)
  await look()
  expect((await read(mandateSetupID)).State).toBe('pending')
  expect((await visit(Url)).text).toContain('is being confirmed')
  book.fulfil(request)
  const raw = JSON.stringify({ events: webhooks.waiting.splice(0) })
  const signature = createHmac('sha256', webhooks.secret).update(raw).digest('hex')
  const path = `/gateways/${gateway.GatewayToken}/events`
  for (let sent = 0; sent < 2; sent += 1)
    expect((await service.anonymous.request('POST', path, raw, { 'webhook-signature': signature })).status).toBe(200)
  await workAt(service, client)
  await later(client)
  const gocardless = service.calling.adapters.get('gocardless')!
  // A process that dies with the answer in its hands.
  await look({
    ...gocardless,
    findMandate: async (...asked) => {
      await gocardless.findMandate!(...asked)
      throw new Error('the process died')
    },
  })
  expect((await read(mandateSetupID)).State).toBe('pending')
  await later(client)
  await visit(Url)
  await Promise.all([look(), look()])
  expect((await read(mandateSetupID)).State).toBe('done')
  await later(client)
  await workAt(service, client)
  await look()
  expect((await client.get('/v1/paymentmethods')).body).toHaveLength(1)
})

test('a set-up ends after seven days, with a mandate that was not given, and with a customer who is archived', async () => {
  const { client, book, customerID, make, read } = await shopOf()
  const [old, left, kept] = [await make({ ReturnUrl: 'http://localhost:3000/' }), await make(), await make()]
  await service.db.transaction(client.id, (tx) =>
    tx.rows(
      sql`update mandate_setups set expires_at = now() - interval '1 minute' where account_id = ${client.id} and mandate_setup_id = ${old.mandateSetupID}`,
    ),
  )
  await look()
  expect((await read(old.mandateSetupID)).State).toBe('expired')
  const gone = await visit(old.Url)
  expect([gone.status, gone.text.includes('result=failed')]).toEqual([410, true])
  await visit(left.Url, 'POST')
  await visit(kept.Url, 'POST')
  const [one = '', other = ''] = book.requests.keys()
  book.cancelRequest(one)
  book.give(other)
  await client.put(`/v1/customers/${customerID}/archive`, {})
  const refused = await client.post('/v1/paymentmethods/mandate', { customerID })
  expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'customer_archived'])
  for (const { Url } of [left, kept]) await visit(Url)
  await look()
  expect(await read(left.mandateSetupID)).toMatchObject({ State: 'failed', Reason: 'The mandate was not given.' })
  expect(await read(kept.mandateSetupID)).toMatchObject({ State: 'failed' })
  expect((await client.get('/v1/paymentmethods')).body).toEqual([])
  await removalDuty(service.calling).run(worker, () => {})
  await expect.poll(() => [...book.mandates.values()].map(({ status }) => status)).toEqual(['cancelled'])
})

test('bad input is named, links that were altered lead nowhere, and keys that only read see no link', async () => {
  const { client, gateway, token, customerID, make } = await shopOf()
  const problems = async (body: object) => {
    const { status, body: answer } = await client.post('/v1/paymentmethods/mandate', body)
    return [status, answer.Errors[0].Code, answer.Errors[0].Field]
  }
  expect(await problems({})).toEqual([400, 'required', 'customerID'])
  expect(await problems({ customerID: 999 })).toEqual([400, 'customer_unknown', 'customerID'])
  expect(await problems({ customerID, gatewayID: 999 })).toEqual([400, 'gateway_unknown', 'gatewayID'])
  for (const ReturnUrl of ['http://shop.example/', 'https://a:b@shop.example/', 'javascript:alert(1)', 'x'])
    expect(await problems({ customerID, ReturnUrl })).toEqual([400, 'return_url_unfit', 'ReturnUrl'])
  const [sandbox] = (await client.get('/v1/gateways')).body
  expect(await problems({ customerID, gatewayID: sandbox.gatewayID })).toEqual([409, 'gateway_unfit', 'gatewayID'])
  const Settings = { AccessToken: simulator.openAccount().token }
  const euros = await client.post('/v1/gateways', { GatewayType: 'gocardless', CurrencyCodes: ['EUR'], Settings })
  expect(await problems({ customerID, gatewayID: euros.body.gatewayID })).toEqual([409, 'currency_unfit', 'gatewayID'])
  const { mandateSetupID, Url } = await make({ gatewayID: gateway.gatewayID })
  const last = Url.at(-1) === 'a' ? 'b' : 'a'
  expect((await visit(Url.slice(0, -1) + last)).status).toBe(404)
  const reader = await readOnlyClientOf(service, client)
  expect((await reader.get(`/v1/paymentmethods/mandate/${mandateSetupID}`)).status).toBe(403)
  simulator.revoke(token)
  await visit(Url, 'POST')
  expect(await problems({ customerID, gatewayID: gateway.gatewayID })).toEqual([409, 'key_refused', null])
  await client.put(`/v1/gateways/${gateway.gatewayID}`, { isActive: false })
  expect(await problems({ customerID })).toEqual([409, 'gateway_missing', 'gatewayID'])
})
