import { earliest, type IsoDate, type TermType } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import type { PackageTerms } from './charges.ts'
import { type Cycle, cycleFrom, nextRenewalOnOrAfter, periodContaining } from './period.ts'
import { type Cursor, firstPeriodFrom, type SubscriptionTerms } from './renewal.ts'

/** A package at a price, as a change asks for it. */
export interface PackageOffer {
  packageId: Id
  packageName: string
  price: Decimal
  term: number
  termType: TermType
}

/** At most one change is pending. Its version and price were fixed when it was asked for. */
export type PendingChange =
  | { kind: 'cancellation'; on: IsoDate }
  | { kind: 'package' | 'term'; on: IsoDate; offer: PackageOffer }

/** A subscription as far as its package is concerned: what a change turns into another. */
export interface SubscriptionState extends PackageTerms {
  startDate: IsoDate
  /** First day that is paid for after the trial; null without one. */
  trialEndDate: IsoDate | null
  /** firstProrataSyncDate. */
  syncDate: IsoDate | null
  /** EndDate alone: a pending cancellation is not in it, one that took effect has set it. */
  endDate: IsoDate | null
  /** The day on which a cancellation took effect. */
  cancelledOn: IsoDate | null
  pending: PendingChange | null
  cycle: Cycle
  /** Anchor of component cycles: that of the start or reactivation, even if the package has another one since. */
  componentAnchor: IsoDate
  isProRata: boolean
  leadDays: number
  cursor: Cursor
}

/** Returns the first day not covered: the earlier of EndDate and a cancellation, pending or not. */
export const endOf = ({
  endDate,
  cancelledOn,
  pending,
}: Pick<SubscriptionState, 'endDate' | 'cancelledOn' | 'pending'>): IsoDate | null =>
  earliest(endDate, cancelledOn, pending?.kind === 'cancellation' ? pending.on : null)

/**
 * Returns the terms of a state with its effective end. That is the state itself if EndDate is the end, because a copy costs more than
 * planning a period.
 */
export function termsOf(state: SubscriptionState): SubscriptionTerms {
  const endDate = endOf(state)
  return endDate === state.endDate ? state : { ...state, endDate }
}

export const isFuture = (state: SubscriptionState, today: IsoDate): boolean => today < state.startDate

export const isInTrial = (state: SubscriptionState, today: IsoDate): boolean =>
  state.trialEndDate !== null && state.startDate <= today && today < state.trialEndDate

/** Returns whether a subscription is cancelled or expired: only starting again and late usage are left. */
export function hasEnded(state: SubscriptionState, today: IsoDate): boolean {
  const end = endOf(state)
  return end !== null && end <= today
}

export const isSameTerm = (a: Pick<Cycle, 'term' | 'termType'>, b: Pick<Cycle, 'term' | 'termType'>): boolean =>
  a.term === b.term && a.termType === b.termType

/** Rule: the anchor is the sync date if given, else the end of the trial, else the start. */
export const anchorOf = (state: Pick<SubscriptionState, 'syncDate' | 'trialEndDate' | 'startDate'>): IsoDate =>
  state.syncDate ?? firstPeriodFrom(state)

/** Returns the day on which a change at renewal takes effect; of a customer that is not billed now, the first renewal still to come. */
export const nextRenewal = (state: SubscriptionState, today: IsoDate): IsoDate =>
  state.cursor.nextFrom > today ? state.cursor.nextFrom : nextRenewalOnOrAfter(state.cycle, today)

/** Returns the state with another package and price, in a new stretch. Fees not yet charged stay those of the start. */
export const withOffer = (state: SubscriptionState, offer: PackageOffer): SubscriptionState => ({
  ...state,
  packageId: offer.packageId,
  packageName: offer.packageName,
  price: offer.price,
  stretch: state.stretch + 1,
  pending: null,
})

/**
 * Returns the state in which the period of a change at renewal is charged. Rule: with an equal term the anchor stays; with another term the
 * new cycle counts from that renewal and terms in months keep the old anchor's day of the month.
 */
export function afterRenewalChange(state: SubscriptionState): SubscriptionState {
  const { pending, cycle } = state
  if (pending === null || pending.kind === 'cancellation') return state
  const { offer, on } = pending
  const changed = withOffer(state, offer)
  if (isSameTerm(cycle, offer)) return changed
  const keepsDay = cycle.termType === 'months' && periodContaining(cycle, on).from === on
  const own = cycleFrom(on, offer.term, offer.termType)
  return { ...changed, syncDate: null, cycle: keepsDay ? { ...own, dayOfMonth: cycle.dayOfMonth } : own }
}
