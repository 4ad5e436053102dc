import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { addCustomer, moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { removalDuty } from '../payment-methods/removal.ts'
import { beginSession, CARD, capturedSession, complete, frameOf, readSession } from './capture.testing.ts'
import { giveBackDuty } from './duty.ts'

const service = await startTestService()
const duty = { db: service.db, log: pino({ level: 'silent' }), realClock: Date.now }
const codes = ({ body }: { body: any }) => body.Errors.map(({ Code, Field }: any) => `${Code} ${Field}`)
const cardsHeld = async ({ id }: TestClient) =>
  Number(
    (
      await service.db
        .reader(id)
        .rows<{ n: bigint }>(
          sql`select count(*) as "n" from sandbox_cards where account_id = ${id} and removed_at is null`,
        )
    )[0]?.n,
  )

describe('beginning a session', () => {
  test('answers its tokens and the markup that shows its frame', async () => {
    const client = await service.newAccount()
    const { status, body } = await beginSession(client, { Description: 'Your plan' })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      AppId: Number(client.id),
      AccountID: Number(client.id),
      IframeType: 'CapturePaymentMethod',
      ExtRef: null,
      CurrencyCode: 'USD',
      DateCreated: '2027-01-01T00:00:00.000Z',
      Expires: '2027-01-01T01:00:00.000Z',
      VaultingType: 'VaultGateway',
      SaleType: 'VaultOnly',
      isVaultOnlyOnSuccess: false,
      Amount: 0,
      AuthDomain: 'https://shop.example',
      paymentMethodID: null,
      paymentMethodToken: null,
      transactionID: null,
      Description: 'Your plan',
      State: 'open',
    })
    expect(body.SessionToken).toMatch(/^[\w-]{43}$/)
    expect(body.Html).toBe(
      `<div id="perennial-capture-${body.iframeCapturePayID}"></div><script src="http://localhost:80/widget/capture.js" data-frame="http://localhost:80/w/${body.HashToken}" data-container="perennial-capture-${body.iframeCapturePayID}" async></script>`,
    )
    const read = await client.get(`/v1/widgets/capturepaymethod/get/${body.SessionToken}`)
    expect([read.status, read.body]).toEqual([201, body])
    const built = await client.get(`/v1/widgets/capturepaymethod/build/${body.SessionToken}`)
    expect([built.status, built.body]).toEqual([200, body.Html])
  })

  test.each([
    ['VaultGateway', 'SaleOnly', { Amount: 5 }, 'types_unfit SaleType'],
    ['VaultNone', 'VaultOnly', {}, 'types_unfit SaleType'],
    ['VaultNone', 'VaultSale', { Amount: 5 }, 'types_unfit SaleType'],
    ['VaultGateway', 'VaultSale', {}, 'required Amount'],
    ['VaultNone', 'SaleOnly', { Amount: 0 }, 'required Amount'],
    ['VaultGateway', 'VaultOnly', { Amount: 5 }, 'amount_unfit Amount'],
    ['VaultGateway', 'VaultOnly', { isVaultOnlyOnSuccess: true }, 'invalid isVaultOnlyOnSuccess'],
    ['VaultGateway', 'VaultOnly', { ExpiresIn: '25:00:00' }, 'invalid ExpiresIn'],
    ['VaultGateway', 'VaultOnly', { ExpiresIn: '00:00:00' }, 'invalid ExpiresIn'],
    ['VaultGateway', 'VaultOnly', { AuthDomain: '*.shop.example' }, 'auth_domain_invalid AuthDomain'],
    ['VaultGateway', 'VaultOnly', { AuthDomain: 'http://shop.example' }, 'auth_domain_invalid AuthDomain'],
    ['VaultGateway', 'VaultOnly', { CurrencyCode: 'XXL' }, 'unknown_currency CurrencyCode'],
    [
      'VaultGateway',
      'VaultOnly',
      { GatewayToken: '0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60' },
      'gateway_unknown GatewayToken',
    ],
  ])('is 400 for %s with %s and %j', async (VaultingType, SaleType, changes, problem) => {
    const client = await service.newAccount()
    const refused = await beginSession(client, { VaultingType, SaleType, ...changes })
    expect([refused.status, codes(refused)]).toEqual([400, [problem]])
  })

  test('takes Amount 0 with VaultOnly, localhost by http, and is 409 for a currency that the gateway does not take', async () => {
    const client = await service.newAccount()
    const begun = await beginSession(client, { Amount: 0, AuthDomain: 'localhost:8080' })
    expect([begun.status, begun.body.AuthDomain]).toEqual([200, 'http://localhost:8080'])
    const unknown = await beginSession(client, { CurrencyCode: 'CHF' })
    expect([unknown.status, codes(unknown)]).toEqual([400, ['currency_unknown CurrencyCode']])
    await client.post('/v1/currencies', { CurrencyCode: 'CHF' })
    const gateway = await client.post('/v1/gateways', { GatewayType: 'manual', CurrencyCodes: ['USD'] })
    const { GatewayToken } = gateway.body
    const refused = await beginSession(client, { CurrencyCode: 'CHF', GatewayToken })
    expect([refused.status, codes(refused)]).toEqual([409, ['currency_unfit CurrencyCode']])
  })

  test('is 409 at a gateway that is not active, for a sale at one without cards', async () => {
    const manual = { GatewayType: 'manual', FriendlyName: 'Bank' }
    const client = await service.newAccount()
    const added = (await client.post('/v1/gateways', manual)).body
    const sale = { SaleType: 'VaultSale', Amount: 5 }
    const GatewayToken = added.GatewayToken
    expect(codes(await beginSession(client, { ...sale, GatewayToken }))).toEqual(['gateway_unfit GatewayToken'])
    await client.put(`/v1/gateways/${added.gatewayID}`, { isActive: false })
    expect(codes(await beginSession(client, { GatewayToken }))).toEqual(['gateway_inactive GatewayToken'])
  })

  test('is 403 for a key that may only read, which may read a session; a token of another account is 404', async () => {
    const client = await service.newAccount()
    const { body } = await beginSession(client)
    const path = `/v1/widgets/capturepaymethod/get/${body.SessionToken}`
    const reader = await readOnlyClientOf(service, client)
    expect((await beginSession(reader)).status).toBe(403)
    expect((await reader.get(path)).status).toBe(201)
    expect((await (await service.newAccount()).get(path)).status).toBe(404)
    expect((await client.get(path.toLowerCase())).status).toBe(404)
  })
})

