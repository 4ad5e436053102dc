import type { IsoDate } from '../../kernel/calendar.ts'
import { later } from '../../kernel/calendar.ts'
import type { Problem, Problems } from '../../kernel/fault.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { MethodKind } from '../../kernel/rails.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { PaymentMethod } from '../customers/fields.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import { currenciesOf, isReady, kindsOf, primaryGateway } from '../gateways/rules.ts'
import { mandateProblem } from '../payment-methods/rules.ts'
import { type CustomerChoice, findMethodFacts, listCustomerChoices, type MethodFacts } from './collection-queries.ts'

/** Collection details of invoices, and of what makes them: by which way, gateway and method they are collected. */

export const COLLECTION_METHODS = ['cash', 'credit_card', 'debit_order', 'eft', 'hpp'] as const
export type CollectionMethod = (typeof COLLECTION_METHODS)[number]

/** Returns how an invoice is collected from a customer who pays by `paymentMethod`. */
export const collectionMethodOf = (paymentMethod: PaymentMethod): CollectionMethod =>
  paymentMethod === 'cheque' ? 'cash' : paymentMethod === 'bank_account' ? 'debit_order' : paymentMethod

export interface CollectionBody {
  CollectionMethod?: CollectionMethod | null
  gatewayID?: bigint | null
  customerPaymentMethodID?: bigint | null
}

/** Collection details as an invoice keeps them. */
export interface CollectionDetails {
  collectionMethod: CollectionMethod
  gatewayId: Id | null
  paymentMethodId: Id | null
  /** Gateway or method were named; else they are the defaults that the invoice shows, and a try takes those of its day. */
  isMethodRequested: boolean
}

export const isTried = (method: CollectionMethod): boolean => method === 'credit_card' || method === 'debit_order'

export const fitsWay = (way: CollectionMethod, kind: MethodKind): boolean =>
  isTried(way) && (way === 'credit_card') === (kind === 'credit_card')

export const takes = (gateway: Gateway, kind: MethodKind, currency: string): boolean =>
  isReady(gateway) && kindsOf(gateway).includes(kind) && currenciesOf(gateway).includes(currency)

/**
 * Returns the gateway by which a method is debited where none is named. Rule: a card's own gateway; for bank accounts the customer's, else
 * the account's first choice for the kind; undefined where it is not ready or does not take kind or currency.
 */
function gatewayFor(
  method: MethodFacts,
  gateways: readonly Gateway[],
  customerGatewayId: Id | null,
  currency: string,
): Gateway | undefined {
  const wantedId = method.kind === 'credit_card' ? method.gatewayId : customerGatewayId
  const own = gateways.find(({ id }) => id === wantedId)
  if (own && takes(own, method.kind, currency)) return own
  return method.kind === 'credit_card' ? undefined : primaryGateway(gateways, method.kind, currency)
}

/** Returns the default of gateway and method, both or neither. Rule: the customer's primary ones, when they fit. */
function defaultOf(
  way: CollectionMethod,
  currency: string,
  gateways: readonly Gateway[],
  { gatewayId, primary }: CustomerChoice,
): { gateway: Gateway; method: MethodFacts } | undefined {
  if (primary === null || primary.isRejected || !fitsWay(way, primary.kind)) return undefined
  const gateway = gatewayFor(primary, gateways, gatewayId, currency)
  return gateway && { gateway, method: primary }
}

/**
 * Returns whether a method is tried through a gateway. Rule: bank accounts where the gateway collects in batches, with a mandate where it names
 * one to the bank; none that was rejected. A mandate that has lapsed is found when the line of a day is planned.
 */
function isUsable(method: MethodFacts, { type }: Pick<Gateway, 'type'>): boolean {
  const { batches, needsMandates } = gatewayFactsOf(type)
  if (method.isRejected) return false
  if (method.kind === 'credit_card') return true
  return batches !== undefined && (!needsMandates || mandateProblem(method, null, method.mandateDate ?? '') === null)
}

/** An invoice about to be issued, or kept as a draft, as far as its collection goes. */
export interface ToCollect extends CollectionDetails {
  customerId: CustomerId
  currency: string
  dueDate: IsoDate
  totalMinor: bigint
  nextTryDate: IsoDate | null
}

