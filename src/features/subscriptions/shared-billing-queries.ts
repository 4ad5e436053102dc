import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, SubscriptionId } from '../../kernel/ids.ts'
import { bigintList, rangeOfIds } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { DueDay } from '../../platform/database/due.ts'
import { type Fragment, fragment, namesOf, NOTHING, sql } from '../../platform/database/sql.ts'
import { walkedRows } from '../../platform/database/planner-hints.ts'
import { DUE_ON, inBothWays } from './state-queries.ts'
import { addOffer, readOffers } from './due-queries.ts'
import type { OfPackage } from './queries.ts'
import type { BillingFacts } from './shared-billing.ts'

/** Statements that read steady subscriptions that are due: in groups, and the facts of some of them. */

/** A steady subscription, and what its invoice has of it and of its customer. */
export interface SharedBillingMember {
  id: SubscriptionId
  customerId: CustomerId
  customerVersion: number
  isCompany: boolean
  vatNumber: string | null
  /** Purchase order number. */
  poNumber: string | null
  /** The customer gets invoices by mail and can be reached. */
  isMailWanted: boolean
  /** Identifier of its price, in digits. */
  termId: string
}

/** Subscriptions that are alike except for whose they are, what they cost, and what components they have. */
export interface SharedBillingGroup {
  /** All that they have in common, as one text. */
  key: string
  countryId: bigint | null
  hasComponents: boolean
  members: SharedBillingMember[]
}

/** The facts by which subscriptions are grouped, and their names. */
const SHARED_COLUMNS = fragment`
  s.currency, s.stretch, s.anchor, s.anchor_day as "anchorDay", coalesce(s.component_anchor, s.anchor) as "componentAnchor", s.term,
  s.term_type as "termType", s.is_pro_rata as "isProRata", s.components_revision > 0 as "hasComponents",
  s.lead_days as "leadDays", b.next_from as "nextFrom", b.last_from as "lastFrom",
  s.collection_method as "collectionMethod", c.country_id as "countryId", c.country_state_id as "countryStateId",
  c.is_waive_taxes as "isWaiveTaxes", c.tax_category as "taxCategory", c.tax_reason as "taxReason",
  c.payment_method as "paymentMethod", c.payment_term_days as "paymentTermDays", c.locale`
const SHARED_NAMES = namesOf(
  `currency, stretch, anchor, "anchorDay", "componentAnchor", term, "termType", "isProRata", "hasComponents", "leadDays", "nextFrom", "lastFrom",
   "collectionMethod", "countryId", "countryStateId", "isWaiveTaxes", "taxCategory", "taxReason", "paymentMethod", "paymentTermDays", locale`,
)

const sharedBillingJoined = (account: AccountId): Fragment => fragment`
  subscription_billing b
    join subscriptions s on s.account_id = ${account} and s.customer_id = b.customer_id and s.subscription_id = b.subscription_id
    join customers c on c.account_id = ${account} and c.customer_id = b.customer_id`

/** Group as it is read: lists of numbers with commas between them, in the same order. */
interface SharedBillingRow extends Omit<SharedBillingGroup, 'members'> {
  isSteady: boolean
  ids: string
  customerIds: string
  termIds: string
  /** Those of customers who were changed, each with the version of its customer behind a colon; null where there is none, as of those that follow. */
  versions: string | null
  /** Of customers who are companies, and of those who want mail. */
  companies: string | null
  mailed: string | null
  /** JSON objects of numbers by subscription. */
  vatNumbers: string | null
  poNumbers: string | null
}

/**
 * Lists the steady ones of the subscriptions of locked customers that are due on a day, in groups that are alike, with the number of all that are due,
 * steady or not. Steady are those past their first period, of which nothing is pending, ending or failing, without a gateway or method of their own, whose
 * customers have no other subscription due on the day. Customers of the range that are not locked are left out here, because a list of a thousand would make
 * PostgreSQL look each of them up.
 */
