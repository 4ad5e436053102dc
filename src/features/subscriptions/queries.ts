import type { CollectionMethod } from '../collection-terms/types.ts'
import { onlyUpdated } from '../events/queries.ts'
import { countNarrowed, narrowed } from '../finding/search.ts'
import { foundCondition, type FoundRecords } from '../finding/word-queries.ts'
import type { Instant, IsoDate, TermType } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id, SubscriptionId } from '../../kernel/ids.ts'
import { bigintList } from '../../platform/database/columns.ts'
import type { OfMany, Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, NOTHING, onlyWith, sql } from '../../platform/database/sql.ts'
import type { PackageOffer } from '../../engine/subscription/subscription.ts'
import { direction, inPage, onward, type PageStart } from '../../platform/http/paging.ts'
import type { ExemptCategory } from '../../kernel/tax.ts'
import type { PaymentMethod } from '../customers/fields.ts'
import { DUE_ON } from './state-queries.ts'
import { listStoredComponents, type StoredComponent } from '../subscription-components/queries.ts'

export const SUBSCRIPTION_STATUSES = ['Future', 'Trial', 'Active', 'Cancelled', 'Expired'] as const
export type SubscriptionStatusWord = (typeof SUBSCRIPTION_STATUSES)[number]

/** A subscription with the facts of its package, price and customer that billing it needs. */
export interface Subscription {
  id: SubscriptionId
  customerId: CustomerId
  packageId: Id
  packageVersionId: Id
  packageRateTermId: Id
  currency: string
  stretch: number
  startDate: IsoDate
  trialEndDate: IsoDate | null
  syncDate: IsoDate | null
  endDate: IsoDate | null
  anchor: IsoDate
  anchorDay: number
  /** The day from which cycles of components are counted. */
  componentAnchor: IsoDate
  term: number
  termType: TermType
  isProRata: boolean
  leadDays: number
  feesOn: IsoDate | null
  nextFrom: IsoDate
  lastFrom: IsoDate | null
  lastInvoiceDate: IsoDate | null
  dueOn: IsoDate | null
  pendingKind: 'package' | 'term' | 'cancellation' | null
  pendingOn: IsoDate | null
  cancelledOn: IsoDate | null
  cancelReason: string | null
  isEndRecorded: boolean
  /** The day on which the subscription ended before it was started again; null if it never was. */
  restartedAfter: IsoDate | null
  /** The instant of a cancellation that took effect at once; null: it was at midnight, or there is none. */
  cancelledAt: Instant | null
  poNumber: string | null
  /** A reference of the caller's own. */
  reference: string | null
  collectionMethod: CollectionMethod | null
  gatewayId: Id | null
  paymentMethodId: Id | null
  lastModified: Instant
  /** Number of changes of its components; 0 if it never had one. */
  componentsRevision: number
  // Fields of its package.
  versionNo: number
  packageName: string
  price: Decimal
  setupFeeMinor: bigint
  trialFeeMinor: bigint
  // Fields of its customer.
  customerName: string
  customerLastName: string | null
  isCompany: boolean
  customerVersion: number
  pausedOn: IsoDate | null
  /** If `pausedOn` is set: the customer is archived (true) or suspended (false). */
  isCustomerArchived: boolean
  countryId: bigint | null
  countryStateId: bigint | null
  vatNumber: string | null
  isWaiveTaxes: boolean
  taxCategory: ExemptCategory | null
  taxReason: string | null
  paymentMethod: PaymentMethod
  paymentTermDays: number | null
}

/** The offer that a pending change of package or term asks for; its price was fixed when the change was made. */
export interface PendingOffer extends PackageOffer {
  packageVersionId: Id
  packageRateTermId: Id
}

/** The fields of a subscription that billing needs: all but those that are only shown; and whether its customer is a business, where that is known already. */
export type BillableSubscription = Omit<Subscription, keyof ShownOnly> & { isBusiness?: boolean }
type ShownOnly = Pick<
  Subscription,
  | 'reference'
  | 'restartedAfter'
  | 'cancelledAt'
  | 'lastModified'
  | 'customerName'
  | 'customerLastName'
  | 'isCustomerArchived'
>

/** The fields of a subscription that its state is made of. */
export type StateFields = Pick<
  Subscription,
  | 'packageId'
  | 'packageName'
  | 'stretch'
  | 'price'
  | 'setupFeeMinor'
  | 'trialFeeMinor'
  | 'currency'
  | 'startDate'
  | 'trialEndDate'
  | 'syncDate'
  | 'endDate'
  | 'cancelledOn'
  | 'pendingKind'
  | 'pendingOn'
  | 'anchor'
  | 'anchorDay'
  | 'term'
  | 'termType'
  | 'componentAnchor'
  | 'isProRata'
  | 'leadDays'
  | 'feesOn'
  | 'nextFrom'
  | 'lastFrom'