describe('completing a session', () => {
  test('makes the captured card a verified method of the customer, once, under the identifier and token that the session names', async () => {
    const client = await service.newAccount()
    const customerID = await addCustomer(client)
    const { session } = await capturedSession(service, client)
    const captured = await readSession(client, session.SessionToken)
    expect(captured).toMatchObject({ State: 'captured', transactionID: null })
    expect((await client.get(`/v1/paymentmethods/${captured.paymentMethodID}`)).status).toBe(404)
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    const method = (await client.get(`/v1/paymentmethods/${captured.paymentMethodID}`)).body
    expect(method).toMatchObject({
      customerID,
      isPrimary: true,
      isValid: true,
      CreditCard: {
        CardType: 'Visa',
        NameOnCard: 'Ada',
        LastNameOnCard: 'Lovelace',
        ExpiryMonth: 12,
        ExpiryYear: 2029,
        LastFourDigits: '4242',
      },
    })
    const customer = (await client.get(`/v1/customers/${customerID}`)).body
    expect(customer.PrimaryPaymentMethodInfo.Token).toBe(captured.paymentMethodToken)
    expect((await readSession(client, session.SessionToken)).State).toBe('completed')
    const again = await complete(client, customerID, session.SessionToken)
    expect([again.status, codes(again)]).toEqual([409, ['session_completed SessionToken']])
  })

  test('twice at once makes it the method of one customer', async () => {
    const client = await service.newAccount()
    const customers = [await addCustomer(client), await addCustomer(client)]
    const { session } = await capturedSession(service, client)
    const answers = await Promise.all(customers.map((id) => complete(client, id, session.SessionToken)))
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409])
    const methods = await Promise.all(
      customers.map(async (id) => (await client.get(`/v1/customers/${id}/paymentmethods`)).body),
    )
    expect(methods.flat()).toHaveLength(1)
  })

  test('is 409 before anything was captured and for an archived customer, 400 for a customer or a token that nobody has', async () => {
    const client = await service.newAccount()
    const customerID = await addCustomer(client)
    const { body: open } = await beginSession(client)
    expect(codes(await complete(client, customerID, open.SessionToken))).toEqual(['session_open SessionToken'])
    expect(codes(await complete(client, 999, 'x'))).toEqual([
      'customer_unknown customerID',
      'capture_session_unknown SessionToken',
    ])
    const { session } = await capturedSession(service, client)
    await client.put(`/v1/customers/${customerID}/archive`)
    expect(codes(await complete(client, customerID, session.SessionToken))).toEqual(['customer_archived customerID'])
    const other = await addCustomer(client)
    expect((await complete(client, other, session.SessionToken)).status).toBe(204)
  })

  test('is possible for 24 hours beyond Expires; then the card is removed at the gateway, once, with an event', async () => {
    const client = await service.newAccount()
    const customerID = await addCustomer(client)
    const { session } = await capturedSession(service, client)
    const { session: late } = await capturedSession(service, client)
    expect(await cardsHeld(client)).toBe(2)
    await moveTo(client, '2027-01-02T00:59:59Z')
    await giveBackDuty(service.calling).run(duty, () => {})
    expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
    await moveTo(client, '2027-01-02T01:00:00Z')
    expect(codes(await complete(client, customerID, late.SessionToken))).toEqual(['session_expired SessionToken'])
    await giveBackDuty(service.calling).run(duty, () => {})
    await giveBackDuty(service.calling).run(duty, () => {})
    await removalDuty(service.calling).run(duty, () => {})
    expect(await cardsHeld(client)).toBe(1)
    expect((await readSession(client, late.SessionToken)).State).toBe('expired')
    const events = (await client.get('/v1/events?type=capture_session.expired')).body
    expect(events.map(({ RecordID }: any) => RecordID)).toEqual([late.iframeCapturePayID])
  })

  test('is over by real time, too, where the clock of the account stands still', async () => {
    const client = await service.newAccount()
    const customerID = await addCustomer(client)
    const { body: open } = await beginSession(client)
    const { session } = await capturedSession(service, client)
    const { session: completed } = await capturedSession(service, client)
    expect((await complete(client, customerID, completed.SessionToken)).status).toBe(204)
    const ends = (hours: number) =>
      service.db.transaction(client.id, (tx) =>
        tx.rows(sql`
          update capture_sessions set really_ends_at = really_ends_at - ${hours}::int * interval '1 hour' where account_id = ${client.id}`),
      )
    await ends(2)
    const states = async () =>
      Promise.all(
        [open, session, completed].map(async ({ SessionToken }) => (await readSession(client, SessionToken)).State),
      )
    expect(await states()).toEqual(['expired', 'captured', 'completed'])
    const sent = await frameOf(service, open.HashToken).post(CARD)
    expect([sent.statusCode, await cardsHeld(client)]).toEqual([303, 2])
    // The hour of the session, and the 24 of its completion.
    await ends(24)
    expect(codes(await complete(client, customerID, session.SessionToken))).toEqual(['session_expired SessionToken'])
    await giveBackDuty(service.calling).run(duty, () => {})
    await removalDuty(service.calling).run(duty, () => {})
    expect([await states(), await cardsHeld(client)]).toEqual([['expired', 'expired', 'completed'], 1])
  })

  test('keeps a gateway from being deleted while its sessions are known', async () => {
    const client = await service.newAccount()
    const gateway = (await client.post('/v1/gateways', { GatewayType: 'manual', FriendlyName: 'Bank' })).body
    await beginSession(client, { GatewayToken: gateway.GatewayToken })
    const refused = await client.delete(`/v1/gateways/${gateway.gatewayID}`)
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'gateway_used'])
  })
})

test('events hold a session without its tokens', async () => {
  const client = await service.newAccount()
  const customerID = await addCustomer(client)
  const { session } = await capturedSession(service, client)
  await complete(client, customerID, session.SessionToken)
  const events = (await client.get('/v1/events')).body.filter(({ Type }: any) => Type.startsWith('capture_session.'))
  expect(events.map(({ Type }: any) => Type).sort()).toEqual([
    'capture_session.captured',
    'capture_session.completed',
    'capture_session.created',
  ])
  const text = JSON.stringify(events)
  for (const secret of [session.SessionToken, session.HashToken, CARD.number.replaceAll(' ', '')])
    expect(text).not.toContain(secret)
})

test('a card number stands in no row of a session and in no page', async () => {
  const client = await service.newAccount()
  const { frame } = await capturedSession(service, client)
  expect((await frame.get()).payload).not.toMatch(/4242\s?4242/)
  const rows = await service.db
    .reader(client.id)
    .rows<{ text: string }>(sql`select s::text as "text" from capture_sessions s where account_id = ${client.id}`)
  expect(rows[0]?.text).not.toContain('4242')
})
