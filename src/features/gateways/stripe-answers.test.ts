import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { declineClassOf, declinedByError, meaningOf, plainSentence } from './stripe-answers.ts'

const SHIPPED = new URL('../../../../shared/fixtures/gateways/stripe/', import.meta.url)
const read = (name: string) => JSON.parse(readFileSync(new URL(name, SHIPPED), 'utf8')) as unknown

const call = { today: '2027-01-31' }

test.each([
  [400, 'invalid_request_error', 'parameter_unknown', { kind: 'not_sent', refused: 'request' }],
  [400, 'invalid_request_error', 'amount_too_small', { kind: 'declined', class: 'format' }],
  [400, 'invalid_request_error', 'payment_intent_unexpected_state', { kind: 'state' }],
  [400, 'invalid_request_error', 'resource_missing', { kind: 'gone' }],
  [400, 'idempotency_error', '', { kind: 'reused' }],
  [401, 'invalid_request_error', '', { kind: 'not_sent', refused: 'key' }],
  [402, 'card_error', 'card_declined', { kind: 'declined_by_code' }],
  [403, '', '', { kind: 'not_sent', refused: 'permission' }],
  [404, 'invalid_request_error', 'resource_missing', { kind: 'gone' }],
  [404, 'invalid_request_error', '', { kind: 'unknown' }],
  [409, 'invalid_request_error', 'idempotency_key_in_use', { kind: 'unknown' }],
  [429, 'invalid_request_error', 'rate_limit', { kind: 'not_sent', refused: null }],
  [429, 'card_error', 'card_decline_rate_limit_exceeded', { kind: 'declined', class: 'blocked' }],
  [500, 'api_error', '', { kind: 'unknown' }],
  [302, '', '', { kind: 'unknown' }],
])('status %i of %s %s means %j', (status, type, code, meaning) => {
  expect(meaningOf(status, { type, code })).toEqual(meaning)
})

test('more than is left to refund, which has no code, is declined', () => {
  const error = { type: 'invalid_request_error', param: 'amount' }
  expect(meaningOf(400, error)).toEqual({ kind: 'declined', class: 'format' })
})

interface AnswerRow {
  status: number | string
  type: string | null
  code: string | null
  means: string
}

/** Returns the meaning of a row of the shipped table in our words, by how its sentence begins. */
function meant({ status, code, means }: AnswerRow): object | undefined {
  if (typeof status === 'string' || status === 200 || code === 'payment_method_types_no_longer_supported')
    return undefined
  const [, declineClass] = /^(?:refund: )?declined, class (\w+)/.exec(means) ?? []
  if (declineClass !== undefined)
    return status === 402 ? { kind: 'declined_by_code' } : { kind: 'declined', class: declineClass }
  if (means.startsWith('declined by decline_code')) return { kind: 'declined_by_code' }
  if (code === 'resource_missing') return { kind: 'gone' }
  if (means.startsWith('read the intent')) return { kind: 'state' }
  if (means.startsWith('key used with other facts')) return { kind: 'reused' }
  if (/unknown/.test(means)) return { kind: 'unknown' }
  const refused = { 400: 'request', 401: 'key', 403: 'permission' }[status] ?? null
  return /not_sent/.test(means) ? { kind: 'not_sent', refused } : undefined
}

test.skipIf(!hasFixtures)(
  'every row of the shipped table of answers means what it says (needs ../shared/fixtures)',
  () => {
    const rows = (read('answers.json') as AnswerRow[]).map((row) => ({ row, meaning: meant(row) }))
    const judged = rows.filter(({ meaning }) => meaning !== undefined)
    expect(judged.length).toBeGreaterThanOrEqual(22)
    for (const { row, meaning } of judged)
      expect([row, meaningOf(Number(row.status), { type: row.type ?? '', code: row.code ?? '' })]).toEqual([
        row,
        meaning,
      ])
  },
)

test.skipIf(!hasFixtures)('every shipped code of a decline has its class (needs ../shared/fixtures)', () => {
  const { codes } = read('decline-codes.json') as { codes: Record<string, { class: string }> }
  expect(Object.keys(codes).length).toBeGreaterThan(50)
  for (const [code, { class: declineClass }] of Object.entries(codes))
    expect([code, declineClassOf(code)]).toEqual([code, declineClass])
})

test.each([
  ['something_new', '', 'declined'],
  ['something_new', 'do_not_try_again', 'blocked'],
  ['generic_decline', 'confirm_card_data', 'invalid_account'],
  ['processing_error', 'do_not_try_again', 'blocked'],
  ['insufficient_funds', 'do_not_try_again', 'insufficient_funds'],
  ['insufficient_funds', 'try_again_later', 'insufficient_funds'],
  ['payment_intent_authentication_failure', '', 'action_required'],
  ['setup_intent_authentication_failure', '', 'action_required'],
])('%s with the advice %j is %s', (code, advice, declineClass) => {
  expect(declineClassOf(code, advice)).toBe(declineClass)
})

test('a decline is told by its decline_code, else its code, in a sentence without a number of a card', () => {
  const error = { code: 'card_declined', decline_code: 'lost_card', message: 'Your card was declined.' }
  expect(declinedByError(call, error)).toEqual({
    kind: 'declined',
    class: 'blocked',
    code: 'lost_card',
    message: 'Your card was declined.',
    on: '2027-01-31',
  })
  expect(declinedByError(call, { code: 'expired_card' })).toMatchObject({
    class: 'method_expired',
    code: 'expired_card',
  })
  expect(plainSentence('card 4242 4242 4242 4242 is refused')).toBe('Card … is refused.')
  expect(plainSentence('No such customer: 123456789')).toBe('No such customer: ….')
  for (const id of ['cus_NffrFeUfNV2Hib', 'pm_1', 'seti_1ABC_secret_x', 'acct_1Hx', 'card_1abc'])
    expect(plainSentence(`No such customer: '${id}'`)).toBe("No such customer: '…'.")
  expect(plainSentence('It was declined: card_declined')).toBe('It was declined: card_declined.')
  expect(plainSentence('')).toBe('The gateway declined.')
})