/** Fills in the default gateway and method of invoices that name none, and the day of the first try, in two statements for any number. */
export async function fillCollection(tx: Transaction, invoices: readonly ToCollect[], today: IsoDate): Promise<void> {
  const tried = invoices.filter(({ collectionMethod }) => isTried(collectionMethod))
  if (tried.length === 0) return
  const gateways = await listAllGateways(tx, tx.account)
  const choices = await listCustomerChoices(tx, [...new Set(tried.map(({ customerId }) => customerId))])
  for (const invoice of tried) {
    const choice = choices.get(invoice.customerId)
    const method = invoice.isMethodRequested
      ? await fillOne(tx, invoice, gateways, choice)
      : fillDefault(invoice, gateways, choice)
    const gateway = gateways.find(({ id }) => id === invoice.gatewayId)
    const isPlanned = method && gateway && isUsable(method, gateway) && invoice.totalMinor > 0n
    invoice.nextTryDate = isPlanned ? later(invoice.dueDate, today) : null
  }
}

/** Returns whether a method brings its gateway with it: a gateway named beside a card that is only the primary one chooses nothing. */
const isWithCard = ({ kind }: MethodFacts): boolean => kind === 'credit_card'

/** Fills in one invoice, and returns the method that it can be tried with; undefined where there is none. */
async function fillOne(
  tx: Transaction,
  invoice: ToCollect,
  gateways: readonly Gateway[],
  choice: CustomerChoice | undefined,
): Promise<MethodFacts | undefined> {
  const { collectionMethod, currency } = invoice
  if (invoice.isMethodRequested) {
    const named =
      invoice.paymentMethodId === null ? undefined : await findMethodFacts(tx, tx.account, invoice.paymentMethodId)
    const method = named ?? choice?.primary ?? undefined
    if (!method || !fitsWay(collectionMethod, method.kind)) return undefined
    const gateway =
      gateways.find(({ id }) => id === invoice.gatewayId) ??
      gatewayFor(method, gateways, choice?.gatewayId ?? null, currency)
    invoice.paymentMethodId = method.id
    invoice.gatewayId = gateway?.id ?? null
    invoice.isMethodRequested = named !== undefined || !isWithCard(method)
    return gateway && takes(gateway, method.kind, currency) ? method : undefined
  }
  return fillDefault(invoice, gateways, choice)
}

/** Fills in one invoice that names neither gateway nor method. */
function fillDefault(
  invoice: ToCollect,
  gateways: readonly Gateway[],
  choice: CustomerChoice | undefined,
): MethodFacts | undefined {
  const found = choice && defaultOf(invoice.collectionMethod, invoice.currency, gateways, choice)
  invoice.gatewayId = found?.gateway.id ?? null
  invoice.paymentMethodId = found?.method.id ?? null
  return found?.method
}

/** Gateway and method of a try. */
export interface Way {
  gateway: Gateway
  method: MethodFacts
}

/** Invoice as far as its way goes. */
type Collected = CollectionDetails & { customerId: CustomerId; currency: string }

/**
 * Returns the gateway and method that an invoice is tried with today; undefined where there is none. Rule: what a request named, else the
 * customer's primary ones of the day.
 */
export async function wayOf(tx: Transaction, invoice: Collected): Promise<Way | undefined> {
  if (!isTried(invoice.collectionMethod)) return undefined
  return (await waysOf(tx, invoice.customerId))(invoice)
}

/** Reads what the ways of a customer's invoices depend on, in one exchange, and returns the function that finds them as `wayOf` does. */
export async function waysOf(
  tx: Transaction,
  customerId: CustomerId,
): Promise<(invoice: Collected) => Promise<Way | undefined>> {
  const [gateways, choices] = await Promise.all([
    listAllGateways(tx, tx.account),
    listCustomerChoices(tx, [customerId]),
  ])
  return async (invoice) => {
    if (!isTried(invoice.collectionMethod)) return undefined
    const copy = { ...invoice, dueDate: '', totalMinor: 1n, nextTryDate: null }
    const method = await fillOne(tx, copy, gateways, choices.get(customerId))
    const gateway = gateways.find(({ id }) => id === copy.gatewayId)
    return method && gateway && isUsable(method, gateway) && isReady(gateway) ? { gateway, method } : undefined
  }
}

