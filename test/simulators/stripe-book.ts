import { createHash, randomBytes } from 'node:crypto'
import type Stripe from 'stripe'
import { cardOfToken, type Card } from './stripe-cards.ts'
import { missing } from './stripe-error.ts'
import { newPaymentMethod, newTransaction, type Making } from './stripe-objects.ts'

/** Seconds since 1970, and what is to be done when they have come. */
export interface Clock {
  now(): number
  at(second: number, what: () => void): void
}

/** The request that an event comes from; both null for what nobody asked for, and at the console. */
export interface Cause {
  id: string | null
  idempotency_key: string | null
}

const NOBODY: Cause = { id: null, idempotency_key: null }
const EVENTS_KEPT = 30 * 86_400

/** All that one Stripe account has in one of its modes. What its API and its console do to it stands in the files beside. */
export class Book {
  readonly isLive: boolean
  readonly clock: Clock
  readonly customers = new Map<string, Stripe.Customer>()
  readonly deleted = new Set<string>()
  readonly methods = new Map<string, Stripe.PaymentMethod>()
  readonly setups = new Map<string, Stripe.SetupIntent>()
  readonly intents = new Map<string, Stripe.PaymentIntent>()
  readonly charges = new Map<string, Stripe.Charge>()
  readonly refunds = new Map<string, Stripe.Refund>()
  readonly disputes = new Map<string, Stripe.Dispute>()
  readonly transactions = new Map<string, Stripe.BalanceTransaction>()
  readonly endpoints = new Map<string, Stripe.WebhookEndpoint>()
  /** Oldest first, each as it was when it happened. */
  readonly events: Stripe.EventBase[] = []
  /** Called with each event after it is written. */
  onEvent: (event: Stripe.EventBase) => void = () => undefined
  /** The version of the API that this Stripe account has by default: listed events have its shape. */
  eventVersion: string
  cause = NOBODY
  readonly #cards = new Map<string, Card>()

  constructor(isLive: boolean, clock: Clock, eventVersion: string) {
    this.isLive = isLive
    this.clock = clock
    this.eventVersion = eventVersion
  }

  /** Names a new object: `pi_` and 24 letters and digits. */
  make(prefix: string): Making {
    const letters = randomBytes(32)
      .toString('base64')
      .replaceAll(/[^A-Za-z0-9]/g, '')
      .padEnd(24, '0')
      .slice(0, 24)
    return { id: `${prefix}_${letters}`, created: this.clock.now(), livemode: this.isLive }
  }

  /** Does something of which nobody asked the API: at the console, at a bank, or when its time has come. */
  byItself<T>(what: () => T): T {
    const before = this.cause
    this.cause = NOBODY
    try {
      return what()
    } finally {
      this.cause = before
    }
  }

  /** Writes an event with the object as it is now. @param previous the attributes that changed, as they were */
  emit(type: string, object: object, previous?: object): void {
    const data = { object: structuredClone(object), ...(previous && { previous_attributes: previous }) }
    const event = {
      ...{ ...this.make('evt'), object: 'event', api_version: this.eventVersion, pending_webhooks: 0 },
      ...{ data, request: this.cause, type },
    } as Stripe.EventBase
    this.events.push(event)
    this.onEvent(event)
  }

  /** Events of the last 30 days, the newest first. */
  listEvents(): Stripe.EventBase[] {
    const oldest = this.clock.now() - EVENTS_KEPT
    return this.events.filter(({ created }) => created >= oldest).toReversed()
  }

  /** Finds a payment method; a name such as `pm_card_visa` makes a new one. */
  method(id: string, param = 'payment_method', status: 400 | 404 = 400): Stripe.PaymentMethod {
    const card = cardOfToken(id)
    if (card !== undefined) return this.addMethod(card)
    return find(this.methods, 'PaymentMethod', id, param, status)
  }

  /** Stores a card, which belongs to nobody yet. Two of one number have one fingerprint. */
  addMethod(
    card: Card,
    facts: { name?: string | null; expMonth?: number; expYear?: number } = {},
  ): Stripe.PaymentMethod {
    const year = new Date(this.clock.now() * 1000).getUTCFullYear()
    const method = newPaymentMethod(this.make('pm'), card, {
      fingerprint: createHash('sha256').update(card.number).digest('base64url').slice(0, 16),
      ...{ name: facts.name ?? null, expMonth: facts.expMonth ?? 12, expYear: facts.expYear ?? year + 3 },
    })
    this.methods.set(method.id, method)
    this.#cards.set(method.id, card)
    return method
  }

  cardOf({ id }: Stripe.PaymentMethod): Card {
    const card = this.#cards.get(id)
    if (card === undefined) throw new Error(`${id} has no card`)
    return card
  }

  /** Changes what becomes of a card from now on. */
  conduct(method: Stripe.PaymentMethod, conduct: Partial<Omit<Card, 'number'>>): void {
    this.#cards.set(method.id, { ...this.cardOf(method), ...conduct })
  }

  attach(method: Stripe.PaymentMethod, customer: string): void {
    method.customer = customer
    this.emit('payment_method.attached', method)
  }

  detach(method: Stripe.PaymentMethod): void {
    const { customer } = method
    method.customer = null
    this.emit('payment_method.detached', method, { customer })
  }

  customer(id: string, status: 400 | 404 = 400, param = 'customer'): Stripe.Customer {
    return find(this.customers, 'customer', id, param, status)
  }

  /** Deletes a customer, and detaches what belongs to them. */
  deleteCustomer(id: string): void {
    const customer = this.customer(id, 404, 'id')
    for (const method of this.methods.values()) if (method.customer === id) this.detach(method)
    this.customers.delete(id)
    this.deleted.add(id)
    this.emit('customer.deleted', customer)
  }

  /** Writes a movement of money and returns it. @param amount minor units, negative for money that leaves */
  move(facts: Parameters<typeof newTransaction>[1]): Stripe.BalanceTransaction {
    const transaction = newTransaction(this.make('txn'), facts)
    this.transactions.set(transaction.id, transaction)
    return transaction
  }

  /** Finds any object by its name, for `expand`. */
  byId(id: string): object | undefined {
    const kept = [this.customers, this.methods, this.setups, this.intents, this.charges, this.refunds, this.disputes]
    for (const things of [...kept, this.transactions]) {
      const found = things.get(id)
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** Finds a thing by its name, or refuses as Stripe does. */
export function find<T>(things: Map<string, T>, kind: string, id: string, param: string, status: 400 | 404): T {
  const found = things.get(id)
  if (found === undefined) throw missing(kind, id, param, status)
  return found
}

/** The identifier of a field that holds one, or the object itself. */
export const idOf = (field: string | { id: string } | null | undefined) =>
  field == null || typeof field === 'string' ? (field ?? null) : field.id
