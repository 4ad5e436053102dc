import { askedCharge, chargeToMake } from './calls.testing.ts'
import type { AskedCharge, ChargingCall, GatewayAdapter, None, Outcome } from './contract.ts'

/** Rows of charges as rooms keep them, and processes that die with a request: what an adapter that charges is tested with. */

export type Charging = Required<Pick<GatewayAdapter, 'charge' | 'askCharge' | 'cancelCharge'>>

/** Outcomes that are written, after which nothing more is kept of a row. */
const FINAL: ReadonlySet<string> = new Set(['succeeded', 'declined'])

/** The row of a charge: the gateway's name of it, as whoever keeps one has committed it, and whether its outcome is written. */
export class ChargeRow {
  name: string | null = null
  isClosed = false
  /** Every name that it ever had. */
  readonly kept = new Set<string>()
  readonly #call: ChargingCall
  readonly #charge: { reference: string; token: string; amountMinor: bigint }

  constructor(call: ChargingCall, token: string, reference = '7', amountMinor = 1000n) {
    this.#call = call
    this.#charge = { reference, token, amountMinor }
  }

  /** The facts with which its gateway is asked. */
  get asked(): AskedCharge {
    return askedCharge(this.#charge.reference, { ...this.#charge, gatewayReference: this.name })
  }

  /** Charges by a process that has read the row just now, and takes the answer. */
  async charge(by: Charging, call = this.#call): Promise<Outcome> {
    let present = this.name
    const keep = async (name: string) => {
      if (this.isClosed || this.name !== present) return false
      present = this.#take(name)
      return true
    }
    const { reference, token, amountMinor } = this.#charge
    const asked = chargeToMake(reference, token, { amountMinor, gatewayReference: present })
    return this.#learn(await by.charge({ ...call, keep }, asked))
  }

  /** Keeps the name that an answer bears, if there is none yet. */
  #learn<Answer extends Outcome | None>(outcome: Answer): Answer {
    if ('gatewayReference' in outcome && outcome.gatewayReference !== null && !this.isClosed && this.name === null)
      this.#take(outcome.gatewayReference)
    return outcome
  }

  #take(name: string): string {
    this.name = name
    this.kept.add(name)
    return name
  }

  /** Asks what became of it. */
  async ask(by: Charging, call = this.#call): Promise<Outcome | None> {
    const found = await by.askCharge(call, this.asked)
    return 'outcome' in found ? found.outcome : found
  }

  /** Goes on as whoever takes up a row does: asks, charges what was not made, until the outcome is known, and writes that. */
  async settle(by: Charging, times = 4): Promise<Outcome | None> {
    let outcome: Outcome | None = { kind: 'unknown' }
    for (let time = 0; time < times && !FINAL.has(outcome.kind); time += 1) {
      outcome = this.#learn(await this.ask(by))
      if (outcome.kind === 'none') outcome = await this.charge(by)
    }
    this.isClosed = FINAL.has(outcome.kind)
    return outcome
  }
}

/** Moment at which a process dies: with a request that it was about to send, or with an answer that it was to get. What it held goes on its way once it wakes. */
export type DiesWith = 'request' | 'answer'

/** A process that dies with one of its requests. */
export interface Dying<Adapter> {
  adapter: Adapter
  died: Promise<void>
  wake(): void
}

/** Makes a request of which a process dies: the one of a number, counted from 1. */
export function dyingWith(request: number, diesWith: DiesWith) {
  let seen = 0
  let wake = () => {}
  let die = () => {}
  const woken = new Promise<void>((resolve) => (wake = resolve))
  const died = new Promise<void>((resolve) => (die = resolve))
  const send = async <Answer>(really: () => Promise<Answer>): Promise<Answer> => {
    seen += 1
    if (seen !== request) return really()
    if (diesWith === 'request') {
      die()
      await woken
      return really()
    }
    const answer = await really()
    die()
    await woken
    return answer
  }
  return { send, died, wake: () => wake() }
}

/** Makes a process that dies with the one request by which an adapter charges. */
export function dyingAdapter<Adapter extends Charging>(adapter: Adapter, diesWith: DiesWith): Dying<Adapter> {
  const { send, died, wake } = dyingWith(1, diesWith)
  return { adapter: { ...adapter, charge: (call, charge) => send(() => adapter.charge(call, charge)) }, died, wake }
}