>
export type OfPackage = Pick<Subscription, 'versionNo' | 'packageName' | 'price' | 'setupFeeMinor' | 'trialFeeMinor'>

export const BILLED_COLUMNS = fragment`
  s.subscription_id as "id", s.customer_id as "customerId", s.package_id as "packageId", s.package_version_id as "packageVersionId",
  s.package_rate_term_id as "packageRateTermId", s.currency, s.stretch, s.start_date as "startDate", s.trial_end_date as "trialEndDate",
  s.sync_date as "syncDate", s.end_date as "endDate", s.anchor, s.anchor_day as "anchorDay",
  coalesce(s.component_anchor, s.anchor) as "componentAnchor", s.term, s.term_type as "termType",
  s.is_pro_rata as "isProRata", s.lead_days as "leadDays", b.fees_on as "feesOn", b.next_from as "nextFrom", b.last_from as "lastFrom",
  b.last_invoice_date as "lastInvoiceDate", ${DUE_ON} as "dueOn", s.pending_kind as "pendingKind", s.pending_on as "pendingOn",
  s.cancelled_on as "cancelledOn", s.cancel_reason as "cancelReason", s.is_end_recorded as "isEndRecorded", s.po_number as "poNumber",
  s.collection_method as "collectionMethod", s.gateway_id as "gatewayId", s.payment_method_id as "paymentMethodId", s.components_revision as "componentsRevision", c.version as "customerVersion", c.paused_on as "pausedOn", c.country_id as "countryId",
  c.country_state_id as "countryStateId", c.vat_number as "vatNumber", c.is_waive_taxes as "isWaiveTaxes", c.tax_category as "taxCategory",
  c.tax_reason as "taxReason", c.is_company as "isCompany", c.payment_method as "paymentMethod",
  c.payment_term_days as "paymentTermDays"`

export const PACKAGE_COLUMNS = fragment`
  v.version_no as "versionNo", p.name as "packageName", t.price, r.setup_fee_minor as "setupFeeMinor", r.trial_fee_minor as "trialFeeMinor"`

export const SUBSCRIPTION_COLUMNS = fragment`${BILLED_COLUMNS}, ${PACKAGE_COLUMNS},
  s.reference, s.restarted_after as "restartedAfter", s.cancelled_at as "cancelledAt", s.last_modified as "lastModified",
  c.name as "customerName", c.last_name as "customerLastName",
  c.archived_at is not null as "isCustomerArchived"`

export const subscriptionJoined = (account: AccountId): Fragment => fragment`
  join subscription_billing b on b.account_id = ${account} and b.subscription_id = s.subscription_id
  join customers c on c.account_id = ${account} and c.customer_id = s.customer_id
  join packages p on p.account_id = ${account} and p.package_id = s.package_id
  join package_versions v on v.account_id = ${account} and v.package_version_id = s.package_version_id
  join package_rate_terms t on t.account_id = ${account} and t.package_rate_term_id = s.package_rate_term_id
  join package_rates r on r.account_id = ${account} and r.package_rate_id = t.package_rate_id`

/** A subscription with the package and term that its pending change asks for. */
export interface SubscriptionView extends Subscription {
  pendingPackageId: Id | null
  pendingPackageVersionId: Id | null
  pendingTerm: number | null
  pendingTermType: TermType | null
  pendingPackageName: string | null
  pendingPrice: Decimal | null
}

/** A subscription with its components, as answers and events show it. */
export interface ShownSubscription extends SubscriptionView {
  components: readonly StoredComponent[]
}

/** Adds their components to subscriptions. Sends no statement if none has any. */
export async function withShownComponents(
  db: Queryable,
  account: AccountId,
  views: readonly SubscriptionView[],
): Promise<ShownSubscription[]> {
  const ids = views.filter(({ componentsRevision }) => componentsRevision > 0).map(({ id }) => id)
  const stored = await listStoredComponents(db, account, ids)
  return views.map((view) => ({ ...view, components: stored.get(view.id) ?? [] }))
}

const VIEW_COLUMNS = fragment`${SUBSCRIPTION_COLUMNS}, nv.package_id as "pendingPackageId", s.pending_package_version_id as "pendingPackageVersionId",
  nt.term as "pendingTerm", nt.term_type as "pendingTermType", np.name as "pendingPackageName", nt.price as "pendingPrice"`

