import type { IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId, Id, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import type { GivenFields } from './fields.ts'

export interface InvoiceRow extends GivenFields {
  id: InvoiceId
  customerId: CustomerId
  customerVersion: number
  /** Place and VAT number of the customer, frozen for the reports of taxes: both stay when the customer is made anonymous. */
  customerCountryId: bigint | null
  customerStateId: bigint | null
  customerVatNumber: string | null
  subscriptionId: SubscriptionId | null
  recurringInvoiceId: Id | null
  /** Null for one of the service's own, which is made from the identifier. */
  reference: string | null
  currency: string
  invoiceDate: IsoDate
  dueDate: IsoDate
  /** Left out by the rules, whose lines know their days. */
  supplyDate?: IsoDate | null
  source: 'Auto' | 'App'
  totalMinor: bigint
  gatewayId: Id | null
  paymentMethodId: Id | null
  isMethodRequested: boolean
  isCollectionHold: boolean
  nextTryDate: IsoDate | null
}
