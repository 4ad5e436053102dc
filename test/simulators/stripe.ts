import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { Book } from './stripe-book.ts'
import { answerBrowser } from './stripe-browser.ts'
import { perform } from './stripe-calls.ts'
import { isNumber } from './stripe-cards.ts'
import { StripeConsole } from './stripe-console.ts'
import { PACKAGE } from './stripe-declaration.ts'
import { StripeRefusal } from './stripe-error.ts'
import { Faults, spoil, type Fault } from './stripe-faults.ts'
import { keyProblem, StripeJudge, type Problem } from './stripe-judge.ts'
import { IdempotencyKeys, type Kept } from './stripe-keys.ts'
import { readSecondJudge } from './stripe-openapi.ts'
import { operationOf, type Operation, type Resource } from './stripe-operations.ts'
import { Webhooks } from './stripe-webhooks.ts'
import { newAccount } from './stripe-objects.ts'

/**
 * A simulator of Stripe for tests: HTTP on 127.0.0.1, a book for each key's account and mode. It answers from its own book, written by this project after
 * Stripe's declarations and documentation. That the real one answers so is not proved by it.
 */

/** A request as it came. */
export interface Sent {
  /** "POST /v1/payment_intents/pi_…/confirm". */
  call: string
  headers: IncomingMessage['headers']
  /** The body of a POST as it came, else the query. */
  form: string
  /** Facts that stand where there should be none: the query of a POST, or a body with another method. */
  stray: string
}

type Rights = 'all' | ReadonlySet<string>

interface Key {
  account: SimulatedAccount
  book: Book
  isRevoked: boolean
  isPublishable: boolean
  rights: Rights
}

interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

/** An account at Stripe with a book for tests and one that is live. */
export interface SimulatedAccount {
  id: string
  created: number
  test: Side
  live: Side
}

/** An account in one of its modes. */
export interface Side {
  book: Book
  console: StripeConsole
  secretKey: string
  publishableKey: string
  webhooks: Webhooks
}

export class StripeSimulator {
  /** Names, words and forms that the real Stripe would refuse, and answers that it would not give. A test ends with none. */
  readonly problems: string[] = []
  readonly sent: Sent[] = []
  readonly faults = new Faults()
  /** So many milliseconds each request takes, as at a gateway that is far away. */
  latency = 0
  readonly #judge: StripeJudge
  readonly #second = readSecondJudge()
  readonly #keys = new Map<string, Key>()
  readonly #idempotency = new IdempotencyKeys()
  readonly #tasks: { second: number; what: () => void }[] = []
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #port = 0
  #ahead = 0

  private constructor(judge: StripeJudge) {
    this.#judge = judge
  }

