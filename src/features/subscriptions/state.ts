import { hasNextCycle, meteredDueOn, nextCycle } from '../../engine/subscription/component-cycles.ts'
import { isMetered, type SubscriptionFacts } from '../../engine/subscription/components.ts'
import { nextInvoiceOn } from '../../engine/subscription/deferred.ts'
import { planNextInvoice } from '../../engine/subscription/plan-due.ts'
import {
  endOf,
  type PackageOffer,
  type PendingChange,
  type SubscriptionState,
} from '../../engine/subscription/subscription.ts'
import { earliest, type IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Id } from '../../kernel/ids.ts'
import type { IssueContext } from '../invoices/issue.ts'
import type { BillableSubscription, StateFields, Subscription } from './queries.ts'

/** Conversions between a stored subscription and the state that the engine plans on. */

/** Returns the pending change as the engine sees it. `offer` is the one that a pending change of package or term asks for. */
function pendingOf(s: StateFields, offer: PackageOffer | undefined): PendingChange | null {
  if (s.pendingKind === null || s.pendingOn === null) return null
  if (s.pendingKind === 'cancellation') return { kind: 'cancellation', on: s.pendingOn }
  return offer ? { kind: s.pendingKind, on: s.pendingOn, offer } : null
}

/**
 * Returns the state of a subscription. Its fields are listed one by one, because an object that is copied and then added to is slow in V8,
 * and every plan copies it again.
 */
export const stateOf = (s: StateFields, offer?: PackageOffer): SubscriptionState => ({
  packageId: s.packageId,
  packageName: s.packageName,
  stretch: s.stretch,
  price: s.price,
  setupFeeMinor: s.setupFeeMinor,
  trialFeeMinor: s.trialFeeMinor,
  digits: digitsOf(s.currency),
  startDate: s.startDate,
  trialEndDate: s.trialEndDate,
  syncDate: s.syncDate,
  endDate: s.endDate,
  cancelledOn: s.cancelledOn,
  pending: pendingOf(s, offer),
  cycle: { anchor: s.anchor, dayOfMonth: s.anchorDay, term: s.term, termType: s.termType },
  componentAnchor: s.componentAnchor,
  isProRata: s.isProRata,
  leadDays: s.leadDays,
  cursor: { feesOn: s.feesOn, nextFrom: s.nextFrom, lastFrom: s.lastFrom },
})

/** Returns the day on which a cancellation took, or will take, effect; null if there is none. */
export const cancellationDayOf = (s: Pick<Subscription, 'cancelledOn' | 'pendingKind' | 'pendingOn'>): IsoDate | null =>
  s.cancelledOn ?? (s.pendingKind === 'cancellation' ? s.pendingOn : null)

/**
 * Returns the next day on which the billing run has to invoice a subscription or to record its end. An invoice may come after the end: of a
 * cycle of usage, or once a suspended customer has returned.
 */
export const nextActionOn = (facts: SubscriptionFacts, today: IsoDate, isEndRecorded: boolean): IsoDate | null =>
  earliest(nextInvoiceOn(facts, today), isEndRecorded ? null : endOf(facts.state))

/** Returns the next day on which usage of a metered component is invoiced; null if no more is counted. */
function meteredOn({ state, components }: SubscriptionFacts): IsoDate | null {
  const end = endOf(state)
  const counted = components.filter((component) => isMetered(component) && hasNextCycle(component, end))
  return earliest(...counted.map((component) => meteredDueOn(nextCycle(component, end, state.isProRata).piece, end)))
}

/** Returns the day of the next invoice, as answers show it. Rule: a cycle of usage counts even if no usage may be reported in it. */
export const nextInvoiceShown = (facts: SubscriptionFacts, today: IsoDate): IsoDate | null =>
  earliest(planNextInvoice(facts, today)?.scheduledOn ?? null, meteredOn(facts))

/** Returns package, term and anchor of a state, as a subscription stores them. */
export const packageOf = (state: SubscriptionState) => ({
  packageId: state.packageId,
  packageName: state.packageName,
  price: state.price,
  stretch: state.stretch,
  syncDate: state.syncDate,
  anchor: state.cycle.anchor,
  anchorDay: state.cycle.dayOfMonth,
  term: state.cycle.term,
  termType: state.cycle.termType,
})

export const idsOf = ({ packageVersionId, packageRateTermId }: OfferIds): OfferIds => ({
  packageVersionId,
  packageRateTermId,
})

/** Identifiers of the version and price of a package, which the engine does not need to know. */
export interface OfferIds {
  packageVersionId: Id
  packageRateTermId: Id
}

/** Returns whether something of a subscription is to be invoiced today. */
export const isDue = (s: Pick<BillableSubscription, 'pausedOn' | 'dueOn'>, { moment }: IssueContext): boolean =>
  s.pausedOn === null && s.dueOn !== null && s.dueOn <= moment.today
