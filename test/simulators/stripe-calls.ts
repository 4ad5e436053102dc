import type Stripe from 'stripe'
import { find, type Book } from './stripe-book.ts'
import { missing, refused, StripeRefusal } from './stripe-error.ts'
import {
  cancelPaymentIntent,
  cancelSetupIntent,
  confirmPaymentIntent,
  confirmSetupIntent,
  createPaymentIntent,
  createSetupIntent,
  paymentIntent,
  setupIntent,
  textsOf,
} from './stripe-intents.ts'
import type { Body } from './stripe-judge.ts'
import { chargeToRefund, refundCharge } from './stripe-money.ts'
import { newCustomer, newEndpoint } from './stripe-objects.ts'
import type { Operation } from './stripe-operations.ts'

/** Each operation of the API: what it does to a book, and the object that it answers. Bodies are judged before they come here. */

type Call = (book: Book, id: string, body: never) => object

const ENDPOINTS_MAX = 16

const CALLS: Record<string, Call> = {
  CustomerCreate: (book, _id, body: Stripe.CustomerCreateParams) => {
    const { description, email, name } = body
    const facts = { description: description ?? null, email: email ?? null, name: name ?? null }
    const customer = newCustomer(book.make('cus'), { ...facts, metadata: textsOf(body.metadata) })
    book.customers.set(customer.id, customer)
    book.emit('customer.created', customer)
    return customer
  },
  CustomerRetrieve: (book, id) =>
    book.deleted.has(id) ? { id, object: 'customer', deleted: true } : book.customer(id, 404, 'id'),
  CustomerUpdate: (book, id, body: Stripe.CustomerUpdateParams) => {
    const customer = book.customer(id, 404, 'id')
    const method = body.invoice_settings?.default_payment_method
    if (method !== undefined) customer.invoice_settings.default_payment_method = method
    if (body.description !== undefined) customer.description = body.description
    if (body.metadata !== undefined) customer.metadata = { ...customer.metadata, ...textsOf(body.metadata) }
    book.emit('customer.updated', customer)
    return customer
  },
  CustomerDelete: (book, id) => {
    book.deleteCustomer(id)
    return { id, object: 'customer', deleted: true }
  },
  CustomerListPaymentMethods: (book, id, body: Stripe.CustomerListPaymentMethodsParams) => {
    book.customer(id, 404)
    const theirs = newestFirst(book.methods).filter(({ customer }) => customer === id)
    return pageOf(theirs, body, `/v1/customers/${id}/payment_methods`)
  },

  SetupIntentCreate: (book, _id, body: Stripe.SetupIntentCreateParams) => createSetupIntent(book, body),
  SetupIntentRetrieve: (book, id) => setupIntent(book, id),
  SetupIntentConfirm: (book, id, body: Stripe.SetupIntentConfirmParams) => confirmSetupIntent(book, id, body),
  SetupIntentCancel: (book, id, body: Stripe.SetupIntentCancelParams) =>
    cancelSetupIntent(book, id, body.cancellation_reason),

  PaymentMethodCreate: () => {
    throw new StripeRefusal(402, {
      type: 'invalid_request_error',
      message: 'Card numbers are not taken from a server; a browser gives them to Stripe.',
    })
  },
  PaymentMethodRetrieve: (book, id) => book.method(id, 'payment_method', 404),
  PaymentMethodAttach: (book, id, { customer }: Stripe.PaymentMethodAttachParams) => {
    const method = book.method(id, 'payment_method', 404)
    book.customer(customer ?? '')
    const { isRefusedAtOnce, declines } = book.cardOf(method)
    if (isRefusedAtOnce)
      throw new StripeRefusal(402, {
        ...{ type: 'card_error', code: 'card_declined', decline_code: declines, param: '' },
        message: 'Your card was declined.',
      })
    if (method.customer !== null)
      throw refused('The payment method you provided has already been attached to a customer.')
    book.attach(method, customer ?? '')
    return method
  },
  PaymentMethodDetach: (book, id) => {
    const method = book.method(id, 'payment_method', 404)
    if (method.customer === null)
      throw refused('The payment method you provided is not attached to a customer so detachment is impossible.')
    book.detach(method)
    return method
  },

  PaymentIntentCreate: (book, _id, body: Stripe.PaymentIntentCreateParams) => createPaymentIntent(book, body),
  PaymentIntentRetrieve: (book, id) => paymentIntent(book, id),
  PaymentIntentConfirm: (book, id, body: Stripe.PaymentIntentConfirmParams) => confirmPaymentIntent(book, id, body),
  PaymentIntentCancel: (book, id, body: Stripe.PaymentIntentCancelParams) =>
    cancelPaymentIntent(book, id, body.cancellation_reason),
  PaymentIntentList: (book, _id, body: Stripe.PaymentIntentListParams) => {
    const fitting = newestFirst(book.intents).filter((one) => fits(one, { customer: body.customer }))
    return pageOf(fitting, body, '/v1/payment_intents')
  },

  ChargeRetrieve: (book, id) => find(book.charges, 'charge', id, 'charge', 404),
  ChargeList: (book, _id, body: Stripe.ChargeListParams) => {
    const wanted = { customer: body.customer, payment_intent: body.payment_intent }
    return pageOf(
      newestFirst(book.charges).filter((one) => fits(one, wanted)),
      body,
      '/v1/charges',
    )
  },

  RefundCreate: (book, _id, body: Stripe.RefundCreateParams) =>
    refundCharge(book, chargeToRefund(book, body), {
      ...{ amount: body.amount, reason: body.reason, metadata: textsOf(body.metadata) },
    }),
  RefundRetrieve: (book, id) => find(book.refunds, 'refund', id, 'refund', 404),
  RefundList: (book, _id, body: Stripe.RefundListParams) => {
    const wanted = { charge: body.charge, payment_intent: body.payment_intent }
    return pageOf(
      newestFirst(book.refunds).filter((one) => fits(one, wanted)),
      body,
      '/v1/refunds',
    )
  },
  DisputeList: (book, _id, body: Stripe.DisputeListParams) => {
    const wanted = { charge: body.charge, payment_intent: body.payment_intent }
    return pageOf(
      newestFirst(book.disputes).filter((one) => fits(one, wanted)),
      body,
      '/v1/disputes',
    )
  },

  EventList: (book, _id, body: Stripe.EventListParams) => {
    const types = body.types ?? (body.type === undefined ? undefined : [body.type])
    if (types !== undefined && types.length > 20) throw refused('types takes 20 at most.', { param: 'types' })
    const fitting = book.listEvents().filter(({ type }) => types === undefined || types.includes(type))
    return pageOf(fitting, body, '/v1/events', book.listEvents())
  },
  EventRetrieve: (book, id) => {
    const event = book.listEvents().find((one) => one.id === id)
    if (event === undefined) throw missing('event', id, 'id', 404)
    return event
  },

  WebhookEndpointCreate: (book, _id, body: Stripe.WebhookEndpointCreateParams) => {
    if (book.endpoints.size >= ENDPOINTS_MAX)
      throw refused(`You have reached the maximum of ${ENDPOINTS_MAX} endpoints.`)
    if (!/^https?:\/\//.test(body.url)) throw refused('Invalid URL', { code: 'url_invalid', param: 'url' })
    const making = book.make('we')
    const endpoint = newEndpoint(making, {
      ...{ url: body.url, secret: `whsec_${book.make('').id.slice(1)}`, events: body.enabled_events },
      ...{ description: body.description || null, version: body.api_version ?? null, metadata: textsOf(body.metadata) },
    })
    book.endpoints.set(endpoint.id, endpoint)
    return endpoint
  },
  WebhookEndpointList: (book, _id, body: Stripe.WebhookEndpointListParams) =>
    pageOf(newestFirst(book.endpoints).map(withoutSecret), body, '/v1/webhook_endpoints'),
  WebhookEndpointUpdate: (book, id, body: Stripe.WebhookEndpointUpdateParams) => {
    const endpoint = find(book.endpoints, 'webhook endpoint', id, 'webhook_endpoint', 404)
    Object.assign(endpoint, {
      ...{ url: body.url ?? endpoint.url, enabled_events: body.enabled_events ?? endpoint.enabled_events },
      status: body.disabled === undefined ? endpoint.status : body.disabled ? 'disabled' : 'enabled',
    })
    return withoutSecret(endpoint)
  },
  WebhookEndpointDelete: (book, id) => {
    find(book.endpoints, 'webhook endpoint', id, 'webhook_endpoint', 404)
    book.endpoints.delete(id)
    return { id, object: 'webhook_endpoint', deleted: true }
  },
}

/** Does an operation, and returns a copy of what it answers with the fields that are to be expanded. @throws {StripeRefusal} */
export function perform(book: Book, operation: Operation, id: string, body: Body): Body {
  const call = CALLS[operation.parameters]
  if (call === undefined) throw new Error(`The simulator lacks ${operation.parameters}`)
  const answer = structuredClone(call(book, id, body as never)) as Body
  for (const path of (body['expand'] ?? []) as string[]) expand(book, answer, path.split('.'))
  return answer
}

/** The secret of an endpoint is answered when it is made, and never again. */
function withoutSecret({ secret: _secret, ...endpoint }: Stripe.WebhookEndpoint) {
  return endpoint
}

const newestFirst = <T>(things: Map<string, T>) => [...things.values()].toReversed()

const fits = (thing: object, wanted: Record<string, string | undefined>) =>
  Object.entries(wanted).every(([name, value]) => value === undefined || (thing as Body)[name] === value)

interface Pagination {
  created?: Stripe.RangeQueryParam | number
  ending_before?: string
  limit?: number
  starting_after?: string
}

/**
 * Returns a page of a list that begins with the newest: of `ending_before` the page right above that object, which is the oldest of the newer ones.
 *
 * @param known where the object of a cursor is looked for, if it need not be one that fits
 */
function pageOf<T extends { id: string; created: number }>(
  things: T[],
  { created, ending_before: above, limit = 10, starting_after: below }: Pagination,
  url: string,
  known: T[] = things,
): object {
  if (limit < 1 || limit > 100) throw refused('This value must be between 1 and 100.', { param: 'limit' })
  const cursor = above ?? below
  const at = known.findIndex(({ id }) => id === cursor)
  if (cursor !== undefined && at < 0)
    throw missing('object', cursor, above === undefined ? 'starting_after' : 'ending_before', 400)
  const side = new Set((above === undefined ? known.slice(at + 1) : known.slice(0, at)).map(({ id }) => id))
  const left = things.filter((one) => side.has(one.id) && isWithin(one.created, created))
  const data = above === undefined ? left.slice(0, limit) : left.slice(-limit)
  return { object: 'list', data, has_more: left.length > data.length, url }
}

function isWithin(second: number, range: Stripe.RangeQueryParam | number | undefined): boolean {
  if (typeof range === 'number') return second === range
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = range ?? {}
  return second > gt && second >= gte && second < lt && second <= lte
}

/** Puts the object in the place of its name, however deep. */
function expand(book: Book, place: unknown, [name = '', ...rest]: string[]): void {
  if (Array.isArray(place)) for (const one of place) expand(book, one, [name, ...rest])
  if (Array.isArray(place) || typeof place !== 'object' || place === null) return
  const holder = place as Body
  const value = holder[name]
  if (typeof value === 'string') {
    const found = book.byId(value)
    if (found !== undefined) holder[name] = structuredClone(found)
  }
  if (rest.length > 0) expand(book, holder[name], rest)
}
