import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
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
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
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
  Kind: described(
    outWord(['package', 'term', 'cancellation'] as const),
    'What changes: the package, its term, or that it is cancelled.',
  ),
  Date: described(outDate('Calendar date'), 'The day on which it changes.'),
  packageID: described(orNull(outId()), identifies('package')),
  packageVersionID: described(orNull(outId()), identifies('package version')),
  Term: described(orNull(outInteger()), SHARED.Term),
  TermType: described(orNull(outWord(TERM_TYPES)), SHARED.TermType),
})

const ComponentOut = outObject({
  componentID: described(outId(), identifies('component')),
  componentVersionID: described(outId(), identifies('component version')),
  componentVersionNumber: described(outInteger(), 'The number of the component version in force.'),
  Memo: described(orNull(outText()), 'The note of the component.'),
  NumUnits: described(
    outNumber(),
    'The units of the component; of a metered one those reported in the cycle that runs.',
  ),
  isSetUnits: described(
    outFlag(),
    'Whether the units replace what was reported of the cycle so far; else they add to it.',
  ),
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
  subscriptionID: [described(outId(), identifies('subscription')), (s) => s.id],
  customerID: [described(outId(), identifies('customer')), (s) => s.customerId],
  packageID: [described(outId(), identifies('package')), (s) => s.packageId],
  packageVersionID: [described(outId(), identifies('package version')), (s) => s.packageVersionId],
  packageVersionNumber: [described(outInteger(), 'The number of the package version in force.'), (s) => s.versionNo],
  packageRateTermID: [described(outId(), identifies('price of one term')), (s) => s.packageRateTermId],
  CustomerName: [
    described(outText(), 'The name of the customer, as lists show it.'),
    (s) => customerNameOf({ name: s.customerName, lastName: s.customerLastName, isCompany: s.isCompany }),
  ],
  PackageName: [described(outText(), 'The name of the package.'), (s) => s.packageName],
  Term: [described(outInteger(), SHARED.Term), (s) => s.term],
  TermType: [described(outWord(TERM_TYPES), SHARED.TermType), (s) => s.termType],
  StartDate: described(
    dayColumn((s) => s.startDate),
    'The day on which it begins.',
  ),
  // A cancellation of a subscription that had not begun leaves its EndDate as it was.
  EndDate: described(
    optionalDayColumn((s) => (s.endedBy !== null && s.endedBy > s.startDate ? s.endedBy : s.endDate)),
    'The day on which it ends, which is not billed any more; null where it goes on.',
  ),
  TrialEndDate: described(
    optionalDayColumn((s) => s.trialEndDate),
    'The first day that is not of the trial; null without one.',
  ),
  firstProrataSyncDate: described(
    optionalDayColumn((s) => s.syncDate),
    'The day from which whole terms count; until then the price is taken by days. Null where terms count from the start.',
  ),
  isProRata: [
    described(outFlag(), 'Whether parts of a term are charged by their days; else as whole terms.'),
    (s) => s.isProRata,
  ],
  isFutureChange: [described(outFlag(), 'Whether a change waits for the next renewal.'), (s) => s.isChanging],
  isCancelled: [described(outFlag(), SHARED.isCancelled), (s) => s.status === 'Cancelled'],
  isExpired: [described(outFlag(), 'Whether the record has come to its end.'), (s) => s.status === 'Expired'],
  lastInvDate: described(
    optionalDayColumn((s) => s.lastInvoiceDate),
    'The day of its newest invoice; null before the first.',
  ),
  lastRenewDate: described(
    optionalDayColumn((s) => s.lastFrom),
    'The day on which the present term began; null before the first.',
  ),
  nextRenewDate: described(
    optionalDayColumn((s) => s.coming.renewal),
    'The day on which the next term begins; null where none does.',
  ),
  numDaysBeforeToInv: [described(outInteger(), SHARED.numDaysBeforeToInv), (s) => s.leadDays],
  comp_nextInvDate: described(
    optionalDayColumn((s) => s.coming.invoice),
    'The day on which the next invoice is made; null where none comes.',
  ),
  comp_Status: [described(outWord(SUBSCRIPTION_STATUSES), 'The state of the subscription.'), (s) => s.status],
  LastModified: [described(outDate('Instant'), SHARED.LastUpdated), (s) => s.lastModified],
  componentUsage: [
    described(outList(ComponentOut), 'The components of the subscription, and how many of each.'),
    (s, { today }) => componentsToWire(s, today),
  ],
  poNumber: [
    described(orNull(outText()), 'The purchase order number of the customer; it stands on the invoice.'),
    (s) => s.poNumber,
  ],
  Reference: [
    orNull(
      outText({
        description:
          'A reference of your own, unique among the subscriptions of the account; null where none was given',
      }),
    ),
    (s) => s.reference,
  ],
  CollectionMethod: [
    described(
      orNull(outWord(COLLECTION_METHODS)),
      'The way in which its invoices are collected; null: as the customer pays.',
    ),
    (s) => s.collectionMethod,
  ],
  gatewayID: [described(orNull(outId()), identifies('gateway')), (s) => s.gatewayId],
  customerPaymentMethodID: [described(orNull(outId()), identifies('payment method')), (s) => s.paymentMethodId],
  CancelledDate: described(
    optionalDayColumn((s) => s.endedBy),
    'The day on which the cancellation takes effect; null while none is asked for.',
  ),
  CancelReason: [
    described(
      orNull(outText()),
      'Why it was cancelled, as the request said; null where it is not, or where none was given.',
    ),
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
  customerID: described(required(requiredReference()), identifies('customer')),
  packageID: described(
    optional(reference()),
    identifies('package'),
    'Left out, packageVersionID or packageRateTermID names what is sold.',
  ),
  packageCode: described(
    optional(text({ takesNumbers: true })),
    SHARED.packageCode,
    'Left out, packageID or a version or rate term names the package.',
  ),
  packageVersionID: described(
    optional(reference()),
    identifies('package version'),
    'Left out, packageVersionNumber names the version, else it is the default one.',
  ),
  packageVersionNumber: described(
    optional(whole(1, 2_147_483_647), 'PackageVersionNumber'),
    'The number of the package version that is taken.',
    'Left out, packageVersionID names the version, else it is the default one.',
  ),
  packageRateTermID: described(
    optional(reference()),
    identifies('price of one term'),
    'Left out, Term and TermType choose among the terms, else it is the only or first one.',
  ),
  Term: described(
    optional(described(whole(1, DAYS_MAX), 'Given together with TermType')),
    SHARED.Term,
    'Left out, packageRateTermID chooses among the terms, else it is the only or first one.',
  ),
  TermType: described(optional(word(TERM_TYPES)), SHARED.TermType, 'Left out with Term.'),
  StartDate: described(optional(date()), 'The first day that is billed.', LEFT_OUT.today),
  EndDate: described(optional(date()), 'The first day that is not billed any more.', LEFT_OUT.endless),
  firstProrataSyncDate: described(
    optional(date()),
    'The day from which whole terms count; until then the price is taken by days. Null where terms count from the start.',
    'Left out, terms count from the end of the trial, or the start.',
  ),
  isProRata: described(
    optional(flag()),
    'Whether parts of a term are charged by their days; else as whole terms.',
    LEFT_OUT.true,
  ),
  numDaysBeforeToInv: described(optional(whole(0, 90)), SHARED.numDaysBeforeToInv, LEFT_OUT.ofAccount),
  componentUsage: described(
    optional(componentList()),
    'The components that the subscription begins with, and how many of each.',
    'Left out, it has no components.',
  ),
  CollectionMethod: described(
    optional(word(COLLECTION_METHODS)),
    'The way in which its invoices are collected.',
    LEFT_OUT.customerPays,
  ),
  gatewayID: described(optional(reference()), identifies('gateway'), LEFT_OUT.primaryGateway),
  customerPaymentMethodID: described(optional(reference()), identifies('payment method'), LEFT_OUT.primaryMethod),
  poNumber: described(
    optional(text({ takesNumbers: true })),
    'The purchase order number of the customer; it stands on the invoice.',
    LEFT_OUT.none,
  ),
  Reference: described(optional(text({ takesNumbers: true })), SHARED.Reference, LEFT_OUT.none),
} satisfies Properties

/** Lists what a subscription is answered with and a body does not take: a record that was read can be sent back. */
export const answeredBeside = (taken: Properties): string[] =>
  Object.keys(subscriptionShape.columns).filter((name) => !Object.hasOwn(taken, name))

export const SubscriptionIn = objectOf(inputs, { name: 'SubscriptionAdd', ignored: answeredBeside(inputs) })
export type SubscriptionBody = BodyOf<typeof inputs>

export const subscriptionFilters = {
  q: described(
    optional(search()),
    'Limits the list to records that are found by these words, each the beginning of one of theirs, or, where no record bears them all itself, of its customer; letter case, accents and signs do not count.',
    LEFT_OUT.all,
  ),
  comp_Status: described(
    optional(word(SUBSCRIPTION_STATUSES, { anyCase: true }), 'comp_status'),
    'Limits the list to records in this state.',
    LEFT_OUT.all,
  ),
  packageID: described(optional(reference()), 'Limits the list to records of this package.', LEFT_OUT.ofAll),
  packageCode: described(
    optional(text({ takesNumbers: true })),
    'Limits the list to subscriptions of the package with this code.',
    LEFT_OUT.all,
  ),
  ComponentCode: described(
    optional(text({ takesNumbers: true })),
    'Limits the list to subscriptions that have the component with this code.',
    LEFT_OUT.all,
  ),
  Reference: described(
    optional(text({ takesNumbers: true })),
    'Limits the list to records with this reference of yours.',
    LEFT_OUT.all,
  ),
  customerID: described(optional(reference()), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
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
