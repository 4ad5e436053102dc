import { describe, expect, test } from 'vitest'
import type { AskedCharge, Refund } from './contract.ts'
import { newCall, NOW_S, refusal, SCOPE, scripted } from './stripe.testing.ts'

const charge: AskedCharge = {
  reference: '9.a',
  token: null,
  amountMinor: 11500n,
  currency: 'USD',
  gatewayReference: 'pi_1',
  sentAt: null,
}
const asked = (fields: Partial<Refund> = {}): Refund => ({
  reference: '3.b',
  charge,
  amountMinor: 4000n,
  currency: 'USD',
  gatewayReference: null,
  sentAt: '2027-01-31T11:55:00.000Z',
  ...fields,
})
const NAME = `${SCOPE}/refund/3.b`
const refund = (status: string, fields: object = {}) => ({
  id: 're_1',
  status,
  amount: 4000,
  currency: 'usd',
  payment_intent: 'pi_1',
  created: NOW_S,
  metadata: { perennial: NAME },
  ...fields,
})
const listed = (...data: object[]) => [200, { data, has_more: false }] as const
const ERROR = { type: 'invalid_request_error' }

describe('a refund', () => {
  test('has a key of its own that never changes', async () => {
    const { adapter, requests } = scripted(() => [200, refund('succeeded')])
    const done = { kind: 'succeeded', gatewayReference: 're_1', on: '2027-01-31' }
    expect(await adapter.refund(newCall(), asked())).toEqual(done)
    expect(await adapter.refund(newCall(), asked())).toEqual(done)
    for (const request of requests)
      expect(request).toMatchObject({
        what: 'POST /v1/refunds',
        key: NAME,
        form: {
          payment_intent: 'pi_1',
          amount: '4000',
          reason: 'requested_by_customer',
          'metadata[perennial]': NAME,
        },
      })
  })

  test.each([
    [[200, refund('pending')], { kind: 'pending', gatewayReference: 're_1' }],
    [[200, refund('requires_action')], { kind: 'pending' }],
    [
      [200, refund('failed', { failure_reason: 'lost_or_stolen_card' })],
      { kind: 'declined', code: 'lost_or_stolen_card' },
    ],
    [[200, refund('canceled')], { kind: 'declined', code: 'canceled' }],
    [[200, refund('something')], { kind: 'unknown' }],
    [[200, refund('succeeded', { amount: 4001 })], { kind: 'unknown', mismatch: expect.any(String) }],
    [[200, refund('succeeded', { currency: 'eur' })], { kind: 'unknown', mismatch: expect.any(String) }],
    [[200, refund('succeeded', { payment_intent: 'pi_2' })], { kind: 'unknown', mismatch: expect.any(String) }],
    [
      refusal(400, { ...ERROR, code: 'charge_already_refunded' }),
      { kind: 'declined', code: 'charge_already_refunded' },
    ],
    [refusal(400, { ...ERROR, code: 'charge_disputed' }), { kind: 'declined', class: 'declined' }],
    [refusal(400, { ...ERROR, param: 'amount', message: 'Too large' }), { kind: 'declined', class: 'declined' }],
    [refusal(404, { ...ERROR, code: 'resource_missing' }), { kind: 'declined' }],
    [[500, {}], { kind: 'unknown' }],
    [{ kind: 'unknown', reason: 'ECONNRESET' }, { kind: 'unknown' }],
    [{ kind: 'not_sent', reason: 'ECONNREFUSED' }, { kind: 'not_sent' }],
    [
      refusal(403, { message: "needs 'rak_charge_write'" }),
      { kind: 'not_sent', refused: { code: 'rak_charge_write' } },
    ],
  ] as const)('answered by %j is %j', async (answer, outcome) => {
    const { adapter, requests } = scripted(() => answer)
    expect(await adapter.refund(newCall(), asked())).toMatchObject(outcome)
    expect(requests).toHaveLength(1)
  })

  test('whose key was used with other facts is what Stripe has under its name', async () => {
    const reused = refusal(400, { type: 'idempotency_error' })
    const there = scripted(({ what }) => (what.startsWith('POST') ? reused : listed(refund('succeeded'))))
    expect(await there.adapter.refund(newCall(), asked())).toMatchObject({ kind: 'succeeded' })
    const nowhere = scripted(({ what }) => (what.startsWith('POST') ? reused : listed()))
    expect(await nowhere.adapter.refund(newCall(), asked({ sentAt: null }))).toEqual({ kind: 'unknown' })
  })

  test('of a charge without a name, or of an amount that does not divide, is declined without a call', async () => {
    const { adapter, requests } = scripted(() => [200, {}])
    const nameless = asked({ charge: { ...charge, gatewayReference: null } })
    expect(await adapter.refund(newCall(), nameless)).toMatchObject({ kind: 'declined' })
    const odd = asked({ currency: 'KWD', amountMinor: 1n })
    expect(await adapter.refund(newCall(), odd)).toMatchObject({ kind: 'declined', class: 'format' })
    expect(requests).toEqual([])
  })
})

describe('a question about a refund', () => {
  test('goes by its name, else by the list of its charge and what it bears', async () => {
    const named = scripted(() => [200, refund('succeeded')])
    const byName = asked({ gatewayReference: 're_1' })
    expect(await named.adapter.askRefund(newCall(), byName)).toMatchObject({ kind: 'succeeded' })
    expect(named.whats()).toEqual(['GET /v1/refunds/re_1'])
    const strange = refund('succeeded', { id: 're_0', metadata: {} })
    const inList = scripted(() => listed(strange, refund('pending')))
    expect(await inList.adapter.askRefund(newCall(), asked())).toEqual({ kind: 'pending', gatewayReference: 're_1' })
    expect(inList.requests[0]).toMatchObject({ what: 'GET /v1/refunds', form: { payment_intent: 'pi_1' } })
  })

  test('finds none only once ten minutes have passed since it was sent: it may still arrive', async () => {
    const { adapter } = scripted(() => listed())
    const sent = (at: string | null) => adapter.askRefund(newCall(), asked({ sentAt: at }))
    expect(await sent('2027-01-31T11:55:00.000Z')).toEqual({ kind: 'unknown' })
    expect(await sent('2027-01-31T11:49:59.000Z')).toEqual({ kind: 'none' })
    expect(await sent(null)).toEqual({ kind: 'none' })
  })

  test('that is not answered finds nothing', async () => {
    const silent = scripted(() => ({ kind: 'unknown', reason: 'ECONNRESET' }))
    expect(await silent.adapter.askRefund(newCall(), asked({ sentAt: null }))).toEqual({ kind: 'unknown' })
    const away = scripted(() => ({ kind: 'not_sent', reason: 'ENOTFOUND' }))
    expect(await away.adapter.askRefund(newCall(), asked())).toEqual({ kind: 'not_sent' })
  })
})
