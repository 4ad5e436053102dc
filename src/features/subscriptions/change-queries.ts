import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import type { InvoicedCharge } from '../../engine/subscription/coverage.ts'
import { wholePriceOf } from '../../engine/explain.ts'
import type { PackageOffer } from '../../engine/subscription/subscription.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, Id, SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { column, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import { bracketsOf, type PricedBracketsJson } from '../components/brackets.ts'
import { chargesOfSubscriptions } from '../invoices/state-queries.ts'
import type { Charge } from '../invoices/queries.ts'
import { dueOnDay } from './state-queries.ts'
import type { BillableSubscription, PendingOffer, Subscription } from './queries.ts'

/** Statements that only changes of a subscription need. */

type StoredCharge = Omit<Charge, 'brackets'> & {
  brackets: PricedBracketsJson | null
  creditedMinor: bigint
  creditedFrom: IsoDate | null
  isInvoiceCancelled: boolean
}

const chargesOf = (account: AccountId, charges: Fragment): Fragment => fragment`
    select c.charge_id as "id", c.invoice_id as "invoiceId", c.kind, coalesce(c.name, '') as "name", c.quantity, c.unit_price as "unitPrice",
           c.net_minor as "netMinor", c.period_from as "from", c.period_until as "until", c.whole_from as "wholeFrom",
           c.whole_until as "wholeUntil", coalesce(c.price, c.unit_price) as "price", c.brackets, c.stretch, c.item_id as "itemId", c.part,
           c.credited_minor as "creditedMinor", c.credited_from as "creditedFrom", i.cancelled_at is not null as "isInvoiceCancelled"
      from ${charges} c left join invoices i on i.account_id = ${account} and i.invoice_id = c.invoice_id`

const chargeOf = (row: StoredCharge): InvoicedCharge => ({
  ...row,
  chargeId: row.id,
  invoiceId: row.isInvoiceCancelled ? null : row.invoiceId,
  itemId: row.itemId as Id,
  name: row.name ?? '',
  stretch: row.stretch as number,
  part: row.part as number,
  price: wholePriceOf({ price: row.price!, quantity: row.quantity, brackets: bracketsOf(row.brackets) }),
})

/**
 * Lists the charges that a change may give back or extend: the fees, and every charge whose days or period reach beyond a day. Charges of a
 * later package or term are listed even if they are over, because only they show that an earlier period reaching beyond the day was
 * replaced.
 */
export const listChargesBeyond = async (
  db: Queryable,
  account: AccountId,
  id: SubscriptionId,
  day: IsoDate,
): Promise<InvoicedCharge[]> =>
  (
    await db.rows<StoredCharge>(sql`
    with charged as materialized (${chargesOfSubscriptions(account, fragment`array[${id}::bigint]`)})
    ${chargesOf(account, fragment`charged`)} where c.whole_until > ${day} or c.period_from is null
        or (c.kind in ('package', 'package_extension')
            and c.stretch > (select min(b.stretch) from charged b where b.whole_until > ${day} and b.kind in ('package', 'package_extension')))
     order by c.charge_id`)
  ).map(chargeOf)

/** Lists the charges for the usage of one cycle, late ones included. */
export const listUsageCharges = async (
  db: Queryable,
  account: AccountId,
  id: SubscriptionId,
  cycle: { componentId: Id; from: IsoDate },
): Promise<InvoicedCharge[]> =>
  (
    await db.rows<StoredCharge>(sql`
    with charged as materialized (${chargesOfSubscriptions(account, fragment`array[${id}::bigint]`)})
    ${chargesOf(account, fragment`charged`)} where c.item_id = ${cycle.componentId} and c.period_from = ${cycle.from}
       and c.kind in ('metered', 'late_usage') order by c.charge_id`)
  ).map(chargeOf)

/** Lists the offers that pending changes of package or term ask for. */
export const listPendingOffers = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<PendingOffer & { subscriptionId: SubscriptionId }>(sql`
    select s.subscription_id as "subscriptionId", p.package_id as "packageId", p.name as "packageName", t.price, t.term,
           t.term_type as "termType", v.package_version_id as "packageVersionId", t.package_rate_term_id as "packageRateTermId"
      from subscriptions s
      join package_versions v on v.account_id = ${account} and v.package_version_id = s.pending_package_version_id
      join packages p on p.account_id = ${account} and p.package_id = v.package_id
      join package_rate_terms t on t.account_id = ${account} and t.package_rate_term_id = s.pending_package_rate_term_id
     where s.account_id = ${account} and s.subscription_id = any(${`{${ids.join(',')}}`}::bigint[])`)

export interface ChangedRow {
  packageId: Id
  packageVersionId: Id
  packageRateTermId: Id
  stretch: number
  startDate: IsoDate
  trialEndDate: IsoDate | null
  syncDate: IsoDate | null
  endDate: IsoDate | null
  anchor: IsoDate
  anchorDay: number
  componentAnchor: IsoDate
  term: number
  termType: PackageOffer['termType']
  feesOn: IsoDate | null
  nextFrom: IsoDate
  lastFrom: IsoDate | null
  dueOn: IsoDate | null
  pendingKind: 'package' | 'term' | 'cancellation' | null
  pendingOn: IsoDate | null
  pendingPackageVersionId: Id | null
  pendingPackageRateTermId: Id | null
  cancelledOn: IsoDate | null
  cancelledAt: Instant | null
  cancelReason: string | null
  isEndRecorded: boolean
  restartedAfter: IsoDate | null
}

