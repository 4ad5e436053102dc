import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, SubscriptionId } from '../../kernel/ids.ts'
import { oneRow, type Transaction } from '../../platform/database/database.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import { column, sql } from '../../platform/database/sql.ts'

/** Where billing of a subscription stands, as it is written after it has moved. */
export interface BillingState {
  id: SubscriptionId
  /** What was read before, so that a move is made once. */
  wasNextFrom: IsoDate
  wasDueOn: IsoDate | null
  feesOn: IsoDate | null
  nextFrom: IsoDate
  lastFrom: IsoDate | null
  lastInvoiceDate: IsoDate | null
  dueOn: IsoDate | null
  endDate: IsoDate | null
  cancelledOn: IsoDate | null
  pendingKind: 'package' | 'term' | 'cancellation' | null
  pendingOn: IsoDate | null
  isEndRecorded: boolean
}

/** Moves billing states, one or thousands; answers how many were still as they had been read. */
export const updateBillingStates = async (
  tx: Transaction,
  account: AccountId,
  states: readonly BillingState[],
): Promise<number> =>
  (
    await oneRow<{ n: number }>(
      tx,
      sql`
    with moved as (update subscription_billing b set fees_on = r.fees_on, next_from = r.next_from, last_from = r.last_from,
      last_invoice_date = r.last_invoice_date, due_on = r.due_on
      from unnest(${bigints(states, 'id')}::bigint[], ${dates(states, 'wasNextFrom')}::date[], ${dates(states, 'wasDueOn')}::date[],
        ${dates(states, 'feesOn')}::date[], ${dates(states, 'nextFrom')}::date[], ${dates(states, 'lastFrom')}::date[],
        ${dates(states, 'lastInvoiceDate')}::date[], ${dates(states, 'dueOn')}::date[])
        as r(id, was_next_from, was_due_on, fees_on, next_from, last_from, last_invoice_date, due_on)
     where b.account_id = ${account} and b.subscription_id = r.id and b.next_from = r.was_next_from and b.due_on is not distinct from r.was_due_on
    returning 1)
    select count(*)::integer as "n" from moved`,
    )
  ).n

/** Writes what an end or a change that took effect makes of subscriptions: few of those that are billed. */
export async function updateEnds(tx: Transaction, account: AccountId, states: readonly BillingState[]): Promise<void> {
  if (states.length === 0) return
  await tx.rows(sql`
    update subscriptions s set end_date = r.end_date, cancelled_on = r.cancelled_on, pending_kind = r.pending_kind, pending_on = r.pending_on,
      is_end_recorded = r.is_end_recorded
      from unnest(${bigints(states, 'id')}::bigint[], ${dates(states, 'endDate')}::date[], ${dates(states, 'cancelledOn')}::date[],
        ${column(states, 'pendingKind')}::text[], ${dates(states, 'pendingOn')}::date[], ${column(states, 'isEndRecorded')}::boolean[])
        as r(id, end_date, cancelled_on, pending_kind, pending_on, is_end_recorded)
     where s.account_id = ${account} and s.subscription_id = r.id`)
}
