import type Stripe from 'stripe'
import { idOf, type Book } from './stripe-book.ts'
import { cardOf, type Card } from './stripe-cards.ts'
import { answerChallenge, cancelPaymentIntent, paymentIntent, settle } from './stripe-intents.ts'
import { failRefund, openDispute, refundCharge, reinstate, setDispute, settleRefund, withdraw } from './stripe-money.ts'
import { newCustomer, newEndpoint } from './stripe-objects.ts'

/** People at Stripe's console, customers at their bank, and banks: whatever happens without a request of ours. Intents stand for their charges. */
export class StripeConsole {
  readonly #book: Book

  constructor(book: Book) {
    this.#book = book
  }

  /** Makes a customer with a card, as another program did before ours. Returns the token by which we would be given it. */
  addCard(number: string, conduct: Partial<Omit<Card, 'number'>> & { name?: string; customer?: string } = {}) {
    const { name, customer: known, ...rest } = conduct
    return this.#book.byItself(() => {
      const customer = known ?? this.addCustomer().id
      const method = this.#book.addMethod(cardOf(number, rest), { name: name ?? null })
      this.#book.attach(method, customer)
      return { customer, method: method.id, token: `${customer}/${method.id}` }
    })
  }

  addCustomer(facts: Partial<Stripe.Customer> = {}): Stripe.Customer {
    return this.#book.byItself(() => {
      const customer = newCustomer(this.#book.make('cus'), facts)
      this.#book.customers.set(customer.id, customer)
      this.#book.emit('customer.created', customer)
      return customer
    })
  }

  /** Changes what becomes of a card from its next charge on. */
  letConduct(method: string, conduct: Partial<Omit<Card, 'number'>>): void {
    this.#book.conduct(this.#book.method(method), conduct)
  }

  /** Refunds a charge without metadata of ours; all that is left of it if no amount is given. */
  refund(intent: string, amount?: number): Stripe.Refund {
    return this.#book.byItself(() => refundCharge(this.#book, this.#charge(intent), { amount }))
  }

  settleRefund(id: string): void {
    this.#book.byItself(() => settleRefund(this.#book, this.#refund(id)))
  }

  failRefund(id: string, reason = 'expired_or_canceled_card'): void {
    this.#book.byItself(() => failRefund(this.#book, this.#refund(id), reason))
  }

  dispute(intent: string, facts: Parameters<typeof openDispute>[2] = {}): Stripe.Dispute {
    return this.#book.byItself(() => openDispute(this.#book, this.#charge(intent), facts))
  }

  /** An enquiry becomes a dispute, or what was won is lost again. The rate is that of the day. */
  withdraw(id: string, facts: { amount?: number; rate?: number } = {}): void {
    const dispute = this.#dispute(id)
    this.#book.byItself(() => {
      withdraw(this.#book, dispute, { amount: facts.amount ?? dispute.amount, rate: facts.rate ?? 1 })
      setDispute(this.#book, dispute, 'needs_response')
    })
  }

  /** Part of the money comes back, while the rest is argued about. */
  reinstate(id: string, amount: number, rate = 1): void {
    this.#book.byItself(() => reinstate(this.#book, this.#dispute(id), { amount, rate }))
  }

  /** The dispute is won: what is given comes back, else all of it. */
  win(id: string, facts: { amount?: number; rate?: number } = {}): void {
    const dispute = this.#dispute(id)
    this.#book.byItself(() => {
      dispute.status = 'won'
      reinstate(this.#book, dispute, { amount: facts.amount ?? dispute.amount, rate: facts.rate ?? 1 })
      setDispute(this.#book, dispute, 'won')
    })
  }

  lose(id: string): void {
    this.#book.byItself(() => setDispute(this.#book, this.#dispute(id), 'lost'))
  }

  /** An enquiry ends without money that moves. */
  closeEnquiry(id: string): void {
    this.#book.byItself(() => setDispute(this.#book, this.#dispute(id), 'warning_closed'))
  }

  removeCard(method: string): void {
    this.#book.byItself(() => this.#book.detach(this.#book.method(method)))
  }

  /** The bank sent the customer a new card, and told Stripe. */
  renewCard(method: string, expYear: number, last4?: string): void {
    const found = this.#book.method(method)
    if (found.card === undefined) throw new Error(`${method} is no card`)
    const before = { exp_year: found.card.exp_year, last4: found.card.last4 }
    Object.assign(found.card, { exp_year: expYear, last4: last4 ?? before.last4 })
    this.#book.byItself(() => this.#book.emit('payment_method.automatically_updated', found, { card: before }))
  }

  deleteCustomer(id: string): void {
    this.#book.byItself(() => this.#book.deleteCustomer(id))
  }

  cancel(intent: string, reason?: Stripe.PaymentIntentCancelParams['cancellation_reason']): void {
    this.#book.byItself(() => cancelPaymentIntent(this.#book, intent, reason))
  }

  /** A charge that was processing is paid, or refused by the code that its card has. */
  settle(intent: string, isPaid: boolean): void {
    const found = paymentIntent(this.#book, intent)
    const method = this.#book.method(idOf(found.payment_method) ?? '')
    if (isPaid) return void this.#book.byItself(() => settle(this.#book, found, method))
    const error = { type: 'card_error' as const, code: 'card_declined', decline_code: 'generic_decline' }
    Object.assign(found, { status: 'requires_payment_method', processing: null, payment_method: null })
    found.last_payment_error = { ...error, message: 'Your card was declined.' }
    this.#book.byItself(() => this.#book.emit('payment_intent.payment_failed', found))
  }

  /** The customer answers what their bank asks about a charge, or about a card that is stored. */
  answerChallenge(intent: string, isConfirmed: boolean): void {
    this.#book.byItself(() => answerChallenge(this.#book, intent, isConfirmed))
  }

  addEndpoint(url: string, events = ['*']): Stripe.WebhookEndpoint {
    const secret = `whsec_${this.#book.make('').id.slice(1)}`
    const facts = { url, secret, events, description: null, version: this.#book.eventVersion, metadata: {} }
    const endpoint = newEndpoint(this.#book.make('we'), facts)
    this.#book.endpoints.set(endpoint.id, endpoint)
    return endpoint
  }

  #charge(intent: string): Stripe.Charge {
    const charge = this.#book.charges.get(idOf(paymentIntent(this.#book, intent).latest_charge) ?? '')
    if (charge === undefined) throw new Error(`${intent} has no charge`)
    return charge
  }

  #refund = (id: string) => named(this.#book.refunds, id)
  #dispute = (id: string) => named(this.#book.disputes, id)
}

function named<T>(things: Map<string, T>, id: string): T {
  const found = things.get(id)
  if (found === undefined) throw new Error(`The console has no ${id}`)
  return found
}
