import { randomBytes } from 'node:crypto'
import type * as Types from 'gocardless-nodejs/types'

/** All that one account of GoCardless has: what its API, people at its console, payers and banks do to it. */

/** Error of GoCardless, as it is answered. */
export class GoCardlessRefusal extends Error {
  readonly status: number
  readonly error: object

  constructor(status: number, type: string, message: string, errors: readonly object[] = []) {
    super(message)
    this.status = status
    this.error = {
      ...{
        message,
        errors,
        type,
        code: status,
        request_id: 'REQ',
        documentation_url: 'https://developer.gocardless.com',
      },
    }
  }
}

export const unfit = (field: string, message: string) =>
  new GoCardlessRefusal(422, 'validation_failed', message, [{ field, message, request_pointer: `/${field}` }])

export const wrongState = (reason: string, message: string) =>
  new GoCardlessRefusal(422, 'invalid_state', message, [{ reason, message }])

export const gone = () =>
  new GoCardlessRefusal(404, 'invalid_api_usage', 'Resource not found', [{ reason: 'resource_not_found' }])

const SCHEMES: Readonly<Record<string, string>> = {
  EUR: 'sepa_core',
  USD: 'ach',
  GBP: 'bacs',
  AUD: 'becs',
  CAD: 'pad',
  DKK: 'betalingsservice',
  NZD: 'becs_nz',
  SEK: 'autogiro',
}

type Metadata = Record<string, string>
type Made = Record<string, unknown>

const DAY_MS = 86_400_000
const SIGNABLE = ['pending_customer_approval', 'pending_submission', 'submitted', 'active']

