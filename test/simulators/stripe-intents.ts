import type Stripe from 'stripe'
import type { Book } from './stripe-book.ts'
import { find, idOf } from './stripe-book.ts'
import { codeOf, isNumber, type Card } from './stripe-cards.ts'
import { refused, StripeRefusal } from './stripe-error.ts'
import { newCharge, newPaymentIntent, newSetupIntent } from './stripe-objects.ts'
import { openDispute, refundCharge } from './stripe-money.ts'

/** Intents and how they come to their end: charges, cards that are stored, and the challenges of banks on the way. */

const LEAST_AMOUNT = 50
const GREATEST_AMOUNT = 99_999_999
const LATER_SECONDS = 10 * 86_400
/** Stripe's fee, which is in no amount of a charge. */
const feeOf = (amount: number) => Math.round(amount * 0.029) + 30

/** How a confirmation comes about: with the customer there a bank may ask. */
export interface Presence {
  isThere: boolean
  returnUrl?: string | undefined
}

export function createPaymentIntent(book: Book, body: Stripe.PaymentIntentCreateParams): Stripe.PaymentIntent {
  const { amount, currency, customer, payment_method: method } = body
  if (amount < LEAST_AMOUNT)
    throw refused(`Amount must be at least ${LEAST_AMOUNT}.`, { code: 'amount_too_small', param: 'amount' })
  if (amount > GREATEST_AMOUNT)
    throw refused(`Amount must be no more than ${GREATEST_AMOUNT}.`, { code: 'amount_too_large', param: 'amount' })
  if (body.capture_method === 'manual') throw refused('The simulator captures at once.', { param: 'capture_method' })
  if (customer !== undefined) book.customer(customer)
  const card = method === undefined ? null : usable(book, method, customer ?? null).id
  const intent = newPaymentIntent(book.make('pi'), {
    ...{ amount, currency: currency.toLowerCase(), customer: customer ?? null, payment_method: card },
    ...{ description: body.description ?? null, metadata: textsOf(body.metadata) },
    ...{ statement_descriptor_suffix: body.statement_descriptor_suffix ?? null },
    status: card === null ? 'requires_payment_method' : 'requires_confirmation',
  })
  book.intents.set(intent.id, intent)
  book.emit('payment_intent.created', intent)
  return body.confirm === true ? confirmPaymentIntent(book, intent.id, body) : intent
}

/** Finds a card that a customer may be charged by: their own, or a new one that is nobody's. */
function usable(book: Book, id: string, customer: string | null): Stripe.PaymentMethod {
  const isKnown = book.methods.has(id)
  const method = book.method(id)
  if (isKnown && method.customer === null)
    throw refused('The provided PaymentMethod was detached from a Customer. It may not be used again.')
  if (method.customer !== null && method.customer !== customer)
    throw refused('The provided PaymentMethod does not belong to the Customer you supplied.', { param: 'customer' })
  return method
}

/** Only texts come back, whatever was sent. */
export const textsOf = (metadata: Stripe.Emptyable<Stripe.MetadataParam> | undefined) =>
  Object.fromEntries(
    Object.entries(metadata || {})
      .filter(([, value]) => value !== '' && value !== null)
      .map(([name, value]) => [name, String(value)]),
  )

export const paymentIntent = (book: Book, id: string, param = 'intent', status: 400 | 404 = 404) =>
  find(book.intents, 'payment_intent', id, param, status)

export function confirmPaymentIntent(
  book: Book,
  id: string,
  body: Stripe.PaymentIntentConfirmParams,
): Stripe.PaymentIntent {
  const intent = paymentIntent(book, id)
  if (!['requires_confirmation', 'requires_payment_method', 'requires_action'].includes(intent.status))
    throw unexpectedState(intent, 'confirm')
  if (body.payment_method !== undefined)
    intent.payment_method = usable(book, body.payment_method, idOf(intent.customer)).id
  const method = book.methods.get(idOf(intent.payment_method) ?? '')
  if (method === undefined)
    throw refused('You cannot confirm this PaymentIntent because it is missing a payment method.', {
      ...{ code: 'payment_intent_unexpected_state', payment_intent: intent },
    })
  const isThere = body.off_session === undefined || body.off_session === false
  const card = book.cardOf(method)
  const asks = card.challenge === 'always' || (card.challenge === 'until stored' && !isStored(book, method))
  if (asks && !isThere) throw decline(book, intent, method, 'authentication_required', card)
  if (!asks) return chargeIntent(book, intent)
  return ask(book, 'payment_intent.requires_action', intent, { isThere, returnUrl: body.return_url })
}

/** Cards that were stored for later with the customer there are not asked about again. */
const isStored = (book: Book, method: Stripe.PaymentMethod) =>
  [...book.setups.values()].some(
    (setup) => setup.payment_method === method.id && setup.status === 'succeeded' && setup.usage === 'off_session',
  )

