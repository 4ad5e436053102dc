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
import type { BillableSubscription, Subscription } from './queries.ts'

/** Between a stored subscription and the state that changes are planned on. */

/** A pending change as the engine sees it; `offer` is what a pending change of package or term was asked for. */
function pendingOf(s: BillableSubscription, offer: PackageOffer | undefined): PendingChange | null {
  if (s.pendingKind === null || s.pendingOn === null) return null
  if (s.pendingKind === 'cancellation') return { kind: 'cancellation', on: s.pendingOn }
  return offer ? { kind: s.pendingKind, on: s.pendingOn, offer } : null
}

/** Fields one by one: a copy that is then added to is a slow object, and every plan copies it again. */
export const stateOf = (s: BillableSubscription, offer?: PackageOffer): SubscriptionState => ({
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

/** The day on which a cancellation took, or will take, effect. */
export const cancellationDayOf = (s: Pick<Subscription, 'cancelledOn' | 'pendingKind' | 'pendingOn'>): IsoDate | null =>
  s.cancelledOn ?? (s.pendingKind === 'cancellation' ? s.pendingOn : null)

/**
 * The next day on which the run has something to do: an invoice, or writing down the end. Cycles of usage, and what a suspended customer
 * comes back to, may be invoiced after the end too.
 */
export const nextActionOn = (facts: SubscriptionFacts, today: IsoDate, isEndRecorded: boolean): IsoDate | null =>
  earliest(nextInvoiceOn(facts, today), isEndRecorded ? null : endOf(facts.state))

/** The day on which the usage so far of a metered component is invoiced; null where none is counted any more. */
function meteredOn({ state, components }: SubscriptionFacts): IsoDate | null {
  const end = endOf(state)
  const counted = components.filter((component) => isMetered(component) && hasNextCycle(component, end))
  return earliest(...counted.map((component) => meteredDueOn(nextCycle(component, end, state.isProRata).piece, end)))
}

/** The day of the next invoice of any kind that is, or may be, made, as answers show it. Rule: a cycle of usage counts, whatever will be reported. */
export const nextInvoiceShown = (facts: SubscriptionFacts, today: IsoDate): IsoDate | null =>
  earliest(planNextInvoice(facts, today)?.scheduledOn ?? null, meteredOn(facts))

/** The package, term and anchor of a state, as a subscription stores them. */
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

/** Which version and price a state's package stands for: what the engine does not need to know. */
export interface OfferIds {
  packageVersionId: Id
  packageRateTermId: Id
}
