import { isMetered, type SubscriptionFacts } from '../../engine/subscription/components.ts'
import { planNextInvoice } from '../../engine/subscription/plan-due.ts'
import { nextRenewalOnOrAfter } from '../../engine/subscription/period.ts'
import { type Cursor, nextRenewDate, type SubscriptionTerms } from '../../engine/subscription/renewal.ts'
import { subscriptionStatus } from '../../engine/status.ts'
import { hasEnded, type PackageOffer, type SubscriptionState, termsOf } from '../../engine/subscription/subscription.ts'
import { cycleOfUsage } from '../../engine/subscription/usage.ts'
import { type Decimal, ZERO } from '../../kernel/decimal.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { listQuery } from '../../platform/http/query.ts'
import { date, flag, reference, requiredReference, text, whole } from '../../platform/wire/fields.ts'
import {
  type BodyOf,
  described,
  objectOf,
  optional,
  type Properties,
  required,
  word,
} from '../../platform/wire/read.ts'
import {
  decimalDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import { COLLECTION_METHODS } from '../invoices/check-collection.ts'
import { DAYS_MAX } from '../packages/wire.ts'
import type { StoredComponent } from '../subscription-components/queries.ts'
import { componentList } from '../subscription-components/wire.ts'
import { type ShownSubscription, type Subscription, SUBSCRIPTION_STATUSES } from './queries.ts'
import { cancellationDayOf, nextInvoiceShown, stateOf } from './state.ts'

export const TERM_TYPES = ['months', 'days'] as const

const day = () => outDate('Calendar date')

export const SubscriptionOut = outObject(
  {
    subscriptionID: outId(),
    customerID: outId(),
    packageID: outId(),
    packageVersionID: outId(),
    packageVersionNumber: outInteger(),
    packageRateTermID: outId(),
    CustomerName: outText(),
    PackageName: outText(),
    Term: outInteger(),
    TermType: outWord(TERM_TYPES),
    StartDate: day(),
    EndDate: orNull(day()),
    TrialEndDate: orNull(day()),
    firstProrataSyncDate: orNull(day()),
    isProRata: outFlag(),
    isFutureChange: outFlag(),
    isCancelled: outFlag(),
    isExpired: outFlag(),
    lastInvDate: orNull(day()),
    lastRenewDate: orNull(day()),
    nextRenewDate: orNull(day()),
    numDaysBeforeToInv: outInteger(),
    comp_nextInvDate: orNull(day()),
    comp_Status: outWord(SUBSCRIPTION_STATUSES),
    LastModified: outDate('Instant'),
    componentUsage: outList(
      outObject({
        componentID: outId(),
        componentVersionID: outId(),
        componentVersionNumber: outInteger(),
        Memo: orNull(outText()),
        NumUnits: outNumber(),
        isSetUnits: outFlag(),
      }),
    ),
    poNumber: orNull(outText()),
    CollectionMethod: orNull(outWord(COLLECTION_METHODS)),
    gatewayID: orNull(outId()),
    customerPaymentMethodID: orNull(outId()),
    CancelledDate: orNull(day()),
    CancelReason: orNull(outText()),
    futureChange: orNull(
      outObject({
        Kind: outWord(['package', 'term', 'cancellation'] as const),
        Date: day(),
        packageID: orNull(outId()),
        packageVersionID: orNull(outId()),
        Term: orNull(outInteger()),
        TermType: orNull(outWord(TERM_TYPES)),
      }),
    ),
  },
  'Subscription',
)
export const SubscriptionsOut = outList(SubscriptionOut)

/** Returns the name of a customer; an individual is named by first and last name. */
export const customerNameOf = (s: Pick<Subscription, 'customerName' | 'customerLastName' | 'isCompany'>): string =>
  s.isCompany || s.customerLastName === null ? s.customerName : `${s.customerName} ${s.customerLastName}`

export const statusOf = (s: Subscription, today: IsoDate) =>
  subscriptionStatus({ ...s, today, cancelledOn: cancellationDayOf(s) })

/** Returns the offer that a pending change of package or term asks for; undefined if none is pending. */
function pendingOfferOf(s: ShownSubscription): PackageOffer | undefined {
  const { pendingPackageId, pendingPackageName, pendingPrice, pendingTerm, pendingTermType } = s
  if (pendingPackageId === null || pendingPrice === null || pendingTerm === null || pendingTermType === null)
    return undefined
  return {
    packageId: pendingPackageId,
    packageName: pendingPackageName ?? '',
    price: pendingPrice,
    term: pendingTerm,
    termType: pendingTermType,
  }
}

/** Returns the days of the next renewal and the next invoice, as answers show them. */
function comingDates(
  s: ShownSubscription,
  status: string,
  today: IsoDate,
): { renewal: IsoDate | null; invoice: IsoDate | null } {
  const components = s.components.map(({ state }) => state)
  const facts: SubscriptionFacts = { state: stateOf(s, pendingOfferOf(s)), components }
  if (status === 'Cancelled' || status === 'Expired')
    return { renewal: null, invoice: s.pausedOn ? null : (planNextInvoice(facts, today)?.scheduledOn ?? null) }
  const terms = termsOf(facts.state)
  const { cursor } = facts.state
  const isCancelling = s.pendingKind === 'cancellation' && (s.endDate === null || s.endDate >= (s.pendingOn as IsoDate))
  if (s.pausedOn !== null)
    return { renewal: isCancelling ? s.pendingOn : renewalAfterGap(terms, cursor, today), invoice: null }
  return {
    renewal: isCancelling ? s.pendingOn : nextRenewDate(terms, cursor),
    invoice: nextInvoiceShown(facts, today),
  }
}

/**
 * Returns the NumUnits of a component. Rule: a metered component shows the usage of its running cycle, before the first cycle the usage of
 * the trial, and 0 after the end; any other component shows the quantity that was set last.
 */
function unitsOf({ state: component }: StoredComponent, state: SubscriptionState, today: IsoDate): Decimal {
  if (!isMetered(component)) return component.quantity
  if (hasEnded(state, today)) return ZERO
  const running = cycleOfUsage(component, state, today)
  return component.usage.find(({ from }) => from === (running?.from ?? state.startDate))?.total ?? ZERO
}

function componentsToWire(s: ShownSubscription, today: IsoDate) {
  const state = stateOf(s)
  return s.components
    .filter((stored) => stored.state.leftOutOn === null)
    .map((stored) => ({
      componentID: stored.state.componentId,
      componentVersionID: stored.versionId,
      componentVersionNumber: stored.versionNo,
      Memo: stored.memo,
      NumUnits: decimalDigits(unitsOf(stored, state, today)),
      isSetUnits: stored.isSetUnits,
    }))
}

/**
 * Returns the renewal at which billing would resume if the customer returned today. Periods that began while it was not billed are dropped.
 */
function renewalAfterGap(terms: SubscriptionTerms, cursor: Cursor, today: IsoDate): IsoDate | null {
  const next = cursor.nextFrom < today ? nextRenewalOnOrAfter(terms.cycle, today) : cursor.nextFrom
  return terms.endDate !== null && terms.endDate <= next ? null : next
}

export function subscriptionToWire(
  s: ShownSubscription,
  { timeZone, today }: { timeZone: string; today: IsoDate },
): ShapeOf<typeof SubscriptionOut> {
  const shown = (value: IsoDate) => dateWithOffset(value, timeZone)
  const shownOrNull = (value: IsoDate | null) => (value === null ? null : shown(value))
  const status = statusOf(s, today)
  const coming = comingDates(s, status, today)
  const cancelledOn = status === 'Cancelled' ? cancellationDayOf(s) : null
  // A cancellation of a subscription that had not begun leaves its EndDate as it was.
  const endDate = cancelledOn !== null && cancelledOn > s.startDate ? cancelledOn : s.endDate
  // A cancellation takes effect on its day. A change of package or term takes effect with the invoice of its renewal, which waits while
  // the customer is not billed.
  const isPending =
    s.pendingOn !== null && s.pendingKind !== null && (s.pendingKind !== 'cancellation' || s.pendingOn > today)
  return {
    subscriptionID: s.id,
    customerID: s.customerId,
    packageID: s.packageId,
    packageVersionID: s.packageVersionId,
    packageVersionNumber: s.versionNo,
    packageRateTermID: s.packageRateTermId,
    CustomerName: customerNameOf(s),
    PackageName: s.packageName,
    Term: s.term,
    TermType: s.termType,
    StartDate: shown(s.startDate),
    EndDate: shownOrNull(endDate),
    TrialEndDate: shownOrNull(s.trialEndDate),
    firstProrataSyncDate: shownOrNull(s.syncDate),
    isProRata: s.isProRata,
    isFutureChange: isPending,
    isCancelled: status === 'Cancelled',
    isExpired: status === 'Expired',
    lastInvDate: shownOrNull(s.lastInvoiceDate),
    lastRenewDate: shownOrNull(s.lastFrom),
    nextRenewDate: shownOrNull(coming.renewal),
    numDaysBeforeToInv: s.leadDays,
    comp_nextInvDate: shownOrNull(coming.invoice),
    comp_Status: status,
    LastModified: s.lastModified,
    componentUsage: componentsToWire(s, today),
    poNumber: s.poNumber,
    CollectionMethod: s.collectionMethod,
    gatewayID: s.gatewayId,
    customerPaymentMethodID: s.paymentMethodId,
    CancelledDate: shownOrNull(cancelledOn),
    CancelReason: s.cancelReason,
    futureChange: isPending
      ? {
          Kind: s.pendingKind!,
          Date: shown(s.pendingOn!),
          packageID: s.pendingPackageId,
          packageVersionID: s.pendingPackageVersionId,
          Term: s.pendingTerm,
          TermType: s.pendingTermType,
        }
      : null,
  }
}

const inputs = {
  customerID: required(requiredReference()),
  packageID: optional(reference()),
  packageVersionID: optional(reference()),
  packageVersionNumber: optional(whole(1, 2_147_483_647), 'PackageVersionNumber'),
  packageRateTermID: optional(reference()),
  Term: optional(described(whole(1, DAYS_MAX), 'Given together with TermType')),
  TermType: optional(word(TERM_TYPES)),
  StartDate: optional(date()),
  EndDate: optional(date()),
  firstProrataSyncDate: optional(date()),
  isProRata: optional(flag()),
  numDaysBeforeToInv: optional(whole(0, 90)),
  componentUsage: optional(componentList()),
  CollectionMethod: optional(word(COLLECTION_METHODS)),
  gatewayID: optional(reference()),
  customerPaymentMethodID: optional(reference()),
  poNumber: optional(text({ takesNumbers: true })),
} satisfies Properties

const COMPUTED = [
  'subscriptionID',
  'CustomerName',
  'PackageName',
  'TrialEndDate',
  'isFutureChange',
  'isCancelled',
  'isExpired',
  'lastInvDate',
  'lastRenewDate',
  'nextRenewDate',
  'comp_nextInvDate',
  'comp_Status',
  'LastModified',
  'CancelledDate',
  'CancelReason',
  'futureChange',
]

export const SubscriptionIn = objectOf(inputs, { name: 'SubscriptionAdd', ignored: COMPUTED })
export type SubscriptionBody = BodyOf<typeof inputs>

export const SubscriptionQuery = listQuery({
  comp_Status: optional(word(SUBSCRIPTION_STATUSES, { anyCase: true }), 'comp_status'),
  packageID: optional(reference()),
  customerID: optional(reference()),
})

/** Returns the ETag, which changes with everything that an edit of the subscription would replace. */
export const subscriptionEtag = (s: Subscription): string =>
  etagOf(
    s.id,
    s.packageRateTermId,
    s.startDate,
    s.endDate,
    s.leadDays,
    s.poNumber,
    s.collectionMethod,
    s.gatewayId,
    s.paymentMethodId,
    s.pendingKind,
    s.pendingOn,
    s.cancelledOn,
    s.componentsRevision,
  )
