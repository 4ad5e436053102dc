import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { askedRefund, callOf } from '../../src/features/gateways/calls.testing.ts'
import type {
  ChargingCall,
  GatewayAdapter,
  GatewayReport,
  None,
  Outcome,
  Refund,
} from '../../src/features/gateways/contract.ts'
import { type Charging, ChargeRow, type DiesWith, dyingWith } from '../../src/features/gateways/rows.testing.ts'
import { stripeAdapter } from '../../src/features/gateways/stripe.ts'
import { networksFromText } from '../../src/platform/outbound/networks.ts'
import { makeOutbound, type Outbound } from '../../src/platform/outbound/outbound.ts'
import type { FaultKind } from './stripe-faults.ts'
import { type Side, StripeSimulator } from './stripe.ts'
import { signatureOf } from './stripe-webhooks.ts'

/**
 * Charged once, refunded once: a charge and a refund by processes that die before, in and after each of their requests and commits, of which each that died
 * goes on late; with faults of the network and of Stripe, with keys that are forgotten, and with names that a restore has lost. Whatever comes first, the book
 * of the simulator is what the rows say.
 */

const simulator = await StripeSimulator.start()
afterAll(() => simulator.stop())

const SCHEDULES = Number(process.env['STRIPE_SCHEDULES'] ?? 200)
const SECRET = 'whsec_schedules'
/** A request is not sent so long after its call was begun: what the network of the service sees to. In seconds. */
const SENT_WITHIN_S = 60
/** So many times a process takes up what is open until everything has its outcome, without anything that fails. */
const ROUNDS = 12

const network = makeOutbound({ allow: networksFromText('127.0.0.0/8') ?? [] })
type Adapter = Required<Pick<GatewayAdapter, 'refund' | 'askRefund' | 'listReports' | 'readReport'>> & Charging

const processOver = (outbound: Pick<Outbound, 'ask'>) =>
  stripeAdapter({
    outbound,
    endpoints: { stripe: simulator.address },
    takePlace: async () => true,
    measured: () => {},
    realNow: () => simulator.now() * 1000,
  }) as Adapter
const alive = processOver(network)

/** Fate of a process that takes up a row. */
interface Step {
  fault: FaultKind | null
  /** Requests before the one that meets the fault. */
  after: number
  dies: { request: number; diesWith: DiesWith } | null
  /** Those that died before go on when this process has ended. */
  wakes: boolean
  /** Seconds until the next process comes. */
  passes: number
  /** After it the database is restored to before the name was kept. */
  isRestored: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  fault: fc.option(
    fc.constantFrom<FaultKind>(
      'cut before',
      'cut after',
      'cut in the answer',
      '500 before',
      '500 after',
      '409 in use',
      '429',
      '503',
    ),
  ),
  after: fc.nat({ max: 2 }),
  dies: fc.option(
    fc.record({ request: fc.integer({ min: 1, max: 4 }), diesWith: fc.constantFrom<DiesWith>('request', 'answer') }),
    { freq: 3 },
  ),
  wakes: fc.boolean(),
  passes: fc.constantFrom(0, 30, 700, 90_000),
  isRestored: fc.nat({ max: 9 }).map((n) => n === 0),
})

const schedule = fc.record({
  number: fc.constantFrom('4242424242424242', '4242424242424242', '4242424242424242', '4000000000000341'),
  /** By which way reports come: the other has none. */
  way: fc.constantFrom<'polling' | 'webhook'>('polling', 'webhook'),
  charge: fc.array(step, { minLength: 1, maxLength: 5 }),
  refund: fc.array(step, { minLength: 1, maxLength: 4 }),
})

/** A process that died and has not gone on yet. */
interface Dead {
  wake(): void
  ends: Promise<unknown>
}

class World {
  readonly #side: Side
  readonly call: ChargingCall
  readonly token: string
  /** Every name that a row has kept, also in a database that was thrown away. */
  readonly kept = new Set<string>()
  row: ChargeRow
  dead: Dead[] = []
  #sent = 0

  constructor(number: string) {
    this.#side = simulator.openAccount().test
    const { secretKey, publishableKey } = this.#side
    const now = new Date(simulator.now() * 1000).toISOString()
    const settings = { SecretKey: secretKey, PublishableKey: publishableKey, WebhookSecrets: [SECRET] }
    this.call = callOf({ accountId: 1n, gatewayId: 1n, scope: randomUUID(), settings, now, today: now.slice(0, 10) })
    this.token = this.#side.console.addCard(number).token
    this.row = this.#newRow()
    this.#sent = simulator.sent.length
  }

  get book() {
    return this.#side.book
  }

  #newRow = () => new ChargeRow(this.call, this.token, '9.Qm3kz0aXw1Yb')

  /** Makes the row as it was when it had no name yet. Processes that run already write into a database that nobody reads. */
  restore(): void {
    this.remember()
    this.row.isClosed = true
    this.row = this.#newRow()
  }

