import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, SubscriptionId } from '../../kernel/ids.ts'
import { oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { rangeOfIds } from '../../platform/database/columns.ts'
import { type DueDay, dueStatements, notFailed } from '../../platform/database/due.ts'
import { arrayLiteral, type Fragment, fragment, namesOf, NOTHING, sql } from '../../platform/database/sql.ts'
import { walkedRows } from '../../platform/database/walked.ts'
import {
  type BillableSubscription,
  BILLED_COLUMNS,
  type OfPackage,
  PACKAGE_COLUMNS,
  type Subscription,
  SUBSCRIPTION_COLUMNS,
  subscriptionJoined,
} from './queries.ts'

import type { SteadyFacts } from './steady.ts'

/** Statements that read subscriptions that are due, with everything that billing them needs. */

export const dueSubscriptions = dueStatements({
  relation: 'subscription_billing',
  id: 'subscription_id',
  day: 'due_on',
  recordType: 'subscription',
})

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

/** A steady subscription, and what its invoice has of its customer. */
export interface SteadyMember {
  id: SubscriptionId
  customerId: CustomerId
  customerVersion: number
  isCompany: boolean
  vatNumber: string | null
  /** The customer gets invoices by mail and can be reached. */
  isMailWanted: boolean
  /** Identifier of its price, in digits. */
  termId: string
}

/** Subscriptions that are alike but for whose they are, what they cost, and what components they have. */
export interface SteadyGroup {
  /** All that they have in common, as one text. */
  key: string
  countryId: bigint | null
  hasComponents: boolean
  members: SteadyMember[]
}

/** The facts by which subscriptions are grouped, and their names. */
const STEADY_COLUMNS = fragment`
  s.currency, s.stretch, s.anchor, s.anchor_day as "anchorDay", coalesce(s.component_anchor, s.anchor) as "componentAnchor", s.term,
  s.term_type as "termType", s.is_pro_rata as "isProRata", s.components_revision > 0 as "hasComponents",
  s.lead_days as "leadDays", b.next_from as "nextFrom", b.last_from as "lastFrom", s.po_number as "poNumber",
  s.collection_method as "collectionMethod", c.country_id as "countryId", c.country_state_id as "countryStateId",
  c.is_waive_taxes as "isWaiveTaxes", c.tax_category as "taxCategory", c.tax_reason as "taxReason",
  c.payment_method as "paymentMethod", c.payment_term_days as "paymentTermDays", c.locale`
const STEADY_NAMES = namesOf(
  `currency, stretch, anchor, "anchorDay", "componentAnchor", term, "termType", "isProRata", "hasComponents", "leadDays", "nextFrom", "lastFrom",
   "poNumber", "collectionMethod", "countryId", "countryStateId", "isWaiveTaxes", "taxCategory", "taxReason", "paymentMethod", "paymentTermDays", locale`,
)

const steadyJoined = (account: AccountId): Fragment => fragment`
  subscription_billing b
    join subscriptions s on s.account_id = ${account} and s.customer_id = b.customer_id and s.subscription_id = b.subscription_id
    join customers c on c.account_id = ${account} and c.customer_id = b.customer_id`

/** Group as it is read: lists of numbers with commas between them, in the same order. */
interface SteadyRow extends Omit<SteadyGroup, 'members'> {
  isSteady: boolean
  ids: string
  customerIds: string
  customerVersions: string
  termIds: string
  /** A letter for each, in the same order: t or f. */
  areCompanies: string
  areMailWanted: string
  /** JSON list in the same order; null where there is none. */
  vatNumbers: string | null
}

/**
 * Lists the steady ones of the subscriptions of locked customers that are due on a day, in groups that are alike, with the number of all that are due,
 * steady or not. Steady are those past their first period, of which nothing is pending, ending or failing, without a gateway or method of their own, whose
 * customers have no other subscription due on the day. Customers of the range that are not locked are left out here, because a list of a thousand would make
 * PostgreSQL look each of them up.
 */
export async function listSteady(
  tx: Transaction,
  account: AccountId,
  customerIds: readonly CustomerId[],
  due: DueDay,
): Promise<{ groups: SteadyGroup[]; dueCount: number }> {
  const [first, last] = [customerIds[0], customerIds.at(-1)]
  const isDense = rangeOfIds(customerIds) !== undefined
  const rows = await walkedRows<SteadyRow>(
    tx,
    sql`
    select "isSteady", string_agg(subscription_id::text, ',') as "ids", string_agg(customer_id::text, ',') as "customerIds",
           string_agg(version::text, ',') as "customerVersions",
           string_agg(package_rate_term_id::text, ',') as "termIds", string_agg(left(is_company::text, 1), '') as "areCompanies",
           string_agg(left(is_mail_wanted::text, 1), '') as "areMailWanted",
           case when count(vat_number) > 0 then json_agg(vat_number)::text end as "vatNumbers",
           row(${STEADY_NAMES})::text as "key", "countryId", "hasComponents" from (
      select b.subscription_id, b.customer_id, s.package_rate_term_id, c.version, c.is_company, c.vat_number, c.auto_send_invoice and c.email is not null as is_mail_wanted, ${STEADY_COLUMNS},
             s.gateway_id is null and s.payment_method_id is null and s.pending_kind is null and s.end_date is null and s.cancelled_on is null and not s.is_end_recorded and b.fees_on is null and b.last_from is not null
               and b.next_from > s.start_date and (s.trial_end_date is null or b.next_from > s.trial_end_date)
               and s.subscription_id not in (select f.record_id from failing_records f where f.account_id = ${account} and f.record_type = 'subscription')
               and s.subscription_id not in (select f.record_id from billing_run_failures f where f.account_id = ${account}
                                               and f.billing_run_id = ${due.runId} and f.record_type = 'subscription') as "isSteady"
        from ${steadyJoined(account)}
       where b.account_id = ${account} and b.due_on = ${due.day} and b.customer_id between ${first} and ${last}
         ${isDense ? fragment`and s.customer_id between ${first} and ${last} and c.customer_id between ${first} and ${last}` : NOTHING}) due
     group by "isSteady", ${STEADY_NAMES}`,
    isDense,
  )
  const { once, dueCount } = countDueOf(rows, new Set(customerIds.map(String)))
  const groups = rows.flatMap((row): SteadyGroup[] => {
    const members = row.isSteady ? membersOf(row).filter(({ customerId }) => once.has(String(customerId))) : []
    const { key, countryId, hasComponents } = row
    return members.length === 0 ? [] : [{ key, countryId, hasComponents, members }]
  })
  return { groups, dueCount }
}

function membersOf(row: SteadyRow): SteadyMember[] {
  const { areCompanies, areMailWanted, vatNumbers } = row
  const [customers, versions, terms] = [row.customerIds, row.customerVersions, row.termIds].map((list) =>
    list.split(','),
  ) as Lists
  type Lists = [customers: string[], versions: string[], terms: string[]]
  const numbers = vatNumbers === null ? [] : (JSON.parse(vatNumbers) as (string | null)[])
  return row.ids.split(',').map((id, place) => ({
    id: BigInt(id),
    customerId: BigInt(customers[place]!),
    customerVersion: Number(versions[place]),
    isCompany: areCompanies[place] === 't',
    vatNumber: numbers[place] ?? null,
    isMailWanted: areMailWanted[place] === 't',
    termId: terms[place]!,
  }))
}

/** The facts of a steady subscription beside its components, and the text that they make with those of its package. */
export type ReadFacts = Omit<SteadyFacts, 'components' | 'isBusiness'> & { offer: string }

/** Lists the facts of steady subscriptions that are due on a day, whose customers are locked, by subscription. */
export async function listSteadyFacts(
  tx: Transaction,
  account: AccountId,
  ids: readonly SubscriptionId[],
  day: IsoDate,
): Promise<Map<SubscriptionId, ReadFacts>> {
  const rows = await tx.rows<Omit<ReadFacts, 'offer' | keyof OfPackage> & { id: SubscriptionId }>(sql`
    select b.subscription_id as "id", b.due_on as "dueOn", s.package_id as "packageId", s.package_version_id as "packageVersionId",
           s.package_rate_term_id as "packageRateTermId", ${STEADY_COLUMNS} from ${steadyJoined(account)}
     where b.account_id = ${account} and b.due_on = ${day} and b.subscription_id = any(${arrayLiteral(ids)}::bigint[])`)
  const offerOf = await readOffers(tx, account, rows)
  return new Map(rows.map(({ id, ...row }) => [id, { ...row, ...offerOf(row) }]))
}

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

/** Returns the number of subscriptions of the wanted customers that are due, and which of these have only one of them. */
function countDueOf(
  rows: readonly Pick<SteadyRow, 'customerIds'>[],
  wanted: ReadonlySet<string>,
): { once: ReadonlySet<string>; dueCount: number } {
  const [seen, once] = [new Set<string>(), new Set<string>()]
  let dueCount = 0
  for (const { customerIds } of rows)
    for (const customer of customerIds.split(',')) {
      if (!wanted.has(customer)) continue
      dueCount += 1
      if (seen.has(customer)) once.delete(customer)
      else once.add(customer)
      seen.add(customer)
    }
  return { once, dueCount }
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
async function readOffers(
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

/** Adds the facts of their packages to subscriptions. */
async function withPackages<Row extends { packageRateTermId: Id }>(
  db: Queryable,
  account: AccountId,
  rows: readonly Row[],
): Promise<(Row & OfPackage)[]> {
  const offerOf = await readOffers(db, account, rows)
  for (const row of rows) {
    const { versionNo, packageName, price, setupFeeMinor, trialFeeMinor } = offerOf(row)
    const billable = row as Row & OfPackage
    billable.versionNo = versionNo
    billable.packageName = packageName
    billable.price = price
    billable.setupFeeMinor = setupFeeMinor
    billable.trialFeeMinor = trialFeeMinor
  }
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
     where s.account_id = ${account} and b.due_on <= ${until} and c.paused_on is null and s.subscription_id > ${after}
     order by s.subscription_id limit ${limit}`)

// These are the expression and the condition of the index subscriptions_ending.
const ENDS_ON = fragment`least(s.end_date, case when s.pending_kind = 'cancellation' then s.pending_on end)`
const IS_ENDING = fragment`not s.is_end_recorded and (s.end_date is not null or s.pending_kind = 'cancellation')`
const pausedEnding = (account: AccountId): Fragment => fragment`
  subscriptions s join customers c on c.account_id = ${account} and c.customer_id = s.customer_id and c.paused_on is not null
   where ${IS_ENDING}`

/** Statements for ends of subscriptions whose customers are paused. */
export const pausedEnds = {
  listCustomers: async (
    db: Queryable,
    account: AccountId,
    due: DueDay & { after: CustomerId; limit: number },
  ): Promise<CustomerId[]> => {
    const rows = await db.rows<{ id: CustomerId }>(sql`
      select s.customer_id as "id" from ${pausedEnding(account)}
         and s.account_id = ${account} and ${ENDS_ON} = ${due.day} and s.customer_id > ${due.after}
         and ${notFailed(account, due.runId, 'subscription', 's.subscription_id')}
       group by s.customer_id order by s.customer_id limit ${due.limit}`)
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
    const found = await oneRow<{ day: IsoDate | null }>(
      db,
      sql`select (select ${ENDS_ON} from ${pausedEnding(account)}
                     and s.account_id = ${account} and ${ENDS_ON} > ${day} and ${ENDS_ON} <= ${until}
                   order by ${ENDS_ON} limit 1) as "day"`,
    )
    return found.day
  },
}
