import { onlyUpdated } from '../events/queries.ts'
import { foundCondition, type FoundRecords } from '../finding/word-queries.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, InvoiceId } from '../../kernel/ids.ts'
import { fragment, type Fragment, NOTHING, onlyWith } from '../../platform/database/sql.ts'
import { IS_UNSETTLED } from './open-queries.ts'
import type { GivenStatus } from './types.ts'

/** Statuses and filters of money given, as SQL over the columns of `payments` and of `negative_adjustments`. */

/** Conditions of a list of payments or of credit notes; null or left out: all of them. */
export interface GivenFilter {
  /** Updated at this instant or later. */
  since?: Instant | null
  customerId?: CustomerId | null
  /** Inclusive days. */
  startDate?: IsoDate | null
  endDate?: IsoDate | null
  status?: GivenStatus | null
  currency?: string | null
  found?: FoundRecords | null
}

/** Conditions of a list of payments. */
export interface PaymentFilter extends GivenFilter {
  /** The invoice to which something of it is allocated. */
  invoiceId?: InvoiceId | null
  ref?: string | null
  method?: string | null
}

/** Conditions of a list of credit notes. */
export interface CreditFilter extends GivenFilter {
  /** The invoice of which it settles something. */
  invoiceId?: InvoiceId | null
  /** Number in small letters. */
  numberKey?: string | null
}

/** SQL of the rule `allocatedStatus` in rules.ts. */
export const ALLOCATED_STATUS = fragment`
  case when applied_minor = 0 then 'Unallocated' when applied_minor < amount_minor then 'Partial' else 'Allocated' end`

/** SQL of the rule `paymentStatus` in rules.ts. */
export const PAYMENT_STATUS = fragment`
  case when failed_on is not null then 'Failed' when ${IS_UNSETTLED} then 'Pending' else ${ALLOCATED_STATUS} end`

/** Builds the conditions of a filter, given the status of a row as SQL. */
export const conditionsOf = (filter: GivenFilter, status: Fragment): Fragment => fragment`
  ${onlyWith('customer_id', filter.customerId)} ${onlyWith('currency', filter.currency)}
  ${filter.startDate == null ? NOTHING : fragment`and dated >= ${filter.startDate}`}
  ${filter.endDate == null ? NOTHING : fragment`and dated <= ${filter.endDate}`}
  ${filter.status == null ? NOTHING : fragment`and (${status}) = ${filter.status}`}`

/** Builds the conditions of a list of payments. */
export const paymentConditions = (account: AccountId, filter: PaymentFilter): Fragment => fragment`
  ${onlyUpdated(account, 'payment', 'payment_id', filter.since)} ${conditionsOf(filter, PAYMENT_STATUS)} ${foundCondition(account, filter.found, { list: 'payments' }, 'payments')} ${onlyWith('ref', filter.ref)} ${onlyWith('method', filter.method)}
  ${
    filter.invoiceId == null
      ? NOTHING
      : fragment`and payment_id in (select l.given_id from allocations l where l.account_id = ${account} and l.owed_kind = 'invoice'
          and l.owed_id = ${filter.invoiceId} and l.given_kind = 'payment' and l.ended_on is null)`
  }`

/** Builds the conditions of a list of credit notes. */
export const creditConditions = (account: AccountId, filter: CreditFilter): Fragment => fragment`
  and kind = 'credit_note' ${onlyUpdated(account, 'credit_note', 'negative_adjustment_id', filter.since)} ${conditionsOf(filter, ALLOCATED_STATUS)} ${foundCondition(account, filter.found, { list: 'credits' }, 'negative_adjustments')} ${onlyWith('ref_key', filter.numberKey)}
  ${
    filter.invoiceId == null
      ? NOTHING
      : fragment`and negative_adjustment_id in (select s.negative_adjustment_id from settlements s
          where s.account_id = ${account} and s.invoice_id = ${filter.invoiceId} and s.ended_on is null)`
  }`
