import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Stripe from 'stripe'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hasFixtures } from '../support/fixtures.ts'
import { signatureOf } from './stripe-webhooks.ts'
import { StripeSimulator, type Side, type SimulatedAccount } from './stripe.ts'

/** The official client talks to the simulator: its types hold what is asked when this is compiled, and it decodes every answer and refusal. */

let simulator: StripeSimulator
let account: SimulatedAccount
let side: Side
let stripe: Stripe
let expected: RegExp[]

beforeEach(async () => {
  simulator = await StripeSimulator.start()
  account = simulator.openAccount()
  side = account.test
  stripe = clientOf(side.secretKey)
  expected = []
})

afterEach(async () => {
  await simulator.stop()
  // Whatever a test did not expect is a request that Stripe would refuse, or an answer that it would not give.
  expect(simulator.problems.filter((problem) => !expected.some((one) => one.test(problem)))).toEqual([])
})

function clientOf(key: string, options: Stripe.StripeConfig = {}): Stripe {
  const { port } = new URL(simulator.address)
  const here = { host: '127.0.0.1', port, protocol: 'http', telemetry: false, maxNetworkRetries: 0 } as const
  return new Stripe(key, { ...here, ...options })
}

const refusalOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof Stripe.errors.StripeError)) throw new Error(`no refusal of Stripe but ${String(error)}`)
  return error
}

const CARD = { allowed_payment_method_types: ['card' as const] }

/** Charges a card that is stored, as the adapter does: an intent, then its confirmation. */
async function charge(card: { customer: string; method: string }, amount = 11_500): Promise<Stripe.PaymentIntent> {
  const { id } = await stripe.paymentIntents.create({
    ...{ amount, currency: 'eur', customer: card.customer, payment_method: card.method, ...CARD },
    ...{ metadata: { perennial: 'scope/charge/9.Qm3kz0aXw1Yb' }, statement_descriptor_suffix: 'INVOICE 702' },
  })
  return stripe.paymentIntents.confirm(id, { off_session: true, expand: ['latest_charge'] })
}

