import type { DeclineClass } from '../../kernel/rails.ts'
import { type AnswerObject, record, textIn, sentenceWithout } from './answer-objects.ts'
import type { Declined, GatewayCall } from './contract.ts'

/** Meanings of Stripe's refusals, as tables (§35): of requests by status, type and code, of cards by the code of the decline. */

/**
 * Meaning of an answer that is no object. `not_sent`: surely not executed; `refused` is which of ours Stripe does not take. `state`: the object that the
 * error names has the answer. `reused`: the key of the request was used with other facts. `gone`: what the request names is not there.
 */
export type Meaning =
  | { kind: 'not_sent'; refused: 'key' | 'permission' | 'request' | null }
  | { kind: 'declined'; class: DeclineClass }
  | { kind: 'declined_by_code' }
  | { kind: 'state' }
  | { kind: 'reused' }
  | { kind: 'gone' }
  | { kind: 'unknown' }

const UNKNOWN: Meaning = { kind: 'unknown' }
const REQUEST_REFUSED: Meaning = { kind: 'not_sent', refused: 'request' }
const NEVER_EXECUTED: Meaning = { kind: 'not_sent', refused: null }
const declinedAs = (declineClass: DeclineClass): Meaning => ({ kind: 'declined', class: declineClass })

/** By status, type and code, or the parameter of an error without one; * stands for whatever no other row names. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  '400 invalid_request_error *': REQUEST_REFUSED,
  // Of a parameter without a code: more than is left of a charge to be refunded.
  '400 invalid_request_error .amount': declinedAs('format'),
  '400 invalid_request_error amount_too_small': declinedAs('format'),
  '400 invalid_request_error amount_too_large': declinedAs('format'),
  '400 invalid_request_error payment_intent_unexpected_state': { kind: 'state' },
  '400 invalid_request_error resource_missing': { kind: 'gone' },
  '400 invalid_request_error charge_already_refunded': declinedAs('declined'),
  '400 invalid_request_error charge_disputed': declinedAs('declined'),
  '400 idempotency_error *': { kind: 'reused' },
  '401 * *': { kind: 'not_sent', refused: 'key' },
  '402 card_error *': { kind: 'declined_by_code' },
  '403 * *': { kind: 'not_sent', refused: 'permission' },
  '404 invalid_request_error resource_missing': { kind: 'gone' },
  '429 * *': NEVER_EXECUTED,
  '429 card_error card_decline_rate_limit_exceeded': declinedAs('blocked'),
}

/** Returns what an answer means whose status is not one of success. */
export function meaningOf(status: number, error: AnswerObject): Meaning {
  const type = textIn(error, 'type')
  const code = textIn(error, 'code') || `.${textIn(error, 'param')}`
  const rows = [`${status} ${type} ${code}`, `${status} ${type} *`, `${status} * *`]
  return rows.map((row) => MEANINGS[row]).find((meaning) => meaning !== undefined) ?? UNKNOWN
}

/** Codes of declines by their class; every other is `declined`. */
const CODES_OF_CLASSES: Partial<Record<DeclineClass, string>> = {
  account_closed: 'account_closed',
  action_required: `authentication_not_handled authentication_required mobile_device_authentication_required
    payment_intent_authentication_failure setup_intent_authentication_failure`,
  blocked: `blocklist card_decline_rate_limit_exceeded card_not_supported currency_not_supported do_not_try_again
    elevated_risk_level fraudulent highest_risk_level lost_card merchant_blacklist pickup_card
    previously_declined_do_not_retry restricted_card rule security_violation service_not_allowed stolen_card
    transaction_not_allowed`,
  duplicate: 'duplicate_transaction',
  insufficient_funds: 'card_velocity_exceeded insufficient_funds withdrawal_count_limit_exceeded',
  invalid_account: `incorrect_address incorrect_cvc incorrect_number incorrect_pin incorrect_zip invalid_account
    invalid_cvc invalid_number invalid_pin offline_pin_required online_or_offline_pin_required`,
  method_expired: 'expired_card invalid_expiry_month invalid_expiry_year new_account_information_available',
  stopped: 'revocation_of_all_authorizations revocation_of_authorization stop_payment_order',
  unknown: 'issuer_not_available processing_error reenter_transaction try_again_later',
}

const CLASS_OF_CODE: ReadonlyMap<string, DeclineClass> = new Map(
  Object.entries(CODES_OF_CLASSES).flatMap(([declineClass, codes]) =>
    codes.split(/\s+/).map((code) => [code, declineClass as DeclineClass]),
  ),
)

/** Classes of advice that a network gives; they count where the code means no class of its own. */
const CLASS_OF_ADVICE: Readonly<Record<string, DeclineClass>> = {
  do_not_try_again: 'blocked',
  confirm_card_data: 'invalid_account',
}

/** Returns the class of a decline by its code and the advice beside it. */
export function declineClassOf(code: string, advice = ''): DeclineClass {
  const byCode = CLASS_OF_CODE.get(code)
  return byCode === undefined || byCode === 'unknown' ? (CLASS_OF_ADVICE[advice] ?? byCode ?? 'declined') : byCode
}

/** Identifiers of Stripe, as cus_NffrFeUfNV2Hib, and its keys. Codes and names of parameters have neither digit nor capital. */
const IDENTIFIER = /\b[a-z]{2,}_(?=\w*[A-Z\d])\w+/g

/** Returns a sentence of Stripe's for a person: without identifiers, of which tokens are made, and numbers that could be a card's or an account's, and ended by a full stop. */
export const plainSentence = (message: string): string => sentenceWithout(message, [IDENTIFIER, /\d(?:[ -]?\d){8,}/g])

export const declined = (
  { today }: Pick<GatewayCall, 'today'>,
  declineClass: DeclineClass,
  code: string,
  message: string,
): Declined => ({ kind: 'declined', class: declineClass, code, message: plainSentence(message), on: today })

/** Returns the decline of an error of a request, a payment or a storing. */
export function declinedByError(
  call: Pick<GatewayCall, 'today'>,
  error: AnswerObject,
  declineClass?: DeclineClass,
): Declined {
  const code = textIn(error, 'decline_code') || textIn(error, 'code') || 'declined'
  const byCode = declineClassOf(code, textIn(error, 'advice_code'))
  return declined(call, declineClass ?? byCode, code, textIn(error, 'message'))
}

/** Returns the error of an answer; empty where it has none that can be read. */
export const errorOf = (body: AnswerObject): AnswerObject => record(body.error)
