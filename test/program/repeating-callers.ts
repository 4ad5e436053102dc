import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '../../bench/measure/patient-client.ts'

/** Callers who add customers, invoices and credits, each repeated under its key until it is acknowledged. Knows no test runner. */

const AGAIN_MS = 50
/** Of ten requests of a caller so many add an invoice, and so many credit one of those. */
const INVOICES = 3
const CREDITS = 2

/** A service that callers can ask, and its name: that of one process, which no other one has. */
export interface Asked {
  name: string
  address: string
}

/** A record that was acknowledged. */
export interface Made {
  kind: 'customer' | 'invoice' | 'credit'
  id: number
  /** Of an invoice or a credit note. */
  number: string | null
  /** No other record has it. */
  reference: string
  /** The process that answered. */
  by: string
  /** When, as performance.now() tells it. */
  at: number
}

export interface CallersWish {
  /** Their records are named after it. */
  name: string
  authorization: string
  count: number
  /** Services of now, asked by turns. */
  services(): readonly Asked[]
  /** To whom invoices are made out; left out: only customers are added. */
  customer?: number
}

export class RepeatingCallers {
  readonly made: Made[] = []
  readonly #wish: CallersWish
  readonly #all: Promise<void>[]
  #failure: unknown
  #isOver = false
  #isHeld = false
  #underWay = 0

  constructor(wish: CallersWish) {
    this.#wish = wish
    const fail = (error: unknown) => {
      this.#failure ??= error
    }
    this.#all = Array.from({ length: wish.count }, (_, n) => this.#call(`${wish.name}${n}`, n).catch(fail))
  }

  /** Records that were acknowledged in the second that began at a moment. */
  rateFrom(moment: number): number {
    return this.made.filter(({ at }) => at >= moment && at < moment + 1_000).length
  }

  /** Waits until so many more records are acknowledged, by the services of these names. */
  async untilMade(count: number, names?: readonly string[]): Promise<void> {
    const from = this.made.length
    const made = () => this.made.slice(from).filter(({ by }) => names === undefined || names.includes(by)).length
    while (made() < count) {
      if (this.#failure !== undefined) throw this.#failure
      await delay(10)
    }
  }

  /** Holds the callers back; settles when nothing of them is under way any more. */
  async hold(): Promise<void> {
    this.#isHeld = true
    while (this.#underWay > 0) await delay(10)
  }

  release(): void {
    this.#isHeld = false
  }

  /** Ends the callers, whether what they sent last was acknowledged or not. */
  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#all)
    if (this.#failure !== undefined) throw this.#failure
  }

  async #call(name: string, place: number): Promise<void> {
    let turn = place
    let credited: Made | undefined
    for (let n = 0; !this.#isOver; n += 1) {
      const reference = `${name} ${n}`
      // Each is at another place of its ten.
      const [path, body, kind] = this.#next((n + 3 * place) % 10, reference, credited)
      for (let isDone = false; !isDone && !this.#isOver; turn += 1) {
        const one = await this.#ask(turn, path, body, `${reference} ${kind}`)
        isDone = one !== undefined
        if (one === undefined || one === 'gone') {
          credited = undefined
          if (!isDone) await delay(AGAIN_MS)
          continue
        }
        const record = { ...one, kind, reference, at: performance.now() }
        this.made.push(record)
        if (kind === 'invoice') credited = record
      }
    }
  }

  #next(n: number, reference: string, credited: Made | undefined): [path: string, body: object, kind: Made['kind']] {
    const { customer } = this.#wish
    const isCredit = n >= INVOICES && n < INVOICES + CREDITS
    if (customer !== undefined && isCredit && credited !== undefined)
      return [`/v1/invoices/${credited.id}/credit`, { Amount: 1, Reason: reference }, 'credit']
    if (customer !== undefined && n < INVOICES)
      return ['/v1/invoices', { customerID: customer, Reference: reference, Charges: [{ UnitCostEx: 10 }] }, 'invoice']
    return ['/v1/customers', { Name: 'Some', LastName: 'Body', Reference: reference }, 'customer']
  }

  /** Asks once. Returns what was made, `gone` if what it is about was lost, and nothing if it is to be sent again. */
  async #ask(
    turn: number,
    path: string,
    body: object,
    key: string,
  ): Promise<Pick<Made, 'id' | 'number' | 'by'> | 'gone' | undefined> {
    while (this.#isHeld && !this.#isOver) await delay(AGAIN_MS)
    const services = this.#wish.services()
    const service = services[turn % services.length]
    if (this.#isOver || service === undefined) return undefined
    this.#underWay += 1
    try {
      const response = await fetch(service.address + path, {
        method: 'POST',
        headers: {
          authorization: this.#wish.authorization,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify(body),
      }).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (response === undefined || text === undefined) return undefined
      const { status, headers } = response
      if (status === 404 && path.endsWith('/credit')) return 'gone'
      if (status === 503 || codeOf(text) === 'idempotency_key_in_use') return undefined
      if (status !== 201) throw new Error(`${path} answered ${status}: ${text.slice(0, 400)}`)
      const answer = JSON.parse(text) as Record<string, number | string>
      const id = Number(answer['creditNoteID'] ?? answer['invoiceID'] ?? answer['customerID'])
      const number = answer['CreditNumber'] ?? answer['invoiceNum'] ?? null
      // Whoever answers again knows nothing of it.
      const by = headers.get('idempotency-replayed') === 'true' ? '' : service.name
      return { id, number: number === null ? null : String(number), by }
    } finally {
      this.#underWay -= 1
    }
  }
}