describe('a card', () => {
  test('is stored, asked about, charged, refunded, removed, and its customer deleted', async () => {
    const { id: customer } = await stripe.customers.create({ metadata: { perennial: 'scope' }, description: '7' })
    const setup = await stripe.setupIntents.create({ customer, usage: 'off_session', ...CARD })
    expect(setup).toMatchObject({ status: 'requires_payment_method', client_secret: expect.stringContaining(setup.id) })
    await stripe.setupIntents.confirm(setup.id, { payment_method: 'pm_card_visa' })
    const stored = await stripe.setupIntents.retrieve(setup.id, { expand: ['payment_method'] })
    const method = stored.payment_method as Stripe.PaymentMethod
    expect(stored.status).toBe('succeeded')
    expect(method).toMatchObject({ customer, card: { brand: 'visa', last4: '4242' } })

    const paid = await charge({ customer, method: method.id })
    const latest = paid.latest_charge as Stripe.Charge
    expect(paid).toMatchObject({ status: 'succeeded', amount_received: 11_500, currency: 'eur', customer })
    expect(latest).toMatchObject({
      paid: true,
      amount_refunded: 0,
      metadata: { perennial: 'scope/charge/9.Qm3kz0aXw1Yb' },
    })

    const metadata = { perennial: 'scope/refund/3.aB' }
    const refund = await stripe.refunds.create({ payment_intent: paid.id, amount: 4000, metadata })
    expect(refund).toMatchObject({ status: 'succeeded', amount: 4000, charge: latest.id })
    expect((await stripe.refunds.list({ payment_intent: paid.id, limit: 100 })).data).toMatchObject([
      { id: refund.id, metadata },
    ])
    expect(await stripe.charges.retrieve(latest.id)).toMatchObject({ amount_refunded: 4000, refunded: false })

    await stripe.paymentMethods.detach(method.id)
    expect((await stripe.customers.listPaymentMethods(customer)).data).toEqual([])
    expect(await stripe.paymentMethods.retrieve(method.id)).toMatchObject({ customer: null })
    expect((await refusalOf(stripe.paymentMethods.detach(method.id))).statusCode).toBe(400)
    await stripe.customers.del(customer)
    expect(await stripe.customers.retrieve(customer)).toEqual(expect.objectContaining({ deleted: true }))
    expect((await refusalOf(stripe.customers.del(customer))).statusCode).toBe(404)
  })

  const CODES = [
    'generic_decline',
    'insufficient_funds',
    'stolen_card',
    'expired_card',
    'processing_error',
    'try_again_later',
  ]

  test.each(CODES)('that is refused by %s leaves an intent that wants another card', async (declines) => {
    const card = side.console.addCard('4242424242424242', { declines, advice: 'do_not_try_again' })
    const error = await refusalOf(charge(card))
    expect(error).toBeInstanceOf(Stripe.errors.StripeCardError)
    expect(error).toMatchObject({ statusCode: 402, decline_code: declines, advice_code: 'do_not_try_again' })
    const intent = await stripe.paymentIntents.retrieve(error.payment_intent?.id ?? '')
    expect(intent).toMatchObject({
      ...{ status: 'requires_payment_method', payment_method: null },
      last_payment_error: { type: 'card_error', decline_code: declines },
    })
    expect(await stripe.paymentIntents.cancel(intent.id, { cancellation_reason: 'abandoned' })).toMatchObject({
      ...{ status: 'canceled', cancellation_reason: 'abandoned' },
      last_payment_error: { decline_code: declines },
    })
  })

  test.skipIf(!hasFixtures)('may be refused by each word that Stripe lists (needs ../shared/fixtures)', async () => {
    const file = new URL('../../../shared/fixtures/gateways/stripe/decline-codes.json', import.meta.url)
    const { codes } = JSON.parse(readFileSync(file, 'utf8')) as { codes: object }
    for (const declines of Object.keys(codes))
      expect(await refusalOf(charge(side.console.addCard('4242424242424242', { declines })))).toMatchObject({
        ...{ statusCode: 402, decline_code: declines },
      })
    expect(side.book.charges.size).toBe(Object.keys(codes).length)
  })

  test('that no bank takes is refused when it is stored, and the same intent takes another', async () => {
    const { id: customer } = await stripe.customers.create()
    const { id } = await stripe.setupIntents.create({ customer, ...CARD })
    const error = await refusalOf(stripe.setupIntents.confirm(id, { payment_method: 'pm_card_chargeDeclined' }))
    expect(error).toMatchObject({ statusCode: 402, decline_code: 'generic_decline' })
    expect(await stripe.setupIntents.retrieve(id)).toMatchObject({
      ...{ status: 'requires_payment_method', last_setup_error: { decline_code: 'generic_decline' } },
    })
    expect((await stripe.setupIntents.confirm(id, { payment_method: 'pm_card_visa' })).status).toBe('succeeded')
    expect((await refusalOf(stripe.setupIntents.cancel(id))).code).toBe('setup_intent_unexpected_state')
    const attached = refusalOf(stripe.paymentMethods.attach('pm_card_chargeDeclined', { customer }))
    expect((await attached).raw).toMatchObject({ code: 'card_declined', decline_code: 'generic_decline', param: '' })
  })

  test('that belongs to somebody else, or was removed, is not charged', async () => {
    const [one, two] = [side.console.addCard('4242424242424242'), side.console.addCard('5555555555554444')]
    expect((await refusalOf(charge({ customer: one.customer, method: two.method }))).statusCode).toBe(400)
    side.console.removeCard(one.method)
    expect((await refusalOf(charge(one))).statusCode).toBe(400)
    expect(await refusalOf(charge({ ...one, method: 'pm_1' }))).toMatchObject({
      code: 'resource_missing',
      statusCode: 400,
    })
    expect(await refusalOf(stripe.paymentMethods.retrieve('pm_1'))).toMatchObject({
      code: 'resource_missing',
      statusCode: 404,
    })
    expect(side.book.charges.size).toBe(0)
  })
})