  /** Starts one on a free port of 127.0.0.1, or on the given one. */
  static async start(port = 0): Promise<StripeSimulator> {
    const simulator = new StripeSimulator(await StripeJudge.read())
    simulator.#port = port
    await simulator.resume()
    return simulator
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Takes connections again, at the same address. */
  async resume(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response))
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, '127.0.0.1', resolve)
    })
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
  }

  /** Refuses connections and ends the open ones; the books stay. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)))
  }

  /** Seconds since 1970. */
  now(): number {
    return Math.floor(Date.now() / 1000) + this.#ahead
  }

  /** Moves the simulator's clock: keys are forgotten, refunds arrive, events grow old. */
  advance(seconds: number): void {
    this.#ahead += seconds
    const due = this.#tasks
      .filter(({ second }) => second <= this.now())
      .toSorted((one, other) => one.second - other.second)
    for (const task of due) {
      this.#tasks.splice(this.#tasks.indexOf(task), 1)
      task.what()
    }
  }

  /** Opens an account. @param apiVersion the one that the account has by default; its events have that shape */
  openAccount(apiVersion = PACKAGE.apiVersion ?? ''): SimulatedAccount {
    const id = `acct_${random(16)}`
    const account = { id, created: this.now() } as SimulatedAccount
    account.test = this.#openSide(account, false, apiVersion)
    account.live = this.#openSide(account, true, apiVersion)
    return account
  }

  #openSide(account: SimulatedAccount, isLive: boolean, apiVersion: string): Side {
    const clock = {
      now: () => this.now(),
      at: (second: number, what: () => void) => this.#tasks.push({ second, what }),
    }
    const book = new Book(isLive, clock, apiVersion)
    const mode = isLive ? 'live' : 'test'
    const secretKey = this.#addKey(`sk_${mode}_`, { account, book, rights: 'all' })
    const publishableKey = this.#addKey(`pk_${mode}_`, { account, book, rights: 'all', isPublishable: true })
    return { book, console: new StripeConsole(book), secretKey, publishableKey, webhooks: new Webhooks(book) }
  }

  #addKey(prefix: string, key: Pick<Key, 'account' | 'book' | 'rights'> & { isPublishable?: boolean }): string {
    const secret = `${prefix}${random(24)}`
    this.#keys.set(secret, { isRevoked: false, isPublishable: false, ...key })
    return secret
  }

  /** Makes a restricted key. Whoever may write may read. @param rights such as "write PaymentIntents" */
  restrict({ secretKey, book }: Side, rights: Operation['right'][]): string {
    const { account } = this.#keyOf(secretKey)
    const whole = rights.flatMap((right) => [right, right.replace('write', 'read')])
    return this.#addKey(`rk_${book.isLive ? 'live' : 'test'}_`, { account, book, rights: new Set(whole) })
  }

  /** Ends a key, as a person does at the console. */
  revoke(key: string): void {
    this.#keyOf(key).isRevoked = true
  }

  /** Takes a key again that was ended, as after an account of Stripe was closed for a while. */
  restore(key: string): void {
    this.#keyOf(key).isRevoked = false
  }

  #keyOf(key: string): Key {
    const found = this.#keys.get(key)
    if (found === undefined) throw new Error('The simulator gave no such key')
    return found
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '/', this.address)
    const method = request.method ?? 'GET'
    const fault = this.faults.take(`${method} ${pathname}`)
    if (fault?.kind === 'cut in the request') return void request.socket.destroy()
    const body = await text(request).catch(() => undefined)
    if (body === undefined || (await this.#serveBrowser(pathname, search, body, response, fault))) return
    const sent = {
      call: `${method} ${pathname}`,
      headers: request.headers,
      form: method === 'POST' ? body : search.slice(1),
      stray: method === 'POST' ? search.slice(1) : body,
    }
    this.sent.push(sent)
    if (this.latency > 0) await setTimeout(this.latency)
    this.advance(0)
    const answer = await this.#answer(sent, fault)
    if (answer === 'nothing') return void request.socket.destroy()
    if (answer === 'hang') return
    response.writeHead(answer.status, answer.headers)
    if (fault?.kind !== 'cut in the answer') return void response.end(answer.body)
    response.write(answer.body.slice(0, answer.body.length / 2), () => request.socket.destroy())
  }

  /** Serves the script, its frames and what they ask. A fault takes the place of an answer, as it does of any other. */
  async #serveBrowser(path: string, search: string, body: string, response: ServerResponse, fault: Fault | undefined) {
    if (!/^\/(?:browser|endive)\//.test(path)) return false
    if (fault?.kind === 'late') await fault.until
    const instead = this.faults.insteadOf(fault)
    if (instead === 'hang') return true
    const answer = answerBrowser(path, search, body, {
      judge: this.#judge,
      bookOf: (key) => (this.#keys.get(key)?.isPublishable ? this.#keys.get(key)?.book : undefined),
      books: [...this.#keys.values()].map(({ book }) => book),
    })
    this.problems.push(...(answer?.problems ?? []).map((one) => `in a page: ${one}`))
    const { status, body: text, headers } = instead ?? answer ?? { status: 404, body: '', headers: {} }
    response.writeHead(status, headers).end(text)
    return true
  }

  async #answer(sent: Sent, fault: Fault | undefined): Promise<Answer | 'nothing' | 'hang'> {
    const id = `req_${random(14)}`
    const instead = this.faults.insteadOf(fault)
    if (instead === 'hang') return 'hang'
    const { status, body, replayed } = instead ?? (await this.#perform(sent, fault, id))
    const answer = {
      status,
      body,
      headers: {
        ...{ 'content-type': 'application/json', 'request-id': id, 'stripe-version': PACKAGE.apiVersion ?? '' },
        ...(replayed && { 'idempotent-replayed': 'true' }),
        ...instead?.headers,
      },
    }
    return spoil(answer, fault)
  }

  /** Does what a request asks for, once for each idempotency key. */
  async #perform(sent: Sent, fault: Fault | undefined, id: string): Promise<Kept & { replayed?: boolean }> {
    try {
      const { key, operation, place, body } = this.#read(sent)
      const named = sent.headers['idempotency-key']
      const idempotencyKey = sent.call.startsWith('POST') && typeof named === 'string' ? named : null
      const cause = { id, idempotency_key: idempotencyKey }
      const run = async () => {
        if (fault?.kind === 'late') await fault.until
        if (fault?.kind === '500 before') return internalError()
        const answer = this.#do(key, operation, place, body, cause)
        return fault?.kind === '500 after' ? internalError() : answer
      }
      if (idempotencyKey === null) return await run()
      return await this.#idempotency.once(key.book, idempotencyKey, `${sent.call} ${sent.form}`, this.now(), run)
    } catch (error) {
      return this.#refusal(error, sent)
    }
  }

  #do(key: Key, operation: Operation, id: string, body: object, cause: Book['cause']): Kept {
    const { book, account } = key
    book.cause = cause
    try {
      const answer =
        operation.parameters === 'AccountRetrieveCurrent'
          ? { ...newAccount(account.id, account.created) }
          : perform(book, operation, id, body as Record<string, unknown>)
      const wrong = this.#judge.judgeAnswer(answer)
      this.problems.push(...wrong.map((one) => `answer of ${operation.method} ${operation.path}: ${one}`))
      return { status: 200, body: JSON.stringify(answer) }
    } catch (error) {
      if (!(error instanceof StripeRefusal)) throw error
      return { status: error.status, body: JSON.stringify({ error: error.error }) }
    } finally {
      book.cause = { id: null, idempotency_key: null }
    }
  }

  /** Finds out who asks for what. @throws {StripeRefusal} */
  #read(sent: Sent) {
    const [method = '', path = ''] = sent.call.split(' ')
    const key = this.#caller(sent)
    const found = operationOf(method, path)
    const problems: Problem[] = [...headerProblems(sent), ...keyProblem(sent.headers['idempotency-key'] as string)]
    if (found === undefined) {
      this.problems.push(`${sent.call}: no operation of the simulator`)
      throw new StripeRefusal(404, { message: `Unrecognized request URL (${sent.call}).` })
    }
    const { operation, id: place } = found
    const { body, problems: wrong } = this.#judge.judgeRequest(operation, sent.form)
    problems.push(...wrong)
    this.problems.push(...secretsIn(body).map((one) => `${sent.call}: ${one} is never sent`))
    const second = this.#second?.(operation, body) ?? []
    this.problems.push(...second.map((one) => `${sent.call}: by the second judge: ${one}`))
    const [first] = problems
    this.problems.push(...problems.map(({ param, message }) => `${sent.call}: ${param} ${message}`))
    if (first !== undefined) throw new StripeRefusal(400, { ...first })
    allow(key, operation)
    return { key, operation, place, body }
  }

  #caller({ headers }: Sent): Key {
    const given = secretOf(headers.authorization)
    if (given === undefined) throw new StripeRefusal(401, { message: 'You did not provide an API key.' })
    const key = this.#keys.get(given)
    if (key === undefined) throw new StripeRefusal(401, { message: `Invalid API Key provided: ${masked(given)}` })
    if (key.isRevoked)
      throw new StripeRefusal(401, { code: 'api_key_expired', message: `Expired API Key provided: ${masked(given)}` })
    if (key.isPublishable)
      throw new StripeRefusal(401, {
        code: 'secret_key_required',
        message: 'This API call cannot be made with a publishable API key.',
      })
    return key
  }

  #refusal(error: unknown, sent: Sent): Kept {
    if (error instanceof StripeRefusal) return { status: error.status, body: JSON.stringify({ error: error.error }) }
    this.problems.push(`${sent.call}: the simulator failed: ${String(error)}`)
    return internalError()
  }
}

