import type { Problems } from '../../kernel/fault.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { PaymentMethod } from '../customers/fields.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import { kindsOf } from '../gateways/rules.ts'
import { type CustomerChoice, findMethodFacts, listCustomerChoices, type MethodFacts } from './queries.ts'
import { collectionMethodOf, fitsWay, gatewayFor, isTried, isWithCard, misfitOf } from './rules.ts'
import type { CollectionBody, CollectionDetails, CollectionMethod } from './types.ts'

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
