import { notingChanged } from '../events/update-queries.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, SubscriptionId, CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import {
  type ArrayParameter,
  bigintList,
  bigints,
  dates,
  deduplicated,
  keyOf,
  rangeOf,
  rangeOfIds,
} from '../../platform/database/columns.ts'
import { DUE_ON, dayOfMonth } from './cycle-queries.ts'
import { asCount, column, counted, fragment, NOTHING, sql } from '../../platform/database/sql.ts'

/** State of billing of a subscription, as billing leaves it. */
export interface BillingState {
  id: SubscriptionId
  /** The values that were read before: the row is written only if they still stand, so that a move is made once. */
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

/**
 * Writes billing states, one or thousands; each subscription is due on a day of its own afterwards. Returns the number of those that were still as they had
 * been read.
 */
export async function updateBillingStates(
  tx: Transaction,
  account: AccountId,
  states: readonly BillingState[],
): Promise<number> {
  let moved = 0
  for (const { rows, distinct, positions } of deduplicated(states, STATE_SHAPE))
    moved += await updateStatesOfShapes(tx, account, { rows, positions }, distinct)
  return moved
}

async function updateStatesOfShapes(
  tx: Transaction,
  account: AccountId,
  { rows, positions }: { rows: readonly BillingState[]; positions: ArrayParameter },
  s: readonly BillingState[],
): Promise<number> {
  const range = rangeOf(rows, 'id')
  return tx.count(
    asCount(sql`
      update subscription_billing b set fees_on = r.fees_on, next_from = r.next_from, last_from = r.last_from,
        last_invoice_date = r.last_invoice_date, due_on = r.due_on, due_in_cycle_on = null, cycle_day = null
        from (select p.id, (${dates(s, 'feesOn')}::date[])[p.shape] as fees_on, (${dates(s, 'nextFrom')}::date[])[p.shape] as next_from,
                     (${dates(s, 'lastFrom')}::date[])[p.shape] as last_from, (${dates(s, 'lastInvoiceDate')}::date[])[p.shape] as last_invoice_date,
                     (${dates(s, 'dueOn')}::date[])[p.shape] as due_on, (${dates(s, 'wasNextFrom')}::date[])[p.shape] as was_next_from,
                     (${dates(s, 'wasDueOn')}::date[])[p.shape] as was_due_on
                from rows from (unnest(${bigints(rows, 'id')}::bigint[]), unnest(${positions}::integer[])${range ? counted(rows) : NOTHING})
                  as p(id, shape)) r
       where b.account_id = ${account} and b.subscription_id = r.id and b.next_from = r.was_next_from and ${DUE_ON} is not distinct from r.was_due_on
         ${range ? fragment`and b.subscription_id between ${range.first} and ${range.last}` : NOTHING}`),
  )
}

/**
 * Moves subscriptions that are alike to one billing state; nothing is joined for that. They stay in their cycle where they are due after `cyclesAfter`, which is
 * no day to come. Returns the number of those that were still as they had been read.
 */
export async function moveToState(
  tx: Transaction,
  ids: readonly SubscriptionId[],
  state: Omit<BillingState, 'id'>,
  cyclesAfter: IsoDate,
): Promise<number> {
  const range = rangeOfIds(ids)
  const { dueOn, cycleOn, cycleDay } = placeOf(state.dueOn, cyclesAfter)
  return tx.count(
    asCount(sql`
      update subscription_billing b set fees_on = ${state.feesOn}::date, next_from = ${state.nextFrom}::date, last_from = ${state.lastFrom}::date,
        last_invoice_date = ${state.lastInvoiceDate}::date, due_on = ${dueOn}::date, due_in_cycle_on = ${cycleOn}::date, cycle_day = ${cycleDay}::smallint
       where b.account_id = ${tx.account} and b.subscription_id = any(${bigintList(ids)}::bigint[])
         ${range ? fragment`and b.subscription_id between ${range.first} and ${range.last}` : NOTHING}
         and b.next_from = ${state.wasNextFrom}::date and ${DUE_ON} is not distinct from ${state.wasDueOn}::date`),
  )
}

/** Returns where the day is kept on which a subscription is due: in its cycle where it comes after a day, else on its own. */
const placeOf = (dueOn: IsoDate | null, cyclesAfter: IsoDate) =>
  dueOn !== null && dueOn > cyclesAfter
    ? { dueOn: null, cycleOn: dueOn, cycleDay: dayOfMonth(dueOn) }
    : { dueOn, cycleOn: null, cycleDay: null }

const STATE_SHAPE = ['wasNextFrom', 'wasDueOn', 'feesOn', 'nextFrom', 'lastFrom', 'lastInvoiceDate', 'dueOn'] as const

/** Returns a text that states have in common which are written alike. */
export const stateKeyOf = (state: BillingState): string => keyOf(state, STATE_SHAPE)

/** Writes ends and pending changes of subscriptions. Few of those that are billed need it. */
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

/** Raises the revision of the components of a subscription. Billing reads components only if it is above 0, and the ETag contains it. */
export const raiseRevision = (tx: Transaction, account: AccountId, id: SubscriptionId) =>
  tx.rows(sql`
    update subscriptions set components_revision = components_revision + 1 where account_id = ${account} and subscription_id = ${id}`)

/** Sets the days on which subscriptions are next due. */
export const updateDueOn = (
  tx: Transaction,
  account: AccountId,
  rows: readonly { id: SubscriptionId; dueOn: IsoDate | null }[],
) =>
  tx.rows(sql`
    update subscription_billing s set due_on = r.due_on, due_in_cycle_on = null, cycle_day = null
      from unnest(${column(rows, 'id')}::bigint[], ${column(rows, 'dueOn')}::date[]) as r(id, due_on)
     where s.account_id = ${account} and s.subscription_id = r.id`)

/** Takes removed methods out of the subscriptions of a customer. */
export const forgetMethodsOfSubscriptions = (tx: Transaction, customerId: CustomerId) =>
  tx.rows(sql`
    with changed as (
      update subscriptions set payment_method_id = null
     where account_id = ${tx.account} and customer_id = ${customerId} and payment_method_id is not null returning subscription_id as id)
    ${notingChanged(tx.account, 'subscription')}`)
