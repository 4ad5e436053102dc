import {
  type Cursor,
  nextInvoiceDate,
  planNext,
  type PlannedInvoice,
  type SubscriptionTerms,
} from '../../engine/renewal.ts'
import { hasNextCycle, meteredDueOn, nextCycle } from '../../engine/componentCycles.ts'
import { isMetered, type SubscriptionFacts } from '../../engine/components.ts'
import { nextInvoiceOn } from '../../engine/extras.ts'
import { planNextInvoice } from '../../engine/plan.ts'
import { termsOf as stateTermsOf } from '../../engine/subscription.ts'
import { earliest, type IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Subscription } from './queries.ts'

/** What the engine needs of a subscription. */
export type BillingFacts = Pick<
  Subscription,
  | 'startDate'
  | 'trialEndDate'
  | 'anchor'
  | 'anchorDay'
  | 'term'
  | 'termType'
  | 'endDate'
  | 'isProRata'
  | 'leadDays'
  | 'stretch'
  | 'packageId'
  | 'packageName'
  | 'price'
  | 'setupFeeMinor'
  | 'trialFeeMinor'
  | 'currency'
  | 'pendingKind'
  | 'pendingOn'
  | 'cancelledOn'
>

/** The day on which a cancellation took, or will take, effect. */
export const cancellationDayOf = (s: Pick<Subscription, 'cancelledOn' | 'pendingKind' | 'pendingOn'>): IsoDate | null =>
  s.cancelledOn ?? (s.pendingKind === 'cancellation' ? s.pendingOn : null)

/** The first day not covered: the earlier of EndDate and a cancellation. */
export const endOf = (s: Pick<Subscription, 'endDate' | 'cancelledOn' | 'pendingKind' | 'pendingOn'>): IsoDate | null =>
  earliest(s.endDate, cancellationDayOf(s))

export const termsOf = (s: BillingFacts): SubscriptionTerms => ({
  startDate: s.startDate,
  trialEndDate: s.trialEndDate,
  cycle: { anchor: s.anchor, dayOfMonth: s.anchorDay, term: s.term, termType: s.termType },
  endDate: endOf(s),
  isProRata: s.isProRata,
  leadDays: s.leadDays,
  stretch: s.stretch,
  packageId: s.packageId,
  packageName: s.packageName,
  price: s.price,
  setupFeeMinor: s.setupFeeMinor,
  trialFeeMinor: s.trialFeeMinor,
  digits: digitsOf(s.currency),
})

export const cursorOf = (s: Pick<Subscription, 'feesOn' | 'nextFrom' | 'lastFrom'>): Cursor => ({
  feesOn: s.feesOn,
  nextFrom: s.nextFrom,
  lastFrom: s.lastFrom,
})

/** The next day on which the run has something to do: an invoice, or writing down the end. */
export const nextActionOn = (terms: SubscriptionTerms, cursor: Cursor, isEndRecorded: boolean): IsoDate | null =>
  isEndRecorded ? null : earliest(nextInvoiceDate(terms, cursor), terms.endDate)

/** The same with components: their cycles, rises and late usage, which may come after the end too. */
export const nextActionWith = (
  { state, components }: SubscriptionFacts,
  today: IsoDate,
  isEndRecorded: boolean,
): IsoDate | null =>
  components.length === 0
    ? nextActionOn(stateTermsOf(state), state.cursor, isEndRecorded)
    : earliest(nextInvoiceOn({ state, components }, today), isEndRecorded ? null : stateTermsOf(state).endDate)

/** The day on which the usage so far of a metered component is invoiced; null where none is counted any more. */
function meteredOn({ state, components }: SubscriptionFacts): IsoDate | null {
  const { endDate: end } = stateTermsOf(state)
  const counted = components.filter((component) => isMetered(component) && hasNextCycle(component, end))
  return earliest(...counted.map((component) => meteredDueOn(nextCycle(component, end, state.isProRata).piece, end)))
}

/** The day of the next invoice of any kind that is, or may be, made. Rule: a cycle of usage counts, whatever will be reported. */
export const nextInvoiceShown = (facts: SubscriptionFacts, today: IsoDate): IsoDate | null =>
  earliest(planNextInvoice(facts, today)?.scheduledOn ?? null, meteredOn(facts))

/** The next invoice that will be made. What bills zero counts as billed and makes none, so it is passed over; undefined when none will follow. */
export function nextInvoiceWithLines(
  terms: SubscriptionTerms,
  cursor: Cursor,
  today: IsoDate,
): PlannedInvoice | undefined {
  let reached = cursor
  for (;;) {
    const planned = planNext(terms, reached, today)
    if (!planned || planned.charges.some(({ netMinor }) => netMinor !== 0n)) return planned
    const period = planned.charges.at(-1)
    // Only a piece of a period can cost nothing where the whole costs something.
    if (!period?.from || !period.until || (period.from === period.wholeFrom && period.until === period.wholeUntil))
      return undefined
    reached = { feesOn: null, nextFrom: period.until, lastFrom: period.from }
  }
}
