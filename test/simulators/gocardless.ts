import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Event } from 'gocardless-nodejs/types'
import { decodeForm } from './form.ts'
import { GoCardlessBook, GoCardlessRefusal, gone } from './gocardless-book.ts'
import { type GoCardlessDeclaration, readGoCardlessDeclaration } from './gocardless-declaration.ts'
import { Faults, spoil, type Fault } from './stripe-faults.ts'
import { coerce, Validators } from './stripe-judge.ts'

/**
 * A simulator of GoCardless for tests: HTTP on 127.0.0.1, a book for each token. It answers from its own book, written by this project after the declarations
 * of the official client. That the real one answers so is not proved by it.
 */

/** A request as it came. */
export interface GoCardlessSent {
  /** "POST /payments". */
  call: string
  headers: IncomingMessage['headers']
  /** The body of a POST as it came, else the query. */
  body: string
}

interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

/** An account with its token. */
export interface GoCardlessAccount {
  token: string
  book: GoCardlessBook
  webhooks: GoCardlessWebhooks
}

const JSON_TYPE = { 'content-type': 'application/json' }
const PAGE_MAX = 500

class GoCardlessFaults extends Faults {
  override insteadOf(fault: Fault | undefined) {
    switch (fault?.kind) {
      case '409 in use':
        return instead(409, 'invalid_state', 'idempotency_key_in_use')
      case '429':
        return instead(429, 'invalid_api_usage', 'rate_limit_exceeded')
      case '400 to everything':
        return instead(400, 'invalid_api_usage', 'version_not_supported')
      case '500 before':
        return instead(500, 'gocardless', 'internal_server_error')
      default:
        return super.insteadOf(fault)
    }
  }
}

const instead = (status: number, type: string, reason: string) => ({
  status,
  headers: JSON_TYPE,
  body: JSON.stringify({ error: new GoCardlessRefusal(status, type, reason, [{ reason, message: reason }]).error }),
})

export class GoCardlessSimulator {
  /** Names and words that the official client does not declare. A test ends with none. */
  readonly problems: string[] = []
  readonly sent: GoCardlessSent[] = []
  readonly faults = new GoCardlessFaults()
  readonly #accounts = new Map<string, GoCardlessAccount>()
  readonly #revoked = new Set<string>()
  readonly #sockets = new Set<Socket>()
  readonly #declaration: GoCardlessDeclaration
  readonly #requests: Validators
  readonly #answers: Validators
  #server: Server | undefined
  #port = 0
  #ahead = 0

  private constructor(declaration: GoCardlessDeclaration) {
    this.#declaration = declaration
    this.#requests = new Validators(declaration.requests)
    this.#answers = new Validators(declaration.answers)
  }

