import type { Problems } from '../../kernel/fault.ts'
import type { PaymentMethod } from '../customers/fields.ts'

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

/** Checks how an invoice is to be collected. No account has gateways yet; the present method can be sent back. */
export function checkCollection(body: CollectionBody, problems: Problems, present?: CollectionMethod | null): void {
  if (body.gatewayID) problems.add('gateway_unknown', 'gatewayID', `This account has no gateway ${body.gatewayID}.`)
  if (body.customerPaymentMethodID)
    problems.add(
      'payment_method_unknown',
      'customerPaymentMethodID',
      `The customer has no payment method ${body.customerPaymentMethodID}.`,
    )
  const method = body.CollectionMethod
  if (method === present || (method !== 'credit_card' && method !== 'debit_order')) return
  problems.add(
    'gateway_missing',
    'gatewayID',
    `CollectionMethod ${method} needs a gateway, and this account has none for it.`,
  )
}
