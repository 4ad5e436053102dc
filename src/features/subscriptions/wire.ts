import { search } from '../../platform/wire/search.ts'
import { isMetered, type SubscriptionFacts } from '../../engine/subscription/components.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
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
import { dayColumn, optionalDayColumn, recordShape } from '../../platform/wire/columns.ts'
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
} from '../../platform/wire/write.ts'
import { COLLECTION_METHODS } from '../collection-terms/types.ts'
import { DAYS_MAX } from '../packages/wire.ts'
import type { StoredComponent } from '../subscription-components/queries.ts'
import { componentList } from '../subscription-components/wire.ts'
import {
  type ShownSubscription,
  type Subscription,
  SUBSCRIPTION_STATUSES,
  type SubscriptionStatusWord,
} from './queries.ts'
import { cancellationDayOf, nextInvoiceShown, stateOf } from './state.ts'

export const TERM_TYPES = ['months', 'days'] as const

export const subscriptionStatusOf = (s: Subscription, today: IsoDate) =>
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

/** A subscription with the facts that follow from its dates and today, as answers and events show it. */
export interface PresentedSubscription extends ShownSubscription {
  status: SubscriptionStatusWord
  /** The day on which it was cancelled; null unless that day has come. */
  endedBy: IsoDate | null
  /** Whether its pending change is still to take effect. */
  isChanging: boolean
  coming: ReturnType<typeof comingDates>
}

/** Adds to a subscription the facts that follow from its dates and today. */
export function presented(s: ShownSubscription, today: IsoDate): PresentedSubscription {
  const status = subscriptionStatusOf(s, today)
  return {
    ...s,
    status,
    endedBy: status === 'Cancelled' ? cancellationDayOf(s) : null,
    // A cancellation takes effect on its day. A change of package or term takes effect with the invoice of its renewal, which waits while
    // the customer is not billed.
    isChanging:
      s.pendingOn !== null && s.pendingKind !== null && (s.pendingKind !== 'cancellation' || s.pendingOn > today),
    coming: comingDates(s, status, today),
  }
}

const FutureChangeOut = outObject({
  Kind: outWord(['package', 'term', 'cancellation'] as const),
  Date: outDate('Calendar date'),
  packageID: orNull(outId()),
  packageVersionID: orNull(outId()),
  Term: orNull(outInteger()),
  TermType: orNull(outWord(TERM_TYPES)),
})

const ComponentOut = outObject({
  componentID: outId(),
  componentVersionID: outId(),
  componentVersionNumber: outInteger(),
  Memo: orNull(outText()),
  NumUnits: outNumber(),
  isSetUnits: outFlag(),
})

/** The record of the event of a pending change of package or term that took effect. */
export const AppliedOfferOut = outObject({
  subscriptionID: outId(),
  packageID: outId(),
  packageVersionID: outId(),
  packageRateTermID: outId(),
  Term: outInteger(),
  TermType: outWord(TERM_TYPES),
})

/** The record of the event that a subscription has ended on its own. */
export const SubscriptionEndOut = outObject({
  subscriptionID: outId(),
  EndDate: orNull(outDate()),
  isCancelled: outFlag(),
  isExpired: outFlag(),
})