  /** Starts one on a free port of 127.0.0.1, or on the given one. */
  static async start(port = 0): Promise<GoCardlessSimulator> {
    const simulator = new GoCardlessSimulator(await readGoCardlessDeclaration())
    const server = createServer((request, response) => void simulator.#serve(request, response))
    server.on('connection', (socket) => {
      simulator.#sockets.add(socket)
      socket.on('close', () => simulator.#sockets.delete(socket))
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
    simulator.#server = server
    simulator.#port = (server.address() as AddressInfo).port
    return simulator
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => (this.#server === undefined ? resolve(undefined) : this.#server.close(resolve)))
  }

  now(): number {
    return Date.now() + this.#ahead
  }

  /** Moves the simulator's clock, in seconds. */
  advance(seconds: number): void {
    this.#ahead += seconds * 1000
  }

  openAccount(): GoCardlessAccount {
    const token = `sandbox_${randomBytes(15).toString('hex')}`
    const book = new GoCardlessBook(() => this.now())
    const account = { token, book, webhooks: new GoCardlessWebhooks(book) }
    this.#accounts.set(token, account)
    return account
  }

  /** Ends a token, as a person does at the console. */
  revoke(token: string): void {
    this.#revoked.add(token)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.address)
    const call = `${request.method ?? 'GET'} ${pathname}`
    const fault = this.faults.take(call)
    if (fault?.kind === 'cut in the request') return void request.socket.destroy()
    const body = await text(request).catch(() => undefined)
    if (body === undefined) return
    if (pathname.startsWith('/flow/')) return this.#servePage(call, pathname, body, response)
    this.sent.push({ call, headers: request.headers, body: request.method === 'POST' ? body : searchParams.toString() })
    const replaced = this.faults.insteadOf(fault)
    if (replaced === 'hang') return
    const done = replaced ?? this.#perform(request, pathname, searchParams.toString(), body)
    const failed = fault?.kind === '500 after' ? instead(500, 'gocardless', 'internal_server_error') : done
    const answer = spoil({ headers: JSON_TYPE, ...failed } as Answer, fault)
    if (answer === 'hang') return
    if (answer === 'nothing') return void request.socket.destroy()
    response.writeHead(answer.status, answer.headers)
    if (fault?.kind !== 'cut in the answer') return void response.end(answer.body)
    response.write(answer.body.slice(0, answer.body.length / 2), () => request.socket.destroy())
  }

  #perform(request: IncomingMessage, path: string, query: string, body: string): Pick<Answer, 'status' | 'body'> {
    try {
      const account = this.#caller(request)
      const isPost = request.method === 'POST'
      const [, collection = '', id, , action] = path.split('/').map(decodeURIComponent)
      const answer = isPost
        ? this.#post(account, { collection, id, action, body, key: request.headers['idempotency-key'] })
        : id === undefined
          ? this.#list(account.book, collection, query)
          : { [collection]: found(account.book, collection, id) }
      const answered = Object.values(answer)[0] as object | object[]
      for (const one of Array.isArray(answered) ? answered : [answered]) this.#judgeAnswer(collection, one)
      return { status: isPost && id === undefined ? 201 : 200, body: JSON.stringify(answer) }
    } catch (error) {
      if (error instanceof GoCardlessRefusal)
        return { status: error.status, body: JSON.stringify({ error: error.error }) }
      this.problems.push(`${request.method} ${path}: the simulator failed: ${String(error)}`)
      return instead(500, 'gocardless', 'internal_server_error')
    }
  }

  #caller({ headers, method }: IncomingMessage): GoCardlessAccount {
    if (headers['gocardless-version'] !== '2015-07-06') this.problems.push('GoCardless-Version is another')
    if (method === 'POST' && !String(headers['content-type']).startsWith('application/json'))
      this.problems.push('a body is no JSON')
    const token = (headers.authorization ?? '').replace(/^Bearer /, '')
    const account = this.#accounts.get(token)
    if (account === undefined || this.#revoked.has(token))
      throw new GoCardlessRefusal(401, 'invalid_api_usage', 'Unauthorized', [{ reason: 'unauthorized' }])
    return account
  }

  #judgeAnswer(collection: string, answer: object): void {
    const problems = this.#answers.problemsOf(`roots/${collection}`, answer)
    this.problems.push(...problems.map(({ param, message }) => `answer of ${collection} ${param}: ${message}`))
  }

  #judge(call: string, facts: unknown): void {
    const problems = this.#requests.problemsOf(`roots/${call}`, facts)
    this.problems.push(...problems.map(({ param, message }) => `${call} ${param}: ${message}`))
    if (problems.length > 0)
      throw new GoCardlessRefusal(422, 'invalid_api_usage', 'Unknown or mistyped parameters', problems)
  }

  #post(
    { book }: GoCardlessAccount,
    asked: { collection: string; id: string | undefined; action: string | undefined; body: string; key: unknown },
  ): object {
    const { collection, id, action, body, key } = asked
    const wrapped = JSON.parse(body) as Record<string, Record<string, unknown>>
    const facts = wrapped[action === undefined ? collection : 'data'] ?? {}
    if (typeof key !== 'string' || key.length > 128) this.problems.push(`${collection}: the key is missing or too long`)
    if (collection === 'mandates' && id !== undefined && action === 'cancel') {
      this.#judge('mandate cancel', facts)
      return { mandates: book.cancelMandate(id) }
    }
    const made = book.keys.get(`${collection} ${String(key)}`)
    if (made !== undefined)
      throw new GoCardlessRefusal(
        409,
        'invalid_state',
        'A resource has already been created with this idempotency key',
        [{ reason: 'idempotent_creation_conflict', links: { conflicting_resource_id: made } }],
      )
    const object = this.#make(book, collection, facts)
    book.keys.set(`${collection} ${String(key)}`, String((object as { id?: string }).id))
    return { [collection]: object }
  }

  #make(book: GoCardlessBook, collection: string, facts: Record<string, unknown>): object {
    this.#limits(facts)
    switch (collection) {
      case 'payments':
        this.#judge('payment create', facts)
        return book.newPayment(facts)
      case 'refunds':
        if (!book.mayRefund)
          throw new GoCardlessRefusal(403, 'invalid_api_usage', 'Forbidden', [{ reason: 'forbidden' }])
        this.#judge('refund create', facts)
        return book.newRefund(facts)
      case 'billing_requests':
        this.#judge('billingRequest create', facts)
        return book.newRequest(facts)
      case 'billing_request_flows':
        this.#judge('billingRequestFlow create', facts)
        return book.newFlow(this.address, facts)
      default:
        throw gone()
    }
  }

