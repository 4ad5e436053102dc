import { addDays, earlier, type IsoDate, later } from '../../kernel/calendar.ts'
import { conflict, type Fault, invalid } from '../../kernel/fault.ts'
import { packageCharge, type PlannedCharge } from './charges.ts'
import {
  coveredDays,
  extendTo,
  type GivenBack,
  type InvoicedCharge,
  isPackageKind,
  notBegun,
  unusedFrom,
} from './coverage.ts'
import { byLine } from './line-order.ts'
import { cycleFrom, type Period } from './period.ts'
import { firstCursor, firstPeriodFrom, type PlannedInvoice, planStep } from './renewal.ts'
import {
  anchorOf,
  endOf,
  isFuture,
  isInTrial,
  isSameTerm,
  nextRenewal,
  type PackageOffer,
  type SubscriptionState,
  termsOf,
  withOffer,
} from './subscription.ts'

/**
 * Changes of package, term, start and end. Each answers the state after it, the invoices to make now and the days to give back
 * (`planCreditNotes` turns those into notes). What is due today is invoiced before a change is planned; after it the caller plans what
 * is due once more, because lead days can make the next period due on the day of the change.
 */

export interface ChangePlan {
  state: SubscriptionState
  invoices: PlannedInvoice[]
  givenBack: GivenBack[]
  /** How far component cycles are charged after extensions: cursors that stand before that day move to it. */
  componentsChargedUntil: { componentId: bigint; until: IsoDate }[]
}

/**
 * Facts that a change needs beside the state: charges of package and components whose days or cycles reach beyond today, and every charge
 * of a package in a later stretch than those.
 */
export interface ChangeFacts {
  charges: readonly InvoicedCharge[]
  today: IsoDate
  /** The day since when the customer is not billed; null or absent while it is. */
  pausedOn?: IsoDate | null
}

/** Offer that replaces a future subscription, with the fees and the trial of a new one. */
export interface FutureOffer extends PackageOffer {
  setupFeeMinor: bigint
  trialFeeMinor: bigint
  /** StartDate plus the trial of the new rate; null without one. */
  trialEndDate: IsoDate | null
}

export const planOnly = (state: SubscriptionState): ChangePlan => ({
  state,
  invoices: [],
  givenBack: [],
  componentsChargedUntil: [],
})

/**
 * Plans a change of package or term at the next renewal. Rule: version and price are fixed now; it replaces a pending change. It is refused
 * (409) when the end comes first, because it could never take effect.
 */
export function changeAtRenewal(
  state: SubscriptionState,
  kind: 'package' | 'term',
  offer: PackageOffer,
  facts: ChangeFacts,
): ChangePlan {
  const on = nextRenewal(state, facts.today)
  if (state.endDate !== null && state.endDate <= on)
    throw conflict(
      'subscription_ends_earlier',
      `The subscription ends on ${state.endDate}, not later than its next renewal ${on}.`,
    )
  const dropped = dropPending(state, facts)
  return { ...dropped, state: { ...dropped.state, pending: { kind, on, offer } } }
}

/**
 * Drops the pending change, whatever it is. Rule: what a pending cancellation had cut off component cycles is charged by the day at once.
 */
export function dropPending(state: SubscriptionState, facts: ChangeFacts): ChangePlan {
  const free: SubscriptionState = { ...state, pending: null }
  return state.pending?.kind === 'cancellation' ? extendedPlan(free, facts) : planOnly(free)
}

/**
 * Plans a change of package or term now. Rules: in the trial no money moves. With an equal term the unused days of every invoiced period
 * are given back and one invoice charges them at the new price, anchor kept. With another term they are given back likewise and one full
 * new period is charged, anchored today. Without pro rata the running period is not given back and a full new period starts today. Of a customer that is not
 * billed now a period of which nothing was invoiced is not charged either: it is billed on the return as it then stands.
 */
export function changeNow(state: SubscriptionState, offer: PackageOffer, facts: ChangeFacts): ChangePlan {
  const { today } = facts
  const dropped = dropPending(state, facts)
  const changed = withOffer(state, offer)
  if (isInTrial(state, today)) {
    const cycle = { ...state.cycle, term: offer.term, termType: offer.termType }
    return { ...dropped, state: { ...changed, cycle } }
  }
  const covered = coveredDays(facts.charges.filter(({ kind }) => isPackageKind(kind)))
  const isEqual = isSameTerm(state.cycle, offer) && state.isProRata
  const givenBack = state.isProRata ? unusedFrom(covered, today) : notBegun(covered, today)
  const next = isEqual
    ? { state: changed, charges: rechargeUnused(changed, givenBack) }
    : isUnbilled(state, covered, facts)
      ? { state: anchoredToday(changed, offer, today), charges: [] }
      : startPeriod(changed, offer, today)
  const charges = [...next.charges, ...dropped.invoices.flatMap((invoice) => invoice.charges)]
  return { ...dropped, state: next.state, invoices: invoiceToday(charges, today), givenBack }
}

