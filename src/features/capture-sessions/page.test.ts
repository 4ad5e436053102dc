import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, moveTo } from '../../../test/support/shop.ts'
import { beginSession, CARD, capturedSession, complete, frameOf, readSession } from './capture.testing.ts'

const service = await startTestService()

async function openFrame(changes: object = {}, wish: object = {}) {
  const client = await service.newAccount(wish)
  const { body: session } = await beginSession(client, changes)
  return { client, session, frame: frameOf(service, session.HashToken) }
}

const sessionState = async ({ client, session }: Awaited<ReturnType<typeof openFrame>>) =>
  (await readSession(client, session.SessionToken)).State

/** The words beside the fields of which something is wrong, by field. */
const wrongs = (page: string) =>
  Object.fromEntries(
    [...page.matchAll(/<small id="(\w+)-note" class="bad">([^<]*)</g)].map(([, field, text]) => [field, text]),
  )

describe('the frame', () => {
  test('may be shown by pages of AuthDomain alone, and its script is its own', async () => {
    const { frame } = await openFrame({ AuthDomain: 'shop.example:8443' })
    const shown = await frame.get()
    expect(shown.statusCode).toBe(200)
    const nonce = /<script nonce="([^"]+)">/.exec(shown.payload)?.[1]
    expect(shown.headers['content-security-policy']).toBe(
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors https://shop.example:8443`,
    )
    expect(shown.headers['x-frame-options']).toBeUndefined()
    expect(shown.payload).toContain('data-host="https://shop.example:8443"')
    for (const part of ['autocomplete="cc-number"', 'inputmode="numeric"', '<label for="number">Card number</label>'])
      expect(shown.payload).toContain(part)
    expect(Buffer.byteLength(shown.payload)).toBeLessThan(40_000)
  })

  test('takes a card once, and shows what it holds', async () => {
    const opened = await openFrame()
    const sent = await opened.frame.post(CARD)
    expect([sent.statusCode, sent.headers.location]).toEqual([303, opened.frame.path])
    const shown = await opened.frame.get()
    expect(shown.payload).toContain('Visa ending in 4242')
    expect(shown.payload).toContain('data-result="captured"')
    const second = await opened.frame.post({ ...CARD, number: '5555555555554444' })
    expect([second.statusCode, (await opened.frame.get()).payload.includes('Visa ending in 4242')]).toEqual([303, true])
  })

  test('takes one of two cards that are sent at once', async () => {
    const { frame, client } = await openFrame()
    const answers = await Promise.all([frame.post(CARD), frame.post({ ...CARD, number: '5555555555554444' })])
    expect(answers.filter(({ statusCode }) => statusCode === 303).length).toBeGreaterThanOrEqual(1)
    const events = (await client.get('/v1/events?type=capture_session.captured')).body
    expect(events).toHaveLength(1)
  })

  test.each([
    [
      {},
      {
        number: 'Please fill this in.',
        expiry: 'Please fill this in.',
        givenName: 'Please fill this in.',
        familyName: 'Please fill this in.',
      },
    ],
    [{ ...CARD, number: '4242 4242 4242 4241' }, { number: 'This is mistyped. Please check it.' }],
    [{ ...CARD, number: 'card' }, { number: 'This is mistyped. Please check it.' }],
    [{ ...CARD, expiry: '12/26' }, { expiry: 'This card is no longer valid.' }],
    [{ ...CARD, expiry: '13/29' }, { expiry: 'This is mistyped. Please check it.' }],
    [{ ...CARD, givenName: 'x'.repeat(71) }, { givenName: 'At most 70 characters, please.' }],
    [{ ...CARD, givenName: 'A\nda' }, { givenName: 'This holds characters that no name has.' }],
    [{ ...CARD, familyName: '4242 4242 4242 4242' }, { familyName: 'Please enter a name here, and no number.' }],
  ])('shows what is wrong with %j beside its field, and takes nothing', async (fields: object, expected) => {
    const opened = await openFrame()
    const shown = await opened.frame.post(fields as Record<string, string>)
    expect([shown.statusCode, wrongs(shown.payload)]).toEqual([400, expected])
    expect(shown.payload).toContain('role="alert"')
    expect(shown.payload).toContain('data-error="validation_error"')
    expect(shown.payload).not.toMatch(/4242\s?4242/)
    expect(await sessionState(opened)).toBe('open')
  })

  test('keeps names that were entered, as text', async () => {
    const { frame } = await openFrame()
    const shown = await frame.post({ ...CARD, number: '1', givenName: '<script>"', familyName: 'O’Neil' })
    expect(shown.payload).toContain('value="&lt;script&gt;&quot;"')
    expect(shown.payload).toContain('value="O’Neil"')
  })

  test('takes other ways to write a number and a date', async () => {
    for (const changes of [{ number: '4242-4242-4242-4242' }, { expiry: '12 / 2029' }, { expiry: '1229' }]) {
      const { frame } = await openFrame()
      expect((await frame.post({ ...CARD, ...changes })).statusCode).toBe(303)
    }
  })

  test('ends after five cards were refused, and mistyped ones are not counted', async () => {
    const opened = await openFrame()
    const refuse = () => opened.frame.post({ ...CARD, number: '4000000000000002' })
    await opened.frame.post({ ...CARD, number: '1' })
    for (let count = 1; count < 5; count += 1) {
      const refused = await refuse()
      expect([refused.statusCode, refused.payload.includes('The card was refused')]).toEqual([400, true])
      expect(refused.payload).toContain('data-error="declined"')
    }
    expect(await sessionState(opened)).toBe('open')
    expect((await refuse()).statusCode).toBe(303)
    expect(await sessionState(opened)).toBe('failed')
    expect((await opened.frame.get()).payload).toContain('Too many tries were refused')
    expect((await opened.frame.post(CARD)).statusCode).toBe(303)
    expect(await sessionState(opened)).toBe('failed')
  })

  test('takes nothing after Expires, also not from a form that was opened before', async () => {
    const opened = await openFrame()
    await moveTo(opened.client, '2027-01-01T01:00:00Z')
    expect((await opened.frame.post(CARD)).statusCode).toBe(303)
    expect(await sessionState(opened)).toBe('expired')
    const shown = await opened.frame.get()
    expect(shown.payload).toContain('data-error="session_expired"')
    expect(shown.headers['content-security-policy']).toContain('frame-ancestors https://shop.example')
  })

  test('takes a form from its own origin alone', async () => {
    const { frame } = await openFrame()
    for (const origin of ['https://shop.example', 'null', 'http://localhost.evil.example'])
      expect((await frame.post(CARD, '', { origin })).statusCode).toBe(403)
    expect((await frame.post({ ...CARD, cvc: '123' })).statusCode).toBe(400)
  })

  test('says so where the gateway gives no answer, and takes the next try once the first is no longer open', async () => {
    const opened = await openFrame()
    const [gateway] = (await opened.client.get('/v1/gateways')).body
    const faulty = (Fault: string) => opened.client.put(`/v1/gateways/${gateway.gatewayID}`, { Settings: { Fault } })
    await faulty('not_answered')
    const silent = await opened.frame.post(CARD)
    expect([silent.statusCode, silent.payload.includes('Nobody answered, and nothing was saved')]).toEqual([400, true])
    await faulty('none')
    expect((await opened.frame.post(CARD)).statusCode).toBe(303)
    expect(await sessionState(opened)).toBe('captured')
  })

  test('is in German where the browser wishes it', async () => {
    const { frame } = await openFrame()
    const shown = await frame.get('', { 'accept-language': 'de' })
    expect(shown.payload).toContain('<html lang="de">')
    expect(shown.payload).toContain('Kartennummer')
  })

  test('holds no data of another account by its token', async () => {
    const one = await openFrame()
    const other = await openFrame({ Description: 'Secret of another' })
    const [id = '', record = '', counter = '', hash = ''] = other.session.HashToken.split('-')
    const forged = [String(one.client.id), record, counter, hash].join('-')
    expect((await frameOf(service, forged).get()).statusCode).toBe(404)
    expect(
      (await frameOf(service, [id, record, counter, one.session.HashToken.split('-')[3]].join('-')).get()).statusCode,
    ).toBe(404)
    expect((await frameOf(service, other.session.HashToken.toUpperCase()).get()).statusCode).toBe(404)
  })
})

