import { notingChanged } from '../events/queries.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
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
import {
  arrayLiteral,
  asCount,
  column,
  counted,
  fragment,
  type Fragment,
  NOTHING,
  sql,
} from '../../platform/database/sql.ts'
import { sendUncount } from '../../platform/database/housekeeping.ts'
import { sendDeletedWords } from '../finding/word-queries.ts'
import { deleteZeroCharges } from '../invoices/state-queries.ts'
import { deleteUsage } from '../subscription-components/usage-queries.ts'
import { type DueCustomers, nextOf } from '../../platform/database/due.ts'
import { listIds } from '../../platform/database/id-lists.ts'

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

/**
 * Deletes subscriptions and everything that belongs to them. Reports of usage have no foreign key, so a statement of their own deletes
 * them.
 */
export async function deleteSubscriptions(
  tx: Transaction,
  account: AccountId,
  ids: readonly SubscriptionId[],
): Promise<void> {
  if (ids.length === 0) return
  const list = arrayLiteral(ids)
  await deleteUsage(tx, account, ids)
  await tx.rows(
    sql`delete from subscriptions where account_id = ${account} and subscription_id = any(${list}::bigint[])`,
  )
  sendDeletedWords(tx, 'subscriptions', ids)
  sendUncount(tx, 'subscriptions', ids)
}

/** Deletes the subscriptions of a customer, which have all ended, and their periods that were billed at zero. */
export async function deleteEndedSubscriptions(
  tx: Transaction,
  account: AccountId,
  customerId: CustomerId,
): Promise<void> {
  await deleteZeroCharges(tx, account, customerId)
  const ended = await tx.rows<{ id: SubscriptionId }>(
    sql`select subscription_id as "id" from subscriptions where account_id = ${account} and customer_id = ${customerId}`,
  )
  await deleteSubscriptions(
    tx,
    account,
    ended.map(({ id }) => id),
  )
}

/**
 * Finding subscriptions that are due (decision 40). One is due on a day of its own, `due_on`, or in its cycle: then its row has `due_in_cycle_on`, and is found by the
 * day of the month, `cycle_day`, which a month later is the same one. Only runs put subscriptions in cycle, on days to come; whatever else writes a day
 * writes `due_on`. Behind each day of a run whom it did not bill leaves its cycle, so that nobody in cycle is due on a day that is over.
 */

/** The day on which subscription `b` is due. */
export const DUE_ON: Fragment = fragment`coalesce(b.due_on, b.due_in_cycle_on)`

export const dayOfMonth = (day: IsoDate): number => Number(day.slice(8))

/** Returns the assignments that make a subscription due on a day of its own, or on none. */
export const dueOnDay = (day: IsoDate | null): Fragment =>
  fragment`due_on = ${day}, due_in_cycle_on = null, cycle_day = null`

/**
 * Returns the conditions by which subscriptions `b` are due on a day: on its own, and in their cycle. Each is for a statement of its own, which PostgreSQL plans
 * well however little it knows of the tables; of both as one relation it knows too little.
 */
const dueWays = (day: IsoDate): readonly Fragment[] => [
  fragment`b.due_on = ${day}`,
  fragment`b.cycle_day = ${dayOfMonth(day)}::smallint and b.due_in_cycle_on = ${day}`,
]

/** Reads subscriptions that are due on a day, in one way and the other, by a statement that is made for each. */
export const inBothWays = async <Row>(day: IsoDate, read: (isDue: Fragment) => Promise<Row[]>): Promise<Row[]> =>
  (await Promise.all(dueWays(day).map(read))).flat()

/** Days of the month of the days behind the one up to which an account is swept, up to another. Two months have all of them. */
const cycleDays = (account: AccountId, until: IsoDate): Fragment => fragment`array(
    select distinct extract(day from ${until}::date - n)::smallint from generate_series(0, 61) as n
     where ${until}::date - n > coalesce((select y.swept_on from billing_cycles y where y.account_id = ${account}), '-infinity'))`

/** Returns the condition that subscription `d` is in cycle and due up to a day. */
export const isDueInCycle = (account: AccountId, until: IsoDate): Fragment => fragment`
  d.account_id = ${account} and d.cycle_day = any(${cycleDays(account, until)}) and d.due_in_cycle_on <= ${until}`