/** Returns whether tries of a way are lines of batches. */
export const isDebit = ({ method }: Pick<Way, 'method'>): boolean => method.kind !== 'credit_card'

export interface CollectionOf {
  /** Undefined where the body names none that there is: then only the gateway can be checked. */
  customer: { id: CustomerId; paymentMethod: PaymentMethod } | undefined
  currency: string | undefined
  /** The details that the body edits. What is sent back unchanged stays as it is, a default a default. */
  present?: CollectionDetails | undefined
}

/**
 * Resolves collection details and adds to `problems`: also what is there and does not fit. Rule: what credit_card or debit_order leaves out is the
 * primary gateway and method; a request that names one of them is refused only where there is none to take.
 */
export async function chooseCollection(
  tx: Transaction,
  body: CollectionBody,
  { customer, currency, present }: CollectionOf,
  problems: Problems,
): Promise<CollectionDetails | undefined> {
  const gateways = await listAllGateways(tx, tx.account)
  if (!customer || currency === undefined) {
    findGateway(body, gateways, problems)
    return undefined
  }
  const way = body.CollectionMethod ?? collectionMethodOf(customer.paymentMethod)
  if (present && isSentBack(body, way, present)) return detailsOf(present)
  const named = await findNamed(tx, body, customer.id, gateways, problems)
  if (!named) return undefined
  const none = {
    collectionMethod: way,
    gatewayId: null,
    paymentMethodId: null,
    isMethodRequested: false,
  }
  if (!isTried(way)) {
    if (body.CollectionMethod != null || (!named.gateway && !named.method)) return none
    return refuseUnfit(body, way, problems)
  }
  if (named.method && !fitsWay(way, named.method.kind)) return refuseUnfit(body, way, problems)
  const choice = (await listCustomerChoices(tx, [customer.id])).get(customer.id) as CustomerChoice
  if (!named.gateway && !named.method && body.CollectionMethod == null) return none
  return completed({ way, currency, gateways, named, choice }, problems)
}

const detailsOf = (present: CollectionDetails): CollectionDetails => ({
  collectionMethod: present.collectionMethod,
  gatewayId: present.gatewayId,
  paymentMethodId: present.paymentMethodId,
  isMethodRequested: present.isMethodRequested,
})

function isSentBack(body: CollectionBody, way: CollectionMethod, present: CollectionDetails): boolean {
  const { gatewayID = null, customerPaymentMethodID = null } = body
  return (
    way === present.collectionMethod &&
    gatewayID === present.gatewayId &&
    customerPaymentMethodID === present.paymentMethodId
  )
}

interface Named {
  gateway: Gateway | undefined
  method: MethodFacts | undefined
}

function findGateway(
  { gatewayID }: CollectionBody,
  gateways: readonly Gateway[],
  problems: Problems,
): Gateway | undefined {
  if (gatewayID == null) return undefined
  const found = gateways.find(({ id }) => id === gatewayID)
  if (!found) problems.add('gateway_unknown', 'gatewayID', `This account has no gateway ${gatewayID}.`)
  return found
}

/** Finds what a body names; undefined where some of it is unknown. */
async function findNamed(
  tx: Transaction,
  { gatewayID, customerPaymentMethodID }: CollectionBody,
  customerId: CustomerId,
  gateways: readonly Gateway[],
  problems: Problems,
): Promise<Named | undefined> {
  const gateway = findGateway({ gatewayID: gatewayID ?? null }, gateways, problems)
  const id = customerPaymentMethodID
  const method = id == null ? undefined : await findMethodFacts(tx, tx.account, id)
  const field = 'customerPaymentMethodID'
  if (id != null && !method) problems.add('payment_method_unknown', field, `There is no payment method ${id}.`)
  const isOfOther = method !== undefined && method.customerId !== customerId
  if (isOfOther)
    problems.unfit('other_customer', field, `Payment method ${method.id} is not of customer ${customerId}.`)
  const isUnknown = (gatewayID != null && !gateway) || (id != null && !method)
  return isUnknown || isOfOther ? undefined : { gateway, method }
}

