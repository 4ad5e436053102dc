import { randomUUID } from 'node:crypto'
import type { Outbound } from '../../platform/outbound/outbound.ts'
import { steadyClock } from '../../platform/steady-clock.ts'
import { type AnswerObject, record, textIn } from './answer-objects.ts'
import type { Calling } from './calling.ts'
import type { GatewayCall, None, NotSent, Unknown } from './contract.ts'
import { errorOf, type Meaning, meaningOf } from './stripe-answers.ts'

/** Requests to Stripe: form-encoded, of a fixed version, each under a key of its own. */

export const VERSION = '2026-10-28.endive'
const ADDRESS = 'https://api.stripe.com'

export type StripeAnswer =
  | { kind: 'ok'; object: AnswerObject }
  | { kind: 'refused'; meaning: Exclude<Meaning, { kind: 'not_sent' | 'unknown' }>; error: AnswerObject }
  | Unknown
  | NotSent

export const NOT_KNOWN: Unknown = { kind: 'unknown' }
export const NONE: None = { kind: 'none' }

/** Returns what an answer without an object leaves: a request that surely did nothing, or nobody knows. */
export const unanswered = (answer: Exclude<StripeAnswer, { kind: 'ok' }>): Unknown | NotSent =>
  answer.kind === 'not_sent' ? answer : NOT_KNOWN

/** Names and values of a form; those without a value are left out. */
export type Form = readonly (readonly [name: string, value: string | undefined])[]

/** Path below /v1: a collection, the identifier of one of its objects, and what is done with it. */
export type Path = readonly [collection: string, id?: string, action?: string]

export interface StripeApi {
  get(call: GatewayCall, path: Path, query?: Form): Promise<StripeAnswer>
  /** A key that is left out is random: of what moves no money. */
  post(call: GatewayCall, path: Path, form?: Form, key?: string): Promise<StripeAnswer>
  remove(call: GatewayCall, path: Path): Promise<StripeAnswer>
}

/** Writes a form as Stripe's own client does, byte for byte: brackets as they are, blanks as %20. */
const encoded = (form: Form): string =>
  form.flatMap(([name, value]) => (value === undefined ? [] : `${escaped(name)}=${escaped(value)}`)).join('&')

const escaped = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%5B', '[')
    .replaceAll('%5D', ']')

/** Calls a second that Stripe allows a gateway. */
export const STRIPE_PER_SECOND = 20

export function stripeApi({ endpoints: { stripe: endpoint }, outbound, takePlace, ...deps }: Calling): StripeApi {
  async function ask(
    call: GatewayCall,
    method: 'GET' | 'POST' | 'DELETE',
    path: Path,
    { form = [], key }: { form?: Form; key?: string },
  ): Promise<StripeAnswer> {
    if (endpoint !== undefined && call.isLive) return { kind: 'not_sent' }
    const { isCustomerPresent: isFirst, signal } = call
    const gateway = `${call.accountId}/${call.gatewayId}`
    if (!(await takePlace({ gateway, perSecond: STRIPE_PER_SECOND, isFirst, signal }))) return { kind: 'not_sent' }
    const url = new URL(`/v1/${path.map((piece) => encodeURIComponent(piece ?? '')).join('/')}`, endpoint ?? ADDRESS)
    if (method === 'GET') url.search = encoded(form)
    return readAnswer(
      await outbound.ask(url, {
        method,
        headers: headersOf(call, key),
        ...(method === 'POST' && { body: encoded(form) }),
        signal,
        isRepeatable: method === 'GET' || key !== undefined,
      }),
    )
  }

  async function measured(method: 'GET' | 'POST' | 'DELETE', path: Path, asked: Promise<StripeAnswer>) {
    const begun = steadyClock()
    const answer = await asked
    const [collection, id, action] = path
    const operation = [method, collection, ...(id === undefined ? [] : ['*']), ...(action ? [action] : [])].join(' ')
    deps.measured({ type: 'stripe', operation, outcome: answer.kind, seconds: (steadyClock() - begun) / 1_000 })
    return answer
  }

  return {
    get: (call, path, form = []) => measured('GET', path, ask(call, 'GET', path, { form })),
    post: (call, path, form = [], key = randomUUID()) => measured('POST', path, ask(call, 'POST', path, { form, key })),
    remove: (call, path) => measured('DELETE', path, ask(call, 'DELETE', path, {})),
  }
}

const headersOf = ({ settings: { SecretKey } }: GatewayCall, key: string | undefined) => ({
  authorization: `Bearer ${typeof SecretKey === 'string' ? SecretKey : ''}`,
  'content-type': 'application/x-www-form-urlencoded',
  'stripe-version': VERSION,
  ...(key !== undefined && { 'idempotency-key': key }),
})

const SUCCESS = 200

function readAnswer(asked: Awaited<ReturnType<Outbound['ask']>>): StripeAnswer {
  if (asked.kind !== 'answered') return { kind: asked.kind }
  const body = record(asked.body)
  if (asked.status === SUCCESS) return { kind: 'ok', object: body }
  const error = errorOf(body)
  const meaning = meaningOf(asked.status, error)
  switch (meaning.kind) {
    case 'unknown':
      return NOT_KNOWN
    case 'not_sent': {
      const { refused: by } = meaning
      return { kind: 'not_sent', ...(by !== null && { refused: { by, code: refusedCode(error) } }) }
    }
    default:
      return { kind: 'refused', meaning, error }
  }
}

const PERMISSION = /\b(?:rak_)?[a-z_]+_(?:read|write)\b/

/** Returns a word for what Stripe did not take: the right that a restricted key lacks stands in the sentence alone. */
const refusedCode = (error: AnswerObject): string =>
  PERMISSION.exec(textIn(error, 'message'))?.[0] ?? (textIn(error, 'code') || textIn(error, 'type') || 'refused')

/** Lists a collection to its end, in pages of 100. */
export async function listAll(
  api: StripeApi,
  call: GatewayCall,
  path: Path,
  query: Form,
): Promise<{ kind: 'ok'; objects: AnswerObject[] } | Exclude<StripeAnswer, { kind: 'ok' }>> {
  const objects: AnswerObject[] = []
  for (let after: string | undefined; ;) {
    const page = await api.get(call, path, [...query, ['limit', '100'], ['starting_after', after]])
    if (page.kind !== 'ok') return page
    const { data, has_more: hasMore } = page.object
    if (!Array.isArray(data)) return NOT_KNOWN
    objects.push(...data.map(record))
    after = textIn(record(data.at(-1)), 'id')
    if (hasMore !== true || after === '') return { kind: 'ok', objects }
  }
}