  /** Notes what the declarations do not state: lengths of texts and metadata. */
  #limits({ description, metadata = {} }: Record<string, unknown>): void {
    if (typeof description === 'string' && description.length > 100) this.problems.push('a description is too long')
    const entries = Object.entries(metadata as object)
    const isLong = entries.some(([name, value]) => name.length > 50 || String(value).length > 500)
    if (entries.length > 3 || isLong) this.problems.push('metadata are too many, or too long')
  }

  #list(book: GoCardlessBook, collection: string, query: string): object {
    const root = { payments: 'payment list', refunds: 'refund list', events: 'event list', creditors: 'creditor list' }[
      collection
    ]
    if (root === undefined) throw gone()
    const facts = coerce(this.#declaration.requests, { $ref: `#/roots/${root}` }, decodeForm(query)) as {
      limit?: number
      after?: string
      created_at?: { gte?: string }
      payment?: string
      mandate?: string
    }
    this.#judge(root, facts)
    const { limit = 50, after, created_at: { gte } = {}, payment, mandate } = facts
    if (limit > PAGE_MAX) throw new GoCardlessRefusal(422, 'validation_failed', 'limit is too high')
    type Listed = { id: string; created_at?: string; links?: { payment?: string; mandate?: string } }
    const fitting = listOf(book, collection).filter((one) => {
      const { created_at: at = '', links = {} } = one as Listed
      return (
        (gte === undefined || Date.parse(at) >= Date.parse(gte)) &&
        (payment === undefined || links.payment === payment) &&
        (mandate === undefined || links.mandate === mandate)
      )
    }) as Listed[]
    const newest = fitting.toReversed()
    const start = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1
    const page = newest.slice(start, start + limit)
    const last = start + limit < newest.length ? page.at(-1)?.id : null
    return { [collection]: page, meta: { cursors: { before: null, after: last ?? null }, limit } }
  }

  /** Plays the page of GoCardless: two buttons, each of which sends the payer back. */
  #servePage(call: string, path: string, body: string, response: ServerResponse): void {
    const [, , flowId = ''] = path.split('/')
    const account = [...this.#accounts.values()].find(({ book }) => book.flows.has(flowId))
    const flow = account?.book.flows.get(flowId)
    if (!account || !flow) return void response.writeHead(404).end()
    if (call.startsWith('GET'))
      return void response
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        .end(
          '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>GoCardless (simulated)</title><form method="post"><button name="do" value="give">Give the mandate</button> <button name="do" value="leave">Go back</button></form>',
        )
    const request = String(flow.links?.billing_request)
    const isGiven = body.includes('give')
    if (isGiven && account.book.requests.get(request)?.status === 'pending') account.book.give(request)
    response.writeHead(303, { location: String(isGiven ? flow.redirect_uri : flow.exit_uri) }).end()
  }
}

const listOf = (book: GoCardlessBook, collection: string): object[] =>
  collection === 'events'
    ? book.events
    : [...((book as unknown as Record<string, Map<string, object>>)[collection] ?? [])].map(([, one]) => one)

function found(book: GoCardlessBook, collection: string, id: string): object {
  const things: Record<string, ReadonlyMap<string, object>> = {
    payments: book.payments,
    refunds: book.refunds,
    mandates: book.mandates,
    billing_requests: book.requests,
    customer_bank_accounts: book.accounts,
  }
  const one = things[collection]?.get(id)
  if (one === undefined) throw gone()
  return one
}

/** Webhooks of a book. They wait until they are delivered, so that a test decides which come, in which order and how often. */
export class GoCardlessWebhooks {
  readonly secret = randomBytes(20).toString('hex')
  waiting: Event[] = []

  constructor(book: GoCardlessBook) {
    book.onEvent = (event) => void this.waiting.push(event)
  }

  /** Sends what waits in one request, and returns its status. */
  async deliver(url: string, { secret = this.secret } = {}): Promise<number> {
    const body = JSON.stringify({ events: this.waiting.splice(0) })
    const signature = createHmac('sha256', secret).update(body).digest('hex')
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...JSON_TYPE, 'webhook-signature': signature },
      body,
      signal: AbortSignal.timeout(30_000),
    })
    await response.arrayBuffer()
    return response.status
  }
}
