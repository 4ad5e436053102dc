import type { Problem } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { MethodKind } from '../../kernel/rails.ts'
import type { PaymentMethod } from '../customers/fields.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import type { Gateway } from '../gateways/queries.ts'
import { currenciesOf, isChosen, kindsOf, primaryGateway } from '../gateways/rules.ts'
import { mandateProblem } from '../payment-methods/mandates.ts'
import type { MethodFacts } from './queries.ts'
import type { CollectionMethod } from './types.ts'

/** Returns how an invoice is collected from a customer who pays by `paymentMethod`. */
export const collectionMethodOf = (paymentMethod: PaymentMethod): CollectionMethod =>
  paymentMethod === 'cheque' ? 'cash' : paymentMethod === 'bank_account' ? 'debit_order' : paymentMethod

export const isTried = (method: CollectionMethod): boolean => method === 'credit_card' || method === 'debit_order'

export const fitsWay = (way: CollectionMethod, kind: MethodKind): boolean =>
  isTried(way) && (way === 'credit_card') === (kind === 'credit_card')

export const takes = (gateway: Gateway, kind: MethodKind, currency: string): boolean =>
  isChosen(gateway) && kindsOf(gateway).includes(kind) && currenciesOf(gateway).includes(currency)

/**
 * Returns the gateway by which a method is debited where none is named. Rule: a card's own gateway; for bank accounts the customer's, else
 * the account's first choice for the kind; undefined where it is not ready or does not take kind or currency.
 */
export function gatewayFor(
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

/**
 * Returns whether a method is tried through a gateway. Rule: bank accounts where the gateway collects in batches, with a mandate where it names
 * one to the bank; none that was rejected. A mandate that has lapsed is found when the line of a day is planned.
 */
export function isUsable(method: MethodFacts, { type }: Pick<Gateway, 'type'>): boolean {
  const { batches, needsMandates } = gatewayFactsOf(type)
  if (method.isRejected) return false
  if (method.kind === 'credit_card') return true
  return (
    batches !== undefined &&
    (!needsMandates || mandateProblem(needsMandates, method, null, method.mandateDate ?? '') === null)
  )
}

/** Returns whether a method brings its gateway with it: a gateway named beside a card that is only the primary one chooses nothing. */
export const isWithCard = ({ kind }: MethodFacts): boolean => kind === 'credit_card'

/** Returns what stands against collecting by a method through a gateway now; null where nothing does. */
export function misfitOf(gateway: Gateway, method: MethodFacts, currency: string): Problem | null {
  const { id } = gateway
  const refused = (code: string, message: string, field = 'gatewayID'): Problem => ({ code, message, field })
  if (!isChosen(gateway))
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