/** Writes the state of a subscription after a change that a request asked for. */
export const updateChanged = (tx: Transaction, account: AccountId, id: SubscriptionId, to: ChangedRow, at: Instant) =>
  tx.rows(sql`
    with stands as (
      update subscription_billing set fees_on = ${to.feesOn}, next_from = ${to.nextFrom}, last_from = ${to.lastFrom}, ${dueOnDay(to.dueOn)}
       where account_id = ${account} and subscription_id = ${id})
    update subscriptions set package_id = ${to.packageId}, package_version_id = ${to.packageVersionId},
      package_rate_term_id = ${to.packageRateTermId}, stretch = ${to.stretch}, start_date = ${to.startDate}, trial_end_date = ${to.trialEndDate},
      sync_date = ${to.syncDate}, end_date = ${to.endDate}, anchor = ${to.anchor}, anchor_day = ${to.anchorDay},
      component_anchor = ${to.componentAnchor}, term = ${to.term}, term_type = ${to.termType}, pending_kind = ${to.pendingKind},
      pending_on = ${to.pendingOn}, pending_package_version_id = ${to.pendingPackageVersionId},
      pending_package_rate_term_id = ${to.pendingPackageRateTermId}, cancelled_on = ${to.cancelledOn}, cancelled_at = ${to.cancelledAt},
      cancel_reason = ${to.cancelReason},
      is_end_recorded = ${to.isEndRecorded}, restarted_after = ${to.restartedAfter}, last_modified = ${at}
     where account_id = ${account} and subscription_id = ${id}`)

/** Writes the day of the last invoice. Rule: lastInvDate is the day of the newest invoice of any kind. */
export const updateLastInvoiceDate = (tx: Transaction, account: AccountId, id: SubscriptionId, day: IsoDate) =>
  tx.rows(sql`
    update subscription_billing set last_invoice_date = ${day} where account_id = ${account} and subscription_id = ${id}`)

export const updateDetails = (
  tx: Transaction,
  account: AccountId,
  id: SubscriptionId,
  to: Pick<
    Subscription,
    'leadDays' | 'poNumber' | 'reference' | 'collectionMethod' | 'gatewayId' | 'paymentMethodId' | 'dueOn'
  >,
  at: Instant,
) =>
  tx.rows(sql`
    with stands as (update subscription_billing set ${dueOnDay(to.dueOn)} where account_id = ${account} and subscription_id = ${id})
    update subscriptions set lead_days = ${to.leadDays}, po_number = ${to.poNumber}, reference = ${to.reference}, collection_method = ${to.collectionMethod},
      gateway_id = ${to.gatewayId}, payment_method_id = ${to.paymentMethodId},
      last_modified = ${at}
     where account_id = ${account} and subscription_id = ${id}`)

/** Writes the new package and term of a subscription whose pending change took effect. */
export const updateAppliedOffer = (tx: Transaction, account: AccountId, to: BillableSubscription) =>
  tx.rows(sql`
    update subscriptions set package_id = ${to.packageId}, package_version_id = ${to.packageVersionId},
      package_rate_term_id = ${to.packageRateTermId}, stretch = ${to.stretch}, sync_date = ${to.syncDate}, anchor = ${to.anchor},
      anchor_day = ${to.anchorDay}, term = ${to.term}, term_type = ${to.termType}, pending_package_version_id = null,
      pending_package_rate_term_id = null
     where account_id = ${account} and subscription_id = ${to.id}`)

/** Returns the places, in a list, of the charges that are stored already, by what makes a charge unique. */
export async function listCharged(
  db: Queryable,
  account: AccountId,
  charges: readonly { subscriptionId: SubscriptionId; charge: PlannedCharge }[],
): Promise<ReadonlySet<number>> {
  const rows = charges.map(({ charge, subscriptionId }) => ({ ...charge, subscriptionId }))
  const found = await db.rows<{ place: number }>(sql`
    with charged as materialized (${chargesOfSubscriptions(account, fragment`${column(rows, 'subscriptionId')}::bigint[]`)})
    select r.place::integer - 1 as "place"
      from unnest(${column(rows, 'subscriptionId')}::bigint[], ${column(rows, 'stretch')}::integer[], ${column(rows, 'itemId')}::bigint[],
        ${column(rows, 'kind')}::text[], ${column(rows, 'from')}::date[], ${column(rows, 'part')}::integer[],
        ${column(rows, 'bracketIndex')}::integer[]) with ordinality as r(subscription, stretch, item, kind, period_from, part, bracket, place)
     where exists (select 1 from charged c where c.subscription_id = r.subscription and c.stretch = r.stretch and c.item_id = r.item and c.kind = r.kind and c.period_from is not distinct from r.period_from and c.part = r.part
                     and c.bracket_index = r.bracket)`)
  return new Set(found.map(({ place }) => place))
}
