import type { GatewayAnswer, Question } from '../../platform/outbound/ask.ts'
import type { GatewayCall } from './contract.ts'
import { stripeAdapter } from './stripe.ts'

/** A Stripe that answers as a test tells it, below everything that the adapter decides. */

export const SCOPE = '0f8b1c52-a7d9-4c52-a91c-3f0e8c2d7b11'
export const NOW = '2027-01-31T12:00:00.000Z'
export const NOW_S = Date.parse(NOW) / 1000

export interface Request {
  what: string
  form: Record<string, string>
  key: string | undefined
  headers: Question['headers']
}

type Script = (
  request: Request,
) => readonly [status: number, body: unknown] | Exclude<GatewayAnswer, { kind: 'answered' }>

/** Makes an adapter whose requests are answered by a script, and the requests that it makes. */
export function scripted(script: Script, { endpoint }: { endpoint?: string } = {}) {
  const requests: Request[] = []
  const ask = async (url: URL, { method, headers, body }: Question): Promise<GatewayAnswer> => {
    const form = Object.fromEntries(new URLSearchParams(method === 'POST' ? (body ?? '') : url.search))
    const request = { what: `${method} ${url.pathname}`, form, key: headers['idempotency-key'], headers }
    requests.push(request)
    const answer = script(request)
    return 'kind' in answer ? answer : { kind: 'answered', status: answer[0], headers: {}, body: answer[1] }
  }
  const adapter = stripeAdapter({
    outbound: { ask },
    endpoints: endpoint === undefined ? {} : { stripe: endpoint },
    takePlace: async () => true,
    measured: () => {},
    realNow: () => Date.parse(NOW),
  })
  return { adapter: adapter as Required<typeof adapter>, requests, whats: () => requests.map(({ what }) => what) }
}

export const newCall = (fields: Partial<GatewayCall> = {}): GatewayCall => ({
  accountId: 1n as GatewayCall['accountId'],
  gatewayId: 3n,
  scope: SCOPE,
  isLive: false,
  timeZone: 'UTC',
  isCustomerPresent: false,
  settings: { SecretKey: 'sk_test_planted', PublishableKey: 'pk_test_1', WebhookSecrets: ['whsec_1'] },
  now: NOW,
  today: '2027-01-31',
  signal: new AbortController().signal,
  ...fields,
})

export const refusal = (status: number, error: object) => [status, { error }] as const