export const subscriptionShape = recordShape<PresentedSubscription>()('Subscription', {
  subscriptionID: [outId(), (s) => s.id],
  customerID: [outId(), (s) => s.customerId],
  packageID: [outId(), (s) => s.packageId],
  packageVersionID: [outId(), (s) => s.packageVersionId],
  packageVersionNumber: [outInteger(), (s) => s.versionNo],
  packageRateTermID: [outId(), (s) => s.packageRateTermId],
  CustomerName: [
    outText(),
    (s) => customerNameOf({ name: s.customerName, lastName: s.customerLastName, isCompany: s.isCompany }),
  ],
  PackageName: [outText(), (s) => s.packageName],
  Term: [outInteger(), (s) => s.term],
  TermType: [outWord(TERM_TYPES), (s) => s.termType],
  StartDate: dayColumn((s) => s.startDate),
  // A cancellation of a subscription that had not begun leaves its EndDate as it was.
  EndDate: optionalDayColumn((s) => (s.endedBy !== null && s.endedBy > s.startDate ? s.endedBy : s.endDate)),
  TrialEndDate: optionalDayColumn((s) => s.trialEndDate),
  firstProrataSyncDate: optionalDayColumn((s) => s.syncDate),
  isProRata: [outFlag(), (s) => s.isProRata],
  isFutureChange: [outFlag(), (s) => s.isChanging],
  isCancelled: [outFlag(), (s) => s.status === 'Cancelled'],
  isExpired: [outFlag(), (s) => s.status === 'Expired'],
  lastInvDate: optionalDayColumn((s) => s.lastInvoiceDate),
  lastRenewDate: optionalDayColumn((s) => s.lastFrom),
  nextRenewDate: optionalDayColumn((s) => s.coming.renewal),
  numDaysBeforeToInv: [outInteger(), (s) => s.leadDays],
  comp_nextInvDate: optionalDayColumn((s) => s.coming.invoice),
  comp_Status: [outWord(SUBSCRIPTION_STATUSES), (s) => s.status],
  LastModified: [outDate('Instant'), (s) => s.lastModified],
  componentUsage: [outList(ComponentOut), (s, { today }) => componentsToWire(s, today)],
  poNumber: [orNull(outText()), (s) => s.poNumber],
  Reference: [
    orNull(
      outText({
        description:
          'A reference of your own, unique among the subscriptions of the account; null where none was given',
      }),
    ),
    (s) => s.reference,
  ],
  CollectionMethod: [orNull(outWord(COLLECTION_METHODS)), (s) => s.collectionMethod],
  gatewayID: [orNull(outId()), (s) => s.gatewayId],
  customerPaymentMethodID: [orNull(outId()), (s) => s.paymentMethodId],
  CancelledDate: optionalDayColumn((s) => s.endedBy),
  CancelReason: [orNull(outText()), (s) => s.cancelReason],
  futureChange: [
    orNull(FutureChangeOut),
    (s, { timeZone }) =>
      s.isChanging
        ? {
            Kind: s.pendingKind!,
            Date: dateWithOffset(s.pendingOn!, timeZone),
            packageID: s.pendingPackageId,
            packageVersionID: s.pendingPackageVersionId,
            Term: s.pendingTerm,
            TermType: s.pendingTermType,
          }
        : null,
  ],
})

const inputs = {
  customerID: required(requiredReference()),
  packageID: optional(reference()),
  packageCode: optional(text({ takesNumbers: true })),
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
  Reference: optional(text({ takesNumbers: true })),
} satisfies Properties

/** Lists what a subscription is answered with and a body does not take: a record that was read can be sent back. */
export const answeredBeside = (taken: Properties): string[] =>
  Object.keys(subscriptionShape.columns).filter((name) => !Object.hasOwn(taken, name))

export const SubscriptionIn = objectOf(inputs, { name: 'SubscriptionAdd', ignored: answeredBeside(inputs) })
export type SubscriptionBody = BodyOf<typeof inputs>

export const subscriptionFilters = {
  q: optional(search()),
  comp_Status: optional(word(SUBSCRIPTION_STATUSES, { anyCase: true }), 'comp_status'),
  packageID: optional(reference()),
  packageCode: optional(text({ takesNumbers: true })),
  ComponentCode: optional(text({ takesNumbers: true })),
  Reference: optional(text({ takesNumbers: true })),
  customerID: optional(reference()),
} satisfies Properties

/** Returns the ETag, which changes with everything that an edit of the subscription would replace. */
export const subscriptionEtag = (s: Subscription): string =>
  etagOf(
    s.id,
    s.packageRateTermId,
    s.startDate,
    s.endDate,
    s.leadDays,
    s.poNumber,
    ...(s.reference === null ? [] : [s.reference]),
    s.collectionMethod,
    s.gatewayId,
    s.paymentMethodId,
    s.pendingKind,
    s.pendingOn,
    s.cancelledOn,
    s.componentsRevision,
  )
