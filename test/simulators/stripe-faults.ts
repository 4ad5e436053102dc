import type { Kept } from './stripe-keys.ts'

/** Failures on demand, of the network and of Stripe. "Before" and "after" are seen from the book: whether the request was done. */

export type FaultKind =
  | 'cut in the request'
  | 'cut before'
  | 'cut after'
  | 'cut in the answer'
  | 'hang before'
  | 'hang after'
  | 'late'
  | '409 in use'
  | '429'
  | '500 before'
  | '500 after'
  | '502'
  | '503'
  | 'HTML before'
  | 'HTML after'
  | '2 MiB'
  | 'redirect'
  | 'another object'
  | 'another amount'
  | 'another currency'
  | '400 to everything'

export interface Fault {
  kind: FaultKind
  /** "POST /v1/payment_intents/*\/confirm"; any request if nothing is given. */
  on?: string
  /** How often it happens: once if nothing is given. */
  times?: number
  /** How many fitting requests pass before it. */
  after?: number
  /** Of `late`: the request is not done before this. */
  until?: Promise<unknown>
}

export class Faults {
  #queue: (Fault & { left: number; passing: number })[] = []

  add(fault: Fault): void {
    this.#queue.push({ ...fault, left: fault.times ?? 1, passing: fault.after ?? 0 })
  }

  clear(): void {
    this.#queue = []
  }

  /** Returns the fault that this request meets, if any. */
  take(call: string): Fault | undefined {
    const fitting = this.#queue.find(({ on, left }) => left > 0 && (on === undefined || isFitting(on, call)))
    if (fitting === undefined) return undefined
    if (fitting.passing > 0) {
      fitting.passing--
      return undefined
    }
    fitting.left--
    return fitting
  }

  /** Returns what a fault answers in place of doing the request. */
  insteadOf(fault: Fault | undefined): (Kept & { replayed?: boolean }) | 'hang' | undefined {
    switch (fault?.kind) {
      case 'hang before':
        return 'hang'
      case 'cut before':
        return { status: 200, body: '' }
      case '409 in use':
        return refusal(409, { code: 'idempotency_key_in_use', message: 'There is another request using this key.' })
      case '429':
        return refusal(429, { code: 'rate_limit', message: 'Too many requests.' })
      case '400 to everything':
        return refusal(400, { message: 'This API version is no longer supported.' })
      case '502':
      case '503':
        return { status: Number(fault.kind), body: PAGE, headers: { 'content-type': 'text/html' } }
      case 'HTML before':
        return { status: 200, body: PAGE, headers: { 'content-type': 'text/html' } }
      case 'redirect':
        return { status: 307, body: '', headers: { location: 'https://example.com/v1/payment_intents' } }
      default:
        return undefined
    }
  }
}

const PAGE = '<!doctype html><title>Bad Gateway</title><p>Bad Gateway'

const refusal = (status: number, error: { code?: string; message: string }): Kept => ({
  status,
  body: JSON.stringify({ error: { type: 'invalid_request_error', ...error } }),
})

function isFitting(on: string, call: string): boolean {
  const [expected, given] = [on.split('/'), call.split('/')]
  return expected.length === given.length && expected.every((piece, at) => piece === '*' || piece === given[at])
}

interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

/** Spoils an answer on its way back. */
export function spoil(answer: Answer, fault: Fault | undefined): Answer | 'nothing' | 'hang' {
  switch (fault?.kind) {
    case 'cut before':
    case 'cut after':
      return 'nothing'
    case 'hang after':
      return 'hang'
    case 'HTML after':
      return { ...answer, body: PAGE, headers: { ...answer.headers, 'content-type': 'text/html' } }
    case '2 MiB':
      return { ...answer, body: answer.body.padEnd(2 * 1024 * 1024) }
    case 'another object':
      return changed(answer, { id: 'pi_SomebodyElse000000000000' })
    case 'another amount':
      return changed(answer, { amount: 1, amount_received: 1 })
    case 'another currency':
      return changed(answer, { currency: 'chf' })
    default:
      return answer
  }
}

const changed = (answer: Answer, fields: object): Answer => ({
  ...answer,
  body: JSON.stringify({ ...(JSON.parse(answer.body) as object), ...fields }),
})
