import { filter, LEFT_OUT, searchOfCustomers } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
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
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import {
  decimalDigits,
  orNull,
  outDate,
  outDay,
  outFlag,
  outId,
  outInstant,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import { COLLECTION_METHODS } from '../collection-terms/types.ts'
import { DAYS_MAX, TERM_TYPES } from '../packages/wire.ts'
import type { StoredComponent } from '../subscription-components/queries.ts'
import { componentList } from '../subscription-components/wire.ts'
import {
  type ShownSubscription,
  type Subscription,
  SUBSCRIPTION_STATUSES,
  type SubscriptionStatusWord,
} from './queries.ts'
import { cancellationDayOf, nextInvoiceShown, stateOf } from './state.ts'

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
  Kind: outWord(
    ['package', 'term', 'cancellation'] as const,
    'What changes: the package, its term, or that it is cancelled.',
  ),
  Date: outDay('The day on which it changes.'),
  packageID: orNull(outId(identifies('package'))),
  packageVersionID: orNull(outId(identifies('package version'))),
  Term: orNull(outInteger(SHARED.Term)),
  TermType: orNull(outWord(TERM_TYPES, SHARED.TermType)),
})

const ComponentOut = outObject({
  componentID: outId(identifies('component')),
  componentVersionID: outId(identifies('component version')),
  componentVersionNumber: outInteger('The number of the component version in force.'),
  Memo: orNull(outText('The note of the component.')),
  NumUnits: outNumber('The units of the component; of a metered one those reported in the cycle that runs.'),
  isSetUnits: outFlag('Whether the units replace what was reported of the cycle so far; else they add to it.'),
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
  subscriptionID: [outId(identifies('subscription')), (s) => s.id],
  customerID: [outId(identifies('customer')), (s) => s.customerId],
  packageID: [outId(identifies('package')), (s) => s.packageId],
  packageVersionID: [outId(identifies('package version')), (s) => s.packageVersionId],
  packageVersionNumber: [outInteger('The number of the package version in force.'), (s) => s.versionNo],
  packageRateTermID: [outId(identifies('price of one term')), (s) => s.packageRateTermId],
  CustomerName: [
    outText('The name of the customer, as lists show it.'),
    (s) => customerNameOf({ name: s.customerName, lastName: s.customerLastName, isCompany: s.isCompany }),
  ],
  PackageName: [outText('The name of the package.'), (s) => s.packageName],
  Term: [outInteger(SHARED.Term), (s) => s.term],
  TermType: [outWord(TERM_TYPES, SHARED.TermType), (s) => s.termType],
  StartDate: dayColumn((s) => s.startDate, 'The day on which it begins.'),
  // A cancellation of a subscription that had not begun leaves its EndDate as it was.
  EndDate: optionalDayColumn(
    (s) => (s.endedBy !== null && s.endedBy > s.startDate ? s.endedBy : s.endDate),
    'The day on which it ends, which is not billed any more; null where it goes on.',
  ),
  TrialEndDate: optionalDayColumn((s) => s.trialEndDate, 'The first day that is not of the trial; null without one.'),
  firstProrataSyncDate: optionalDayColumn(
    (s) => s.syncDate,
    'The day from which whole terms count; until then the price is taken by days. Null where terms count from the start.',
  ),
  isProRata: [outFlag('Whether parts of a term are charged by their days; else as whole terms.'), (s) => s.isProRata],
  isFutureChange: [outFlag('Whether a change waits for the next renewal.'), (s) => s.isChanging],
  isCancelled: [outFlag(SHARED.isCancelled), (s) => s.status === 'Cancelled'],
  isExpired: [outFlag('Whether the record has come to its end.'), (s) => s.status === 'Expired'],
  lastInvDate: optionalDayColumn((s) => s.lastInvoiceDate, 'The day of its newest invoice; null before the first.'),
  lastRenewDate: optionalDayColumn(
    (s) => s.lastFrom,
    'The day on which the present term began; null before the first.',
  ),
  nextRenewDate: optionalDayColumn(
    (s) => s.coming.renewal,
    'The day on which the next term begins; null where none does.',
  ),
  numDaysBeforeToInv: [outInteger(SHARED.numDaysBeforeToInv), (s) => s.leadDays],
  comp_nextInvDate: optionalDayColumn(
    (s) => s.coming.invoice,
    'The day on which the next invoice is made; null where none comes.',
  ),
  comp_Status: [outWord(SUBSCRIPTION_STATUSES, 'The state of the subscription.'), (s) => s.status],
  LastModified: [outInstant(SHARED.LastUpdated), (s) => s.lastModified],
  componentUsage: [
    outList(ComponentOut, 'The components of the subscription, and how many of each.'),
    (s, { today }) => componentsToWire(s, today),
  ],
  poNumber: [
    orNull(outText('The purchase order number of the customer; it stands on the invoice.')),
    (s) => s.poNumber,
  ],
  Reference: [
    orNull(
      outText('A reference of your own, unique among the subscriptions of the account; null where none was given'),
    ),
    (s) => s.reference,
  ],
  CollectionMethod: [
    orNull(outWord(COLLECTION_METHODS, 'The way in which its invoices are collected; null: as the customer pays.')),
    (s) => s.collectionMethod,
  ],
  gatewayID: [orNull(outId(identifies('gateway'))), (s) => s.gatewayId],
  customerPaymentMethodID: [orNull(outId(identifies('payment method'))), (s) => s.paymentMethodId],
  CancelledDate: optionalDayColumn(
    (s) => s.endedBy,
    'The day on which the cancellation takes effect; null while none is asked for.',
  ),
  CancelReason: [
    orNull(outText('Why it was cancelled, as the request said; null where it is not, or where none was given.')),
    (s) => s.cancelReason,
  ],
  futureChange: [
    described(orNull(FutureChangeOut), 'What changes at the next renewal; null where nothing does.'),
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
  customerID: required(requiredReference(), identifies('customer')),
  packageID: optional(
    reference(),
    identifies('package'),
    'Left out, packageVersionID or packageRateTermID names what is sold.',
  ),
  packageCode: optional(
    text({ takesNumbers: true }),
    SHARED.packageCode,
    'Left out, packageID or a version or rate term names the package.',
  ),
  packageVersionID: optional(
    reference(),
    identifies('package version'),
    'Left out, packageVersionNumber names the version, else it is the default one.',
  ),
  packageVersionNumber: optional(
    whole(1, 2_147_483_647),
    'The number of the package version that is taken.',
    'Left out, packageVersionID names the version, else it is the default one.',
    ['PackageVersionNumber'],
  ),
  packageRateTermID: optional(
    reference(),
    identifies('price of one term'),
    'Left out, Term and TermType choose among the terms, else it is the only or first one.',
  ),
  Term: optional(
    described(whole(1, DAYS_MAX), 'Given together with TermType'),
    SHARED.Term,
    'Left out, packageRateTermID chooses among the terms, else it is the only or first one.',
  ),
  TermType: optional(word(TERM_TYPES), SHARED.TermType, 'Left out with Term.'),
  StartDate: optional(date(), 'The first day that is billed.', LEFT_OUT.today),
  EndDate: optional(date(), 'The first day that is not billed any more.', LEFT_OUT.endless),
  firstProrataSyncDate: optional(
    date(),
    'The day from which whole terms count; until then the price is taken by days. Null where terms count from the start.',
    'Left out, terms count from the end of the trial, or the start.',
  ),
  isProRata: optional(flag(), 'Whether parts of a term are charged by their days; else as whole terms.', LEFT_OUT.true),
  numDaysBeforeToInv: optional(whole(0, 90), SHARED.numDaysBeforeToInv, LEFT_OUT.ofAccount),
  componentUsage: optional(
    componentList(),
    'The components that the subscription begins with, and how many of each.',
    'Left out, it has no components.',
  ),
  CollectionMethod: optional(
    word(COLLECTION_METHODS),
    'The way in which its invoices are collected.',
    LEFT_OUT.customerPays,
  ),
  gatewayID: optional(reference(), identifies('gateway'), LEFT_OUT.primaryGateway),
  customerPaymentMethodID: optional(reference(), identifies('payment method'), LEFT_OUT.primaryMethod),
  poNumber: optional(
    text({ takesNumbers: true }),
    'The purchase order number of the customer; it stands on the invoice.',
    LEFT_OUT.none,
  ),
  Reference: optional(text({ takesNumbers: true }), SHARED.Reference, LEFT_OUT.none),
} satisfies Properties

/** Lists what a subscription is answered with and a body does not take: a record that was read can be sent back. */
export const answeredBeside = (taken: Properties): string[] =>
  Object.keys(subscriptionShape.columns).filter((name) => !Object.hasOwn(taken, name))

export const SubscriptionIn = objectOf(inputs, { name: 'SubscriptionAdd', ignored: answeredBeside(inputs) })
export type SubscriptionBody = BodyOf<typeof inputs>

export const subscriptionFilters = {
  q: searchOfCustomers(),
  comp_Status: filter(word(SUBSCRIPTION_STATUSES, { anyCase: true }), 'records in this state', ['comp_status']),
  packageID: optional(reference(), 'Limits the list to records of this package.', LEFT_OUT.ofAll),
  packageCode: filter(text({ takesNumbers: true }), 'subscriptions of the package with this code'),
  ComponentCode: filter(text({ takesNumbers: true }), 'subscriptions that have the component with this code'),
  Reference: filter(text({ takesNumbers: true }), 'records with this reference of yours'),
  customerID: optional(reference(), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
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