describe('a bank account', () => {
  const HOLDER = { holder: 'Ada Lovelace', bank: 'Example Bank', accountType: 'Current' }

  test.each([
    ['EUR', { iban: 'de89 3704 0044 0532 0130 00', bic: 'cobadeff' }, 'SEPA', '3000'],
    ['USD', { routingNumber: '021000021', accountNumber: '000123456789' }, 'ACH', '6789'],
    ['ZAR', { accountNumber: '62001871490', branchCode: '250655' }, 'Debit Order', '1490'],
  ])(
    'in %s is captured unverified, its number sealed, and becomes a method',
    async (currency, numbers, DebitMethod, last) => {
      const opened = await openFrame({ CurrencyCode: currency }, { currency })
      const { client, session, frame } = opened
      expect((await frame.get()).payload).toContain(`href="${frame.path}/account"`)
      const sent = await frame.post({ ...HOLDER, ...numbers }, '/account')
      expect([sent.statusCode, sent.headers.location]).toEqual([303, frame.path])
      expect((await frame.get()).payload).toContain(`Account ending in ${last}`)
      const customerID = await addCustomer(client, { CurrencyCode: currency })
      expect((await complete(client, customerID, session.SessionToken)).status).toBe(204)
      const { paymentMethodID } = await readSession(client, session.SessionToken)
      const method = (await client.get(`/v1/paymentmethods/${paymentMethodID}`)).body
      expect(method).toMatchObject({ customerID, isValid: false, PaymentMethodType: 'bank_account' })
      expect(method.BankAccount).toMatchObject({ DebitMethod, AccountHolder: 'Ada Lovelace', LastFourDigits: last })
    },
  )

  test('is the only form where the gateway takes no cards', async () => {
    const client = await service.newAccount()
    const { GatewayToken } = (await client.post('/v1/gateways', { GatewayType: 'manual', FriendlyName: 'Bank' })).body
    const { body } = await beginSession(client, { GatewayToken })
    const frame = frameOf(service, body.HashToken)
    const shown = await frame.get()
    expect(shown.payload).toContain('Routing number')
    expect(shown.payload).not.toContain('Card number')
    expect((await frame.post(CARD)).statusCode).toBe(303)
    expect((await readSession(client, body.SessionToken)).State).toBe('open')
  })

  test('that is mistyped is shown with what is wrong, and its numbers are not repeated', async () => {
    const { frame } = await openFrame({ CurrencyCode: 'EUR' }, { currency: 'EUR' })
    const fields = { ...HOLDER, accountType: 'Gold', iban: 'DE00370400440532013000', bic: 'x' }
    const shown = await frame.post(fields, '/account')
    expect([shown.statusCode, wrongs(shown.payload)]).toEqual([
      400,
      {
        accountType: 'Please fill this in.',
        iban: 'This is mistyped. Please check it.',
        bic: 'This is mistyped. Please check it.',
      },
    ])
    expect(shown.payload).not.toContain('DE00370400440532013000')
  })
})

