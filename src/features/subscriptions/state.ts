import type { PendingChange, SubscriptionState } from '../../engine/subscription.ts'
import type { Id } from '../../kernel/ids.ts'
import { cursorOf, termsOf } from './facts.ts'
import type { BillableSubscription, PendingOffer } from './queries.ts'

/** Between a stored subscription and the state that changes are planned on. */

/** A pending change as the engine sees it; `offer` is what a pending change of package or term was asked for. */
function pendingOf(s: BillableSubscription, offer: PendingOffer | undefined): PendingChange | null {
  if (s.pendingKind === null || s.pendingOn === null) return null
  if (s.pendingKind === 'cancellation') return { kind: 'cancellation', on: s.pendingOn }
  return offer ? { kind: s.pendingKind, on: s.pendingOn, offer } : null
}

export const stateOf = (s: BillableSubscription, offer?: PendingOffer): SubscriptionState => ({
  ...termsOf(s),
  startDate: s.startDate,
  trialEndDate: s.trialEndDate,
  syncDate: s.syncDate,
  endDate: s.endDate,
  cancelledOn: s.cancelledOn,
  pending: pendingOf(s, offer),
  componentAnchor: s.componentAnchor,
  cursor: cursorOf(s),
})

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
