import type { IsoDate } from '../../kernel/calendar.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { fragment, type Fragment, NOTHING } from '../../platform/database/sql.ts'
import type { GivenStatus } from './rules.ts'

/** Statuses and filters of money given, as SQL over the columns of `payments` and of `negative_adjustments`. */

/** Conditions of a list of payments or of credit notes; null or left out: all of them. */
export interface GivenFilter {
  customerId?: CustomerId | null
  /** Inclusive days. */
  startDate?: IsoDate | null
  endDate?: IsoDate | null
  status?: GivenStatus | null
}

/** True of a payment that was begun elsewhere and is not settled. Whether it failed is another question. */
export const IS_UNSETTLED = fragment`(origin <> 'recorded' and settled_on is null)`

/** SQL of the rule `allocatedStatus` in rules.ts. */
export const ALLOCATED_STATUS = fragment`
  case when applied_minor = 0 then 'Unallocated' when applied_minor < amount_minor then 'Partial' else 'Allocated' end`

/** SQL of the rule `paymentStatus` in rules.ts. */
export const PAYMENT_STATUS = fragment`
  case when failed_on is not null then 'Failed' when ${IS_UNSETTLED} then 'Pending' else ${ALLOCATED_STATUS} end`

/** Builds the conditions of a filter, given the status of a row as SQL. */
export const conditionsOf = (filter: GivenFilter, status: Fragment): Fragment => fragment`
  ${filter.customerId == null ? NOTHING : fragment`and customer_id = ${filter.customerId}`}
  ${filter.startDate == null ? NOTHING : fragment`and dated >= ${filter.startDate}`}
  ${filter.endDate == null ? NOTHING : fragment`and dated <= ${filter.endDate}`}
  ${filter.status == null ? NOTHING : fragment`and (${status}) = ${filter.status}`}`
