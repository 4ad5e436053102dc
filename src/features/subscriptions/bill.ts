import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import type { TaxRules } from '../../engine/tax.ts'
import type { ComponentState, SubscriptionFacts } from '../../engine/subscription/components.ts'
import { planThroughGaps } from '../../engine/subscription/gaps.ts'
import type { PlannedInvoice } from '../../engine/subscription/renewal.ts'
import { type SubscriptionPlan, withEnd } from '../../engine/subscription/plan-due.ts'
import { assert } from '../../kernel/assert.ts'
import { addDays, type IsoDate, later } from '../../kernel/calendar.ts'
import { ZERO } from '../../kernel/decimal.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { invalid } from '../../kernel/fault.ts'
import { isAmountInBounds } from '../../kernel/money.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { dueThrough, gapsAfter, markBilled } from '../billing-run/failing.ts'
import { type FailingState, listFailingOf } from '../billing-run/failing-queries.ts'
import { collectionMethodOf } from '../collection-terms/rules.ts'
import { issue, type IssueContext, type NewInvoice, UNDRAWN, type ZeroCharge } from '../invoices/issue.ts'
import { insertEvents, type NewEvent } from '../events/queries.ts'
import { listTaxRules } from '../tax-settings/queries.ts'
import { rateMatcher, type RatesOf, taxedAmounts } from '../invoices/lines.ts'
import { listPendingOffers, updateAppliedOffer } from './change-queries.ts'
import { listStoredComponents } from '../subscription-components/queries.ts'
import type { ComponentsChange } from '../subscription-components/resolve.ts'
import { writeComponentsOf } from './written-components.ts'
import { makeCreditNotes } from '../money/credit-notes.ts'
import { listBeyondEnd, listCorrections } from './corrections.ts'
import type { BillableSubscription, PendingOffer } from './queries.ts'
import { idsOf, isDue, nextActionOn, packageOf, stateOf } from './state.ts'
import { type BillingState, updateBillingStates, updateEnds } from './state-queries.ts'
import { AFTER_ISSUE } from '../money/apply-unallocated.ts'
import { AppliedOfferOut, SubscriptionEndOut } from './wire.ts'

/** Billing what is due: pure planning of one subscription, and writing the plans of many in a few statements. */

/** Plan of what one subscription is billed: invoices, periods billed at zero, the state afterwards, and how it ended, if it did. */
export interface BillingPlan {
  subscription: BillableSubscription
  invoices: NewInvoice[]
  zeroCharges: ZeroCharge[]
  state: BillingState
  ended: 'cancelled' | 'expired' | null
  /** Number of periods begun, without the first. */
  renewals: number
  /** The subscription with its new package or term; set only if a pending change took effect. */
  appliedOffer?: BillableSubscription
  /** The components before and after; set only if the subscription has any. */
  components?: ComponentsChange
  /** Negative charges of components that no invoice can hold, and that become credit notes. */
  credits?: readonly PlannedCharge[]
  /** Its failing, with the gaps that the plan does not get past; set only if the subscription is failing. */
  failing?: FailingState
}

export interface PlanContext {
  today: IsoDate
  /** Days of payment terms of customers that have none of their own. */
  paymentTermDays: number
  taxRules: TaxRules
  /** The taxes that the tax rules put on a customer today. */
  taxesOf: RatesOf
  /** The offers that pending changes of package or term ask for, by subscription. */
  offers: ReadonlyMap<Id, PendingOffer>
  /** The components of each subscription that has any. */
  components: ReadonlyMap<Id, readonly ComponentState[]>
  /** The subscriptions that are failing. */
  failing: ReadonlyMap<Id, FailingState>
}

/** Reads everything that planning needs beside the subscriptions themselves. */
export async function planContext(
  db: Queryable,
  context: Pick<IssueContext, 'account' | 'moment'>,
  subscriptions: readonly BillableSubscription[] = [],
): Promise<PlanContext> {
  const changing = subscriptions
    .filter(({ pendingKind }) => pendingKind === 'package' || pendingKind === 'term')
    .map(({ id }) => id)
  const offers = changing.length === 0 ? [] : await listPendingOffers(db, context.account.id, changing)
  const withComponents = subscriptions.filter(({ componentsRevision }) => componentsRevision > 0).map(({ id }) => id)
  const ids = subscriptions.map(({ id }) => id)
  const [failing, stored, rules] = await Promise.all([
    listFailingOf(db, context.account.id, 'subscription', ids),
    listStoredComponents(db, context.account.id, withComponents),
    listTaxRules(db, context.account.id),
  ])
  return {
    failing,
    components: new Map([...stored].map(([id, components]) => [id, components.map(({ state }) => state)])),
    offers: new Map(offers.map((offer) => [offer.subscriptionId, offer])),
    today: context.moment.today,
    paymentTermDays: context.account.paymentTermDays,
    taxRules: rules,
    taxesOf: rateMatcher(rules),
  }
}