const viewJoined = (account: AccountId): Fragment => fragment`${subscriptionJoined(account)}
  left join package_versions nv on nv.account_id = ${account} and nv.package_version_id = s.pending_package_version_id
  left join package_rate_terms nt on nt.account_id = ${account} and nt.package_rate_term_id = s.pending_package_rate_term_id
  left join packages np on np.account_id = ${account} and np.package_id = nv.package_id`

export const COUNTED_SUBSCRIPTIONS = { list: 'subscriptions', id: 'subscription_id' } as const

export const findSubscription = (db: Queryable, account: AccountId, id: SubscriptionId) =>
  db.first<SubscriptionView>(sql`
    select ${VIEW_COLUMNS} from subscriptions s ${viewJoined(account)} where s.account_id = ${account} and s.subscription_id = ${id}`)

const viewing: OfMany<SubscriptionId> = (account, ids) => sql`
    select ${VIEW_COLUMNS} from subscriptions s ${viewJoined(account)}
     where s.account_id = ${account} and s.subscription_id = any(${arrayLiteral(ids)}::bigint[])`

/** Finds a subscription of a locked customer. */
export const findLockedSubscription = async (
  tx: Transaction,
  id: SubscriptionId,
): Promise<SubscriptionView | undefined> =>
  (await tx.grouped<SubscriptionId, SubscriptionView>(viewing, [id], (row, ids) => ids.includes(row.id)))[0]

export interface SubscriptionFilter {
  /** Updated at this instant or later. */
  since?: Instant | null
  customerId?: bigint | null
  packageId?: bigint | null
  /** The component that it has now. */
  componentId?: bigint | null
  reference?: string | null
  status?: SubscriptionStatusWord | null
  found?: FoundRecords | null
}

// The rules of `subscriptionStatus` as conditions. This is the day on which a cancellation took, or will take, effect.
const CANCELLED_ON = fragment`coalesce(s.cancelled_on, case when s.pending_kind = 'cancellation' then s.pending_on end)`

function statusCondition(status: SubscriptionStatusWord, today: IsoDate): Fragment {
  const isCancelled = fragment`(${CANCELLED_ON} <= ${today} and not (s.end_date is not null and s.end_date <= ${today} and s.end_date < ${CANCELLED_ON}))`
  const isEnded = fragment`(coalesce(${isCancelled}, false) or coalesce(s.end_date <= ${today}, false))`
  switch (status) {
    case 'Cancelled':
      return fragment`and coalesce(${isCancelled}, false)`
    case 'Expired':
      return fragment`and s.end_date <= ${today} and not coalesce(${isCancelled}, false)`
    case 'Future':
      return fragment`and not ${isEnded} and s.start_date > ${today}`
    case 'Trial':
      return fragment`and not ${isEnded} and s.start_date <= ${today} and s.trial_end_date > ${today}`
    case 'Active':
      return fragment`and not ${isEnded} and s.start_date <= ${today} and (s.trial_end_date is null or s.trial_end_date <= ${today})`
  }
}

const withComponent = (account: AccountId, id: bigint): Fragment => fragment`
  and s.subscription_id in (select k.subscription_id from subscription_components k
    where k.account_id = ${account} and k.component_id = ${id} and k.left_out_on is null)`

const conditions = (account: AccountId, filter: SubscriptionFilter, today: IsoDate): Fragment => fragment`
  ${onlyUpdated(account, 'subscription', 's.subscription_id', filter.since)} ${foundCondition(account, filter.found, { list: 'subscriptions' }, 's')}
  ${onlyWith('s.customer_id', filter.customerId)} ${onlyWith('s.package_id', filter.packageId)} ${onlyWith('s.reference', filter.reference)}
  ${filter.componentId == null ? NOTHING : withComponent(account, filter.componentId)}
  ${filter.status == null ? NOTHING : statusCondition(filter.status, today)}`

export async function listSubscriptions(
  db: Queryable,
  account: AccountId,
  asked: SubscriptionFilter,
  from: PageStart,
  limit: number,
  today: IsoDate,
): Promise<SubscriptionView[]> {
  const { filter, start } = await narrowed(db, account, 'subscriptions', asked, from, limit)
  return db.rows<SubscriptionView>(sql`
    select ${VIEW_COLUMNS} from (
      select * from subscriptions s where s.account_id = ${account} ${onward(start, 's.subscription_id')} ${conditions(account, filter, today)}
       order by s.subscription_id ${inPage(start, limit)}) s ${viewJoined(account)}
     order by s.subscription_id ${direction(start)}`)
}