describe('a bank that wants to see the customer', () => {
  test('refuses without them, asks them if they are there, and takes their yes or no', async () => {
    const card = side.console.addCard('4000002760003184')
    expect(await refusalOf(charge(card))).toMatchObject({ statusCode: 402, code: 'authentication_required' })

    const here = { use_stripe_sdk: true, return_url: 'https://example.com/i/1' }
    const intents = []
    for (let count = 0; count < 2; count++) {
      const facts = { amount: 900, currency: 'eur', customer: card.customer, payment_method: card.method, ...CARD }
      const { id } = await stripe.paymentIntents.create(facts)
      expect(await stripe.paymentIntents.confirm(id, here)).toMatchObject({
        ...{ status: 'requires_action', next_action: { type: 'use_stripe_sdk' } },
      })
      intents.push(id)
    }
    const [yes = '', no = ''] = intents
    side.console.answerChallenge(yes, true)
    side.console.answerChallenge(no, false)
    expect((await stripe.paymentIntents.retrieve(yes)).status).toBe('succeeded')
    expect(await stripe.paymentIntents.retrieve(no)).toMatchObject({
      ...{ status: 'requires_payment_method', last_payment_error: { code: 'payment_intent_authentication_failure' } },
    })
  })

  test('is asked once where the card is stored for later, and refuses the money if it wants to', async () => {
    const { id: customer } = await stripe.customers.create()
    const { id } = await stripe.setupIntents.create({ customer, ...CARD })
    await stripe.setupIntents.confirm(id, { payment_method: 'pm_card_authenticationRequiredOnSetup' })
    side.console.answerChallenge(id, true)
    const { payment_method: method } = await stripe.setupIntents.retrieve(id)
    expect((await charge({ customer, method: method as string })).status).toBe('succeeded')
    side.console.letConduct(method as string, { declines: 'insufficient_funds' })
    expect((await refusalOf(charge({ customer, method: method as string }))).decline_code).toBe('insufficient_funds')
  })
})

describe('money that goes back', () => {
  test('is at most what was charged, and nothing of what was charged back', async () => {
    const card = side.console.addCard('4242424242424242')
    const { id } = await charge(card)
    expect((await refusalOf(stripe.refunds.create({ payment_intent: id, amount: 11_501 }))).param).toBe('amount')
    side.console.refund(id)
    expect((await refusalOf(stripe.refunds.create({ payment_intent: id }))).code).toBe('charge_already_refunded')
    const { id: other } = await charge(card)
    side.console.dispute(other)
    expect((await refusalOf(stripe.refunds.create({ payment_intent: other }))).code).toBe('charge_disputed')
  })

  test('is given back at the console ten days later, whole or half, or the card is removed, by the numbers of the sandbox', async () => {
    const [whole, half, gone] = ['4000000000003162', '4000000000005563', '4000000000006116'].map((number) =>
      side.console.addCard(number),
    )
    const charges = [await charge(whole!), await charge(half!, 901), await charge(gone!)]
    simulator.advance(10 * 86_400)
    const refunds = await Promise.all(charges.map(({ id }) => stripe.refunds.list({ payment_intent: id })))
    expect(refunds.map(({ data }) => data.map(({ amount, metadata }) => [amount, metadata]))).toEqual([
      ...[[[11_500, {}]], [[450, {}]], []],
    ])
    expect((await stripe.paymentMethods.retrieve(gone!.method)).customer).toBeNull()
  })

  test('may be pending, and may fail after it succeeded', async () => {
    const { id: late } = await charge(side.console.addCard('4000000000007726'))
    const { id: failing } = await charge(side.console.addCard('4000000000005126'))
    const [one, two] = [
      await stripe.refunds.create({ payment_intent: late }),
      await stripe.refunds.create({ payment_intent: failing, amount: 500 }),
    ]
    expect([one.status, two.status]).toEqual(['pending', 'succeeded'])
    simulator.advance(86_400)
    expect((await stripe.refunds.retrieve(one.id)).status).toBe('succeeded')
    expect(await stripe.refunds.retrieve(two.id)).toMatchObject({ status: 'failed', failure_reason: 'unknown' })
    const { latest_charge: left } = await stripe.paymentIntents.retrieve(failing, { expand: ['latest_charge'] })
    expect(left).toMatchObject({ amount_refunded: 0, refunded: false })
  })

  test('is withdrawn in a dispute, reinstated in part, won, and lost again, each movement by itself', async () => {
    const { id } = await charge(side.console.addCard('4242424242424242'))
    const { id: dispute } = side.console.dispute(id, { amount: 6000, rate: 1.1, reason: 'product_not_received' })
    side.console.reinstate(dispute, 3000, 1.08)
    side.console.win(dispute, { amount: 3000, rate: 1.2 })
    side.console.withdraw(dispute)
    const [found] = (await stripe.disputes.list({ payment_intent: id })).data
    expect(found).toMatchObject({
      amount: 6000,
      currency: 'eur',
      status: 'needs_response',
      reason: 'product_not_received',
    })
    expect(found?.balance_transactions.map(({ amount, currency }) => `${amount} ${currency}`)).toEqual([
      ...['-6600 usd', '3240 usd', '3600 usd', '-6000 eur'],
    ])
    expect((await stripe.charges.list({ payment_intent: id })).data).toMatchObject([{ disputed: true }])
  })

  test('does not move by an enquiry', async () => {
    const { id } = await charge(side.console.addCard('4000000000001976'))
    const [found] = (await stripe.disputes.list({ payment_intent: id })).data
    expect(found).toMatchObject({ status: 'warning_needs_response', balance_transactions: [] })
    side.console.closeEnquiry(found?.id ?? '')
    expect((await stripe.refunds.create({ payment_intent: id })).status).toBe('succeeded')
  })

  test('waits while a charge is processing', async () => {
    const card = side.console.addCard('4242424242424242', { settlesLater: true })
    const [one, two] = [await charge(card), await charge(card)]
    expect(one.status).toBe('processing')
    side.console.settle(one.id, true)
    side.console.settle(two.id, false)
    expect((await stripe.paymentIntents.retrieve(one.id)).status).toBe('succeeded')
    expect((await stripe.paymentIntents.retrieve(two.id)).last_payment_error?.code).toBe('card_declined')
  })
})