/**
 * Completes a planned invoice by its taxes and dates. Returns undefined if all its charges round to zero, because such charges have no
 * line. Throws 400 if an amount is out of bounds.
 */
export function composePlanned(
  s: BillableSubscription,
  planned: PlannedInvoice,
  context: PlanContext,
): NewInvoice | undefined {
  const lines = planned.charges.every(({ netMinor }) => netMinor !== 0n)
    ? planned.charges
    : planned.charges.filter(({ netMinor }) => netMinor !== 0n)
  if (lines.length === 0) return undefined
  const netMinor = lines.map((charge) => charge.netMinor)
  const amounts = taxedAmounts(netMinor, context.taxesOf(s))
  const digits = digitsOf(s.currency)
  if (![...netMinor, amounts.totalMinor].every((amount) => isAmountInBounds(amount, digits)))
    throw invalid('amount_too_large', 'An amount of the invoice reaches 1,000,000,000,000.')
  return {
    id: UNDRAWN,
    customerId: s.customerId,
    customerVersion: s.customerVersion,
    customerCountryId: s.countryId,
    customerStateId: s.countryStateId,
    customerVatNumber: s.vatNumber,
    subscriptionId: s.id,
    recurringInvoiceId: null,
    reference: null,
    currency: s.currency,
    invoiceDate: planned.invoiceDate,
    dueDate: addDays(planned.dueFrom, s.paymentTermDays ?? context.paymentTermDays),
    source: 'Auto',
    poNumber: s.poNumber,
    collectionMethod: s.collectionMethod ?? collectionMethodOf(s.paymentMethod),
    gatewayId: s.gatewayId,
    paymentMethodId: s.paymentMethodId,
    isMethodRequested: s.gatewayId !== null || s.paymentMethodId !== null,
    isCollectionHold: false,
    nextTryDate: null,
    lines,
    period: null,
    amounts,
    totalMinor: amounts.totalMinor,
  }
}

/**
 * Plans everything that falls due on a subscription up to `dueBy`, which is not after today. Invoices that are late are dated today. Throws
 * 400 if an amount is out of bounds.
 */
export function planSubscription(
  s: BillableSubscription,
  context: PlanContext,
  dueBy: IsoDate = context.today,
): BillingPlan {
  const before = factsOf(s, context)
  const plan = planThroughGaps(before, dueBy, context.failing.get(s.id)?.gaps ?? [])
  return planFrom(s, before, plan, context, dueBy)
}

const factsOf = (s: BillableSubscription, { offers, components }: PlanContext): SubscriptionFacts => ({
  state: stateOf(s, offers.get(s.id)),
  components: components.get(s.id) ?? [],
})

/**
 * Turns the plan of the engine into a plan of billing. A pending change of package or term takes effect with the invoice of its renewal.
 */
function planFrom(
  given: BillableSubscription,
  before: SubscriptionFacts,
  plan: SubscriptionPlan,
  context: PlanContext,
  dueBy: IsoDate,
): BillingPlan {
  const offer = plan.state.stretch === given.stretch ? undefined : context.offers.get(given.id)
  const appliedOffer = offer && {
    ...given,
    ...packageOf(plan.state),
    ...idsOf(offer),
    pendingKind: null,
    pendingOn: null,
  }
  const subscription: BillableSubscription = appliedOffer ?? given
  const ended = given.isEndRecorded ? null : plan.ended
  const state = rowAfter(subscription, plan, given.isEndRecorded || ended !== null, dueBy)
  const known = context.failing.get(given.id)
  const failing = known && { ...known, gaps: gapsAfter(known.gaps, dueBy) }
  if (failing) state.dueOn = dueThrough(failing.gaps, state.dueOn)
  assert(state.dueOn === null || state.dueOn > dueBy, `nothing is left due on subscription ${given.id} by ${dueBy}`)
  const planned: BillingPlan = { subscription, invoices: [], zeroCharges: [], state, ended, renewals: 0 }
  composeAll(planned, plan, context)
  if (appliedOffer) planned.appliedOffer = appliedOffer
  if (failing) planned.failing = failing
  if (before.components.length > 0) {
    planned.components = { subscriptionId: given.id, before: before.components, after: plan.components }
    planned.credits = plan.credited
  }
  return planned
}

