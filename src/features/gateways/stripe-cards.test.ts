import { describe, expect, test } from 'vitest'
import { newCall, refusal, SCOPE, scripted } from './stripe.testing.ts'

const GONE = refusal(404, { type: 'invalid_request_error', code: 'resource_missing' })
const method = (fields: object = {}) => ({
  id: 'pm_1',
  type: 'card',
  customer: 'cus_1',
  billing_details: { name: 'Ada Lovelace' },
  card: { brand: 'amex', last4: '0005', exp_month: 8, exp_year: 2030, fingerprint: 'F1' },
  ...fields,
})
const STORED = {
  kind: 'stored',
  token: 'cus_1/pm_1',
  fingerprint: 'F1',
  cardType: 'American Express',
  lastFour: '0005',
  expiryMonth: 8,
  expiryYear: 2030,
  holderName: 'Ada Lovelace',
}

type Answers = Record<string, ReturnType<Parameters<typeof scripted>[0]>>
const answering = (answers: Answers) => scripted(({ what }) => answers[what] ?? GONE)

describe('a stored card', () => {
  test.each([
    ['a card of its customer', [200, method()], STORED],
    [
      'of another brand',
      [200, method({ card: { ...method().card, brand: 'new' } })],
      { ...STORED, cardType: 'Unknown' },
    ],
    ['detached', [200, method({ customer: null })], { kind: 'none' }],
    ["another's", [200, method({ customer: 'cus_2' })], { kind: 'none' }],
    ['no card', [200, method({ type: 'sepa_debit' })], { kind: 'none' }],
    ['gone', GONE, { kind: 'none' }],
    ['not answered', [500, {}], { kind: 'unknown' }],
    ['not reached', { kind: 'not_sent', reason: 'ENOTFOUND' }, { kind: 'not_sent' }],
  ] as const)('is asked about: %s', async (_what, answer, found) => {
    const { adapter } = answering({ 'GET /v1/payment_methods/pm_1': answer })
    expect(await adapter.askStored(newCall(), 'cus_1/pm_1')).toEqual(found)
  })

  test('of a token that is none of Stripe is none, without a call', async () => {
    const { adapter, requests } = answering({})
    expect(await adapter.askStored(newCall(), 'never stored')).toEqual({ kind: 'none' })
    expect(await adapter.removeStored(newCall(), 'never stored')).toEqual({ kind: 'removed' })
    expect(requests).toEqual([])
  })
})

describe('removing a card', () => {
  const DETACH = 'POST /v1/payment_methods/pm_1/detach'
  const CUSTOMER = 'GET /v1/customers/cus_1'
  const LIST = 'GET /v1/customers/cus_1/payment_methods'
  const DELETE = 'DELETE /v1/customers/cus_1'
  const ofOurs = [200, { id: 'cus_1', metadata: { perennial: `${SCOPE}/card/x` } }] as const
  const empty = [200, { data: [] }] as const
  const removed = { kind: 'removed' }

  test('deletes a customer that we made once it has none left, and no other', async () => {
    const last = answering({ [DETACH]: [200, {}], [CUSTOMER]: ofOurs, [LIST]: empty, [DELETE]: [200, {}] })
    expect(await last.adapter.removeStored(newCall(), 'cus_1/pm_1')).toEqual(removed)
    expect(last.whats()).toEqual([DETACH, CUSTOMER, LIST, DELETE])
    const more = answering({ [DETACH]: [200, {}], [CUSTOMER]: ofOurs, [LIST]: [200, { data: [method()] }] })
    expect(await more.adapter.removeStored(newCall(), 'cus_1/pm_1')).toEqual(removed)
    expect(more.whats()).toEqual([DETACH, CUSTOMER, LIST])
    const others = answering({ [DETACH]: [200, {}], [CUSTOMER]: [200, { id: 'cus_1', metadata: {} }] })
    expect(await others.adapter.removeStored(newCall(), 'cus_1/pm_1')).toEqual(removed)
    expect(others.whats()).toEqual([DETACH, CUSTOMER])
  })

  test('that is not there, or attached to nobody, is removed; any other answer is none', async () => {
    const gone = answering({})
    expect(await gone.adapter.removeStored(newCall(), 'cus_1/pm_1')).toEqual(removed)
    const odd = refusal(400, { type: 'invalid_request_error', message: 'not attached' })
    const detached = answering({ [DETACH]: odd, 'GET /v1/payment_methods/pm_1': [200, method({ customer: null })] })
    expect(await detached.adapter.removeStored(newCall(), 'cus_1/pm_1')).toEqual(removed)
    const there = answering({ [DETACH]: odd, 'GET /v1/payment_methods/pm_1': [200, method()] })
    expect(await there.adapter.removeStored(newCall(), 'cus_1/pm_1')).toMatchObject({ kind: 'not_sent' })
    const silent = answering({ [DETACH]: { kind: 'unknown', reason: 'ECONNRESET' } })
    expect(await silent.adapter.removeStored(newCall(), 'cus_1/pm_1')).toEqual({ kind: 'unknown' })
  })
})

describe('a token of others', () => {
  const customer = (fields: object) => [200, { id: 'cus_1', ...fields }] as const
  const READ = 'GET /v1/payment_methods/pm_1'
  const CUSTOMER = 'GET /v1/customers/cus_1'
  const LIST = 'GET /v1/customers/cus_1/payment_methods'
  const card = [200, method()] as const

  test.each<[string, string, Answers, object]>([
    ['a customer and a card', 'cus_1/pm_1', { [READ]: card }, STORED],
    ['a card', 'pm_1', { [READ]: card }, STORED],
    [
      'an older card',
      'card_1',
      { 'GET /v1/payment_methods/card_1': [200, method({ id: 'card_1' })] },
      { ...STORED, token: 'cus_1/card_1' },
    ],
    [
      'a customer with a default for invoices',
      'cus_1',
      {
        [CUSTOMER]: customer({ invoice_settings: { default_payment_method: 'pm_1' }, default_source: 'card_2' }),
        [READ]: card,
      },
      STORED,
    ],
    [
      'a customer with a default source',
      'cus_1',
      { [CUSTOMER]: customer({ default_source: 'pm_1' }), [READ]: card },
      STORED,
    ],
    ['a customer with one card', 'cus_1', { [CUSTOMER]: customer({}), [LIST]: [200, { data: [method()] }] }, STORED],
    [
      'a customer with several',
      'cus_1',
      { [CUSTOMER]: customer({}), [LIST]: [200, { data: [method(), method()] }] },
      { kind: 'ambiguous' },
    ],
    ['a customer with none', 'cus_1', { [CUSTOMER]: customer({}), [LIST]: [200, { data: [] }] }, { kind: 'none' }],
    ['a customer who was deleted', 'cus_1', { [CUSTOMER]: customer({ deleted: true }) }, { kind: 'none' }],
    ['something else', 'src_1', {}, { kind: 'none' }],
    ['a path', 'pm_1/../x', {}, { kind: 'none' }],
    ['nobody', 'cus_9', {}, { kind: 'none' }],
    ['silence', 'cus_1', { [CUSTOMER]: [502, {}] }, { kind: 'unknown' }],
  ])('is %s', async (_what, token, answers, found) => {
    expect(await answering(answers).adapter.findToken(newCall(), token)).toEqual(found)
  })
})