describe('an idempotency key', () => {
  test('gives the same answer again, that of a 500 and of a refusal too, for a day', async () => {
    const card = side.console.addCard('4242424242424242')
    const { id } = await charge(card)
    const refund = (key: string) => stripe.refunds.create({ payment_intent: id, amount: 100 }, { idempotencyKey: key })
    const first = await refund('one')
    const again = await refund('one')
    expect(again.id).toBe(first.id)
    expect(again.lastResponse.headers['idempotent-replayed']).toBe('true')

    simulator.faults.add({ kind: '500 after', on: 'POST /v1/refunds' })
    expect((await refusalOf(refund('two'))).statusCode).toBe(500)
    expect((await refusalOf(refund('two'))).statusCode).toBe(500)
    expect(side.book.refunds.size).toBe(2)

    simulator.advance(86_400)
    expect((await refund('two')).lastResponse.headers['idempotent-replayed']).toBeUndefined()
    expect(side.book.refunds.size).toBe(3)
  })

  test('is for one request: 400 with another body, 409 while the first still runs', async () => {
    const { id } = await charge(side.console.addCard('4242424242424242'))
    const refund = (amount: number) => stripe.refunds.create({ payment_intent: id, amount }, { idempotencyKey: 'key' })
    let goOn: (() => void) | undefined
    const until = new Promise<void>((resolve) => (goOn = resolve))
    simulator.faults.add({ kind: 'late', until, on: 'POST /v1/refunds' })
    const slow = refund(100)
    await expect.poll(() => simulator.sent.at(-1)?.call).toBe('POST /v1/refunds')
    expect(await refusalOf(refund(100))).toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' })
    goOn?.()
    expect((await slow).status).toBe('succeeded')
    expect(await refusalOf(refund(200))).toBeInstanceOf(Stripe.errors.StripeIdempotencyError)
    expect(side.book.refunds.size).toBe(1)
  })

  test('that was refused for its form was never used', async () => {
    const { id } = await charge(side.console.addCard('4242424242424242'))
    const refund = (reason: string) =>
      stripe.refunds.create({ payment_intent: id, reason } as never, { idempotencyKey: 'key' })
    expected = [/reason must be equal to one of the allowed values/]
    expect((await refusalOf(refund('wish'))).statusCode).toBe(400)
    expect((await refund('duplicate')).status).toBe('succeeded')
  })
})

