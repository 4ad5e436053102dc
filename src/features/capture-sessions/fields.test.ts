import { afterAll, describe, expect, test } from 'vitest'
import { answerChallenge } from '../../../test/simulators/stripe-intents.ts'
import { StripeSimulator } from '../../../test/simulators/stripe.ts'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { keptReports } from '../gateway-reports/reports.testing.ts'
import { beginSession, complete, frameOf, readSession } from './capture.testing.ts'
import { fieldsSession, HOLDER, leavingOf, LIVE_CLIENT, LIVE_STRIPE } from './fields.testing.ts'
import { salesOf } from './sales.testing.ts'

/** Sessions whose card is entered into fields of the gateway's own: this service gets names alone, and asks the gateway what was stored. */

const simulator = await StripeSimulator.start()
afterAll(async () => {
  await simulator.stop()
  expect(simulator.problems).toEqual([])
})
const service = await startTestService({ endpoints: { stripe: simulator.address } })
const { look, remove, letPass } = leavingOf(service)
const { work } = salesOf(service)
const begin = (changes?: object) => fieldsSession(service, simulator, changes)
const SALE = { SaleType: 'VaultSale', Amount: 49 }

describe('the page', () => {
  test('calls nobody, has no field for a number, and a policy that is wider by the sources of the gateway alone', async () => {
    const before = simulator.sent.length
    const { frame, session } = await begin()
    const page = await frame.get()
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain(`data-gateway="${simulator.address}/endive/stripe.js"`)
    expect(page.body).not.toMatch(/name="(number|expiry)"|<script src/)
    const nonce = /nonce-([^']+)'/.exec(String(page.headers['content-security-policy']))?.[1]
    const at = simulator.address
    expect(page.headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'nonce-${nonce}' ${at}; frame-src ${at}; connect-src 'self' ${at}; style-src 'nonce-${nonce}'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors https://shop.example`,
    )
    expect(session.Html).toContain(' data-allows="popups" ')
    // All that comes from this service, its script included.
    expect(page.body.length).toBeLessThan(25_000)
    // The key of the gateway was looked at when it was added.
    expect(simulator.sent.slice(before).filter(({ call }) => !call.includes('account'))).toEqual([])
  })

  test('gets its facts from the gateway under a name that is kept first; loaded again, twice or in two tabs, the same', async () => {
    const { client, told, setups } = await begin()
    const [one, other] = await Promise.all([told('/fields'), told('/fields')])
    const again = await told('/fields')
    const open = setups().filter(({ status }) => status !== 'canceled')
    expect(open).toHaveLength(1)
    const [{ id, client_secret: secret, usage } = { id: '', client_secret: '', usage: '' }] = open
    for (const { status, headers, body } of [one, other, again]) {
      expect([status, body.client.clientSecret, headers['cache-control']]).toEqual([200, secret, 'no-store'])
      expect(body.client.publishableKey).toMatch(/^pk_test_/)
    }
    expect(usage).toBe('off_session')
    const kept = await service.db.reader(client.id).rows(sql`
      select gateway_reference as "name" from card_intents where account_id = ${client.id} and closed_at is null`)
    expect(kept).toEqual([{ name: id }])
  })

  test('gets nothing from another origin, nor while the gateway does not answer', async () => {
    const { frame, setups } = await begin()
    expect((await frame.post({}, '/fields', { origin: 'https://evil.example' })).statusCode).toBe(403)
    simulator.faults.add({ kind: '500 before', on: 'POST /v1/customers' })
    expect((await frame.post({}, '/fields')).statusCode).toBe(503)
    expect(setups()).toEqual([])
    expect((await frame.post({}, '/fields')).statusCode).toBe(200)
  })
})

describe('a live account', () => {
  test('captures cards in the fields of its gateway, and bank accounts by the form of this service', async () => {
    const publicUrl = 'https://pay.example'
    const live = await startTestService({ publicUrl, adapters: [LIVE_STRIPE] })
    const account = await live.newAccount({ mode: 'live', clockAt: null })
    const Settings = { SecretKey: 'sk_live_1', PublishableKey: 'pk_live_1' }
    const added = await account.post('/v1/gateways', { GatewayType: 'stripe', Settings })
    expect(added.status, added.text).toBe(201)
    const { body: session } = await beginSession(account, { GatewayToken: added.body.GatewayToken })
    const frame = frameOf(live, session.HashToken, publicUrl)
    const policy = String((await frame.get()).headers['content-security-policy'])
    const scripts = 'https://js.stripe.com https://*.js.stripe.com'
    expect(policy.replaceAll(/nonce-[^']+/g, 'nonce')).toMatch(
      `default-src 'none'; script-src 'nonce' ${scripts}; frame-src ${scripts} https://hooks.stripe.com; connect-src 'self' https://api.stripe.com; style-src 'nonce'; img-src 'self' data:; form-action 'self'`,
    )
    expect((await frame.post({}, '/fields')).json()).toEqual({ client: LIVE_CLIENT })
    expect((await frame.post(HOLDER)).statusCode).toBe(303)
    expect(await readSession(account, session.SessionToken)).toMatchObject({ State: 'captured' })

    const manual = await account.post('/v1/gateways', { GatewayType: 'manual', FriendlyName: 'Bank' })
    const ofBank = { GatewayToken: manual.body.GatewayToken, CurrencyCode: 'USD' }
    const { body: bank } = await beginSession(account, ofBank)
    const fields = { holder: 'Ada Lovelace', bank: 'First Bank', accountType: 'Current' }
    const numbers = { routingNumber: '021000021', accountNumber: '12345678' }
    const sent = await frameOf(live, bank.HashToken, publicUrl).post({ ...fields, ...numbers }, '/account')
    expect(sent.statusCode).toBe(303)
    expect(await readSession(account, bank.SessionToken)).toMatchObject({ State: 'captured' })
    const sale = await beginSession(account, { ...ofBank, ...SALE })
    expect([sale.status, sale.body.Errors[0].Code]).toEqual([409, 'gateway_unfit'])
  })
})

describe('a card', () => {
  test('that the gateway has stored is captured by the form of its names, and becomes a method', async () => {
    const { client, told, enter, frame, read, session } = await begin()
    await told('/fields')
    enter('4242424242424242')
    const sent = await frame.post(HOLDER)
    expect([sent.statusCode, sent.headers.location]).toEqual([303, frame.path])
    expect(await read()).toMatchObject({ State: 'captured' })
    expect((await frame.get()).body).toContain('Visa ending in 4242')
    expect((await told('/fields')).body).toEqual({ next: frame.path })
    const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    const [{ paymentMethodID }] = (await client.get('/v1/paymentmethods')).body
    const method = (await client.get(`/v1/paymentmethods/${paymentMethodID}`)).body
    expect(method.CreditCard).toMatchObject({ NameOnCard: 'Ada', LastNameOnCard: 'Lovelace', LastFourDigits: '4242' })
  })

  test('of which only the browser says that it is stored is not captured', async () => {
    const { told, frame, read, enter } = await begin()
    expect((await frame.post(HOLDER)).headers.location).toBe(frame.path)
    await told('/fields')
    const early = await frame.post(HOLDER)
    expect([early.statusCode, early.body.includes('Nobody has answered yet')]).toEqual([400, true])
    expect(() => enter('4000000000000002')).toThrow('declined')
    const refused = await frame.post(HOLDER)
    expect([refused.statusCode, refused.body.includes('The card was refused')]).toEqual([400, true])
    expect(await read()).toMatchObject({ State: 'open' })
    enter('4242424242424242')
    const nameless = await frame.post({ givenName: 'Ada', familyName: '4242 4242 4242 4242' })
    expect(nameless.statusCode).toBe(400)
    expect(nameless.body).not.toContain('4242 4242')
    expect((await frame.post(HOLDER)).statusCode).toBe(303)
    expect(await read()).toMatchObject({ State: 'captured' })
  })

  test('that is refused five times ends the session and its intent at the gateway', async () => {
    const { told, read, frame, setups } = await begin()
    // Nothing was begun: nothing can have been refused.
    expect((await told('/refused')).body).toEqual({})
    await told('/fields')
    for (let tries = 0; tries < 4; tries += 1) expect((await told('/refused')).body).toEqual({})
    expect((await told('/refused')).body).toEqual({ next: frame.path })
    expect(await read()).toMatchObject({ State: 'failed' })
    expect((await frame.get()).body).toContain('data-error="declined"')
    await remove()
    expect(setups()).toMatchObject([{ status: 'canceled' }])
    // Its customer there was made for it, and goes with it.
    expect(simulator.sent.at(-1)?.call).toMatch(/^DELETE \/v1\/customers\/cus_/)
    expect((await told('/fields')).body).toEqual({ next: frame.path })
  })

  test('whose intent was cancelled at the console is entered under another', async () => {
    const { told, setups, enter, frame, read } = await begin()
    await told('/fields')
    Object.assign(setups()[0]!, { status: 'canceled' })
    expect((await told('/fields')).body.client.clientSecret).toBe(setups()[1]?.client_secret)
    enter('4242424242424242')
    expect((await frame.post(HOLDER)).statusCode).toBe(303)
    expect(await read()).toMatchObject({ State: 'captured' })
  })
})

describe('a sale', () => {
  const paid = (stripe: { book: { charges: Map<string, { paid: boolean }> } }) =>
    [...stripe.book.charges.values()].filter((charge) => charge.paid)

  test.each([
    ['VaultSale', SALE, 1],
    ['SaleOnly', { SaleType: 'SaleOnly', VaultingType: 'VaultNone', Amount: 49 }, 0],
  ])('%s is charged once by the form; only then', async (_, changes, cards) => {
    const { told, enter, frame, read, stripe, setups } = await begin(changes)
    await told('/fields')
    expect(setups()[0]?.usage).toBe(cards === 1 ? 'off_session' : 'on_session')
    enter('4242424242424242')
    // Loaded again before the form was sent: the card is there, and nothing is charged.
    expect((await told('/fields')).body).toEqual({ stored: 'Visa ending in 4242' })
    expect(paid(stripe)).toEqual([])
    await Promise.all([frame.post(HOLDER), frame.post(HOLDER)])
    expect(paid(stripe)).toHaveLength(1)
    expect(await read()).toMatchObject({ State: 'captured', transactionID: expect.stringMatching(/^pi_/) })
    await remove()
    const kept = [...stripe.book.methods.values()].filter(({ customer }) => customer !== null)
    expect(kept).toHaveLength(cards)
  })

  test.each([
    [true, 'open', null],
    [false, 'captured', 'without a charge'],
  ])(
    'that is declined with isVaultOnlyOnSuccess %s leaves the session %s',
    async (isVaultOnlyOnSuccess, State, kept) => {
      const { told, enter, frame, read, setups } = await begin({ ...SALE, isVaultOnlyOnSuccess })
      await told('/fields')
      enter('4000000000000341')
      await frame.post(HOLDER)
      expect(await read()).toMatchObject({ State, transactionID: null })
      if (kept) return
      // Another card is entered under another intent.
      await told('/fields')
      expect(setups()).toHaveLength(2)
      enter('4242424242424242')
      await frame.post(HOLDER)
      expect(await read()).toMatchObject({ State: 'captured' })
    },
  )
})

describe('a sale that the bank wants confirmed', () => {
  async function asked() {
    const begun = await begin(SALE)
    const { told, enter, frame, setups, stripe } = begun
    await told('/fields')
    enter('4000002760003184')
    answerChallenge(stripe.book, setups()[0]?.id ?? '', true)
    await frame.post(HOLDER)
    const [intent] = stripe.book.intents.values()
    expect(intent?.status).toBe('requires_action')
    const atBank = (isConfirmed: boolean) => answerChallenge(stripe.book, intent?.id ?? '', isConfirmed)
    return { ...begun, atBank }
  }

  test('is confirmed by the script, which gets its facts while that is so, and not while the gateway is held', async () => {
    const { client, gatewayID, told, frame, read, atBank } = await asked()
    expect((await frame.get()).body).toContain('Please confirm the payment')
    const hold = (reason: string | null) =>
      service.db.transaction(client.id, (tx) =>
        tx.rows(
          sql`update gateways set held_for = ${reason}, held_at = moment() where account_id = ${client.id} and gateway_id = ${gatewayID}`,
        ),
      )
    await hold('by_hand')
    expect((await frame.post({}, '/step')).statusCode).toBe(409)
    expect((await frame.get()).body).toContain('No payment is taken here at the moment')
    await hold(null)
    expect((await told('/step')).body.client.clientSecret).toMatch(/^pi_/)
    const early = await frame.post({ answer: 'confirmed' }, '/confirm')
    expect(early.body).toContain('No confirmation has arrived')
    atBank(true)
    expect((await told('/step')).body).toEqual({})
    expect((await frame.post({ answer: 'confirmed' }, '/confirm')).statusCode).toBe(303)
    expect(await read()).toMatchObject({ State: 'captured' })
    expect((await told('/step')).body).toEqual({ next: frame.path })
  })

  test.each([
    ['found by the report', true, 'captured'],
    ['found by the report as refused', false, 'captured'],
    ['ended after 30 minutes', undefined, 'captured'],
  ])('and whose page was closed is %s', async (_, answer, State) => {
    const { client, read, reported, atBank, stripe } = await asked()
    if (answer !== undefined) atBank(answer)
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        update capture_sales set confirm_by = moment('-1 second'), next_ask_at = moment('-1 second') where account_id = ${client.id}`),
    )
    if (answer === undefined) await work()
    else await reported()
    expect(await read()).toMatchObject({ State, transactionID: answer ? expect.stringMatching(/^pi_/) : null })
    const [intent] = stripe.book.intents.values()
    expect(intent?.status).toBe(answer ? 'succeeded' : 'canceled')
  })
})

describe('left alone', () => {
  test('for an hour it is cancelled at the gateway, and begins anew for whoever comes back', async () => {
    const { client, told, setups, frame } = await begin()
    await told('/fields')
    await letPass(client, '59 minutes')
    await look()
    expect(setups()).toMatchObject([{ status: 'requires_payment_method' }])
    await letPass(client)
    await look()
    expect(setups()).toMatchObject([{ status: 'canceled' }])
    expect((await frame.post(HOLDER)).headers.location).toBe(frame.path)
    await told('/fields')
    expect(setups()).toHaveLength(2)
  })

  test('a stored card captures a session that only stores, with the names that the gateway has', async () => {
    const { client, told, enter, read, session } = await begin()
    await told('/fields')
    enter('4242424242424242', 'Augusta Ada King')
    await letPass(client)
    await look()
    expect(await read()).toMatchObject({ State: 'captured' })
    const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body
    await complete(client, customerID, session.SessionToken)
    const [{ paymentMethodID }] = (await client.get('/v1/paymentmethods')).body
    const method = (await client.get(`/v1/paymentmethods/${paymentMethodID}`)).body
    expect(method.CreditCard).toMatchObject({ NameOnCard: 'Augusta Ada', LastNameOnCard: 'King' })
  })

  test('a report of a stored card does so a minute later, behind a form that is on its way', async () => {
    const { client, told, enter, read, stripe, reported } = await begin()
    await told('/fields')
    expect(() => enter('4000000000000002')).toThrow('declined')
    await reported()
    await letPass(client, '1 minute')
    await look()
    expect(await read()).toMatchObject({ State: 'open' })
    enter('4242424242424242')
    await reported(stripe.book.events.slice(-1))
    await look()
    expect(await read()).toMatchObject({ State: 'open' })
    await letPass(client, '1 minute')
    await look()
    expect(await read()).toMatchObject({ State: 'captured' })
    await reported(stripe.book.events.map((event) => ({ ...event, id: `${event.id}again` })))
    for (const kept of await keptReports(service, client))
      expect(kept).toMatchObject({ isFinished: true, reason: null })
  })

  test('a name that a restore has lost comes back with the report of the card', async () => {
    const { client, told, enter, read, reported } = await begin()
    await told('/fields')
    enter('4242424242424242')
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update card_intents set gateway_reference = null where account_id = ${client.id}`),
    )
    await reported()
    await letPass(client, '1 minute')
    await look()
    expect(await read()).toMatchObject({ State: 'captured' })
  })

  test('a card that was stored for a sale is removed, and nothing is charged', async () => {
    const { client, told, enter, read, stripe } = await begin(SALE)
    await told('/fields')
    enter('4242424242424242')
    await letPass(client)
    await look()
    await remove()
    expect(await read()).toMatchObject({ State: 'open' })
    expect(stripe.book.charges.size).toBe(0)
    expect([...stripe.book.methods.values()].filter(({ customer }) => customer !== null)).toEqual([])
  })

  test('it is asked about again while the gateway does not answer', async () => {
    const { client, told, enter, read } = await begin()
    await told('/fields')
    enter('4242424242424242')
    await letPass(client)
    simulator.faults.add({ kind: '500 before', on: 'GET /v1/setup_intents/*' })
    simulator.faults.add({ kind: '500 before', on: 'POST /v1/setup_intents/*/cancel' })
    await look()
    expect(await read()).toMatchObject({ State: 'open' })
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update card_intents set held_until = moment() where account_id = ${client.id}`),
    )
    await look()
    expect(await read()).toMatchObject({ State: 'captured' })
  })
})