export class GoCardlessBook {
  readonly creditors = new Map<string, Made>()
  readonly accounts = new Map<string, Made>()
  readonly mandates = new Map<string, Types.Mandate>()
  readonly requests = new Map<string, Types.BillingRequest>()
  readonly flows = new Map<string, Types.BillingRequestFlow>()
  readonly payments = new Map<string, Types.Payment>()
  readonly refunds = new Map<string, Types.Refund>()
  /** Oldest first. */
  readonly events: Types.Event[] = []
  /** Keys of requests that made something, with its name. */
  readonly keys = new Map<string, string>()
  /** So many days lie at least between today and a debit. */
  leadDays = 2
  mayRefund = true
  onEvent: (event: Types.Event) => void = () => undefined
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
    const id = this.#name('CR')
    this.creditors.set(id, { id, name: 'Acme' })
  }

  get creditor(): string {
    return [...this.creditors.keys()][0] ?? ''
  }

  #name(prefix: string): string {
    return `${prefix}${randomBytes(8).toString('hex').toUpperCase()}`
  }

  #at(): string {
    return new Date(this.#now()).toISOString()
  }

  #day(days: number): string {
    return new Date(this.#now() + days * DAY_MS).toISOString().slice(0, 10)
  }

  #event(resource: string, action: string, links: object, metadata: unknown, details: object = {}): void {
    const event = {
      id: this.#name('EV'),
      created_at: this.#at(),
      resource_type: resource,
      action,
      links,
      details: { origin: 'gocardless', cause: action, description: `It is ${action}.`, ...details },
      metadata: {},
      resource_metadata: metadata,
    } as unknown as Types.Event
    this.events.push(event)
    this.onEvent(event)
  }

  /** Keeps an account with a mandate, as one that was given before. */
  addMandate(currency: string, { holder = 'Ann Lee', ending = '11', status = 'active' } = {}): string {
    const account = this.#name('BA')
    const customer = this.#name('CU')
    this.accounts.set(account, {
      id: account,
      created_at: this.#at(),
      account_holder_name: holder,
      account_number_ending: ending,
      bank_name: 'BARCLAYS BANK PLC',
      country_code: 'GB',
      currency,
      enabled: true,
      links: { customer },
      metadata: {},
    })
    const id = this.#name('MD')
    this.mandates.set(id, {
      id,
      created_at: this.#at(),
      reference: `REF-${id.slice(-6)}`,
      scheme: SCHEMES[currency] ?? null,
      status,
      next_possible_charge_date: this.#day(this.leadDays),
      payments_require_approval: false,
      metadata: {},
      links: { creditor: this.creditor, customer, customer_bank_account: account },
    } as unknown as Types.Mandate)
    this.#event('mandates', 'created', { mandate: id }, {})
    return id
  }

  /** Ends a mandate, or brings it back. */
  setMandate(
    id: string,
    status: 'active' | 'cancelled' | 'customer_approval_denied' | 'failed' | 'expired' | 'suspended_by_payer',
  ): void {
    Object.assign(this.#mandate(id), { status })
    this.#event('mandates', status === 'active' ? 'reinstated' : status, { mandate: id }, {})
  }

  /** Lets another mandate take the place of one, as when a payer changes banks. */
  replaceMandate(id: string, ending = '22'): string {
    const old = this.#mandate(id)
    const currency = Object.entries(SCHEMES).find(([, scheme]) => scheme === old.scheme)?.[0] ?? 'EUR'
    const successor = this.addMandate(currency, { ending })
    Object.assign(old.links ?? {}, { new_mandate: successor })
    Object.assign(old, { status: 'cancelled' })
    this.#event('mandates', 'replaced', { mandate: id, new_mandate: successor }, {})
    return successor
  }

  #mandate(id: string): Types.Mandate {
    const mandate = this.mandates.get(id)
    if (mandate === undefined) throw gone()
    return mandate
  }

  cancelMandate(id: string): Types.Mandate {
    const mandate = this.#mandate(id)
    if (!SIGNABLE.includes(String(mandate.status)))
      throw wrongState('mandate_not_cancellable', 'Mandate cannot be cancelled')
    this.setMandate(id, 'cancelled')
    return mandate
  }

  newRequest({ mandate_request: wanted, metadata, links }: Made): Types.BillingRequest {
    const { currency, scheme } = wanted as { currency: string; scheme: string }
    if (SCHEMES[currency] !== scheme) throw unfit('scheme', 'does not have this currency')
    const { creditor } = (links ?? {}) as { creditor?: string }
    if (creditor === undefined ? this.creditors.size > 1 : !this.creditors.has(creditor))
      throw unfit('links.creditor', 'must name one of the creditors')
    const id = this.#name('BRQ')
    const request = {
      id,
      created_at: this.#at(),
      status: 'pending',
      mandate_request: { currency, scheme },
      metadata: (metadata ?? {}) as Metadata,
      links: { creditor: creditor ?? this.creditor },
    } as unknown as Types.BillingRequest
    this.requests.set(id, request)
    this.#event('billing_requests', 'created', { billing_request: id }, request.metadata)
    return request
  }

  newFlow(address: string, wanted: Made): Types.BillingRequestFlow {
    const { billing_request: request } = wanted['links'] as { billing_request: string }
    const { status } = this.#request(request)
    if (status !== 'pending') throw wrongState('billing_request_not_pending', 'The billing request is over')
    const id = this.#name('BRF')
    const flow = {
      ...wanted,
      id,
      created_at: this.#at(),
      expires_at: new Date(this.#now() + 7 * DAY_MS).toISOString(),
      authorisation_url: `${address}/flow/${id}`,
      links: { billing_request: request },
    } as unknown as Types.BillingRequestFlow
    this.flows.set(id, flow)
    this.#event('billing_requests', 'flow_created', { billing_request: request }, this.#request(request).metadata)
    return flow
  }

  #request(id: string): Types.BillingRequest {
    const request = this.requests.get(id)
    if (request === undefined) throw gone()
    return request
  }

  /** The payer gives what a request asks for. @param isLate GoCardless confirms it only by `fulfil` */
  give(requestId: string, { holder = 'Ann Lee', ending = '11', isLate = false } = {}): void {
    Object.assign(this.#request(requestId), { status: 'fulfilling' })
    if (!isLate) this.fulfil(requestId, { holder, ending })
  }

  fulfil(requestId: string, { holder = 'Ann Lee', ending = '11' } = {}): string {
    const request = this.#request(requestId)
    const currency = String(request.mandate_request?.currency)
    const mandate = this.addMandate(currency, { holder, ending, status: 'pending_submission' })
    Object.assign(request, { status: 'fulfilled' })
    Object.assign(request.links ?? {}, { mandate_request_mandate: mandate })
    const links = { billing_request: requestId, mandate_request_mandate: mandate }
    this.#event('billing_requests', 'fulfilled', links, request.metadata)
    return mandate
  }

  cancelRequest(requestId: string): void {
    const request = this.#request(requestId)
    Object.assign(request, { status: 'cancelled' })
    this.#event('billing_requests', 'cancelled', { billing_request: requestId }, request.metadata)
  }

  newPayment({ amount, currency, charge_date: wanted, metadata, links, description }: Made): Types.Payment {
    const { mandate: mandateId = '' } = links as { mandate?: string }
    const mandate = this.#mandate(mandateId)
    if (!SIGNABLE.includes(String(mandate.status)))
      throw wrongState('mandate_is_inactive', 'Mandate is failed, cancelled or expired')
    if (SCHEMES[String(currency)] !== mandate.scheme) throw unfit('currency', 'is not that of the scheme')
    if (Number(amount) <= 0) throw unfit('amount', 'must be greater than 0')
    const earliest = this.#day(this.leadDays)
    if (typeof wanted === 'string' && wanted < earliest) throw unfit('charge_date', `must be on or after ${earliest}`)
    const id = this.#name('PM')
    const payment = {
      ...{ id, amount, currency, metadata, status: 'pending_submission', amount_refunded: 0 },
      ...{ created_at: this.#at(), charge_date: wanted ?? earliest, description: description ?? null },
      ...{ reference: null, retry_if_possible: false, scheme: mandate.scheme },
      links: { mandate: mandateId, creditor: this.creditor },
    } as unknown as Types.Payment
    this.payments.set(id, payment)
    this.#move(payment, 'created')
    return payment
  }

  /** Writes what happens to a payment. @param what such as confirmed, failed, charged_back */
  movePayment(
    id: string,
    what: 'submitted' | 'confirmed' | 'paid_out' | 'cancelled' | 'failed' | 'charged_back' | 'chargeback_cancelled',
    details: object = {},
  ): void {
    const payment = this.payments.get(id)
    if (payment === undefined) throw gone()
    Object.assign(payment, { status: what === 'chargeback_cancelled' ? 'paid_out' : what })
    this.#move(payment, what, details)
  }

  #move({ id, metadata }: Types.Payment, action: string, details: object = {}): void {
    this.#event('payments', action, { payment: id }, metadata, details)
  }

  newRefund({ amount, total_amount_confirmation: total, links, metadata }: Made): Types.Refund {
    const { payment: paymentId = '' } = links as { payment?: string }
    const payment = this.payments.get(paymentId)
    if (payment === undefined) throw gone()
    const before = Number(payment.amount_refunded)
    if (total !== undefined && total !== before + Number(amount))
      throw unfit('total_amount_confirmation', 'does not match the total amount refunded')
    if (before + Number(amount) > Number(payment.amount)) throw unfit('amount', 'is more than is left')
    const id = this.#name('RF')
    const refund = {
      ...{ id, amount, currency: payment.currency, metadata: metadata ?? {}, created_at: this.#at() },
      ...{ reference: null, status: 'created', links: { payment: paymentId } },
    } as unknown as Types.Refund
    this.refunds.set(id, refund)
    Object.assign(payment, { amount_refunded: before + Number(amount) })
    this.#event('refunds', 'created', { refund: id }, refund.metadata)
    return refund
  }

  moveRefund(id: string, status: 'paid' | 'bounced' | 'funds_returned' | 'cancelled'): void {
    const refund = this.refunds.get(id)
    if (refund === undefined) throw gone()
    Object.assign(refund, { status })
    this.#event('refunds', status, { refund: id }, refund.metadata)
  }
}
