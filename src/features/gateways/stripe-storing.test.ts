import { describe, expect, test } from 'vitest'
import type { StoringToBegin } from './storing.ts'
import { newCall, refusal, scripted, SCOPE } from './stripe.testing.ts'

/** Storing cards by Stripe's own fields: what is asked, and what is believed of the answers. */

const REFERENCE = 'Qm3kz0aXw1YbQm3kz0aXw1Yb'
const NAME = 'seti_1'
const STORING = { reference: REFERENCE, gatewayReference: NAME, sentAt: null }
const NEW: StoringToBegin = { ...STORING, gatewayReference: null, payer: null, besideToken: null, isForLater: true }

const intent = (fields: object = {}) => ({
  id: NAME,
  client_secret: `${NAME}_secret_1`,
  customer: 'cus_1',
  metadata: { perennial: `${SCOPE}/card/${REFERENCE}` },
  status: 'requires_payment_method',
  last_setup_error: null,
  ...fields,
})
const CARD = { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2031, fingerprint: 'fp' }
const METHOD = { id: 'pm_1', type: 'card', customer: 'cus_1', card: CARD, billing_details: { name: 'Ada Lovelace' } }
const gone = refusal(404, { type: 'invalid_request_error', code: 'resource_missing' })
const over = refusal(400, { type: 'invalid_request_error', code: 'setup_intent_unexpected_state' })

describe('beginning', () => {
  test('makes a customer without a name, and an intent for cards alone', async () => {
    const { adapter, requests } = scripted(({ what }) => [200, what.endsWith('customers') ? { id: 'cus_1' } : intent()])
    const begun = await adapter.beginStore(newCall(), NEW)
    const client = { publishableKey: 'pk_test_1', clientSecret: `${NAME}_secret_1` }
    expect(begun).toEqual({ kind: 'begun', gatewayReference: NAME, client })
    expect(requests.map(({ what, form }) => [what, form])).toEqual([
      ['POST /v1/customers', { 'metadata[perennial]': `${SCOPE}/card/${REFERENCE}`, description: 'Capture session' }],
      [
        'POST /v1/setup_intents',
        {
          ...{ customer: 'cus_1', usage: 'off_session', 'allowed_payment_method_types[0]': 'card' },
          'metadata[perennial]': `${SCOPE}/card/${REFERENCE}`,
        },
      ],
    ])
  })

  test('uses the customer of a card that the payer has there, unless Stripe has deleted that', async () => {
    const { adapter, whats, requests } = scripted(({ what, form }) => {
      if (what.endsWith('customers')) return [200, { id: 'cus_2' }]
      return form['customer'] === 'cus_1' ? gone : [200, intent()]
    })
    const begun = await adapter.beginStore(newCall(), { ...NEW, besideToken: 'cus_1/pm_9', isForLater: false })
    expect(begun.kind).toBe('begun')
    expect(whats()).toEqual(['POST /v1/setup_intents', 'POST /v1/customers', 'POST /v1/setup_intents'])
    expect(requests.at(-1)?.form).toMatchObject({ customer: 'cus_2', usage: 'on_session' })
  })

  test('takes up what is open, answers what is stored, and begins anew what was cancelled', async () => {
    const statusIs = (status: string) =>
      scripted(({ what }) => {
        if (what.endsWith('customers')) return [200, { id: 'cus_1' }]
        if (what.startsWith('POST')) return [200, intent({ id: 'seti_2' })]
        return [200, intent({ status, payment_method: status === 'succeeded' ? METHOD : null })]
      }).adapter.beginStore(newCall(), { ...NEW, gatewayReference: NAME })
    expect(await statusIs('requires_action')).toMatchObject({ kind: 'begun', gatewayReference: NAME })
    expect(await statusIs('succeeded')).toMatchObject({ kind: 'stored', token: 'cus_1/pm_1' })
    expect(await statusIs('canceled')).toMatchObject({ kind: 'begun', gatewayReference: 'seti_2' })
  })

  test('gives nothing to a page of an intent that is not its own', async () => {
    const foreign = intent({ metadata: { perennial: `${SCOPE}/card/other` } })
    const { adapter } = scripted(({ what }) => [200, what.endsWith('customers') ? { id: 'cus_1' } : foreign])
    expect(await adapter.beginStore(newCall(), NEW)).toEqual({ kind: 'unknown' })
  })
})

describe('asking what was stored', () => {
  const found = (fields: object) => scripted(() => [200, intent(fields)]).adapter.findStored(newCall(), STORING)

  test.each([
    ['succeeded', { payment_method: METHOD }, 'stored'],
    ['canceled', {}, 'none'],
    ['requires_payment_method', {}, 'unknown'],
    ['requires_payment_method', { last_setup_error: { code: 'card_declined', message: 'No.' } }, 'declined'],
    ['requires_action', {}, 'unknown'],
    ['processing', {}, 'unknown'],
    ['succeeded', { payment_method: METHOD, metadata: {} }, 'unknown'],
    ['succeeded', { payment_method: METHOD, id: 'seti_9' }, 'unknown'],
    ['succeeded', { payment_method: 'pm_1' }, 'unknown'],
  ])('%s with %j is %s: %#', async (status, fields, kind) => {
    expect((await found({ status, ...fields })).kind).toBe(kind)
  })

  test('asks nobody without a kept name: nothing was begun', async () => {
    const { adapter, whats } = scripted(() => gone)
    expect(await adapter.findStored(newCall(), { ...STORING, gatewayReference: null })).toEqual({ kind: 'none' })
    expect(whats()).toEqual([])
    // A kept name that Stripe does not know may be of another account there.
    expect((await adapter.findStored(newCall(), STORING)).kind).toBe('unknown')
  })
})

describe('ending', () => {
  test('cancels, and deletes the customer that was made for it', async () => {
    const ours = { id: 'cus_1', metadata: { perennial: `${SCOPE}/card/${REFERENCE}` } }
    const { adapter, whats } = scripted(({ what }) => {
      if (what.endsWith('cancel')) return [200, intent({ status: 'canceled' })]
      return [200, what.endsWith('payment_methods') ? { data: [] } : ours]
    })
    expect(await adapter.endStore(newCall(), STORING)).toEqual({ kind: 'none' })
    expect(whats()).toEqual([
      'POST /v1/setup_intents/seti_1/cancel',
      ...['GET /v1/customers/cus_1', 'GET /v1/customers/cus_1/payment_methods', 'DELETE /v1/customers/cus_1'],
    ])
  })

  test('answers the card where one was stored meanwhile, and nothing where nobody knows', async () => {
    const stored = scripted(({ what }) =>
      what.endsWith('cancel') ? over : [200, intent({ status: 'succeeded', payment_method: METHOD })],
    )
    expect(await stored.adapter.endStore(newCall(), STORING)).toMatchObject({ kind: 'stored', lastFour: '4242' })
    const silent = scripted(() => ({ kind: 'unknown', reason: 'cut' }))
    expect(await silent.adapter.endStore(newCall(), STORING)).toEqual({ kind: 'unknown' })
    const away = scripted(() => ({ kind: 'not_sent', reason: 'dns' }))
    expect(await away.adapter.endStore(newCall(), STORING)).toEqual({ kind: 'not_sent' })
  })
})