  remember(): void {
    for (const name of this.row.kept) this.kept.add(name)
  }

  /** Runs a process until it ends or dies. Returns what it answered; undefined: it died. */
  async run<Answer>(
    { fault, after, dies }: Step,
    work: (adapter: Adapter) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    simulator.faults.clear()
    if (fault !== null) simulator.faults.add({ kind: fault, after })
    if (dies === null) return work(alive)
    const { send, died, wake } = dyingWith(dies.request, dies.diesWith)
    const adapter = processOver({
      ask: (url, question) => {
        const begunAt = simulator.now()
        // A request that is held back while it is on its way is seen to by the network: it is sent within a minute, or not at all.
        const isLate = () =>
          question.method !== 'GET' && url.pathname.endsWith('/refunds') && simulator.now() - begunAt > SENT_WITHIN_S
        return send(async () => (isLate() ? { kind: 'not_sent', reason: 'late' } : network.ask(url, question)))
      },
    })
    const ends = work(adapter)
    const answer = await Promise.race([ends, died.then(() => undefined)])
    if (answer === undefined) this.dead.push({ wake, ends })
    return answer
  }

  /** Lets all that died go on to their end. */
  async wakeAll(): Promise<void> {
    simulator.faults.clear()
    for (const { wake, ends } of this.dead.splice(0)) {
      wake()
      await ends
    }
  }

  /** Reads the reports of the gateway by one way, as the service does. */
  async reports(way: 'polling' | 'webhook'): Promise<readonly GatewayReport[]> {
    if (way === 'polling') {
      const listed = await alive.listReports(this.call, { cursor: null, since: '2020-01-01T00:00:00.000Z' })
      return listed.kind === 'listed' ? listed.reports : []
    }
    return this.book.events.flatMap((event) => {
      const raw = JSON.stringify(event)
      const headers = { 'stripe-signature': signatureOf(raw, SECRET, simulator.now()) }
      const read = alive.readReport(
        this.call,
        Buffer.from(raw),
        headers,
        new Date(simulator.now() * 1000).toISOString(),
      )
      return read.kind === 'read' ? read.reports : []
    })
  }

  /** Gives the row the name back that a restore took, if its charge has one there: nobody asks about it before. */
  async nameFromReports(way: 'polling' | 'webhook'): Promise<void> {
    simulator.faults.clear()
    for (const { about, reference, gatewayReference } of await this.reports(way)) {
      if (about !== 'charge' || reference !== this.row.asked.reference || gatewayReference === undefined) continue
      const found = await alive.askCharge(this.call, { ...this.row.asked, gatewayReference })
      if ('outcome' in found && found.outcome.kind !== 'none') {
        this.row.name = gatewayReference
        this.row.kept.add(gatewayReference)
      }
    }
  }