/** Moves invoices that are late to today: their date, and the day from which their payment terms count. */
const dated = (invoices: readonly PlannedInvoice[], context: PlanContext): PlannedInvoice[] =>
  invoices.map((planned) =>
    planned.invoiceDate >= context.today && planned.dueFrom >= context.today
      ? planned
      : {
          ...planned,
          invoiceDate: later(planned.invoiceDate, context.today),
          dueFrom: later(planned.dueFrom, context.today),
        },
  )

/** Plans the return of a customer that was not billed since `gapFrom`: first what fell due before that day, then what is due today. */
export function planSubscriptionReturn(s: BillableSubscription, gapFrom: IsoDate, context: PlanContext): BillingPlan {
  const before = factsOf(s, context)
  const gaps = [...(context.failing.get(s.id)?.gaps ?? []), { from: gapFrom, until: context.today }]
  return planFrom(s, before, planThroughGaps(before, context.today, gaps), context, context.today)
}

/** Returns a charge as one of nothing: it counts as billed, so later charges of its cycle are differences to its facts. */
const freed = (charge: PlannedCharge): PlannedCharge => ({
  ...charge,
  price: ZERO,
  quantity: charge.brackets?.quantity ?? charge.quantity,
  brackets: null,
  unitPrice: ZERO,
  netMinor: 0n,
})

/** Plans what falls due on a subscription up to a day, which is not after today, as billed at 0.00, also where it cannot be billed. */
export function planSkip(s: BillableSubscription, until: IsoDate, context: PlanContext): BillingPlan {
  const before = factsOf(s, context)
  const due = planThroughGaps(before, until, context.failing.get(s.id)?.gaps ?? [])
  const charges = [...due.invoices.flatMap((planned) => planned.charges), ...due.credited].map((charge) => {
    const { spreadBy: _, ...skipped } = freed(charge)
    return skipped
  })
  const plan = planFrom(s, before, { ...due, invoices: [], credited: [] }, context, until)
  plan.zeroCharges.push(...charges.map((charge) => ({ subscriptionId: s.id, charge })))
  return plan
}

/** Adds to a plan the invoices that the engine planned, their periods billed at zero, and the number of renewals. */
function composeAll(to: BillingPlan, { invoices, credited }: SubscriptionPlan, context: PlanContext): void {
  const { subscription: s } = to
  const firstFrom = s.trialEndDate ?? s.startDate
  for (const planned of dated(invoices, context)) {
    const composed = composePlanned(s, planned, context)
    if (composed) {
      to.invoices.push(composed)
      to.state.lastInvoiceDate = composed.invoiceDate
    }
    for (const charge of planned.charges) {
      if (charge.netMinor === 0n) to.zeroCharges.push({ subscriptionId: s.id, charge })
      if (charge.kind === 'package' && charge.from !== firstFrom) to.renewals += 1
    }
  }
  for (const charge of credited) to.zeroCharges.push({ subscriptionId: s.id, charge })
}

/**
 * Returns the row that stores the state of billing once `facts` are the state of the subscription and everything up to `dueBy` is billed.
 */
const rowAfter = (
  s: BillableSubscription,
  facts: SubscriptionFacts,
  isEndRecorded: boolean,
  dueBy: IsoDate,
): BillingState => ({
  id: s.id,
  wasNextFrom: s.nextFrom,
  wasDueOn: s.dueOn,
  feesOn: facts.state.cursor.feesOn,
  nextFrom: facts.state.cursor.nextFrom,
  lastFrom: facts.state.cursor.lastFrom,
  lastInvoiceDate: s.lastInvoiceDate,
  dueOn: nextActionOn(facts, dueBy, isEndRecorded),
  endDate: facts.state.endDate,
  cancelledOn: facts.state.cancelledOn,
  pendingKind: facts.state.pending?.kind ?? null,
  pendingOn: facts.state.pending?.on ?? null,
  isEndRecorded,
})

/**
 * Plans the end of a subscription whose customer is suspended or archived. Rule: credits are made on the day of the end. Invoices wait
 * until the customer returns, so the cursor and the due day stay as they are.
 */
