import type { DeclineClass } from '../../kernel/rails.ts'
import { type AnswerObject, listIn, record, textIn, sentenceWithout } from './answer-objects.ts'
import type { Declined, GatewayCall, GatewayRefusal } from './contract.ts'

/** Meanings of GoCardless's refusals and of the causes of its events, as tables (§38). */

/**
 * Meaning of an answer that is no object. `not_sent`: surely nothing was made; `made`: the key has made something before, under this name; `invalid`: what was
 * asked for does not fit, and `about` has the words for what of it.
 */
export type Meaning =
  | { kind: 'not_sent'; refused: GatewayRefusal | null }
  | { kind: 'made'; name: string }
  | { kind: 'forbidden' }
  | { kind: 'gone' }
  | { kind: 'invalid'; about: string; code: string; message: string }
  | { kind: 'unknown' }

const notSent = (by: GatewayRefusal['by'], code: string): Meaning => ({ kind: 'not_sent', refused: { by, code } })

const STATUS = { unauthorised: 401, forbidden: 403, gone: 404, conflict: 409, invalid: 422, tooMany: 429 } as const
const SERVER_FAILS = 500
const REFUSED = 400

/** Returns the words that an error names its parts and reasons with. */
const wordsOf = (errors: readonly AnswerObject[]): string =>
  errors.map((one) => [one.field, one.reason, one.request_pointer].filter(Boolean).join(' ')).join(' ')

/** Returns what an answer means whose status is not one of success. */
export function meaningOf(status: number, error: AnswerObject): Meaning {
  const errors = listIn(error, 'errors')
  const [first = {}] = errors
  const code = textIn(first, 'reason') || textIn(error, 'type') || 'refused'
  switch (status) {
    case STATUS.unauthorised:
      return notSent('key', code)
    case STATUS.forbidden:
      return { kind: 'forbidden' }
    case STATUS.gone:
      return { kind: 'gone' }
    case STATUS.tooMany:
      return { kind: 'not_sent', refused: null }
    case STATUS.conflict: {
      const made = errors.find((one) => one.reason === 'idempotent_creation_conflict') ?? {}
      const name = textIn(record(made.links), 'conflicting_resource_id')
      return name === '' ? { kind: 'unknown' } : { kind: 'made', name }
    }
    case STATUS.invalid: {
      if (textIn(error, 'type') === 'invalid_api_usage') return notSent('request', code)
      const message = [textIn(first, 'field'), textIn(first, 'message') || textIn(error, 'message')]
      return { kind: 'invalid', about: wordsOf(errors), code, message: message.filter(Boolean).join(' ') }
    }
    default:
      return status >= REFUSED && status < SERVER_FAILS ? notSent('request', code) : { kind: 'unknown' }
  }
}

/** Classes of the causes of events; every other is `unknown`. */
const CAUSES: Readonly<Record<string, DeclineClass>> = {
  authorisation_disputed: 'no_mandate',
  bank_account_closed: 'account_closed',
  bank_account_disabled: 'blocked',
  bank_account_transferred: 'account_closed',
  customer_approval_denied: 'no_mandate',
  direct_debit_not_enabled: 'invalid_account',
  insufficient_funds: 'insufficient_funds',
  invalid_bank_details: 'invalid_account',
  mandate_cancelled: 'no_mandate',
  mandate_expired: 'no_mandate',
  mandate_suspended_by_payer: 'stopped',
  payer_deceased: 'deceased',
  payment_cancelled: 'declined',
  refund_requested: 'refunded_late',
}

/** Returns the class of an event's cause. */
export const causeClassOf = (cause: string): DeclineClass => CAUSES[cause] ?? 'unknown'

/** Identifiers of GoCardless, as MD000AMA19XGEC. */
const IDENTIFIER = /\b[A-Z]{2,3}[0-9A-Z]{6,}\b/g

/** Returns a sentence of GoCardless's for a person: without identifiers and numbers that could be an account's, and ended by a full stop. */
export const plainSentence = (message: string): string => sentenceWithout(message, [IDENTIFIER, /\d(?:[ -]?\d){5,}/g])

export const declined = (
  { today }: Pick<GatewayCall, 'today'>,
  declineClass: DeclineClass,
  code: string,
  message: string,
): Declined => ({ kind: 'declined', class: declineClass, code, message: plainSentence(message), on: today })