/** Lists the customers of the next subscriptions that are due in their cycle on a day, each as often as they have some, in identifier order. */
export const listCustomersInCycle = (db: Queryable, account: AccountId, due: DueCustomers): Promise<CustomerId[]> =>
  listIds(
    db,
    fragment`
    select d.customer_id as id from subscription_billing d
     where d.account_id = ${account} and d.cycle_day = ${dayOfMonth(due.day)}::smallint and d.due_in_cycle_on = ${due.day} and d.customer_id > ${due.after}
       and d.subscription_id not in (select f.record_id from billing_run_failures f
                                      where f.account_id = ${account} and f.billing_run_id = ${due.runId} and f.record_type = 'subscription')
     order by d.customer_id ${nextOf(due)}`,
  )

/** Counts subscriptions that are due in their cycle up to a day, of customers that are not paused. Few are paused, so nobody looks at the customer of each. */
export const countDueInCycle = (db: Queryable, account: AccountId, until: IsoDate): Promise<number> =>
  db.count(sql`
    select (select count(*) from subscription_billing d where ${isDueInCycle(account, until)})
         - (select count(*) from customers c join subscription_billing d on d.customer_id = c.customer_id
             where c.account_id = ${account} and c.paused_on is not null and ${isDueInCycle(account, until)}) as "n"`)

/**
 * Finds the day up to which nobody in cycle of an account is left, or where none is noted one before the first on which somebody is due, and the days of the
 * month of those in cycle, with commas between them.
 */
export const getCycles = (db: Queryable, account: AccountId) =>
  db.one<{ swept: IsoDate | null; days: string }>(sql`
    with recursive known as (
      (select cycle_day as day from subscription_billing where account_id = ${account} and cycle_day is not null order by account_id, cycle_day limit 1)
      union all
      select (select b.cycle_day from subscription_billing b where b.account_id = ${account} and b.cycle_day > known.day
               order by b.account_id, b.cycle_day limit 1) from known where known.day is not null)
    select coalesce((select swept_on from billing_cycles where account_id = ${account}),
                    (select min(due_in_cycle_on) - 1 from subscription_billing where account_id = ${account} and cycle_day is not null)) as "swept",
           (select coalesce(string_agg(day::text, ','), '') from known) as "days"`)

/** Returns whether a subscription of a customer that is not paused is due in its cycle on a day. */
export const isAnyInCycle = (db: Queryable, account: AccountId, day: IsoDate): Promise<boolean> =>
  db.value<boolean>(sql`
    select exists (
      select 1 from subscription_billing d join customers c on c.account_id = ${account} and c.customer_id = d.customer_id
       where d.account_id = ${account} and d.cycle_day = ${dayOfMonth(day)}::smallint and d.due_in_cycle_on = ${day} and c.paused_on is null) as "is"`)

/** Returns the day up to which nobody in cycle of the account is left; null where nobody ever was. */
export const findSweptOn = (tx: Transaction): Promise<IsoDate | null> =>
  tx.value<IsoDate | null>(sql`
    select (select swept_on from billing_cycles where account_id = ${tx.account}) as "day"`)

/** Lists the next customers, in identifier order, of whom somebody is left in cycle on a day or before. */
export const listLeftInCycle = (
  db: Queryable,
  account: AccountId,
  { day, after, limit }: { day: IsoDate; after: CustomerId; limit: number },
): Promise<CustomerId[]> =>
  listIds(
    db,
    fragment`
    select d.customer_id as id from subscription_billing d where ${isDueInCycle(account, day)} and d.customer_id > ${after}
     group by d.customer_id order by d.customer_id limit ${limit}`,
  )

/** Takes subscriptions of locked customers that are due in their cycle up to a day out of it: each is due on the same day as before. */
export const endCycles = (tx: Transaction, customerIds: readonly CustomerId[], day: IsoDate) =>
  tx.rows(sql`
    update subscription_billing d set due_on = due_in_cycle_on, due_in_cycle_on = null, cycle_day = null
     where ${isDueInCycle(tx.account, day)} and d.customer_id = any(${arrayLiteral(customerIds)}::bigint[])`)

/** Notes the day up to which nobody in cycle is left, where anybody is in cycle. */
export const keepSweptOn = (tx: Transaction, day: IsoDate) =>
  tx.rows(sql`
    insert into billing_cycles (account_id, swept_on)
    select ${tx.account}, ${day} where exists (select 1 from subscription_billing where account_id = ${tx.account} and cycle_day is not null)
    on conflict (account_id) do update set swept_on = greatest(billing_cycles.swept_on, excluded.swept_on) returning 1`)