  /** Names of intents that were asked to be confirmed. */
  confirmed(): string[] {
    return simulator.sent
      .slice(this.#sent)
      .flatMap(({ call }) => /^POST \/v1\/payment_intents\/(\w+)\/confirm$/.exec(call)?.[1] ?? [])
  }

  paid() {
    return [...this.book.charges.values()].filter(({ paid }) => paid)
  }
}

/** Outcome of a charge or a refund as its row has it: `not_made` by our own word, since the gateway knows nothing of what it did not answer. */
type Result = 'succeeded' | 'declined' | 'not_made'

const isFinal = (outcome: Outcome | None): outcome is Outcome & { kind: 'succeeded' | 'declined' } =>
  outcome.kind === 'succeeded' || outcome.kind === 'declined'

/** The charge, as `collection/calls.ts` goes on with a try: what may have been sent is asked about, and made again only where nobody was left without an answer. */
async function chargeBy(steps: readonly Step[], way: 'polling' | 'webhook', world: World): Promise<Result> {
  let result: Result | undefined
  let wasUnanswered = false
  let isBegun = false
  let isHeld = false
  const write = (row: ChargeRow, outcome: Outcome | None | 'never_arrived') => {
    if (row.isClosed) return
    if (outcome === 'never_arrived') result = 'not_made'
    else if (isFinal(outcome)) result = outcome.kind
    else if (outcome.kind === 'unknown') wasUnanswered = true
    row.isClosed = result !== undefined
  }
  const take = async (adapter: Adapter) => {
    const { row } = world
    const [mayBeThere, isUnanswered] = [isBegun, wasUnanswered]
    isBegun = true
    const answer = async () => {
      if (!mayBeThere) return row.charge(adapter)
      const found = await row.ask(adapter)
      if (found.kind === 'not_sent') return { kind: 'unknown' } as const
      if (found.kind !== 'none') return found
      return isUnanswered ? 'never_arrived' : row.charge(adapter)
    }
    const outcome = await answer()
    write(row, outcome)
    return outcome
  }
  const rounds: Step[] = Array.from({ length: ROUNDS }, () => CALM)
  for (const one of [...steps, ...rounds]) {
    if (result !== undefined) break
    if (isHeld) await world.nameFromReports(way)
    isHeld = false
    await world.run(one, take)
    if (one.wakes) await world.wakeAll()
    // Whatever was on its way has arrived, or never does, by the time at which a database is restored.
    if (one.isRestored) await world.wakeAll()
    if (one.isRestored && result === undefined) {
      world.restore()
      isHeld = true
      // What was written with the name is lost with it.
      wasUnanswered = false
    }
    simulator.advance(one.passes)
  }
  await world.wakeAll()
  if (result === undefined) throw new Error('A charge without an outcome')
  return result
}

const CALM: Step = { fault: null, after: 0, dies: null, wakes: false, passes: 30_000, isRestored: false }

/** The refund, as `refunds/actions.ts` goes on with one. */
async function refundBy(steps: readonly Step[], world: World): Promise<Result> {
  let result: Result | undefined
  let isBegun = false
  let lastAnswer: 'unknown' | 'not_sent' | 'pending' | null = null
  const row: { name: string | null; sentAt: string | null } = { name: null, sentAt: null }
  const request = (): Refund => ({
    ...askedRefund('3.Qm3kz0aXw1Yb', 400n),
    charge: world.row.asked,
    gatewayReference: row.name,
    sentAt: row.sentAt,
  })
  const send = (adapter: Adapter) => {
    row.sentAt = new Date(simulator.now() * 1000).toISOString()
    return adapter.refund(world.call, request())
  }
  const take = async (adapter: Adapter) => {
    const [mayBeThere, before] = [isBegun, lastAnswer]
    isBegun = true
    const answer = async (): Promise<Outcome | 'never_arrived'> => {
      if (!mayBeThere) return send(adapter)
      const found = await adapter.askRefund(world.call, request())
      if (found.kind === 'not_sent' && before !== 'not_sent') return { kind: 'unknown' }
      if (found.kind === 'unknown' && before === 'not_sent') return { kind: 'not_sent' }
      if (found.kind !== 'none') return found
      return before === 'pending' ? 'never_arrived' : send(adapter)
    }
    const outcome = await answer()
    if (result !== undefined) return outcome
    if (outcome === 'never_arrived') result = 'not_made'
    else if (isFinal(outcome)) result = outcome.kind
    else if (outcome.kind === 'unknown' || outcome.kind === 'not_sent' || outcome.kind === 'pending')
      lastAnswer = outcome.kind
    if (outcome !== 'never_arrived' && 'gatewayReference' in outcome) row.name ??= outcome.gatewayReference
    return outcome
  }
  for (const one of [...steps, ...Array.from({ length: ROUNDS }, () => CALM)]) {
    if (result !== undefined) break
    await world.run(one, take)
    if (one.wakes) await world.wakeAll()
    simulator.advance(one.passes)
  }
  await world.wakeAll()
  if (result === undefined) throw new Error('A refund without an outcome')
  return result
}

test(`${SCHEDULES} schedules: charged once and refunded once, whatever dies, and the book is what the rows say`, async () => {
  await fc.assert(
    fc.asyncProperty(schedule, async ({ number, way, charge, refund }) => {
      const world = new World(number)
      const result = await chargeBy(charge, way, world)
      world.remember()
      const paid = world.paid()
      expect(paid).toHaveLength(result === 'succeeded' ? 1 : 0)
      if (result === 'succeeded') expect(paid[0]?.payment_intent).toBe(world.row.name)
      // One outcome each: nothing waits that could still be charged.
      const confirmed = new Set(world.confirmed())
      // A refused one has no card any more: it is cancelled only for the look of the console.
      for (const { id, status } of world.book.intents.values())
        if (world.row.kept.has(id)) expect(['succeeded', 'canceled', 'requires_payment_method']).toContain(status)
      for (const name of confirmed) expect([...world.kept]).toContain(name)
      if (result === 'succeeded') {
        const refunded = await refundBy(refund, world)
        const refunds = [...world.book.refunds.values()]
        expect(refunds.map(({ amount, status }) => [amount, status])).toEqual(
          refunded === 'succeeded' ? [[400, 'succeeded']] : [],
        )
      }
      // Whatever is asked and reported afterwards, it stays so.
      const asked = await world.row.ask(alive)
      expect(asked.kind).toBe(result === 'not_made' ? 'none' : result)
      const reported = (await world.reports(way)).filter(({ about }) => about === 'charge')
      if (result === 'succeeded')
        expect(reported.map(({ gatewayReference }) => gatewayReference)).toContain(world.row.name)
      expect(world.paid()).toHaveLength(result === 'succeeded' ? 1 : 0)
      expect(simulator.problems).toEqual([])
    }),
    { numRuns: SCHEDULES },
  )
}, 300_000)