function refuseUnfit(body: CollectionBody, way: CollectionMethod, problems: Problems): undefined {
  const isMethod = body.customerPaymentMethodID != null
  const field = isMethod ? 'customerPaymentMethodID' : 'gatewayID'
  problems.unfit(
    isMethod ? 'payment_method_kind' : 'gateway_kind',
    field,
    `${field} ${body[field]} does not fit the CollectionMethod ${way}: credit_card takes cards, debit_order bank accounts.`,
  )
  return undefined
}

/** Completes what is named by the defaults; undefined where something stands against it. */
function completed(
  facts: {
    way: CollectionMethod
    currency: string
    gateways: readonly Gateway[]
    named: Named
    choice: CustomerChoice
  },
  problems: Problems,
): CollectionDetails | undefined {
  const { way, currency, gateways, named, choice } = facts
  if (!named.gateway && !gateways.some((gateway) => kindsOf(gateway).some((kind) => fitsWay(way, kind)))) {
    problems.add(
      'gateway_missing',
      'gatewayID',
      `CollectionMethod ${way} needs a gateway, and this account has none for it.`,
    )
    return undefined
  }
  if (named.gateway && !named.method && !kindsOf(named.gateway).some((kind) => fitsWay(way, kind))) {
    const message = `Gateway ${named.gateway.id} takes no payment methods for the CollectionMethod ${way}.`
    problems.unfit('gateway_kind', 'gatewayID', message)
    return undefined
  }
  const primary = choice.primary !== null && fitsWay(way, choice.primary.kind) ? choice.primary : undefined
  const isOfGateway = !named.gateway || primary?.gatewayId === null || primary?.gatewayId === named.gateway.id
  const method = named.method ?? (isOfGateway && !primary?.isRejected ? primary : undefined)
  if (!method) {
    problems.add(
      'payment_method_missing',
      'customerPaymentMethodID',
      `CollectionMethod ${way} needs a payment method, and the customer has none for it that is primary; name one or add one.`,
    )
    return undefined
  }
  const own = method.kind === 'credit_card' ? gateways.find(({ id }) => id === method.gatewayId) : undefined
  const gateway = named.gateway ?? own ?? gatewayFor(method, gateways, choice.gatewayId, currency)
  if (!gateway) {
    problems.add(
      'gateway_missing',
      'gatewayID',
      `CollectionMethod ${way} needs a gateway, and this account has none for it.`,
    )
    return undefined
  }
  const misfit = misfitOf(gateway, method, currency)
  if (misfit) {
    problems.unfit(misfit.code, misfit.field, misfit.message)
    return undefined
  }
  return {
    collectionMethod: way,
    gatewayId: gateway.id,
    paymentMethodId: method.id,
    isMethodRequested: named.method !== undefined || (named.gateway !== undefined && !isWithCard(method)),
  }
}

/** Returns what stands against collecting by a method through a gateway now; null where nothing does. */
function misfitOf(gateway: Gateway, method: MethodFacts, currency: string): Problem | null {
  const { id } = gateway
  const refused = (code: string, message: string, field = 'gatewayID'): Problem => ({ code, message, field })
  if (!isReady(gateway))
    return refused('gateway_inactive', `Gateway ${id} is not active; switch it on or name another.`)
  if (method.gatewayId !== null && method.gatewayId !== id)
    return refused('gateway_of_card', `Payment method ${method.id} is a card that gateway ${method.gatewayId} keeps.`)
  if (!kindsOf(gateway).includes(method.kind))
    return refused('gateway_kind', `Gateway ${id} does not take payment methods of the kind ${method.kind}.`)
  if (!currenciesOf(gateway).includes(currency))
    return refused('gateway_currency', `Gateway ${id} does not take the currency ${currency}.`)
  if (!method.isRejected) return null
  return refused(
    'payment_method_rejected',
    `Payment method ${method.id} was rejected by its bank; edit or validate it first.`,
    'customerPaymentMethodID',
  )
}
