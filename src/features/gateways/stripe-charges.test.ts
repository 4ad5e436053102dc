import { describe, expect, test } from 'vitest'
import type { ChargeToMake, ChargingCall } from './contract.ts'
import { newCall, NOW, NOW_S, refusal, type Request, SCOPE, scripted } from './stripe.testing.ts'

const REFERENCE = '9.Qm3kz0aXw1Yb'
const NAME = `${SCOPE}/charge/${REFERENCE}`

const charge = (fields: Partial<ChargeToMake> = {}): ChargeToMake => ({
  reference: REFERENCE,
  token: 'cus_1/pm_1',
  amountMinor: 11500n,
  currency: 'USD',
  gatewayReference: null,
  sentAt: null,
  isCustomerPresent: false,
  returnUrl: null,
  description: 'Invoice 702',
  invoiceNumbers: ['702'],
  payer: { customerId: 5n, name: 'Ann Planted', email: 'planted@example.com', country: 'US', postalCode: '1' },
  ...fields,
})

const intent = (status: string, fields: object = {}) => ({
  id: 'pi_1',
  object: 'payment_intent',
  status,
  amount: 11500,
  currency: 'usd',
  customer: 'cus_1',
  payment_method: 'pm_1',
  metadata: { perennial: NAME },
  ...fields,
})
const PAID = intent('succeeded', { latest_charge: { id: 'ch_1', created: NOW_S - 3600, amount_refunded: 0 } })
const DECLINE = { type: 'card_error', code: 'card_declined', decline_code: 'insufficient_funds', message: 'No funds.' }
const STATE = { type: 'invalid_request_error', code: 'payment_intent_unexpected_state', message: 'No.' }
const GONE = refusal(404, { type: 'invalid_request_error', code: 'resource_missing' })
const NOTHING = [200, { data: [], has_more: false }] as const

const CREATE = 'POST /v1/payment_intents'
const CONFIRM = 'POST /v1/payment_intents/pi_1/confirm'
const CANCEL = 'POST /v1/payment_intents/pi_1/cancel'
const READ = 'GET /v1/payment_intents/pi_1'

/** A Stripe that makes an intent, and answers what a test says to the rest. */
const answering = (answers: Record<string, ReturnType<Parameters<typeof scripted>[0]>>) =>
  scripted(({ what }) => answers[what] ?? (what === CREATE ? [200, intent('requires_confirmation')] : NOTHING))

const kept: string[] = []
const charging = (keeps = true): ChargingCall => ({
  ...newCall(),
  keep: async (name) => {
    kept.push(name)
    return keeps
  },
})

const DETACHED = refusal(400, { type: 'invalid_request_error', message: 'The provided PaymentMethod was detached.' })
const CARD = 'GET /v1/payment_methods/pm_1'
const card = (customer: string | null) =>
  [200, { id: 'pm_1', type: 'card', customer, card: { last4: '4242', exp_month: 1, exp_year: 2030 } }] as const

describe('a charge that is refused for a reason without a code', () => {
  test.each([CREATE, CONFIRM])(
    'at %s is declined where its card is detached, and what was made is ended',
    async (at) => {
      const { adapter, whats } = answering({ [at]: DETACHED, [CARD]: card(null) })
      expect(await adapter.charge(charging(), charge())).toMatchObject({
        kind: 'declined',
        class: 'invalid_account',
        code: 'card_gone',
        isCardGone: true,
      })
      expect(whats().includes(CANCEL)).toBe(at === CONFIRM)
    },
  )

  test.each([
    ['is there', card('cus_1')],
    ['is not answered for', [500, {}] as const],
    ['is asked about in vain by this version, too', DETACHED],
  ])('is none where its card %s: nobody is warned', async (_, answer) => {
    const { adapter } = answering({ [CREATE]: DETACHED, [CARD]: answer })
    const outcome = await adapter.charge(charging(), charge())
    expect(outcome).toMatchObject({ kind: 'not_sent', refused: { by: 'request' } })
  })
})