test('the frame is shown and posted at an origin of its own where there is one', async () => {
  const apart = await startTestService({
    publicUrl: 'https://billing.example/base',
    widgetOrigin: 'https://cards.example',
  })
  const client = await apart.newAccount()
  const { body } = await beginSession(client)
  expect(body.Html).toContain('src="https://billing.example/base/widget/capture.js"')
  expect(body.Html).toContain(`data-frame="https://cards.example/w/${body.HashToken}"`)
  const frame = frameOf(apart, body.HashToken, 'https://cards.example')
  expect((await frame.get()).payload).toContain(`action="/w/${body.HashToken}"`)
  expect((await frame.post(CARD, '', { origin: 'https://billing.example' })).statusCode).toBe(403)
  expect((await frame.post(CARD)).statusCode).toBe(303)
})

test('a captured session is shown as saved when it was completed, without what it held', async () => {
  const client = await service.newAccount()
  const { session, frame } = await capturedSession(service, client)
  await complete(client, await addCustomer(client), session.SessionToken)
  const shown = await frame.get()
  expect([shown.payload.includes('Saved'), shown.payload.includes('4242')]).toEqual([true, false])
})

test.each(['capture.js', 'emandate.js'])(
  '%s, a script of host pages, is small and is served to everybody',
  async (name) => {
    const script = await service.anonymous.get(`/widget/${name}`)
    expect([script.status, script.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8'])
    expect(Buffer.byteLength(script.text)).toBeLessThan(5_000)
  },
)