/** Refuses what a restricted key may not do, naming the permission as Stripe does. */
function allow({ rights, account }: Key, { right }: Operation): void {
  if (rights === 'all' || rights.has(right)) return
  const [verb = '', ...resource] = right.split(' ')
  const permission = `rak_${PERMISSIONS[resource.join(' ') as Resource]}_${verb}`
  throw new StripeRefusal(403, {
    message: `The provided key does not have the required permissions for this endpoint on account '${account.id}'. Having the '${permission}' permission would allow this request to continue.`,
  })
}

const PERMISSIONS: Record<Resource, string> = {
  Customers: 'customer',
  SetupIntents: 'setup_intent',
  PaymentMethods: 'payment_method',
  PaymentIntents: 'payment_intent',
  'Charges and Refunds': 'charge',
  Disputes: 'dispute',
  Events: 'event',
  Account: 'accounts_kyc_basic',
  'Webhook Endpoints': 'webhook',
}

/** Problems of requests that the real Stripe might take, and we never mean: another version, a body that is no form. */
function headerProblems({ call, headers, stray }: Sent): Problem[] {
  const version = headers['stripe-version']
  const type = headers['content-type'] ?? ''
  return [
    ...(version === PACKAGE.apiVersion ? [] : [`Stripe-Version is ${String(version)}, not ${PACKAGE.apiVersion}`]),
    ...(!call.startsWith('POST') || type === 'application/x-www-form-urlencoded' ? [] : [`Content-Type is ${type}`]),
    ...(stray === '' ? [] : ['has a query and a body']),
  ].map((message) => ({ param: '', code: 'parameter_invalid', message }))
}

