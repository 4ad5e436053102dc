import type http from 'node:http'
import { TLSSocket } from 'node:tls'

/**
 * Calls to gateways, of which it matters whether they arrived. `not_sent`: surely no byte of the request was written. After the first byte everything
 * that is no whole answer is `unknown`. Neither reason holds anything of the request.
 */

export interface Question {
  method: 'GET' | 'POST' | 'DELETE'
  headers: Readonly<Record<string, string>>
  body?: string
  signal: AbortSignal
  /** Arriving twice does what arriving once does: a GET, or a request with an idempotency key. */
  isRepeatable: boolean
}

export type GatewayAnswer =
  | {
      kind: 'answered'
      status: number
      headers: http.IncomingHttpHeaders
      /** JSON as JSON.parse reads it: numbers beyond 2^53 are not exact. */
      body: unknown
    }
  | { kind: 'not_sent'; reason: string }
  | { kind: 'unknown'; reason: string }

/** How long a call may take in all, in milliseconds. */
export const ASK_MS = 55_000
/** So much real time after its begin a call is not sent any more: the process slept, and others may have gone on. In milliseconds. */
const SENT_WITHIN_MS = 60_000
const ANSWER_BYTES_MAX = 1024 * 1024

/** Ways in which the other side ends a connection. */
const ENDINGS: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

class CallFailure extends Error {
  override name = 'CallFailure'
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

/**
 * Asks, on a kept connection where there is one. Rule (§30): where that ends before any answer, a request that may arrive twice is tried once more on a
 * fresh one; the first may have arrived, so that a second that was not sent is unknown.
 * `open` begins a request and sends nothing of it; `realNow` reads real time in milliseconds.
 */
export async function askOver(
  open: (signal: AbortSignal, isFresh: boolean) => http.ClientRequest,
  { body = '', signal, isRepeatable }: Question,
  { askMs, realNow }: { askMs: number; realNow: () => number },
): Promise<GatewayAnswer> {
  const begunAt = realNow()
  const isLate = () => realNow() - begunAt > SENT_WITHIN_MS
  const end = new AbortController()
  const giveUp = () => end.abort()
  // Not AbortSignal.timeout: that keeps the call in memory until its time is over, however soon it is answered.
  const timer = setTimeout(giveUp, askMs)
  signal.addEventListener('abort', giveUp, { once: true })
  if (signal.aborted) giveUp()
  try {
    const first = await askOnce(open(end.signal, false), body, isLate)
    if (!first.wasStale || !isRepeatable) return first.asked
    const { asked } = await askOnce(open(end.signal, true), body, isLate)
    return asked.kind === 'not_sent' ? { ...asked, kind: 'unknown' } : asked
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', giveUp)
  }
}

interface Ended {
  asked: GatewayAnswer
  /** A connection that was kept from an earlier call ended before anything of an answer came. */
  wasStale: boolean
}

/** Sends a request once its connection stands, and waits for the end of its answer. */
const askOnce = (request: http.ClientRequest, body: string, isLate: () => boolean): Promise<Ended> =>
  new Promise((resolve) => {
    let isSent = false
    let hasAnswer = () => false
    const fail = ({ name, code = name }: NodeJS.ErrnoException) => {
      const wasStale = isSent && request.reusedSocket && !hasAnswer() && ENDINGS.has(code)
      resolve({ asked: { kind: isSent ? 'unknown' : 'not_sent', reason: code }, wasStale })
    }
    request.on('error', fail)
    request.once('socket', (socket) => {
      // Headers leave with `end`, and with nothing before it.
      const send = () => {
        if (isLate()) return void request.destroy(new CallFailure('ASLEEP'))
        const readBefore = socket.bytesRead
        hasAnswer = () => socket.bytesRead > readBefore
        isSent = true
        request.end(body)
      }
      if (request.reusedSocket) send()
      else socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', send)
    })
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > ANSWER_BYTES_MAX) response.destroy(new CallFailure('ANSWER_TOO_LARGE'))
        else chunks.push(chunk)
      })
      response.on('error', fail)
      response.on('end', () => resolve({ asked: answerOf(response, Buffer.concat(chunks)), wasStale: false }))
    })
  })

function answerOf({ statusCode: status = 0, headers }: http.IncomingMessage, bytes: Buffer): GatewayAnswer {
  const { 'content-encoding': encoding = 'identity' } = headers
  if (encoding !== 'identity') return { kind: 'unknown', reason: 'ANSWER_COMPRESSED' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { kind: 'answered', status, headers, body: JSON.parse(text) as unknown }
  } catch {
    return { kind: 'unknown', reason: 'ANSWER_NOT_JSON' }
  }
}