export function planPausedEnd(s: BillableSubscription, context: PlanContext): BillingPlan {
  const { state: before, components } = factsOf(s, context)
  const { state: after, ended } = withEnd(before, context.today)
  const state = rowAfter(s, { state: after, components }, ended !== null, context.today)
  const unchanged = { subscriptionId: s.id, before: components, after: components }
  return { subscription: s, invoices: [], zeroCharges: [], state, ended, renewals: 0, components: unchanged }
}

/** Writes plans: invoices, states, ends and credits. The caller has locked their customers. */
export async function applyPlans(tx: Transaction, context: IssueContext, plans: readonly BillingPlan[]): Promise<void> {
  if (plans.length === 0) return
  const moved = await updateBillingStates(
    tx,
    tx.account,
    plans.map(({ state }) => state),
  )
  assert(moved === plans.length, 'subscriptions of locked customers are as they were read')
  const changed = plans.filter(({ ended, appliedOffer }) => ended !== null || appliedOffer !== undefined)
  await updateEnds(
    tx,
    tx.account,
    changed.map(({ state }) => state),
  )
  for (const { appliedOffer } of changed) if (appliedOffer) await updateAppliedOffer(tx, tx.account, appliedOffer)
  const events = changed.flatMap((plan) => eventsOf(plan, context))
  if (events.length > 0) await insertEvents(tx, events)
  await writeComponentsOf(
    tx,
    plans.flatMap(({ components }) => components ?? []),
    context.moment.today,
  )
  const billed = plans.flatMap(({ failing, state: { dueOn } }) => (failing ? [{ failing, dueOn }] : []))
  if (billed.length > 0) await markBilled(tx, context, billed)
  const invoices = plans.flatMap((plan) => plan.invoices)
  await issue(tx, context, invoices, {
    afterIssue: AFTER_ISSUE,
    zeroCharges: plans.flatMap(({ zeroCharges }) => zeroCharges),
    credits: (ids) => giveBackWhatPlansOwe(tx, context, plans, ids),
  })
}

/**
 * Makes the credit notes of plans: for negative lines, and for cycles charged beyond a cancellation at renewal. They are rare, so each plan
 * is handled on its own.
 */
async function giveBackWhatPlansOwe(
  tx: Transaction,
  context: IssueContext,
  plans: readonly BillingPlan[],
  issued: readonly InvoiceId[],
): Promise<void> {
  let at = 0
  for (const { subscription, invoices, components, credits, state, ended } of plans) {
    const made = issued.slice(at, (at += invoices.length))
    if (components === undefined) continue
    const { id, customerId, currency } = subscription
    const givenBack =
      ended === 'cancelled' ? await listBeyondEnd(tx, subscription, state.endDate, components.after) : []
    const corrections = await listCorrections(tx, subscription, credits ?? [])
    const { isAutoApply } = context.account
    const cause = { customerId, subscriptionId: id, currency, givenBack, corrections, made, isAutoApply }
    if (givenBack.length + corrections.length > 0) await makeCreditNotes(tx, context, cause)
  }
}

/** Returns the events of what billing itself changes: a pending change that took effect, and an end. */
function eventsOf(
  { subscription: s, appliedOffer, ended, state }: BillingPlan,
  { moment, actor }: IssueContext,
): NewEvent[] {
  const common = { recordId: s.id, customerId: s.customerId, happenedAt: moment.now, actor }
  const events: NewEvent[] = []
  if (appliedOffer) {
    const record = AppliedOfferOut.write({
      subscriptionID: s.id,
      packageID: appliedOffer.packageId,
      packageVersionID: appliedOffer.packageVersionId,
      packageRateTermID: appliedOffer.packageRateTermId,
      Term: appliedOffer.term,
      TermType: appliedOffer.termType,
    })
    events.push({ ...common, type: 'subscription.changed', reason: null, record })
  }
  if (ended !== null) {
    const isCancelled = ended === 'cancelled'
    events.push({
      ...common,
      type: isCancelled ? 'subscription.cancelled' : 'subscription.expired',
      reason: isCancelled ? s.cancelReason : null,
      record: SubscriptionEndOut.write({
        subscriptionID: s.id,
        EndDate: state.endDate,
        isCancelled,
        isExpired: !isCancelled,
      }),
    })
  }
  return events
}

/** Invoices what is due today on one subscription, as the billing run would. */
export async function billSubscription(tx: Transaction, context: IssueContext, s: BillableSubscription): Promise<void> {
  if (!isDue(s, context)) return
  await applyPlans(tx, context, [planSubscription(s, await planContext(tx, context, [s]))])
}
