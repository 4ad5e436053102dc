import { setTimeout as delay } from 'node:timers/promises'

/** A caller that does what the documentation asks of callers: waits as Retry-After says, and repeats a request under its key. */

export interface Request {
  method: string
  path: string
  body?: object
  /** Status that the answer must have, or one of these. */
  status: number | readonly number[]
}

/** Request that was acknowledged, as it was sent, with its answer. */
export interface Acknowledged {
  client: PatientClient
  key: string
  method: string
  path: string
  body: string | undefined
  status: number
  answer: string
}

/** Results of all callers together. */
export class Tally {
  answers = 0
  /** Whoever wants to repeat what was acknowledged listens. */
  acknowledged: (written: Acknowledged) => void = () => {}
  /** How often callers were asked to come again, by status and code. */
  readonly waits = new Map<string, number>()
  /** Answers that are not as they must be. */
  readonly wrong: string[] = []

  wait(reason: string): void {
    this.waits.set(reason, (this.waits.get(reason) ?? 0) + 1)
  }

  check(isRight: boolean, what: string): void {
    if (!isRight) this.wrong.push(what)
  }
}

/** Code of the refusal that a body reports. */
export const codeOf = (text: string): string | undefined => /"Code":"([a-z_]+)"/.exec(text)?.[1]

/** Whether an answer of 5xx is one that may be: 503, with the reason as a code, and when to come again. */
export const isReasoned = (status: number, headers: Headers, text: string): boolean =>
  status === 503 && codeOf(text) !== undefined && headers.has('retry-after')

/** Refusals of 409 that end on their own: another request is at work, or was when the service was killed, whose lease lapses. */
const AT_WORK = ['idempotency_key_in_use', 'clock_moving']

let keys = 0

/** An answer that is not as it must be, and is counted. */
export class WrongAnswer extends Error {}

export class PatientClient {
  readonly authorization: string
  readonly tally: Tally
  readonly #address: () => string | Promise<string>
  readonly #mayBreak: boolean

  /** `mayBreak`: the service is killed now and then, and `address` settles when it is back. */
  constructor(given: {
    authorization: string
    tally: Tally
    address: () => string | Promise<string>
    mayBreak: boolean
  }) {
    this.authorization = given.authorization
    this.tally = given.tally
    this.#address = given.address
    this.#mayBreak = given.mayBreak
  }

  /** Sends a request until it is answered for good; what is not as it must be is counted, and throws. */
  async ask(request: Request): Promise<string> {
    const isWrite = request.method !== 'GET'
    keys += 1
    const key = isWrite ? `bench ${process.pid} ${keys}` : undefined
    const body = request.body === undefined ? undefined : JSON.stringify(request.body)
    const { status, text } = await this.#settled(request, body, key)
    if (![request.status].flat().includes(status)) {
      const what = `${request.method} ${request.path} ${body ?? ''}: ${status} instead of ${request.status}, ${text.slice(0, 400)}`
      this.tally.wrong.push(what)
      throw new WrongAnswer(what)
    }
    this.tally.answers += 1
    const { method, path } = request
    if (key !== undefined && status < 300)
      this.tally.acknowledged({ client: this, key, method, path, body, status, answer: text })
    return text
  }

  async read<T>(path: string): Promise<T> {
    return JSON.parse(await this.ask({ method: 'GET', path, status: 200 })) as T
  }

  async add<T>(path: string, body: object): Promise<T> {
    return JSON.parse(await this.ask({ method: 'POST', path, body, status: 201 })) as T
  }

  async change(method: 'PUT' | 'DELETE', path: string, body?: object): Promise<void> {
    await this.ask({ method, path, status: 204, ...(body ? { body } : {}) })
  }

  /** Sends what was acknowledged once more. The answer must be the same, and say that it is. */
  async repeat({ key, method, path, body, status, answer }: Omit<Acknowledged, 'client'>): Promise<void> {
    const again = await this.#settled({ method, path }, body, key)
    const isSame = again.status === status && again.text === answer && again.isReplayed
    this.tally.check(isSame, `${method} ${path} again under its key: ${again.status} ${again.text.slice(0, 400)}`)
  }

  async #settled(
    { method, path }: Pick<Request, 'method' | 'path'>,
    body: string | undefined,
    key: string | undefined,
  ) {
    for (;;) {
      const address = await this.#address()
      const response = await this.#fetched(address, method, path, body, key)
      if (response === undefined) continue
      const { status, headers, text } = response
      const code = codeOf(text)
      const isAtWork = this.#mayBreak && status === 409 && AT_WORK.includes(code ?? '')
      const isAsked = status === 429 || isReasoned(status, headers, text) || isAtWork
      if (!isAsked) return { status, text, isReplayed: headers.get('idempotency-replayed') === 'true' }
      this.tally.wait(`${status} ${code}`)
      await delay(Number(headers.get('retry-after') ?? 1) * 1000)
    }
  }

  async #fetched(address: string, method: string, path: string, body: string | undefined, key: string | undefined) {
    try {
      const response = await fetch(address + path, {
        method,
        headers: {
          authorization: this.authorization,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body }),
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    } catch (error) {
      if (!this.#mayBreak) {
        const { message, cause } = error as Error
        const what = `${method} ${path}: no answer, ${message} ${(cause as Error | undefined)?.message ?? ''}`
        this.tally.wrong.push(what)
        throw new WrongAnswer(what)
      }
      this.tally.wait('no answer')
      return undefined
    }
  }
}