describe('a charge', () => {
  test('is made without being confirmed, its name kept, then confirmed by a key that names both', async () => {
    kept.length = 0
    let keptBefore: string[] = []
    const { adapter, requests } = scripted(({ what }) => {
      if (what === CREATE) return [200, intent('requires_confirmation')]
      keptBefore = [...kept]
      return [200, PAID]
    })
    expect(await adapter.charge(charging(), charge())).toEqual({
      kind: 'succeeded',
      gatewayReference: 'pi_1',
      on: '2027-01-31',
    })
    expect(keptBefore).toEqual(['pi_1'])
    const [created, confirmed] = requests as [Request, Request]
    expect(created.form).toEqual({
      amount: '11500',
      currency: 'usd',
      customer: 'cus_1',
      payment_method: 'pm_1',
      'allowed_payment_method_types[0]': 'card',
      description: 'Invoice 702',
      'metadata[perennial]': NAME,
      'metadata[invoices]': '702',
    })
    expect(created.headers).toMatchObject({
      authorization: 'Bearer sk_test_planted',
      'stripe-version': '2026-10-28.endive',
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect(created.key).toMatch(/^[0-9a-f-]{36}$/)
    expect(confirmed).toMatchObject({
      what: CONFIRM,
      key: `${NAME}/confirm/pi_1`,
      form: { 'expand[0]': 'latest_charge', off_session: 'true' },
    })
    expect(JSON.stringify(requests)).not.toMatch(/Planted|planted@/)
  })

  test('with the customer present has the gateway ask for a confirmation on our page', async () => {
    const { adapter, requests } = answering({ [CONFIRM]: [200, intent('requires_action')] })
    const present = charge({ isCustomerPresent: true, returnUrl: 'https://b.example/p/1/confirm' })
    expect(await adapter.charge(charging(), present)).toEqual({
      kind: 'requires_action',
      gatewayReference: 'pi_1',
      url: null,
      step: 'client',
    })
    expect(requests[1]?.form).toEqual({
      'expand[0]': 'latest_charge',
      use_stripe_sdk: 'true',
      return_url: 'https://b.example/p/1/confirm',
    })
    expect(requests).toHaveLength(2)
  })

  test('without the customer is declined and ended where the bank asks for a confirmation', async () => {
    const { adapter, whats } = answering({
      [CONFIRM]: [200, intent('requires_action')],
      [CANCEL]: [200, intent('canceled', { cancellation_reason: 'abandoned' })],
    })
    expect(await adapter.charge(charging(), charge())).toMatchObject({ kind: 'declined', class: 'action_required' })
    expect(whats()).toEqual([CREATE, CONFIRM, CANCEL])
  })

  test('if its name was not kept, ends its own intent and sends nothing else', async () => {
    const { adapter, whats } = answering({})
    expect(await adapter.charge(charging(false), charge())).toEqual({ kind: 'unknown' })
    expect(whats()).toEqual([CREATE, CANCEL])
  })

  test.each([
    ['500', [500, { error: { type: 'api_error' } }]],
    ['cut off', { kind: 'unknown', reason: 'ECONNRESET' }],
    ['409', refusal(409, { type: 'invalid_request_error', code: 'idempotency_key_in_use' })],
  ] as const)('of which making the intent goes wrong by %s was not sent: it charges nobody', async (_what, answer) => {
    const { adapter, requests } = answering({ [CREATE]: answer })
    expect(await adapter.charge(charging(), charge())).toMatchObject({ kind: 'not_sent' })
    expect(requests).toHaveLength(1)
  })

  test.each([
    ['another object', { id: 'ch_1' }],
    ["another's", { metadata: { perennial: `${SCOPE}/charge/9.other` } }],
    ['another amount', { amount: 11501 }],
    ['another currency', { currency: 'eur' }],
    ["another customer's", { customer: 'cus_2' }],
    ["no customer's", { customer: null }],
  ])('whose intent, as it is made, is %s is unknown: it is neither confirmed nor ended', async (_what, fields) => {
    const { adapter, requests } = answering({ [CREATE]: [200, intent('requires_confirmation', fields)] })
    for (const keeps of [true, false])
      expect(await adapter.charge(charging(keeps), charge())).toEqual({
        kind: 'unknown',
        mismatch: expect.any(String),
      })
    expect(requests).toHaveLength(2)
  })

  test.each([
    ['the card is gone', refusal(404, { type: 'invalid_request_error', code: 'resource_missing' }), 'invalid_account'],
    ['too little', refusal(400, { type: 'invalid_request_error', code: 'amount_too_small' }), 'format'],
    ['a card error', refusal(402, DECLINE), 'insufficient_funds'],
  ] as const)('is declined where making the intent says so: %s', async (_what, answer, declineClass) => {
    const { adapter, requests } = answering({ [CREATE]: answer })
    expect(await adapter.charge(charging(), charge())).toMatchObject({ kind: 'declined', class: declineClass })
    expect(requests).toHaveLength(1)
  })

  test.each([
    ['refused', refusal(402, DECLINE), { kind: 'declined', class: 'insufficient_funds', code: 'insufficient_funds' }],
    ['no answer', { kind: 'unknown', reason: 'ECONNRESET' }, { kind: 'unknown' }],
    ['not sent', { kind: 'not_sent', reason: 'ECONNREFUSED' }, { kind: 'not_sent' }],
    ['500', [500, {}], { kind: 'unknown' }],
    ['429', refusal(429, { type: 'invalid_request_error', code: 'lock_timeout' }), { kind: 'not_sent' }],
    ['revoked key', refusal(401, {}), { kind: 'not_sent', refused: { by: 'key' } }],
    ['processing', [200, intent('processing')], { kind: 'pending', gatewayReference: 'pi_1' }],
    ['another amount', [200, { ...PAID, amount: 11501 }], { kind: 'unknown', mismatch: expect.any(String) }],
    ['another currency', [200, { ...PAID, currency: 'eur' }], { kind: 'unknown', mismatch: expect.any(String) }],
    ['another payment', [200, { ...PAID, id: 'pi_2' }], { kind: 'unknown', mismatch: expect.any(String) }],
    ["another's", [200, { ...PAID, metadata: {} }], { kind: 'unknown', mismatch: expect.any(String) }],
    ["another customer's", [200, { ...PAID, customer: 'cus_2' }], { kind: 'unknown', mismatch: expect.any(String) }],
    ['a new word', [200, intent('requires_capture')], { kind: 'unknown' }],
  ] as const)('confirmed and answered by %s', async (_what, answer, outcome) => {
    const { adapter, whats } = answering({ [CONFIRM]: answer })
    expect(await adapter.charge(charging(), charge())).toMatchObject(outcome)
    expect(whats()).toEqual([CREATE, CONFIRM, ...(outcome.kind === 'declined' ? [CANCEL] : [])])
  })

  test.each([
    ['in another state', STATE],
    ['by a key that was used with other facts', { type: 'idempotency_error' }],
  ])('that cannot be confirmed, being %s, is what its intent is', async (_what, error) => {
    const { adapter, whats } = answering({ [CONFIRM]: refusal(400, error), [READ]: [200, PAID] })
    expect(await adapter.charge(charging(), charge())).toMatchObject({ kind: 'succeeded' })
    expect(whats()).toEqual([CREATE, CONFIRM, READ])
  })

  test('whose card is gone when it is confirmed is declined and ended', async () => {
    const { adapter, whats } = answering({ [CONFIRM]: GONE, [READ]: [200, intent('requires_confirmation')] })
    expect(await adapter.charge(charging(), charge())).toMatchObject({ kind: 'declined', class: 'invalid_account' })
    expect(whats()).toEqual([CREATE, CONFIRM, READ, CANCEL])
  })

  test('with a kept name is taken up: confirmed if it was not, made anew where nothing will come of it', async () => {
    const open = answering({ [READ]: [200, intent('requires_confirmation')], [CONFIRM]: [200, PAID] })
    const again = charge({ gatewayReference: 'pi_1' })
    expect(await open.adapter.charge(charging(), again)).toMatchObject({ kind: 'succeeded' })
    expect(open.whats()).toEqual([READ, CONFIRM])

    const paid = answering({ [READ]: [200, PAID] })
    expect(await paid.adapter.charge(charging(), again)).toMatchObject({ kind: 'succeeded' })
    expect(paid.whats()).toEqual([READ])

    kept.length = 0
    const ended = scripted(({ what }) => {
      if (what === READ) return [200, intent('canceled', { cancellation_reason: 'abandoned' })]
      if (what === CREATE) return [200, intent('requires_confirmation', { id: 'pi_2' })]
      return [200, { ...PAID, id: 'pi_2' }]
    })
    expect(await ended.adapter.charge(charging(), again)).toMatchObject({ kind: 'succeeded', gatewayReference: 'pi_2' })
    expect(kept).toEqual(['pi_2'])

    const silent = answering({ [READ]: { kind: 'unknown', reason: 'ETIMEDOUT' } })
    expect(await silent.adapter.charge(charging(), again)).toEqual({ kind: 'unknown' })
    expect(silent.whats()).toEqual([READ])
  })

  test('of an amount that does not divide, or of a card that is none of Stripe, is declined without a call', async () => {
    const { adapter, requests } = answering({})
    const kuwaiti = charge({ currency: 'KWD', amountMinor: 1001n })
    expect(await adapter.charge(charging(), kuwaiti)).toMatchObject({ kind: 'declined', class: 'format' })
    for (const token of ['pm_1', 'cus_1/../x', '', 'cus_1/pm_1/x'])
      expect(await adapter.charge(charging(), charge({ token }))).toMatchObject({ class: 'invalid_account' })
    expect(requests).toEqual([])
  })

  test.each([
    ['USD', 115n, '115'],
    ['JPY', 115n, '115'],
    ['ISK', 115n, '11500'],
    ['MGA', 11500n, '115'],
    ['KWD', 1010n, '1010'],
  ])('in %s of %i of our minor units is %s of Stripe', async (currency, amountMinor, amount) => {
    const { adapter, requests } = scripted(({ what, form }) => {
      const facts = { currency: currency.toLowerCase(), amount: Number(form['amount'] ?? amount) }
      return [200, what === CREATE ? intent('requires_confirmation', facts) : { ...PAID, ...facts }]
    })
    expect(await adapter.charge(charging(), charge({ currency, amountMinor }))).toMatchObject({ kind: 'succeeded' })
    expect(requests[0]?.form['amount']).toBe(amount)
  })
})

describe('a question about a charge', () => {
  const asked = charge({ gatewayReference: 'pi_1' })
  const none = { outcome: { kind: 'none' }, changes: [] }

  test('without a kept name asks nobody: no name kept, no money moved', async () => {
    const { adapter, requests } = answering({})
    expect(await adapter.askCharge(newCall(), charge())).toEqual(none)
    expect(requests).toEqual([])
  })

  test.each([
    ['a person as a duplicate', 'duplicate', { kind: 'declined', class: 'duplicate' }],
    ['a person as fraudulent', 'fraudulent', { kind: 'declined', class: 'blocked' }],
    ['the customer', 'requested_by_customer', { kind: 'declined', class: 'action_required' }],
    ['its time', 'automatic', { kind: 'declined', class: 'action_required' }],
    ['us', 'abandoned', { kind: 'none' }],
  ])('finds it cancelled by %s', async (_who, reason, outcome) => {
    const { adapter } = answering({ [READ]: [200, intent('canceled', { cancellation_reason: reason })] })
    expect(await adapter.askCharge(newCall(), asked)).toMatchObject({ outcome, changes: [] })
  })

  test('finds a decline again as it was, and ends what waits for another card', async () => {
    const ended = intent('canceled', { cancellation_reason: 'abandoned', last_payment_error: DECLINE })
    const open = intent('requires_payment_method', { last_payment_error: DECLINE })
    for (const found of [ended, open]) {
      const { adapter, whats } = answering({ [READ]: [200, found] })
      expect(await adapter.askCharge(newCall(), asked)).toMatchObject({
        outcome: { kind: 'declined', class: 'insufficient_funds', code: 'insufficient_funds', message: 'No funds.' },
      })
      expect(whats()).toEqual(found === open ? [READ, CANCEL] : [READ])
    }
  })

  test('ends an intent that was never confirmed: none only where Stripe says that it is cancelled', async () => {
    const open = [200, intent('requires_confirmation')] as const
    const cancelled = answering({
      [READ]: open,
      [CANCEL]: [200, intent('canceled', { cancellation_reason: 'abandoned' })],
    })
    expect(await cancelled.adapter.askCharge(newCall(), asked)).toEqual(none)
    const silent = answering({ [READ]: open, [CANCEL]: { kind: 'unknown', reason: 'ECONNRESET' } })
    expect(await silent.adapter.askCharge(newCall(), asked)).toMatchObject({ outcome: { kind: 'unknown' } })
    // Confirmed between the two by a request that was late.
    let reads = 0
    const raced = scripted(({ what }) => {
      if (what === CANCEL) return refusal(400, STATE)
      if (what !== READ) return NOTHING
      reads += 1
      return reads === 1 ? open : [200, PAID]
    })
    expect(await raced.adapter.askCharge(newCall(), asked)).toMatchObject({ outcome: { kind: 'succeeded' } })
  })

  test('is unknown where Stripe knows no intent of a kept name, as under the key of another Stripe account', async () => {
    const gone = answering({ [READ]: GONE, [CANCEL]: GONE, [CONFIRM]: GONE })
    expect(await gone.adapter.askCharge(newCall(), asked)).toEqual({ kind: 'unknown' })
    expect(await gone.adapter.cancelCharge(newCall(), asked)).toEqual({ kind: 'unknown' })
    expect(await gone.adapter.charge(charging(), asked)).toEqual({ kind: 'unknown' })
    expect(gone.whats()).toEqual([READ, READ, READ])
    expect(await gone.adapter.charge(charging(), charge())).toEqual({ kind: 'unknown' })
  })

  test('is unknown or not sent where Stripe does not say', async () => {
    const away = { kind: 'not_sent', reason: 'ENOTFOUND' } as const
    expect(await answering({ [READ]: away }).adapter.askCharge(newCall(), asked)).toEqual({ kind: 'not_sent' })
    const broken = [502, '<html>'] as const
    expect(await answering({ [READ]: broken }).adapter.askCharge(newCall(), asked)).toEqual({ kind: 'unknown' })
  })

  test('dates what succeeded by the zone of the account, and by its clock where that is not real time', async () => {
    const late = { ...PAID, latest_charge: { created: Date.parse('2027-01-31T02:00:00Z') / 1000 } }
    const { adapter } = answering({ [READ]: [200, late] })
    const denver = newCall({ timeZone: 'America/Denver' })
    expect(await adapter.askCharge(denver, asked)).toMatchObject({ outcome: { on: '2027-01-30' } })
    const moved = newCall({ now: '2028-05-01T00:00:00.000Z', today: '2028-05-01' })
    expect(await adapter.askCharge(moved, asked)).toMatchObject({ outcome: { on: '2028-05-01' } })
  })
})

describe('ending a charge', () => {
  const open = charge({ gatewayReference: 'pi_1' })

  test('answers what it is then', async () => {
    const ended = [200, intent('canceled', { cancellation_reason: 'requested_by_customer' })] as const
    const { adapter, requests } = answering({ [READ]: [200, intent('requires_action')], [CANCEL]: ended })
    expect(await adapter.cancelCharge(newCall(), open)).toMatchObject({ kind: 'declined', class: 'action_required' })
    expect(requests[1]?.form).toEqual({ cancellation_reason: 'requested_by_customer' })
    const strange = answering({ [READ]: [200, intent('requires_action', { metadata: {} })] })
    expect(await strange.adapter.cancelCharge(newCall(), open)).toMatchObject({ kind: 'unknown' })
    expect(strange.whats()).toEqual([READ])
    const over = answering({ [CANCEL]: refusal(400, STATE), [READ]: [200, PAID] })
    expect(await over.adapter.cancelCharge(newCall(), open)).toMatchObject({ kind: 'succeeded' })
    expect(await over.adapter.cancelCharge(newCall(), charge())).toEqual({ kind: 'none' })
  })
})

test('a live account calls no simulator, and a test account nothing else', async () => {
  const { adapter, requests } = scripted(() => [200, { id: 'acct_1' }], { endpoint: 'http://127.0.0.1:4010' })
  expect(await adapter.check(newCall({ isLive: true }))).toEqual({ kind: 'not_sent' })
  expect(requests).toEqual([])
  expect(await adapter.check(newCall())).toEqual({ kind: 'accepted', account: 'acct_1' })
})

test.each([
  [
    refusal(401, { type: 'invalid_request_error' }),
    { kind: 'refused', reason: 'The gateway does not accept SecretKey.' },
  ],
  [refusal(403, { message: "The key needs 'rak_accounts_read'." }), { kind: 'accepted' }],
  [[500, {}], { kind: 'unknown' }],
  [{ kind: 'not_sent', reason: 'ENOTFOUND' }, { kind: 'not_sent' }],
] as const)('a check answered by %j is %j', async (answer, expected) => {
  const { adapter, whats } = scripted(() => answer)
  expect(await adapter.check(newCall())).toEqual(expected)
  expect(whats()).toEqual(['GET /v1/account'])
})

test('what a browser needs to have a charge confirmed is answered while it waits for that', async () => {
  const secret = { client_secret: 'pi_1_secret_2' }
  const waiting = answering({ [READ]: [200, intent('requires_action', secret)] })
  expect(await waiting.adapter.clientStep(newCall(), charge({ gatewayReference: 'pi_1' }))).toEqual({
    kind: 'client',
    client: { publishableKey: 'pk_test_1', clientSecret: 'pi_1_secret_2' },
  })
  const over = answering({ [READ]: [200, { ...PAID, ...secret }] })
  expect(await over.adapter.clientStep(newCall(), charge({ gatewayReference: 'pi_1' }))).toEqual({ kind: 'none' })
  expect(NOW).toBe(newCall().now)
})
