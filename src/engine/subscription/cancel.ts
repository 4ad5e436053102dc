import type { IsoDate } from '../../kernel/calendar.ts'
import { conflict, invalid } from '../../kernel/fault.ts'
import { type ChangeFacts, type ChangePlan, dropPending, planOnly, startsBeforeEnd } from './changes.ts'
import { coveredDays, type GivenBack, type InvoicedCharge, notBegun, runningAndLater, unusedFrom } from './coverage.ts'
import { cycleFrom } from './period.ts'
import { endOf, hasEnded, isFuture, isInTrial, nextRenewal, type SubscriptionState } from './subscription.ts'

/** Cancelling, and starting again. */

export type CancelKind = 'renewal' | 'norefund' | 'prorata' | 'fullcredit'

/**
 * Cancels. Rules: a future one at once and without money; `renewal` after what is invoiced, which stays droppable (409 when EndDate is
 * not later); the others end it today: `norefund` gives back invoiced periods that have not begun, `prorata` all unused days (asked for
 * by name, so also without pro rata), `fullcredit` the running period or piece and every later one in full. Usage and owed rises that
 * this brings to an invoice are planned by the components' side (`planEnd`).
 */
export function cancel(state: SubscriptionState, kind: CancelKind, { charges, today }: ChangeFacts): ChangePlan {
  if (hasEnded(state, today))
    throw conflict('subscription_ended', 'The subscription has ended and cannot be cancelled again.')
  if (isFuture(state, today)) return planOnly({ ...state, cancelledOn: today, pending: null })
  if (kind === 'renewal') return cancelAtRenewal(state, today)
  const ended: SubscriptionState = { ...state, endDate: today, cancelledOn: today, pending: null }
  return { ...planOnly(ended), givenBack: givenBackBy(kind, state, charges, today) }
}

function cancelAtRenewal(state: SubscriptionState, today: IsoDate): ChangePlan {
  const on = nextRenewal(state, today)
  if (state.endDate !== null && state.endDate <= on)
    throw conflict(
      'subscription_ends_earlier',
      `The subscription ends on ${state.endDate}, not later than its next renewal ${on}.`,
    )
  return planOnly({ ...state, pending: { kind: 'cancellation', on } })
}

function givenBackBy(
  kind: Exclude<CancelKind, 'renewal'>,
  state: SubscriptionState,
  charges: readonly InvoicedCharge[],
  today: IsoDate,
): GivenBack[] {
  if (kind === 'fullcredit') return runningAndLater(charges, today, isInTrial(state, today))
  const covered = coveredDays(charges)
  return kind === 'prorata' ? unusedFrom(covered, today) : notBegun(covered, today)
}

/**
 * Plans the credits of the day on which a cancellation at renewal takes effect: for cycles of components that were charged beyond that
 * day before the cancellation was requested. Rule: not without pro rata. An EndDate gives back when it is set, not when it comes.
 */
export const givenBackAtEnd = (
  state: Pick<SubscriptionState, 'isProRata'>,
  charges: readonly InvoicedCharge[],
  endedOn: IsoDate,
): GivenBack[] => (state.isProRata ? unusedFrom(coveredDays(charges), endedOn) : [])

/** Returns the day on which a subscription ended; a cancellation before its start ended it on the day it was asked for. */
export const endedOnOf = (state: SubscriptionState): IsoDate => state.cancelledOn ?? endOf(state)!

/**
 * Drops a pending cancellation, or starts a cancelled or expired subscription again. Rules: the new start (today when not given) is
 * not before the day it ended (409) and is start and anchor; no set-up fee, no trial, no sync date; EndDate as given or none, after
 * the start (400). 409 when neither ended nor about to end. What is due at once is planned by the caller.
 */
export function reactivate(
  state: SubscriptionState,
  given: { startDate: IsoDate | null; endDate: IsoDate | null },
  facts: ChangeFacts,
): ChangePlan {
  if (!hasEnded(state, facts.today)) {
    if (state.pending?.kind !== 'cancellation')
      throw conflict('subscription_running', 'The subscription has neither ended nor a pending cancellation.')
    return dropPending(state, facts)
  }
  const endedOn = endedOnOf(state)
  const startDate = given.startDate ?? facts.today
  if (startDate < endedOn) throw startsBeforeEnd(startDate, endedOn)
  if (given.endDate !== null && given.endDate <= startDate)
    throw invalid('end_before_start', `EndDate ${given.endDate} must be after the start ${startDate}.`, 'EndDate')
  return planOnly({
    ...state,
    startDate,
    endDate: given.endDate,
    trialEndDate: null,
    syncDate: null,
    cancelledOn: null,
    pending: null,
    stretch: state.stretch + 1,
    cycle: cycleFrom(startDate, state.cycle.term, state.cycle.termType),
    componentAnchor: startDate,
    cursor: { feesOn: null, nextFrom: startDate, lastFrom: null },
  })
}
