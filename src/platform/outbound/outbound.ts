import { Resolver } from 'node:dns/promises'
import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { askOver, ASK_MS, type GatewayAnswer, type Question } from './ask.ts'
import { isPublic, isWithin, type Network } from './networks.ts'

/**
 * Calls to addresses that callers name, and to gateways. Nothing but https to public unicast addresses is called, and what the operator allows besides
 * (OUTBOUND_ALLOW). Addresses are checked where the connection is opened, so a name that changes between check and connect leads nowhere else,
 * and no redirect is followed.
 */

/** How long a call may take in all, in milliseconds: the name, the connection, the answer with its body. */
const CALL_MS = 15_000
/** Bytes of an answer that are read, and thrown away. */
const ANSWER_BYTES_MAX = 64 * 1024
const HEADER_BYTES_MAX = 16 * 1024
/** How long an unused connection is kept for the next call, in milliseconds. */
const IDLE_MS = 20_000
const DNS_TRY_MS = 3_000
const DNS_TRIES = 2

export type Called =
  | { kind: 'answered'; status: number; retryAfter: string | undefined }
  | { kind: 'unanswered'; reason: string }

export interface Message {
  headers: Readonly<Record<string, string>>
  body: Buffer
}

export interface Outbound {
  /** Returns what a URL has to be instead, as the end of "Url must be …", as far as that shows without asking for its name. */
  refusalOf(url: URL): string | undefined
  /** Posts a message. An answer of whatever status, a redirect too, is an answer; its body is read to 64 KiB and not kept. */
  post(url: URL, message: Message): Promise<Called>
  /** Asks a gateway; its answer is read to 1 MiB. See ask.ts. */
  ask(url: URL, question: Question): Promise<GatewayAnswer>
}

/** Finds every address of a name; throws where it has none. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Asks DNS itself, beside the threads that the rest of the process needs: a name server that does not answer holds up nobody else. */
const askDns: Resolve = async (name) => {
  // RFC 6761: never a question for DNS.
  if (/^(.+\.)?localhost\.?$/i.test(name)) return ['127.0.0.1', '::1']
  const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: DNS_TRIES })
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = [four, six].flatMap((asked) => (asked.status === 'fulfilled' ? asked.value : []))
  if (found.length === 0 && four.status === 'rejected') throw four.reason
  return found
}

class AddressRefused extends Error {
  override name = 'AddressRefused'
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

export function makeOutbound({
  allow = [],
  resolve = askDns,
  callMs = CALL_MS,
  askMs = ASK_MS,
  realNow = Date.now,
}: {
  /** Networks that may be called although they are not public, and by plain http. */
  allow?: readonly Network[] | undefined
  resolve?: Resolve
  callMs?: number
  askMs?: number
  realNow?: () => number
}): Outbound {
  const mayCall = (address: string, isPlain: boolean): boolean =>
    isWithin(address, allow) || (!isPlain && isPublic(address))

  const lookupOf =
    (isPlain: boolean): LookupFunction =>
    (name, options, callback) => {
      const refuse = (error: unknown) => callback(error as NodeJS.ErrnoException, [])
      resolve(name).then((addresses) => {
        if (addresses.length === 0 || !addresses.every((address) => mayCall(address, isPlain)))
          return refuse(new AddressRefused('the name leads to an address that may not be called'))
        const found = addresses.map((address) => ({ address, family: isIP(address) }))
        if (options.all) return callback(null, found)
        return callback(null, found[0]!.address, found[0]!.family)
      }, refuse)
    }

  const kept = { keepAlive: true, timeout: IDLE_MS }
  const ways = {
    'https:': { request: https.request, agent: new https.Agent(kept), lookup: lookupOf(false) },
    'http:': { request: http.request, agent: new http.Agent(kept), lookup: lookupOf(true) },
  }

  const refusalOf = (url: URL): string | undefined => {
    const isPlain = url.protocol === 'http:'
    if (url.protocol !== 'https:' && !isPlain) return 'an https address'
    if (url.username !== '' || url.password !== '') return 'an address without user and password'
    const host = hostOf(url)
    if (isIP(host) === 0) return isPlain && allow.length === 0 ? 'an https address' : undefined
    if (mayCall(host, isPlain)) return undefined
    return isPlain && isPublic(host) ? 'an https address' : 'an address that is public'
  }

  const requestOf = (
    url: URL,
    options: Pick<http.RequestOptions, 'method' | 'headers'>,
    { signal, isFresh }: { signal: AbortSignal; isFresh: boolean },
  ): http.ClientRequest => {
    const { request, agent, lookup } = ways[url.protocol as keyof typeof ways]
    const bounds = { signal, lookup, maxHeaderSize: HEADER_BYTES_MAX, agent: isFresh ? false : agent } as const
    return request(url, { ...options, ...bounds })
  }

  const once = (url: URL, { headers, body }: Message, signal: AbortSignal, isFresh: boolean): Promise<Ended> => {
    const options = { method: 'POST', headers: { ...headers, 'content-length': String(body.length) } }
    return ended(requestOf(url, options, { signal, isFresh }), body)
  }

  return {
    refusalOf,
    async post(url, message) {
      const refusal = refusalOf(url)
      if (refusal !== undefined) return { kind: 'unanswered', reason: `the address must be ${refusal}` }
      const signal = AbortSignal.timeout(callMs)
      const first = await once(url, message, signal, false)
      // The other side closed a kept connection just as it was used again: this is no answer to the call.
      return first.wasStale ? (await once(url, message, signal, true)).called : first.called
    },
    async ask(url, question) {
      const refusal = refusalOf(url)
      if (refusal !== undefined) return { kind: 'not_sent', reason: `the address must be ${refusal}` }
      const { method, body } = question
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      const headers = { ...question.headers, 'accept-encoding': 'identity', ...length }
      const open = (signal: AbortSignal, isFresh: boolean) => requestOf(url, { method, headers }, { signal, isFresh })
      return askOver(open, question, { askMs, realNow })
    },
  }
}

interface Ended {
  called: Called
  /** A connection that was kept from an earlier call ended before anything of an answer came. */
  wasStale: boolean
}

/** Sends the body of a request and waits for the end of its answer, or for as much of it as is read. */
const ended = (request: http.ClientRequest, body: Buffer): Promise<Ended> =>
  new Promise((resolve) => {
    let hasBegun = false
    const fail = ({ name, code = name }: NodeJS.ErrnoException) => {
      const wasStale = request.reusedSocket && !hasBegun && (code === 'ECONNRESET' || code === 'EPIPE')
      resolve({ called: { kind: 'unanswered', reason: code }, wasStale })
    }
    request.on('error', fail)
    request.on('response', (response) => {
      hasBegun = true
      const answer = () => {
        const { statusCode: status = 0, headers } = response
        resolve({ called: { kind: 'answered', status, retryAfter: headers['retry-after'] }, wasStale: false })
      }
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= ANSWER_BYTES_MAX) return
        answer()
        response.destroy()
      })
      response.on('end', answer)
      response.on('error', fail)
    })
    request.end(body)
  })