export const countSubscriptions = (db: Queryable, account: AccountId, asked: SubscriptionFilter, today: IsoDate) =>
  countNarrowed(db, account, 'subscriptions', asked, (filter) =>
    db.count(sql`
      select count(*) as "n" from subscriptions s where s.account_id = ${account} ${conditions(account, filter, today)}`),
  )

/** Lists the subscriptions of a customer that may still be billed. The caller has locked the customer. */
export const listOpenSubscriptions = (tx: Transaction, account: AccountId, customerId: CustomerId) =>
  tx.rows<Subscription>(sql`
    select ${SUBSCRIPTION_COLUMNS} from subscriptions s ${subscriptionJoined(account)}
     where s.account_id = ${account} and s.customer_id = ${customerId} and (not s.is_end_recorded or ${DUE_ON} is not null) order by s.subscription_id`)

const locking: OfMany<SubscriptionId> = (account, ids) => sql`
    with locked as materialized (
      select 1 from customers c
       where c.account_id = ${account} and c.customer_id in (select s.customer_id from subscriptions s
               where s.account_id = ${account} and s.subscription_id = any(${bigintList(ids)}::bigint[]))
       order by c.customer_id for no key update of c)
    select count(*) from locked`

/** Locks the customers of subscriptions in identifier order, as every writer does. */
export const lockCustomersOf = async (tx: Transaction, ids: readonly SubscriptionId[]): Promise<void> =>
  void (await tx.grouped(locking, ids, () => false))

/** Locks the customers of subscriptions whom no other transaction holds. Returns the customer of each subscription whose customer is held. */
export async function holdCustomersOf(
  tx: Transaction,
  ids: readonly SubscriptionId[],
): Promise<ReadonlyMap<SubscriptionId, CustomerId>> {
  const held = await tx.rows<{ id: SubscriptionId; customerId: CustomerId }>(sql`
    select s.subscription_id as "id", c.customer_id as "customerId"
      from subscriptions s join customers c on c.account_id = ${tx.account} and c.customer_id = s.customer_id
     where s.account_id = ${tx.account} and s.subscription_id = any(${arrayLiteral(ids)}::bigint[])
     order by c.customer_id for no key update of c skip locked`)
  return new Map(held.map(({ id, customerId }) => [id, customerId]))
}

export type NewSubscription = Pick<
  Subscription,
  | 'customerId'
  | 'packageId'
  | 'packageVersionId'
  | 'packageRateTermId'
  | 'currency'
  | 'startDate'
  | 'trialEndDate'
  | 'syncDate'
  | 'endDate'
  | 'anchor'
  | 'anchorDay'
  | 'componentAnchor'
  | 'term'
  | 'termType'
  | 'isProRata'
  | 'leadDays'
  | 'feesOn'
  | 'nextFrom'
  | 'dueOn'
  | 'poNumber'
  | 'reference'
  | 'collectionMethod'
  | 'gatewayId'
  | 'paymentMethodId'
>

export const insertSubscription = (
  tx: Transaction,
  account: AccountId,
  s: NewSubscription,
  at: Instant,
): Promise<SubscriptionId> =>
  tx.value<SubscriptionId>(sql`
    with added as (insert into subscriptions (account_id, customer_id, package_id, package_version_id, package_rate_term_id, currency, start_date,
      trial_end_date, sync_date, end_date, anchor, anchor_day, component_anchor, term, term_type, is_pro_rata, lead_days, po_number, reference,
      collection_method, gateway_id, payment_method_id, created_at, last_modified)
    values (${account}, ${s.customerId}, ${s.packageId}, ${s.packageVersionId}, ${s.packageRateTermId}, ${s.currency}, ${s.startDate},
      ${s.trialEndDate}, ${s.syncDate}, ${s.endDate}, ${s.anchor}, ${s.anchorDay}, ${s.componentAnchor}, ${s.term}, ${s.termType}, ${s.isProRata}, ${s.leadDays},
      ${s.poNumber}, ${s.reference}, ${s.collectionMethod}, ${s.gatewayId}, ${s.paymentMethodId}, ${at}, ${at})
    returning account_id, subscription_id, customer_id)
    insert into subscription_billing (account_id, subscription_id, customer_id, fees_on, next_from, due_on)
    select account_id, subscription_id, customer_id, ${s.feesOn}::date, ${s.nextFrom}::date, ${s.dueOn}::date from added
    returning subscription_id as "id"`)
