import { describe, expect, test } from 'vitest'
import type { AskedCharge } from './contract.ts'
import { newCall, NOW_S, SCOPE, scripted } from './stripe.testing.ts'

const charge: AskedCharge = {
  reference: '9.Qm3kz0aXw1Yb',
  token: 'cus_1/pm_1',
  amountMinor: 11500n,
  currency: 'USD',
  gatewayReference: 'pi_1',
  sentAt: null,
}
const PAID = {
  id: 'pi_1',
  status: 'succeeded',
  amount: 11500,
  currency: 'usd',
  customer: 'cus_1',
  metadata: { perennial: `${SCOPE}/charge/9.Qm3kz0aXw1Yb` },
}
const at = (days: number) => NOW_S - 20 * 86_400 + days * 86_400
const refund = (id: string, fields: object = {}) => ({
  id,
  status: 'succeeded',
  amount: 4000,
  currency: 'usd',
  created: at(1),
  metadata: {},
  ...fields,
})
const movement = (id: string, amount: number, day: number) => ({ id, amount, created: at(day) })
const dispute = (movements: object[], fields: object = {}) => ({
  id: 'dp_1',
  amount: 6000,
  currency: 'usd',
  status: 'needs_response',
  reason: 'product_not_received',
  balance_transactions: movements,
  ...fields,
})

async function asked(refunds: object[], disputes: object[]) {
  const { adapter, requests } = scripted(({ what, form }) => {
    if (what === 'GET /v1/payment_intents/pi_1') return [200, PAID]
    const all = what === 'GET /v1/refunds' ? refunds : disputes
    const from = all.findIndex((one) => (one as { id: string }).id === form['starting_after']) + 1
    return [200, { data: all.slice(from, from + 2), has_more: from + 2 < all.length }]
  })
  return { state: await adapter.askCharge(newCall(), charge), requests }
}
const changesOf = async (refunds: object[], disputes: object[] = []) => {
  const { state } = await asked(refunds, disputes)
  if (!('changes' in state)) throw new Error(`changes, not ${state.kind}`)
  return state.changes
}

describe('refunds of the console', () => {
  test('are changes once they have succeeded, each with its day; ours are not', async () => {
    const ours = { metadata: { perennial: `${SCOPE}/refund/3.x` } }
    const found = await changesOf([
      refund('re_3', { created: at(3), amount: 500 }),
      refund('re_ours', ours),
      refund('re_pending', { status: 'pending' }),
      refund('re_of_another', { metadata: { perennial: 'other/refund/3' }, created: at(2) }),
      refund('re_1', { reason: 'duplicate' }),
    ])
    expect(found).toEqual([
      expect.objectContaining({
        kind: 'refunded',
        reference: 're_1',
        on: '2027-01-12',
        amountMinor: 4000n,
        class: 'refunded_late',
        code: 'duplicate',
      }),
      expect.objectContaining({ reference: 're_of_another', on: '2027-01-13' }),
      expect.objectContaining({ reference: 're_3', on: '2027-01-14', amountMinor: 500n }),
    ])
  })

  test('that came back undo what they were', async () => {
    expect(await changesOf([refund('re_1', { status: 'failed', failure_reason: 'lost_or_stolen_card' })])).toEqual([
      expect.objectContaining({
        kind: 'refund_failed',
        reference: 're_1/failed',
        undoes: 're_1',
        code: 'lost_or_stolen_card',
        on: '2027-01-31',
      }),
    ])
  })
})

describe('a dispute', () => {
  const amounts = (changes: readonly { kind: string; amountMinor: bigint; undoes?: string }[]) =>
    changes.map(({ kind, amountMinor, undoes }) => [kind, amountMinor, ...(undoes === undefined ? [] : [undoes])])

  test('is its movements of money, in order, and an enquiry that moves none is nothing', async () => {
    expect(await changesOf([], [dispute([], { status: 'warning_needs_response' })])).toEqual([])
    const card = { payment_method_details: { card: { network_reason_code: '13.1' } } }
    expect(await changesOf([], [dispute([movement('txn_1', -6000, 2)], card)])).toEqual([
      {
        kind: 'disputed',
        reference: 'txn_1',
        on: '2027-01-13',
        amountMinor: 6000n,
        class: 'refunded_late',
        code: '13.1',
        message: 'The customer disputes the payment: product not received.',
      },
    ])
  })

  test('that was won gives back all of it, whatever the rate of the day', async () => {
    // In the gateway's own currency 6000 were 5500, and come back as 5489.
    const won = dispute([movement('txn_2', 5489, 9), movement('txn_1', -5500, 2)], { status: 'won' })
    expect(amounts(await changesOf([], [won]))).toEqual([
      ['disputed', 6000n],
      ['dispute_won', 6000n, 'txn_1'],
    ])
  })

  test('in part, won in part and lost again is counted by the share of its first withdrawal, halves up', async () => {
    const parts = [
      movement('txn_1', -4000, 2),
      movement('txn_2', 2000, 4),
      movement('txn_3', -2001, 6),
      movement('txn_4', 9000, 8),
    ]
    expect(amounts(await changesOf([], [dispute(parts, { amount: 6001 })]))).toEqual([
      ['disputed', 6001n],
      ['dispute_won', 3001n, 'txn_1'],
      ['disputed', 3002n],
      // Never more than is still withdrawn.
      ['dispute_won', 6002n, 'txn_3'],
    ])
  })

  test('that was won at another rate, and taken and won again, gives back what the last round took', async () => {
    const rounds = [
      movement('txn_1', -6000, 2),
      movement('txn_2', 5400, 4),
      movement('txn_3', -6000, 6),
      movement('txn_4', 6000, 8),
    ]
    expect(amounts(await changesOf([], [dispute(rounds, { status: 'won' })]))).toEqual([
      ['disputed', 6000n],
      ['dispute_won', 6000n, 'txn_1'],
      ['disputed', 6000n],
      ['dispute_won', 6000n, 'txn_3'],
    ])
  })

  test('in another currency than its charge is for a person, and what else befell the charge is counted', async () => {
    const foreign = dispute([movement('txn_1', -4000, 1)], { currency: 'eur' })
    const changes = await changesOf([refund('re_1')], [foreign])
    expect(changes.map(({ kind, reference, unbookable }) => [kind, reference, unbookable]).toSorted()).toEqual([
      ['disputed', 'txn_1', expect.stringContaining('dp_1')],
      ['refunded', 're_1', undefined],
    ])
  })

  test('over its charge is counted whole: what was not received of it is listed', async () => {
    expect(amounts(await changesOf([], [dispute([movement('txn_1', -12_000, 1)], { amount: 12_000 })]))).toEqual([
      ['disputed', 12_000n],
    ])
  })
})

test('lists are read to their end', async () => {
  const many = [1, 2, 3, 4, 5].map((id) => refund(`re_${id}`))
  const { state, requests } = await asked(many, [])
  expect(state).toMatchObject({ changes: { length: 5 } })
  const pages = requests.filter(({ what }) => what === 'GET /v1/refunds').map(({ form }) => form)
  expect(pages).toEqual([
    { payment_intent: 'pi_1', limit: '100' },
    { payment_intent: 'pi_1', limit: '100', starting_after: 're_2' },
    { payment_intent: 'pi_1', limit: '100', starting_after: 're_4' },
  ])
})