describe('a key', () => {
  test('that is unknown, revoked or publishable is refused', async () => {
    const refusals = [await refusalOf(clientOf('sk_test_1').accounts.retrieveCurrent())]
    refusals.push(await refusalOf(clientOf(side.publishableKey).accounts.retrieveCurrent()))
    simulator.revoke(side.secretKey)
    refusals.push(await refusalOf(stripe.accounts.retrieveCurrent()))
    expect(refusals.map(({ statusCode }) => statusCode)).toEqual([401, 401, 401])
    expect(refusals.every((one) => one instanceof Stripe.errors.StripeAuthenticationError)).toBe(true)
    expect(refusals.map(({ message }) => message).join(' ')).not.toContain(side.secretKey)
  })

  test('sees the book of its account and mode alone', async () => {
    const card = side.console.addCard('4242424242424242')
    expect((await stripe.accounts.retrieveCurrent()).id).toBe(account.id)
    for (const key of [account.live.secretKey, simulator.openAccount().test.secretKey]) {
      const error = await refusalOf(clientOf(key).paymentMethods.retrieve(card.method))
      expect(error).toMatchObject({ statusCode: 404, code: 'resource_missing' })
    }
  })

  test('that is restricted may do what it may, and a refusal names the permission', async () => {
    const restricted = clientOf(simulator.restrict(side, ['write Customers', 'read Events']))
    const { id } = await restricted.customers.create()
    expect((await restricted.customers.retrieve(id)).id).toBe(id)
    expect((await restricted.events.list()).data).toHaveLength(1)
    const error = await refusalOf(restricted.setupIntents.create({ customer: id, ...CARD }))
    expect(error).toBeInstanceOf(Stripe.errors.StripePermissionError)
    expect(error.message).toContain('rak_setup_intent_write')
  })
})

describe('events', () => {
  test('are listed the newest first, upwards from a cursor, downwards and by time', async () => {
    const { method } = side.console.addCard('4242424242424242')
    for (let count = 0; count < 250; count++) {
      side.console.renewCard(method, 2030 + count)
      if (count % 50 === 0) simulator.advance(3600)
    }
    const types = ['payment_method.automatically_updated']
    const all = (await stripe.events.list({ types, limit: 100 }).autoPagingToArray({ limit: 1000 })).toReversed()
    expect(all).toHaveLength(250)
    expect(all.map(yearOf)).toEqual(all.map((_, count) => 2030 + count))

    const upwards = []
    let cursor = all[9]?.id ?? ''
    for (let more = true; more;) {
      const page = await stripe.events.list({ types, limit: 100, ending_before: cursor })
      upwards.push(...page.data.toReversed())
      cursor = page.data[0]?.id ?? cursor
      more = page.has_more
    }
    expect(upwards.map(({ id }) => id)).toEqual(all.slice(10).map(({ id }) => id))

    const since = all[200]?.created ?? 0
    const late = await stripe.events.list({ types, created: { gte: since }, limit: 100 })
    expect(late.data.map(({ created }) => created).toSorted()[0]).toBe(since)
    expect(late.data[0]?.id).toBe(all.at(-1)?.id)
  })

  test('are forgotten after 30 days, also as a cursor', async () => {
    const { method } = side.console.addCard('4242424242424242')
    const [old] = (await stripe.events.list({ limit: 1 })).data
    simulator.advance(30 * 86_400 + 1)
    side.console.renewCard(method, 2031)
    expect((await stripe.events.list()).data).toHaveLength(1)
    expect((await refusalOf(stripe.events.list({ ending_before: old?.id ?? '' }))).code).toBe('resource_missing')
  })

  test('name the request that they come from, and none at the console', async () => {
    const { id } = await charge(side.console.addCard('4242424242424242'))
    await stripe.refunds.create({ payment_intent: id, amount: 1 }, { idempotencyKey: 'key' })
    side.console.refund(id, 1)
    const { data } = await stripe.events.list({ type: 'refund.created' })
    expect(data.map(({ request }) => request)).toEqual([
      { id: null, idempotency_key: null },
      { id: expect.stringMatching(/^req_/), idempotency_key: 'key' },
    ])
  })

  const yearOf = ({ data }: Stripe.Event) => (data.object as Stripe.PaymentMethod).card?.exp_year
})