function ask<T extends Stripe.PaymentIntent | Stripe.SetupIntent>(
  book: Book,
  type: string,
  intent: T,
  { returnUrl }: Presence,
): T {
  intent.status = 'requires_action'
  // With use_stripe_sdk the script shows the bank; what stands here is for that script alone.
  intent.next_action = {
    type: 'use_stripe_sdk',
    use_stripe_sdk: { type: 'three_d_secure_redirect', return_url: returnUrl },
  }
  book.emit(type, intent)
  return intent
}

/** Charges the card of an intent, or refuses as its bank does. */
export function chargeIntent(book: Book, intent: Stripe.PaymentIntent): Stripe.PaymentIntent {
  const method = book.method(idOf(intent.payment_method) ?? '')
  const card = book.cardOf(method)
  if (card.declines !== undefined) throw decline(book, intent, method, card.declines, card)
  intent.next_action = null
  intent.last_payment_error = null
  if (card.settlesLater) {
    intent.status = 'processing'
    intent.processing = { type: 'card' }
    book.emit('payment_intent.processing', intent)
    return intent
  }
  return settle(book, intent, method)
}

/** Takes the money. */
export function settle(book: Book, intent: Stripe.PaymentIntent, method: Stripe.PaymentMethod): Stripe.PaymentIntent {
  const making = book.make('ch')
  const { amount, currency } = intent
  const transaction = book.move({
    amount,
    currency,
    fee: feeOf(amount),
    rate: null,
    source: making.id,
    category: 'charge',
  })
  const charge = newCharge(making, intent, method, { transaction: transaction.id })
  book.charges.set(charge.id, charge)
  Object.assign(intent, { status: 'succeeded', amount_received: amount, latest_charge: charge.id, processing: null })
  book.emit('charge.succeeded', charge)
  book.emit('payment_intent.succeeded', intent)
  const { dispute, later } = book.cardOf(method)
  if (dispute) book.byItself(() => openDispute(book, charge, dispute))
  if (later) book.clock.at(book.clock.now() + LATER_SECONDS, () => book.byItself(() => comeTrue(book, charge, later)))
  return intent
}

/** Does what a person at the console does later to a charge of some cards. */
function comeTrue(book: Book, charge: Stripe.Charge, later: NonNullable<Card['later']>): void {
  const method = book.methods.get(charge.payment_method ?? '')
  if (later !== 'removed') {
    refundCharge(book, charge, { amount: later === 'refunded' ? charge.amount : Math.floor(charge.amount / 2) })
  } else if (method !== undefined && method.customer !== null) {
    book.detach(method)
  }
}

/** Writes a refused charge into the book, and returns the refusal to throw. */
function decline(
  book: Book,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  declineCode: string,
  { advice }: Card,
): StripeRefusal {
  const code = codeOf(declineCode)
  const message = 'Your card was declined.'
  const refusal = { code, decline: declineCode, message, ...(advice && { advice }) }
  const charge = newCharge(book.make('ch'), intent, method, { transaction: null, refusal })
  book.charges.set(charge.id, charge)
  const error = {
    type: 'card_error' as const,
    code,
    decline_code: declineCode,
    message,
    ...(advice && { advice_code: advice }),
  }
  Object.assign(intent, {
    ...{ status: 'requires_payment_method', latest_charge: charge.id, next_action: null, payment_method: null },
    ...{
      processing: null,
      last_payment_error: { ...error, charge: charge.id, payment_method: structuredClone(method) },
    },
  })
  book.emit('charge.failed', charge)
  book.emit('payment_intent.payment_failed', intent)
  return new StripeRefusal(402, {
    ...{ ...error, charge: charge.id, payment_method: method },
    payment_intent: structuredClone(intent),
  })
}

export function cancelPaymentIntent(
  book: Book,
  id: string,
  reason: Stripe.PaymentIntentCancelParams['cancellation_reason'] | 'automatic' = undefined,
): Stripe.PaymentIntent {
  const intent = paymentIntent(book, id)
  if (!intent.status.startsWith('requires_')) throw unexpectedState(intent, 'cancel')
  Object.assign(intent, { status: 'canceled', canceled_at: book.clock.now(), next_action: null })
  intent.cancellation_reason = reason ?? null
  book.emit('payment_intent.canceled', intent)
  return intent
}

const unexpectedState = (intent: Stripe.PaymentIntent | Stripe.SetupIntent, verb: string) =>
  new StripeRefusal(400, {
    code: intent.object === 'payment_intent' ? 'payment_intent_unexpected_state' : 'setup_intent_unexpected_state',
    message: `You cannot ${verb} this ${intent.object} because it has a status of ${intent.status}.`,
    [intent.object]: structuredClone(intent),
  })