/** Returns the charges of the days given back at the new price: one line a period, the running one by the day. */
function rechargeUnused(state: SubscriptionState, givenBack: readonly GivenBack[]): PlannedCharge[] {
  const pieces = new Map<IsoDate, { piece: Period; whole: Period }>()
  for (const { charge, from, until } of givenBack) {
    const whole = { from: charge.wholeFrom!, until: charge.wholeUntil! }
    const found = pieces.get(whole.from)
    const piece = found
      ? { from: earlier(found.piece.from, from!), until: later(found.piece.until, until!) }
      : { from: from!, until: until! }
    pieces.set(whole.from, { piece, whole })
  }
  return [...pieces.values()]
    .toSorted((a, b) => (a.piece.from < b.piece.from ? -1 : 1))
    .map(({ piece, whole }) => packageCharge(state, piece, whole))
}

/** Plans a full new period from today, which becomes the anchor; a known end cuts it as it cuts any other. */
function startPeriod(
  state: SubscriptionState,
  offer: PackageOffer,
  today: IsoDate,
): { state: SubscriptionState; charges: PlannedCharge[] } {
  const started = anchoredToday(state, offer, today)
  const { cursor } = started
  const step = planStep(termsOf(started), cursor, today)
  return { state: { ...started, cursor: step?.cursor ?? cursor }, charges: step?.invoice.charges ?? [] }
}

/** Returns a state whose periods count from today, with nothing of them charged. */
const anchoredToday = (state: SubscriptionState, offer: PackageOffer, today: IsoDate): SubscriptionState => ({
  ...state,
  syncDate: null,
  cycle: cycleFrom(today, offer.term, offer.termType),
  cursor: { ...state.cursor, nextFrom: today, lastFrom: null },
})

/** Returns whether the running period began while the customer was not billed, so that nothing of it is invoiced, and nothing earlier is owed. */
const isUnbilled = (
  { cursor }: SubscriptionState,
  covered: readonly { until: IsoDate | null }[],
  { today, pausedOn = null }: ChangeFacts,
): boolean =>
  pausedOn !== null &&
  cursor.nextFrom <= today &&
  cursor.nextFrom >= pausedOn &&
  covered.every(({ until }) => until === null || until <= today)

/**
 * Plans a change of package or term of a subscription that has not begun. Rule: it is replaced without money, as if it had been added so.
 * Refused (400) when the sync date is not after the start of the new first period.
 */
export function replaceFuture(state: SubscriptionState, offer: FutureOffer, today: IsoDate): ChangePlan {
  if (!isFuture(state, today)) throw conflict('subscription_started', 'The subscription has begun.')
  const { packageId, packageName, price, setupFeeMinor, trialFeeMinor, trialEndDate } = offer
  const replaced = {
    ...state,
    packageId,
    packageName,
    price,
    setupFeeMinor,
    trialFeeMinor,
    trialEndDate,
    pending: null,
  }
  return planOnly(asAdded(replaced, offer))
}

/** Start that a subscription which has not begun is moved to. */
export interface OtherStart {
  startDate: IsoDate
  /** The new start plus the length of the trial; null without one. */
  trialEndDate: IsoDate | null
  /** The day on which the life before ended, of a subscription that was started again. */
  restartedAfter: IsoDate | null
}

/**
 * Plans another start of a subscription that has not begun (409 otherwise). The new start may be today or past: what is then due is planned
 * by the caller. One that was started again keeps the rules of starting again: not before the day it ended (409), because the days before
 * are charged already, and no fee and no trial that it does not have yet.
 */
export function changeStartDate(
  state: SubscriptionState,
  { startDate, trialEndDate, restartedAfter }: OtherStart,
  today: IsoDate,
): ChangePlan {
  if (!isFuture(state, today))
    throw conflict(
      'subscription_started',
      `The subscription began on ${state.startDate}: its start cannot be changed.`,
      'StartDate',
    )
  if (restartedAfter !== null && startDate < restartedAfter) throw startsBeforeEnd(startDate, restartedAfter)
  if (state.endDate !== null && state.endDate <= startDate)
    throw invalid('start_after_end', `The start ${startDate} must be before the end ${state.endDate}.`, 'StartDate')
  const moved = { ...state, startDate, trialEndDate: state.trialEndDate === null ? null : trialEndDate }
  const added = asAdded(moved, state.cycle)
  const feesOn = state.cursor.feesOn === null ? null : added.cursor.feesOn
  return planOnly({ ...added, cursor: { ...added.cursor, feesOn } })
}

