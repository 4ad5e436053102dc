import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, SubscriptionId } from '../../kernel/ids.ts'
import { oneRow, type Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import {
  type BillableSubscription,
  BILLED_COLUMNS,
  type OfPackage,
  PACKAGE_COLUMNS,
  type Subscription,
  SUBSCRIPTION_COLUMNS,
  subscriptionJoined,
} from './queries.ts'

/** What the billing run asks: who has something due, and everything that billing it needs. */

/** The next customers, in identifier order, with something due on a day that this run has not given up on; paused ones too. */
export const listDueCustomers = async (
  db: Queryable,
  account: AccountId,
  due: { day: IsoDate; after: CustomerId; limit: number; runId: Id },
): Promise<CustomerId[]> =>
  (
    await db.rows<{ id: CustomerId }>(sql`
      select b.customer_id as "id" from subscription_billing b
       where b.account_id = ${account} and b.due_on = ${due.day} and b.customer_id > ${due.after}
         and not exists (select 1 from billing_run_failures f where f.account_id = ${account} and f.billing_run_id = ${due.runId}
                           and f.record_type = 'subscription' and f.record_id = b.subscription_id)
       group by b.customer_id order by b.customer_id limit ${due.limit}`)
  ).map(({ id }) => id)

/**
 * What is due on a day of customers that are locked, given in identifier order: read after the locks, so nothing of it can be stale. Asked
 * for as a range, which the planner can walk through on both sides at once; those in between that are not locked are passed over here.
 */
export async function listDueSubscriptions(
  tx: Queryable,
  account: AccountId,
  customerIds: readonly CustomerId[],
  due: { day: IsoDate; runId: Id },
): Promise<BillableSubscription[]> {
  const [first, last] = [customerIds[0], customerIds.at(-1)]
  const rows = await tx.rows<Omit<BillableSubscription, keyof OfPackage>>(sql`
    select ${BILLED_COLUMNS} from subscription_billing b
      join subscriptions s on s.account_id = ${account} and s.customer_id = b.customer_id and s.subscription_id = b.subscription_id
      join customers c on c.account_id = ${account} and c.customer_id = b.customer_id
     where b.account_id = ${account} and b.due_on = ${due.day} and b.customer_id between ${first} and ${last}
       and s.customer_id between ${first} and ${last} and c.customer_id between ${first} and ${last}
       and b.subscription_id not in (select f.record_id from billing_run_failures f where f.account_id = ${account}
                                       and f.billing_run_id = ${due.runId} and f.record_type = 'subscription')
     order by b.customer_id, b.subscription_id`)
  const wanted = new Set(customerIds)
  const found = rows.filter(({ customerId }) => wanted.has(customerId))
  return withPackages(tx, account, found)
}

/** Adds what the rows need of their packages: read once for thousands of subscriptions that share a few. */
async function withPackages(
  db: Queryable,
  account: AccountId,
  rows: readonly Omit<BillableSubscription, keyof OfPackage>[],
): Promise<BillableSubscription[]> {
  const termIds = [...new Set(rows.map(({ packageRateTermId }) => packageRateTermId))]
  const offers = await db.rows<OfPackage & { termId: Id }>(sql`
    select t.package_rate_term_id as "termId", ${PACKAGE_COLUMNS} from package_rate_terms t
      join package_rates r on r.account_id = ${account} and r.package_rate_id = t.package_rate_id
      join package_versions v on v.account_id = ${account} and v.package_version_id = r.package_version_id
      join packages p on p.account_id = ${account} and p.package_id = v.package_id
     where t.account_id = ${account} and t.package_rate_term_id = any(${arrayLiteral(termIds)}::bigint[])`)
  const offerOf = new Map(offers.map((offer) => [offer.termId, offer]))
  for (const row of rows) {
    const offer = offerOf.get(row.packageRateTermId)
    assert(offer, `the price of subscription ${row.id} exists`)
    const billable = row as BillableSubscription
    billable.versionNo = offer.versionNo
    billable.packageName = offer.packageName
    billable.price = offer.price
    billable.setupFeeMinor = offer.setupFeeMinor
    billable.trialFeeMinor = offer.trialFeeMinor
  }
  return rows as BillableSubscription[]
}

/** What is due up to a day, to look at without locks: for a dry run, page by page. */
export const listDueForPlanning = (
  db: Queryable,
  account: AccountId,
  until: IsoDate,
  after: SubscriptionId,
  limit: number,
) =>
  db.rows<Subscription>(sql`
    select ${SUBSCRIPTION_COLUMNS} from subscriptions s ${subscriptionJoined(account)}
     where s.account_id = ${account} and b.due_on <= ${until} and c.paused_on is null and s.subscription_id > ${after}
     order by s.subscription_id limit ${limit}`)

/** The first day after another with something to do. */
export const findDueAfter = async (
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> =>
  (
    await oneRow<{ day: IsoDate | null }>(
      db,
      sql`select (select b.due_on from subscription_billing b join customers c on c.account_id = ${account} and c.customer_id = b.customer_id
                   where b.account_id = ${account} and b.due_on > ${day} and b.due_on <= ${until} and c.paused_on is null
                   order by b.account_id, b.due_on limit 1) as "day"`,
    )
  ).day

export const countDue = async (db: Queryable, account: AccountId, until: IsoDate): Promise<number> =>
  Number(
    (
      await oneRow<{ n: bigint }>(
        db,
        sql`select count(*) as "n" from subscription_billing b join customers c on c.account_id = ${account} and c.customer_id = b.customer_id
             where b.account_id = ${account} and b.due_on <= ${until} and c.paused_on is null`,
      )
    ).n,
  )

// The index subscriptions_ending holds exactly this.
const ENDS_ON = fragment`least(s.end_date, case when s.pending_kind = 'cancellation' then s.pending_on end)`
const pausedEnding = (account: AccountId): Fragment => fragment`
  subscriptions s join customers c on c.account_id = ${account} and c.customer_id = s.customer_id and c.paused_on is not null
   where not s.is_end_recorded and (s.end_date is not null or s.pending_kind = 'cancellation')`

export interface PausedEnd {
  id: SubscriptionId
  customerId: CustomerId
  dueOn: IsoDate
}

/** The next ones that end on a day, in the order of their identifiers. */
export const listPausedEnds = (
  db: Queryable,
  account: AccountId,
  { day, after, limit }: { day: IsoDate; after: SubscriptionId; limit: number },
) =>
  db.rows<PausedEnd>(sql`
    select s.subscription_id as "id", s.customer_id as "customerId", ${ENDS_ON} as "dueOn" from ${pausedEnding(account)}
       and s.account_id = ${account} and ${ENDS_ON} = ${day} and s.subscription_id > ${after}
     order by s.subscription_id limit ${limit}`)

/** The first day after another on which one ends. */
export const findPausedEndAfter = async (
  db: Queryable,
  account: AccountId,
  day: IsoDate,
  until: IsoDate,
): Promise<IsoDate | null> =>
  (
    await oneRow<{ day: IsoDate | null }>(
      db,
      sql`select (select ${ENDS_ON} from ${pausedEnding(account)}
                     and s.account_id = ${account} and ${ENDS_ON} > ${day} and ${ENDS_ON} <= ${until}
                   order by ${ENDS_ON} limit 1) as "day"`,
    )
  ).day