export function createSetupIntent(book: Book, body: Stripe.SetupIntentCreateParams): Stripe.SetupIntent {
  if (body.customer !== undefined) book.customer(body.customer)
  const method = body.payment_method === undefined ? null : book.method(body.payment_method).id
  const setup = newSetupIntent(book.make('seti'), {
    ...{ customer: body.customer ?? null, description: body.description ?? null, metadata: textsOf(body.metadata) },
    ...{ payment_method: method, usage: body.usage ?? 'off_session' },
    status: method === null ? 'requires_payment_method' : 'requires_confirmation',
  })
  book.setups.set(setup.id, setup)
  book.emit('setup_intent.created', setup)
  return body.confirm === true ? confirmSetupIntent(book, setup.id, body) : setup
}

export const setupIntent = (book: Book, id: string) => find(book.setups, 'setup_intent', id, 'intent', 404)

export function confirmSetupIntent(
  book: Book,
  id: string,
  body: { payment_method?: string; return_url?: string },
): Stripe.SetupIntent {
  const setup = setupIntent(book, id)
  if (!setup.status.startsWith('requires_')) throw unexpectedState(setup, 'confirm')
  if (body.payment_method !== undefined) setup.payment_method = book.method(body.payment_method).id
  const method = book.methods.get(idOf(setup.payment_method) ?? '')
  if (method === undefined) throw refused('You cannot confirm this SetupIntent: it is missing a payment method.')
  const card = book.cardOf(method)
  if (!isNumber(card.number)) throw refuseSetup(book, setup, method, 'incorrect_number')
  if (card.isRefusedAtOnce) throw refuseSetup(book, setup, method, card.declines ?? 'generic_decline')
  return card.challenge === undefined
    ? storeMethod(book, setup)
    : ask(book, 'setup_intent.requires_action', setup, { isThere: true, returnUrl: body.return_url })
}

/** Stores the card for the customer of the intent. */
export function storeMethod(book: Book, setup: Stripe.SetupIntent): Stripe.SetupIntent {
  const method = book.method(idOf(setup.payment_method) ?? '')
  Object.assign(setup, { status: 'succeeded', next_action: null, last_setup_error: null })
  const customer = idOf(setup.customer)
  if (customer !== null && method.customer === null) book.attach(method, customer)
  book.emit('setup_intent.succeeded', setup)
  return setup
}

/** Writes a refused card into the book, and returns the refusal to throw: the same intent takes another card. */
function refuseSetup(book: Book, setup: Stripe.SetupIntent, method: Stripe.PaymentMethod, declineCode: string) {
  const code = codeOf(declineCode)
  const error = { type: 'card_error' as const, code, decline_code: declineCode, message: 'Your card was declined.' }
  Object.assign(setup, {
    ...{ status: 'requires_payment_method', payment_method: null, next_action: null },
    last_setup_error: { ...error, payment_method: structuredClone(method) },
  })
  book.emit('setup_intent.setup_failed', setup)
  return new StripeRefusal(402, { ...error, payment_method: method, setup_intent: structuredClone(setup) })
}

export function cancelSetupIntent(
  book: Book,
  id: string,
  reason: Stripe.SetupIntentCancelParams['cancellation_reason'],
): Stripe.SetupIntent {
  const setup = setupIntent(book, id)
  if (!setup.status.startsWith('requires_')) throw unexpectedState(setup, 'cancel')
  Object.assign(setup, { status: 'canceled', next_action: null, cancellation_reason: reason ?? null })
  book.emit('setup_intent.canceled', setup)
  return setup
}

/** Answers the challenge of a bank, as the customer does there: the money is taken or the card stored, or the intent wants another card. */
export function answerChallenge(book: Book, id: string, isConfirmed: boolean): void {
  const intent = book.intents.get(id) ?? setupIntent(book, id)
  if (intent.status !== 'requires_action') throw unexpectedState(intent, 'authenticate')
  if (isConfirmed) return void take(book, intent)
  const error = {
    ...{ type: 'invalid_request_error' as const, code: `${intent.object}_authentication_failure` },
    message: 'The provided PaymentMethod has failed authentication.',
    payment_method: structuredClone(book.method(idOf(intent.payment_method) ?? '')),
  }
  Object.assign(intent, { status: 'requires_payment_method', next_action: null, payment_method: null })
  if (intent.object === 'payment_intent') intent.last_payment_error = error
  else intent.last_setup_error = error
  book.emit(intent.object === 'payment_intent' ? 'payment_intent.payment_failed' : 'setup_intent.setup_failed', intent)
}

function take(book: Book, intent: Stripe.PaymentIntent | Stripe.SetupIntent): void {
  try {
    if (intent.object === 'payment_intent') chargeIntent(book, intent)
    else storeMethod(book, intent)
  } catch (error) {
    // The bank confirmed the customer and refuses the money; that stands in the book.
    if (!(error instanceof StripeRefusal)) throw error
  }
}