describe('webhooks', () => {
  test('are signed as the official client wants it, and come doubled, shuffled, late or never', async () => {
    const received: { body: string; signature: string }[] = []
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        received.push({ body, signature: String(request.headers['stripe-signature']) })
        response.end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      side.webhooks.addressOf = () => `http://127.0.0.1:${port}`
      const wanted: Stripe.WebhookEndpointCreateParams.EnabledEvent[] = ['payment_intent.succeeded', 'charge.refunded']
      const made = await stripe.webhookEndpoints.create({ url: 'https://example.com/hook', enabled_events: wanted })
      const { id } = await charge(side.console.addCard('4242424242424242'))
      side.console.refund(id, 100)
      expect(await side.webhooks.deliver({ isShuffled: true, isTwice: true })).toEqual([200, 200, 200, 200])
      side.console.refund(id, 100)
      side.webhooks.lose()
      expect(await side.webhooks.deliver()).toEqual([])
      const events = received.map(({ body, signature }) =>
        stripe.webhooks.constructEvent(body, signature, made.secret ?? ''),
      )
      expect(events.map(({ type }) => type)).toEqual([
        ...['charge.refunded', 'charge.refunded', 'payment_intent.succeeded', 'payment_intent.succeeded'],
      ])
      const [{ body } = { body: '' }] = received
      const second = Math.floor(Date.now() / 1000)
      const theirs = stripe.webhooks.generateTestHeaderString({ payload: body, secret: 'whsec_1', timestamp: second })
      expect(signatureOf(body, 'whsec_1', second)).toBe(theirs)
    } finally {
      server.close()
    }
  })

  test('have endpoints, whose secret is answered once', async () => {
    const facts = { url: 'https://example.com/hook', metadata: { perennial: 'scope' } }
    const made = await stripe.webhookEndpoints.create({ ...facts, enabled_events: ['refund.failed'] })
    expect(made.secret).toMatch(/^whsec_/)
    const { data } = await stripe.webhookEndpoints.list({ limit: 100 })
    expect(data).toMatchObject([{ id: made.id, ...facts, enabled_events: ['refund.failed'] }])
    expect(data[0]).not.toHaveProperty('secret')
    expect(await stripe.webhookEndpoints.update(made.id, { disabled: true })).toMatchObject({ status: 'disabled' })
    expect(await stripe.webhookEndpoints.del(made.id)).toMatchObject({ deleted: true })
    expect((await stripe.webhookEndpoints.list()).data).toEqual([])
  })
})

describe('a fault', () => {
  test.each([
    ['cut in the request', 0],
    ['cut before', 0],
    ['cut after', 1],
    ['cut in the answer', 1],
    ['429', 0],
    ['409 in use', 0],
    ['400 to everything', 0],
    ['500 before', 0],
    ['500 after', 1],
    ['502', 0],
    ['503', 0],
    ['HTML before', 0],
    ['HTML after', 1],
    ['redirect', 0],
  ] as const)('such as "%s" is no answer to a confirmation, and leaves %i charges', async (kind, charges) => {
    const card = side.console.addCard('4242424242424242')
    // The client sends a request again once if its connection ended without an answer, whatever it is allowed.
    simulator.faults.add({ kind, on: 'POST /v1/payment_intents/*/confirm', times: 2 })
    await expect(charge(card)).rejects.toThrow()
    expect(side.book.charges.size).toBe(charges)
    simulator.faults.clear()
    expect((await charge(card)).status).toBe('succeeded')
  })

  test('answers the object of another, another amount or currency, and 2 MiB', async () => {
    const card = side.console.addCard('4242424242424242')
    const on = 'POST /v1/payment_intents/*/confirm'
    for (const kind of ['another object', 'another amount', 'another currency', '2 MiB'] as const)
      simulator.faults.add({ kind, on })
    const answers = [await charge(card), await charge(card), await charge(card), await charge(card)]
    expect(answers.map(({ id }) => side.book.intents.has(id))).toEqual([false, true, true, true])
    expect(answers.map(({ amount, currency }) => `${amount} ${currency}`)).toEqual([
      ...['11500 eur', '1 eur', '11500 chf', '11500 eur'],
    ])
    expect(side.book.charges.size).toBe(4)
  })

  test('is none that every request takes its time', async () => {
    simulator.latency = 30
    const before = performance.now()
    await stripe.accounts.retrieveCurrent()
    expect(performance.now() - before).toBeGreaterThanOrEqual(29)
  })

  test('hangs for as long as the caller waits, before or after the request is done', async () => {
    const card = side.console.addCard('4242424242424242')
    const impatient = clientOf(side.secretKey, { timeout: 100 })
    const { id } = await stripe.paymentIntents.create({
      ...{ amount: 900, currency: 'eur', customer: card.customer, payment_method: card.method, ...CARD },
    })
    simulator.faults.add({ kind: 'hang before', on: 'POST /v1/payment_intents/*/confirm' })
    simulator.faults.add({ kind: 'hang after', on: 'POST /v1/payment_intents/*/confirm', after: 0 })
    await expect(impatient.paymentIntents.confirm(id)).rejects.toThrow('timeout')
    expect(side.book.charges.size).toBe(0)
    await expect(impatient.paymentIntents.confirm(id)).rejects.toThrow('timeout')
    expect(side.book.charges.size).toBe(1)
  })

  test('refuses connections until it is there again, with its books', async () => {
    const card = side.console.addCard('4242424242424242')
    await simulator.stop()
    await expect(charge(card)).rejects.toBeInstanceOf(Stripe.errors.StripeConnectionError)
    await simulator.resume()
    expect((await charge(card)).status).toBe('succeeded')
  })
})