const ABOUT_PAYERS = new Set(['name', 'email', 'phone', 'receipt_email', 'address', 'shipping', 'billing_details'])

/** Lists what Stripe would take and this project never sends: numbers of cards, and who the payer is. */
function secretsIn(body: object): string[] {
  return Object.entries(body).flatMap(([name, value]: [string, unknown]) => [
    ...(ABOUT_PAYERS.has(name) ? [name] : []),
    ...(typeof value === 'object' && value !== null ? secretsIn(value) : []),
    ...(typeof value === 'string' && hasNumber(value) ? ['a card number'] : []),
  ])
}

/** Whether a text has a number of a card, with blanks or hyphens in it, too. UUIDs look like some. */
function hasNumber(text: string): boolean {
  const found = text.replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '').match(/\b\d(?:[ -]?\d){11,18}\b/g)
  return (found ?? []).some((number) => isNumber(number.replaceAll(/[ -]/g, '')))
}

/** Reads a key from `Bearer sk_…`, or from the user of `Basic`. */
function secretOf(authorization = ''): string | undefined {
  const [scheme = '', value = ''] = authorization.split(' ')
  if (/^bearer$/i.test(scheme)) return value
  return /^basic$/i.test(scheme) ? Buffer.from(value, 'base64').toString().split(':')[0] : undefined
}

const masked = (key: string) => `${key.slice(0, 8)}${'*'.repeat(8)}${key.slice(-4)}`

const internalError = (): Kept => ({
  status: 500,
  body: JSON.stringify({ error: { type: 'api_error', message: 'An unknown error occurred.' } }),
})

const random = (length: number) =>
  randomBytes(length * 2)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, '')
    .slice(0, length)
