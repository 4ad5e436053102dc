import type { Id } from '../../kernel/ids.ts'

/** Collection details of invoices, and of what makes them: by which way, gateway and method they are collected. */

export const COLLECTION_METHODS = ['cash', 'credit_card', 'debit_order', 'eft', 'hpp'] as const

export type CollectionMethod = (typeof COLLECTION_METHODS)[number]

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