describe('a request that is not ours', () => {
  test('is refused and written down: another version, an unknown name, another path, a card number', async () => {
    expected = [
      /Stripe-Version is 2020-08-27/,
      /unknown parameter: capture$|properties capture$/,
      /GET \/v1\/balance/,
      /a card number is never sent$/,
    ]
    const old = clientOf(side.secretKey, { apiVersion: '2020-08-27' as never })
    expect((await refusalOf(old.customers.create())).statusCode).toBe(400)
    const unknown = { amount: 900, currency: 'eur', capture: 'true', ...CARD } as Stripe.PaymentIntentCreateParams
    expect(await refusalOf(stripe.paymentIntents.create(unknown))).toMatchObject({
      code: 'parameter_unknown',
      param: 'capture',
    })
    expect((await refusalOf(stripe.balance.retrieve())).statusCode).toBe(404)
    const number = { number: '4242424242424242', exp_month: 12, exp_year: 2031 }
    expect((await refusalOf(stripe.paymentMethods.create({ type: 'card', card: number }))).statusCode).toBe(402)
    expect(simulator.problems.filter((problem) => !problem.includes('second judge'))).toHaveLength(4)
  })

  test('is written down where it names the payer, or has a number of a card', async () => {
    await stripe.customers.create({ email: 'ada@example.com', description: 'card 4242 4242 4242 4242' })
    expect(simulator.problems.splice(0)).toEqual([
      'POST /v1/customers: email is never sent',
      'POST /v1/customers: a card number is never sent',
    ])
    expect((await stripe.customers.create({ description: 'Customer 4242424242424243' })).object).toBe('customer')
  })

  test('has its facts in one place: the body of a POST, else the query', async () => {
    const headers = { authorization: `Bearer ${side.secretKey}`, 'stripe-version': '2026-10-28.endive' }
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const post = await fetch(`${simulator.address}/v1/customers?name=Ada`, {
      method: 'POST',
      headers: { ...headers, ...type },
    })
    const { id } = await stripe.customers.create()
    const removed = await fetch(`${simulator.address}/v1/customers/${id}?reason=gone`, { method: 'DELETE', headers })
    expect([post.status, removed.status]).toEqual([400, 400])
    expect(simulator.problems.splice(0)).toEqual([
      expect.stringContaining('has a query and a body'),
      expect.stringContaining('unknown parameter: reason'),
    ])
  })

  test('has amounts within the bounds', async () => {
    const create = (amount: number) => refusalOf(stripe.paymentIntents.create({ amount, currency: 'usd', ...CARD }))
    expect((await create(49)).code).toBe('amount_too_small')
    expect((await create(100_000_000)).code).toBe('amount_too_large')
  })
})

test('an intent that ended is neither confirmed nor cancelled: the refusal has it', async () => {
  const { id } = await charge(side.console.addCard('4242424242424242'))
  for (const refusal of [refusalOf(stripe.paymentIntents.confirm(id)), refusalOf(stripe.paymentIntents.cancel(id))])
    expect(await refusal).toMatchObject({
      ...{ code: 'payment_intent_unexpected_state', payment_intent: { id, status: 'succeeded' } },
    })
})

test('is started by hand, and has a console in the terminal', () => {
  const program = new URL('run.ts', import.meta.url).pathname
  const { stdout, status } = spawnSync(process.execPath, ['--import', 'tsx', program, 'stripe', '0'], {
    ...{ input: 'card\nrefund pi_1\nproblems\n', encoding: 'utf8' },
  })
  expect(status).toBe(0)
  expect(stdout).toMatch(/GATEWAY_ENDPOINTS="stripe=http:\/\/127\.0\.0\.1:\d+"\n {2}SecretKey +sk_test_\w{24}\n/)
  expect(stdout).toMatch(/\ncus_\w{24}\/pm_\w{24}\nNo such payment_intent: 'pi_1'\nnone\n$/)
})