export async function listSharedBilling(
  tx: Transaction,
  account: AccountId,
  customerIds: readonly CustomerId[],
  due: DueDay,
): Promise<{ groups: SharedBillingGroup[]; dueCount: number }> {
  const [first, last] = [customerIds[0], customerIds.at(-1)]
  const isDense = rangeOfIds(customerIds) !== undefined
  const rows = await inBothWays(due.day, (isDue) =>
    walkedRows<SharedBillingRow>(
      tx,
      sql`
    select "isSteady", string_agg(subscription_id::text, ',') as "ids", string_agg(customer_id::text, ',') as "customerIds",
           string_agg(package_rate_term_id::text, ',') as "termIds",
           string_agg(subscription_id || ':' || version, ',') filter (where version <> ${FIRST_VERSION}) as "versions",
           string_agg(subscription_id::text, ',') filter (where is_company) as "companies",
           string_agg(subscription_id::text, ',') filter (where is_mail_wanted) as "mailed",
           json_object_agg(subscription_id, vat_number) filter (where vat_number is not null)::text as "vatNumbers",
           json_object_agg(subscription_id, po_number) filter (where po_number is not null)::text as "poNumbers",
           row(${SHARED_NAMES})::text as "key", "countryId", "hasComponents" from (
      select b.subscription_id, b.customer_id, s.package_rate_term_id, c.version, c.is_company, c.vat_number, s.po_number, c.auto_send_invoice and c.email is not null as is_mail_wanted, ${SHARED_COLUMNS},
             s.gateway_id is null and s.payment_method_id is null and s.pending_kind is null and s.end_date is null and s.cancelled_on is null and not s.is_end_recorded and b.fees_on is null and b.last_from is not null
               and b.next_from > s.start_date and (s.trial_end_date is null or b.next_from > s.trial_end_date)
               and s.subscription_id not in (select f.record_id from failing_records f where f.account_id = ${account} and f.record_type = 'subscription')
               and s.subscription_id not in (select f.record_id from billing_run_failures f where f.account_id = ${account}
                                               and f.billing_run_id = ${due.runId} and f.record_type = 'subscription') as "isSteady"
        from ${sharedBillingJoined(account)}
       where b.account_id = ${account} and ${isDue} and b.customer_id between ${first} and ${last}
         ${isDense ? fragment`and s.customer_id between ${first} and ${last} and c.customer_id between ${first} and ${last}` : NOTHING}) due
     group by "isSteady", ${SHARED_NAMES}`,
      isDense,
    ),
  )
  const { once, dueCount } = countDueOf(rows, new Set(customerIds.map(String)))
  const groups = rows.flatMap((row): SharedBillingGroup[] => {
    const members = row.isSteady ? membersOf(row, once) : []
    const { key, countryId, hasComponents } = row
    return members.length === 0 ? [] : [{ key, countryId, hasComponents, members }]
  })
  return { groups, dueCount }
}

/** Returns the members of a group whose customers are among some, in the order in which they were read. */
function membersOf(row: SharedBillingRow, customersWanted: ReadonlySet<string>): SharedBillingMember[] {
  const [customers, terms] = [row.customerIds.split(','), row.termIds.split(',')] as const
  const versions = new Map(listOf(row.versions).map((text) => text.split(':') as [string, string]))
  const [companies, mailed] = [new Set(listOf(row.companies)), new Set(listOf(row.mailed))]
  const [vatNumbers, poNumbers] = [numbersOf(row.vatNumbers), numbersOf(row.poNumbers)]
  const ids = row.ids.split(',')
  const members: SharedBillingMember[] = []
  // By number: an iterator makes two objects for each.
  for (let place = 0; place < ids.length; place += 1) {
    const id = ids[place] as string
    const customer = customers[place] as string
    if (!customersWanted.has(customer)) continue
    members.push({
      id: BigInt(id),
      customerId: BigInt(customer),
      customerVersion: Number(versions.get(id) ?? FIRST_VERSION),
      isCompany: companies.has(id),
      vatNumber: vatNumbers[id] ?? null,
      poNumber: poNumbers[id] ?? null,
      isMailWanted: mailed.has(id),
      termId: terms[place] as string,
    })
  }
  return members
}

/** Version of a customer who was never changed. */
const FIRST_VERSION = 1

const listOf = (text: string | null): string[] => text?.split(',') ?? []
const NO_NUMBERS: Readonly<Record<string, string>> = {}
const numbersOf = (json: string | null): Readonly<Record<string, string>> =>
  json === null ? NO_NUMBERS : (JSON.parse(json) as Record<string, string>)

/** The facts of a steady subscription beside its components, and the text that they make with those of its package. */
export interface ReadFacts {
  facts: Omit<BillingFacts, 'components' | 'isBusiness'>
  offer: string
}

/** Lists the facts of steady subscriptions that are due on a day, whose customers are locked, in their order. */
export async function listBillingFacts(
  tx: Transaction,
  account: AccountId,
  ids: readonly SubscriptionId[],
  day: IsoDate,
): Promise<ReadFacts[]> {
  const rows = await tx.rows<Omit<ReadFacts['facts'], keyof OfPackage>>(sql`
    select ${DUE_ON} as "dueOn", s.package_id as "packageId", s.package_version_id as "packageVersionId",
           s.package_rate_term_id as "packageRateTermId", ${SHARED_COLUMNS} from ${sharedBillingJoined(account)}
      join unnest(${bigintList(ids)}::bigint[]) with ordinality as r(id, place) on r.id = b.subscription_id
     where b.account_id = ${account} and ${DUE_ON} = ${day} order by r.place`)
  assert(rows.length === ids.length, 'subscriptions of locked customers stay due')
  const offerOf = await readOffers(tx, account, rows)
  return rows.map((row) => {
    const offer = offerOf(row)
    return { facts: addOffer(row, offer), offer: offer.offer }
  })
}

/** Returns the number of subscriptions of the wanted customers that are due, and which of these have only one of them. */
function countDueOf(
  rows: readonly Pick<SharedBillingRow, 'customerIds'>[],
  wanted: ReadonlySet<string>,
): { once: ReadonlySet<string>; dueCount: number } {
  const once = new Set<string>()
  const again: string[] = []
  let dueCount = 0
  for (const { customerIds } of rows)
    for (const customer of customerIds.split(',')) {
      if (!wanted.has(customer)) continue
      dueCount += 1
      const { size } = once
      once.add(customer)
      if (once.size === size) again.push(customer)
    }
  for (const customer of again) once.delete(customer)
  return { once, dueCount }
}
