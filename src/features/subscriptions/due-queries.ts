import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, SubscriptionId } from '../../kernel/ids.ts'
import { rangeOfIds } from '../../platform/database/columns.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { type DueCustomers, type DueDay, nextOf, notFailed } from '../../platform/database/due.ts'
import { hashedRows } from '../../platform/database/planner-hints.ts'
import { arrayLiteral, type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import { DUE_ON, inBothWays } from './state-queries.ts'
import {
  type BillableSubscription,
  BILLED_COLUMNS,
  type OfPackage,
  PACKAGE_COLUMNS,
  type Subscription,
  SUBSCRIPTION_COLUMNS,
  subscriptionJoined,
} from './queries.ts'

/** Statements that read subscriptions that are due, with everything that billing them needs. */

type DueRow = Omit<BillableSubscription, keyof OfPackage>

/**
 * Lists the subscriptions of locked customers that are due on a day. They are read after the locks, so none can be stale. The customers are
 * given in identifier order and asked for as a range, because PostgreSQL can walk through a range on both sides of the join at once;
 * customers of the range that are not locked are left out here.
 */
export async function listDueSubscriptions(
  tx: Queryable,
  account: AccountId,
  customerIds: readonly CustomerId[],
  due: DueDay,
): Promise<BillableSubscription[]> {
  const [first, last] = [customerIds[0], customerIds.at(-1)]
  const isDense = rangeOfIds(customerIds) !== undefined
  const rows = await inBothWays(due.day, (isDue) => {
    const statement = sql`
    select ${BILLED_COLUMNS} from subscription_billing b
      join subscriptions s on s.account_id = ${account} and s.customer_id = b.customer_id and s.subscription_id = b.subscription_id
      join customers c on c.account_id = ${account} and c.customer_id = b.customer_id
     where b.account_id = ${account} and ${isDue} and b.customer_id between ${first} and ${last}
       ${isDense ? fragment`and s.customer_id between ${first} and ${last} and c.customer_id between ${first} and ${last}` : NOTHING}
       and b.subscription_id not in (select f.record_id from billing_run_failures f where f.account_id = ${account}
                                       and f.billing_run_id = ${due.runId} and f.record_type = 'subscription')
     order by b.customer_id, b.subscription_id`
    return isDense ? hashedRows<DueRow>(tx, statement) : tx.rows<DueRow>(statement)
  })
  const wanted = new Set(customerIds)
  const found = rows.filter(({ customerId }) => wanted.has(customerId)).toSorted(byCustomer)
  return withPackages(tx, account, found)
}

const byCustomer = (a: { customerId: CustomerId; id: SubscriptionId }, b: typeof a): number =>
  Number(a.customerId - b.customerId) || Number(a.id - b.id)

/**
 * Finds how often what the account's prices offer was changed; none where never. Read before prices are, it is the same number as long as these are as they
 * were read.
 */
export const findPriceMark = async (db: Queryable, account: AccountId): Promise<bigint> =>
  (await db.first<{ changes: bigint }>(sql`select changes from price_marks where account_id = ${account}`))?.changes ??
  0n

/** Lists what prices offer, as a text for each. They are named in digits. */
export async function listOffers(
  db: Queryable,
  account: AccountId,
  termIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.rows<{ termId: string; offer: string }>(sql`
    select t.package_rate_term_id::text as "termId", ${OFFER} as "offer" from ${offersJoined(account, termIds)}`)
  return new Map(rows.map(({ termId, offer }) => [termId, offer]))
}

const offersJoined = (account: AccountId, termIds: readonly (Id | string)[]): Fragment => fragment`
  package_rate_terms t
    join package_rates r on r.account_id = ${account} and r.package_rate_id = t.package_rate_id
    join package_versions v on v.account_id = ${account} and v.package_version_id = r.package_version_id
    join packages p on p.account_id = ${account} and p.package_id = v.package_id
   where t.account_id = ${account} and t.package_rate_term_id = any(${arrayLiteral([...new Set(termIds)])}::bigint[])`

/** Text of all that a price offers. */
const OFFER = fragment`row(v.version_no, p.name, t.price, r.setup_fee_minor, r.trial_fee_minor)::text`

type Offer = OfPackage & { offer: string }

/** Reads what the packages of subscriptions offer. Thousands of subscriptions share a few packages, so each package is read once. */
export async function readOffers(
  db: Queryable,
  account: AccountId,
  rows: readonly { packageRateTermId: Id }[],
): Promise<(row: { packageRateTermId: Id }) => Offer> {
  const termIds = rows.map(({ packageRateTermId }) => packageRateTermId)
  const found = await db.rows<Offer & { termId: Id }>(sql`
    select t.package_rate_term_id as "termId", ${OFFER} as "offer", ${PACKAGE_COLUMNS} from ${offersJoined(account, termIds)}`)
  const offers = new Map(found.map(({ termId, ...offer }) => [termId, offer]))
  return ({ packageRateTermId }) => {
    const offer = offers.get(packageRateTermId)
    assert(offer, `price ${packageRateTermId} exists`)
    return offer
  }
}

/** Adds the facts of its package to a subscription, in place: a run reads millions. */
export function addOffer<Row>(
  row: Row,
  { versionNo, packageName, price, setupFeeMinor, trialFeeMinor }: OfPackage,
): Row & OfPackage {
  const billable = row as Row & OfPackage
  billable.versionNo = versionNo
  billable.packageName = packageName
  billable.price = price
  billable.setupFeeMinor = setupFeeMinor
  billable.trialFeeMinor = trialFeeMinor
  return billable
}

/** Adds the facts of their packages to subscriptions. */
async function withPackages<Row extends { packageRateTermId: Id }>(
  db: Queryable,
  account: AccountId,
  rows: readonly Row[],
): Promise<(Row & OfPackage)[]> {
  const offerOf = await readOffers(db, account, rows)
  for (const row of rows) addOffer(row, offerOf(row))
  return rows as (Row & OfPackage)[]
}

/** Lists a page of the subscriptions that are due up to a day, without locks, for a dry run. */
export const listDueForPlanning = (
  db: Queryable,
  account: AccountId,
  until: IsoDate,
  after: SubscriptionId,
  limit: number,
) =>
  db.rows<Subscription>(sql`
    select ${SUBSCRIPTION_COLUMNS} from subscriptions s ${subscriptionJoined(account)}
     where s.account_id = ${account} and ${DUE_ON} <= ${until} and c.paused_on is null and s.subscription_id > ${after}
     order by s.subscription_id limit ${limit}`)

// These are the expression and the condition of the index subscriptions_ending.
const ENDS_ON = fragment`least(s.end_date, case when s.pending_kind = 'cancellation' then s.pending_on end)`
const IS_ENDING = fragment`not s.is_end_recorded and (s.end_date is not null or s.pending_kind = 'cancellation')`
const pausedEnding = (account: AccountId): Fragment => fragment`
  subscriptions s join customers c on c.account_id = ${account} and c.customer_id = s.customer_id and c.paused_on is not null
   where ${IS_ENDING}`

/** Statements for ends of subscriptions whose customers are paused. */
export const pausedEnds = {
  listCustomers: async (db: Queryable, account: AccountId, due: DueCustomers): Promise<CustomerId[]> => {
    const rows = await db.rows<{ id: CustomerId }>(sql`
      select s.customer_id as "id" from ${pausedEnding(account)}
         and s.account_id = ${account} and ${ENDS_ON} = ${due.day} and s.customer_id > ${due.after}
         and ${notFailed(account, due.runId, 'subscription', 's.subscription_id')}
       order by s.customer_id ${nextOf(due)}`)
    return rows.map(({ id }) => id)
  },

  listDue: async (
    db: Queryable,
    account: AccountId,
    customerIds: readonly CustomerId[],
    due: DueDay,
  ): Promise<BillableSubscription[]> => {
    const rows = await db.rows<Omit<BillableSubscription, keyof OfPackage>>(sql`
      select ${BILLED_COLUMNS} from subscriptions s
        join subscription_billing b on b.account_id = ${account} and b.subscription_id = s.subscription_id
        join customers c on c.account_id = ${account} and c.customer_id = s.customer_id and c.paused_on is not null
       where ${IS_ENDING} and s.account_id = ${account} and ${ENDS_ON} = ${due.day}
         and s.customer_id = any(${arrayLiteral(customerIds)}::bigint[])
         and ${notFailed(account, due.runId, 'subscription', 's.subscription_id')}
       order by s.customer_id, s.subscription_id`)
    return withPackages(db, account, rows)
  },

  findAfter: async (db: Queryable, account: AccountId, day: IsoDate, until: IsoDate): Promise<IsoDate | null> => {
    const found = await db.one<{ day: IsoDate | null }>(sql`
      select (select ${ENDS_ON} from ${pausedEnding(account)}
                 and s.account_id = ${account} and ${ENDS_ON} > ${day} and ${ENDS_ON} <= ${until}
               order by ${ENDS_ON} limit 1) as "day"`)
    return found.day
  },
}