/** Makes the refusal of a start before the day on which the life before ended. */
export const startsBeforeEnd = (startDate: IsoDate, endedOn: IsoDate): Fault =>
  conflict(
    'start_before_end',
    `StartDate ${startDate} lies before ${endedOn}, the day on which the subscription ended.`,
    'StartDate',
  )

/** Returns anchor, cycle and cursor of a subscription that nothing was invoiced of. */
function asAdded(
  state: SubscriptionState,
  { term, termType }: Pick<PackageOffer, 'term' | 'termType'>,
): SubscriptionState {
  if (state.syncDate !== null && state.syncDate <= firstPeriodFrom(state)) {
    throw invalid(
      'sync_date_too_early',
      `firstProrataSyncDate ${state.syncDate} must be after the first period begins on ${firstPeriodFrom(state)}.`,
      'firstProrataSyncDate',
    )
  }
  const anchor = anchorOf(state)
  const added: SubscriptionState = { ...state, cycle: cycleFrom(anchor, term, termType), componentAnchor: anchor }
  return { ...added, cursor: firstCursor(termsOf(added)) }
}

/**
 * Plans another EndDate, null for none. Rules: before today 409, on or before the start 400. What is invoiced beyond it is given back by
 * the day (409 without pro rata), also behind a pending cancellation, which may be dropped; when it moves later, what is uncovered again of
 * invoiced periods is charged by the day at once.
 */
export function changeEndDate(state: SubscriptionState, endDate: IsoDate | null, facts: ChangeFacts): ChangePlan {
  const { today, charges } = facts
  if (endDate !== null && endDate <= state.startDate)
    throw invalid('end_before_start', `EndDate ${endDate} must be after the start ${state.startDate}.`, 'EndDate')
  if (endDate !== null && endDate < today)
    throw conflict('end_before_today', `EndDate ${endDate} lies before today, ${today}.`, 'EndDate')
  // An end that comes now drops what was pending; one to come drops it on its day.
  const pending = endDate === today ? null : state.pending
  const next: SubscriptionState = { ...state, endDate, pending }
  const isEarlier = endDate !== null && (state.endDate === null || endDate < state.endDate)
  if (!isEarlier) return endOf(next) === endOf(state) ? planOnly(next) : extendedPlan(next, facts)
  const givenBack = unusedFrom(coveredDays(charges), endDate)
  if (givenBack.length > 0 && !state.isProRata) {
    throw conflict(
      'end_inside_invoiced',
      `Without pro rata nothing is given back, and the subscription is invoiced beyond ${addDays(endDate, -1)}.`,
      'EndDate',
    )
  }
  return { ...planOnly(next), givenBack }
}

/** Returns the state with a later end, and one invoice of what that makes chargeable again of invoiced periods. */
export function extendedPlan(state: SubscriptionState, { charges, today }: ChangeFacts): ChangePlan {
  const extension = extendTo(charges, state.startDate, endOf(state), state.digits)
  const reached = extension.until.filter(({ kind }) => isPackageKind(kind)).map(({ until }) => until)
  const nextFrom = reached.reduce(later, state.cursor.nextFrom)
  return {
    state: { ...state, cursor: { ...state.cursor, nextFrom } },
    invoices: invoiceToday(extension.charges, today),
    givenBack: [],
    componentsChargedUntil: extension.until
      .filter(({ kind }) => !isPackageKind(kind))
      .map(({ itemId, until }) => ({ componentId: itemId, until })),
  }
}

/** Returns an invoice of today, or none without charges. Payment terms count from its first period that did not begin before today. */
export function invoiceToday(charges: readonly PlannedCharge[], today: IsoDate): PlannedInvoice[] {
  if (charges.length === 0) return []
  const first = charges.reduce<IsoDate | null>(
    (from, charge) => (charge.from === null ? from : from === null ? charge.from : earlier(from, charge.from)),
    null,
  )
  return [
    {
      scheduledOn: today,
      invoiceDate: today,
      dueFrom: first === null ? today : later(today, first),
      charges: charges.toSorted(byLine),
    },
  ]
}
