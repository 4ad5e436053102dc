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

/** Returns whether a gateway can debit a method as far as its keeping goes: one that keeps accounts itself takes those alone. */
const keepsIt = ({ kind, gatewayToken }: MethodFacts, { type }: Pick<Gateway, 'type'>): boolean =>
  kind === 'credit_card' || (gatewayToken !== null) === (gatewayFactsOf(type).keepsAccounts ?? false)

/**
 * Returns the gateway by which a method is debited where none is named. Rule: that which keeps a card or account; for other bank accounts the customer's, else
 * the account's first choice for the kind; undefined where it is not ready or does not take kind or currency.
 */
export function gatewayFor(
  method: MethodFacts,
  gateways: readonly Gateway[],
  customerGatewayId: Id | null,
  currency: string,
): Gateway | undefined {
  const wantedId = method.gatewayId ?? customerGatewayId
  const fitting = gateways.filter((gateway) => keepsIt(method, gateway))
  const own = fitting.find(({ id }) => id === wantedId)
  if (own && takes(own, method.kind, currency)) return own
  return isWithCard(method) ? undefined : primaryGateway(fitting, method.kind, currency)
}

/**
 * Returns whether a method is tried through a gateway. Rule: bank accounts where the gateway collects in batches, with a mandate where it names
 * one to the bank; none that was rejected. A mandate that has lapsed is found when the line of a day is planned.
 */
export function isUsable(method: MethodFacts, { type }: Pick<Gateway, 'type'>): boolean {
  const { batches, needsMandates } = gatewayFactsOf(type)
  if (method.isRejected || !keepsIt(method, { type })) return false
  if (method.kind === 'credit_card') return true
  return (
    batches !== undefined &&
    (!needsMandates || mandateProblem(needsMandates, method, null, method.mandateDate ?? '') === null)
  )
}

/** Returns whether a method brings its gateway with it: a gateway named beside a card that is only the primary one chooses nothing. */
export const isWithCard = ({ gatewayId }: MethodFacts): boolean => gatewayId !== null

/** Returns what stands against collecting by a method through a gateway now; null where nothing does. */
export function misfitOf(gateway: Gateway, method: MethodFacts, currency: string): Problem | null {
  const { id } = gateway
  const refused = (code: string, message: string, field = 'gatewayID'): Problem => ({ code, message, field })
  if (!isChosen(gateway))
    return refused('gateway_inactive', `Gateway ${id} is not active; switch it on or name another.`)
  if (method.gatewayId !== null && method.gatewayId !== id)
    return refused('gateway_of_card', `Payment method ${method.id} is kept by gateway ${method.gatewayId}.`)
  if (!keepsIt(method, gateway))
    return refused('gateway_keeps_accounts', `Gateway ${id} debits only accounts that it keeps itself.`)
  if (!kindsOf(gateway).includes(method.kind))
    return refused('gateway_kind', `Gateway ${id} does not take payment methods of the kind ${method.kind}.`)
  if (!currenciesOf(gateway).includes(currency))
    return refused('gateway_currency', `Gateway ${id} does not take the currency ${currency}.`)
  if (!method.isRejected) return null
  const isKeptAccount = method.gatewayId !== null && method.kind !== 'credit_card'
  return refused(
    'payment_method_rejected',
    isKeptAccount
      ? `Payment method ${method.id} was rejected; send the customer a link to a new mandate.`
      : `Payment method ${method.id} was rejected by its bank; edit or validate it first.`,
    'customerPaymentMethodID',
  )
}
