import type { PackageOffer, PendingChange, SubscriptionState } from '../../engine/subscription.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Id } from '../../kernel/ids.ts'
import { cursorOf } from './facts.ts'
import type { BillableSubscription } from './queries.ts'

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
