import { dropPending } from '../../engine/subscription/changes.ts'
import type { ComponentState } from '../../engine/subscription/components.ts'
import { isRaised, type OperationPlan, withComponents } from '../../engine/subscription/component-changes.ts'
import { hasEnded, isFuture, type SubscriptionState } from '../../engine/subscription/subscription.ts'
import { conflict, type Fault } from '../../kernel/fault.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { ComponentId, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Moment, RequestContext } from '../../kernel/context.ts'
import { type MadeCreditNote, makeCreditNotes } from '../money/credit-notes.ts'
import type { EventType } from '../events/types.ts'
import { issue, type IssueContext, type ZeroCharge } from '../invoices/issue.ts'
import type { SubscriptionComponentBody } from '../subscription-components/wire.ts'
import { loadSubscription, recordSubscriptionEvent } from './record.ts'
import { keepOpening, recordOpening } from '../subscription-components/count-usage.ts'
import { applyPlans, billSubscription, composePlanned, planContext, planSkip, planSubscription } from './bill.ts'
import {
  listCharged,
  listChargesBeyond,
  listPendingOffers,
  updateChanged,
  updateLastInvoiceDate,
} from './change-queries.ts'
import type { OpeningUsage } from '../subscription-components/resolve.ts'
import { updateShown } from '../subscription-components/queries.ts'
import { raiseRevision } from './state-queries.ts'
import { writeComponentsOf } from './written-components.ts'
import { listCorrections } from './corrections.ts'
import type { BillableSubscription, PendingOffer, ShownSubscription, Subscription } from './queries.ts'
import { isDue, nextActionOn, type OfferIds, stateOf } from './state.ts'
import { AFTER_ISSUE } from '../money/apply-unallocated.ts'
import type { PlannedCharge } from '../../engine/subscription/charges.ts'
import { reasonsOf } from '../billing-run/due-kind.ts'
import { markFailing, tried } from '../billing-run/failing.ts'

/** Every change of a subscription: what is due today is invoiced, then the engine plans the change, then it is written. */

/** The invoices and credit notes that a change made. */
export interface ChangeMade {
  subscription: ShownSubscription
  invoiceIds: InvoiceId[]
  creditNotes: MadeCreditNote[]
}

export interface PlannedChange {
  plan: OperationPlan
  /** Opening usage of components that the change adds. */
  opening?: readonly OpeningUsage[]
  /** Memo and flag of each component; set only if the change replaces the set of components. */
  shown?: ReturnType<typeof shownOf>
  event: EventType & `subscription.${string}`
  reason?: string | null
  /** Identifiers of the version and price afterwards; set only if the change replaces them. */
  offer?: OfferIds
  pendingOffer?: OfferIds
  /** The day on which the subscription ended before; set only if the change starts it again. */
  restartedAfter?: IsoDate
}

/** Facts that a change is planned on, read after what is due today was invoiced. */
export interface ChangeSubject {
  subscription: ShownSubscription
  state: SubscriptionState
  offer: PendingOffer | undefined
  components: readonly ComponentState[]
}

/**
 * Changes a subscription of a locked customer. `plan` plans the change from the state after the billing of today and from what was charged.
 */
export async function changeSubscription(
  tx: Transaction,
  context: RequestContext,
  given: Subscription,
  plan: (subject: ChangeSubject, charges: Awaited<ReturnType<typeof listChargesBeyond>>) => PlannedChange,
): Promise<ChangeMade> {
  const issued: InvoiceId[] = []
  const issuing: IssueContext = { ...context, issued }
  await billBefore(tx, issuing, given)
  const subject = await subjectOf(tx, given.id)
  const charges = await listChargesBeyond(tx, tx.account, given.id, context.moment.today)
  const planned = plan(subject, charges)
  checkPaused(subject, planned.plan, context.moment.today)
  const made = await writeChange(tx, issuing, subject, planned)
  if (planned.shown) {
    await keepShown(tx, subject, planned.shown)
    await raiseRevision(tx, tx.account, given.id)
  }
  if (planned.opening && planned.opening.length > 0) {
    const changed = await loadSubscription(tx, given.id)
    await recordOpening(tx, context, { subscription: changed, state: stateOf(changed) }, planned.opening)
  }
  // Lead days can make the next period due on the day of the change.
  await billSubscription(tx, issuing, await loadSubscription(tx, given.id))
  const subscription = await loadSubscription(tx, given.id)
  await recordSubscriptionEvent(tx, context, planned.event, subscription, planned.reason ?? null)
  return { subscription, invoiceIds: issued, creditNotes: made }
}

export async function subjectOf(tx: Transaction, id: bigint): Promise<ChangeSubject> {
  return subjectFrom(tx, await loadSubscription(tx, id))
}

/** Returns the facts that a change is planned on, of a subscription that was read with its components. */
export async function subjectFrom(tx: Transaction, subscription: ShownSubscription): Promise<ChangeSubject> {
  const hasOffer = subscription.pendingKind === 'package' || subscription.pendingKind === 'term'
  const [offer] = hasOffer ? await listPendingOffers(tx, tx.account, [subscription.id]) : []
  const components = subscription.components.map(({ state }) => state)
  return { subscription, offer, components, state: stateOf(subscription, offer) }
}

export const pauseOf = ({ isCustomerArchived }: Pick<Subscription, 'isCustomerArchived'>): string =>
  isCustomerArchived ? 'archived' : 'suspended'

/** Refuses (409) a change of a customer that is suspended or archived which would charge for days of a period or cycle that was invoiced, or bill a start at once. */
export function checkPaused(
  { subscription: s, state, components }: ChangeSubject,
  plan: OperationPlan,
  today: IsoDate,
): void {
  if (s.pausedOn === null) return
  // A start brought forward to today or earlier bills at once.
  const isBegun = isFuture(state, today) && !isFuture(plan.state, today)
  const isCharged = plan.invoices.some(({ charges }) => charges.some(({ netMinor }) => netMinor > 0n))
  if (!isCharged && !isBegun && !isRaised(components, plan.components)) return
  throw conflict(
    'customer_not_billed',
    `Customer ${s.customerId} is ${pauseOf(s)}: a change that charges for what was invoiced is not possible meanwhile.`,
  )
}

export async function writeChange(
  tx: Transaction,
  context: IssueContext,
  subject: ChangeSubject,
  change: PlannedChange,
): Promise<MadeCreditNote[]> {
  const { subscription: s } = subject
  const { plan } = change
  await updateChanged(tx, tx.account, s.id, changedRow(subject, change, context.moment), context.moment.now)
  await writeComponentsOf(
    tx,
    [{ subscriptionId: s.id, before: subject.components, after: plan.components }],
    context.moment.today,
  )
  if (isFuture(subject.state, context.moment.today))
    await keepOpening(tx, s.id, { before: subject.components, after: plan.components }, plan.state.startDate)
  const notes: MadeCreditNote[] = []
  await issuePlanned(tx, context, s, plan, async (made) => {
    const { isAutoApply } = context.account
    const { givenBack } = plan
    const { customerId, currency } = s
    const corrections = await listCorrections(tx, s, plan.credited)
    const cause = { customerId, subscriptionId: s.id, currency, givenBack, corrections, made, isAutoApply }
    notes.push(...(await makeCreditNotes(tx, context, cause)))
  })
  return notes
}

/** Writes memo and flag of the components. A component that stays keeps the isSetUnits of its last report. */
const keepShown = (tx: Transaction, { subscription }: ChangeSubject, shown: ReturnType<typeof shownOf>) =>
  updateShown(
    tx,
    tx.account,
    subscription.id,
    shown.map((one) => {
      const known = subscription.components.find(({ state }) => state.componentId === one.componentId)
      return known && known.state.leftOutOn === null ? { ...one, isSetUnits: known.isSetUnits } : one
    }),
  )

async function issuePlanned(
  tx: Transaction,
  context: IssueContext,
  s: Subscription,
  plan: OperationPlan,
  credits: (made: readonly InvoiceId[]) => Promise<void>,
): Promise<void> {
  if (plan.invoices.length === 0 && plan.credited.length === 0) return credits([])
  const rules = await planContext(tx, context)
  const composed = plan.invoices.flatMap((invoice) => composePlanned(s, invoice, rules) ?? [])
  const zero = plan.invoices
    .flatMap(({ charges }) => charges)
    .filter(({ netMinor }) => netMinor === 0n)
    .concat(plan.credited)
    .map((charge) => ({ subscriptionId: s.id, charge }))
  await issue(tx, context, composed, { afterIssue: AFTER_ISSUE, zeroCharges: zero, credits })
  if (composed.length > 0) await updateLastInvoiceDate(tx, tx.account, s.id, context.moment.today)
}

/** Drops the pending change, if there is one, and charges what it had held back. */
export async function dropFutureChanges(tx: Transaction, context: RequestContext, given: Subscription): Promise<void> {
  const { today } = context.moment
  const state = stateOf(given)
  if (given.pendingKind === null) {
    if (hasEnded(state, today))
      throw conflict('subscription_ended', `Subscription ${given.id} has ended: there is no future change to drop.`)
    return
  }
  await changeSubscription(tx, context, given, (subject, charges) => {
    if (hasEnded(subject.state, today))
      throw conflict('subscription_ended', `Subscription ${given.id} has ended: there is no future change to drop.`)
    const plan = withComponents(dropPending(subject.state, { charges, today }), subject.components)
    return { plan, event: 'subscription.future_changes_dropped' }
  })
}

function changedRow(
  { subscription: s, state: before, offer }: ChangeSubject,
  change: PlannedChange,
  { today, now }: Moment,
) {
  const { state } = change.plan
  // The change itself records the event of a cancellation; the billing that follows records an EndDate of today, as the run would.
  const isEndRecorded = hasEnded(state, today) && state.cancelledOn !== null
  const pending = state.pending
  const kept = pending !== null && pending === before.pending ? offer : undefined
  const isOffer = pending !== null && pending.kind !== 'cancellation'
  return {
    packageId: state.packageId,
    packageVersionId: change.offer?.packageVersionId ?? s.packageVersionId,
    packageRateTermId: change.offer?.packageRateTermId ?? s.packageRateTermId,
    stretch: state.stretch,
    startDate: state.startDate,
    trialEndDate: state.trialEndDate,
    syncDate: state.syncDate,
    endDate: state.endDate,
    anchor: state.cycle.anchor,
    anchorDay: state.cycle.dayOfMonth,
    componentAnchor: state.componentAnchor,
    term: state.cycle.term,
    termType: state.cycle.termType,
    ...state.cursor,
    dueOn: nextActionOn(change.plan, today, isEndRecorded),
    pendingKind: pending?.kind ?? null,
    pendingOn: pending?.on ?? null,
    pendingPackageVersionId: isOffer ? ((change.pendingOffer ?? kept)?.packageVersionId ?? null) : null,
    pendingPackageRateTermId: isOffer ? ((change.pendingOffer ?? kept)?.packageRateTermId ?? null) : null,
    cancelledOn: state.cancelledOn,
    cancelledAt: state.cancelledOn === null ? null : before.cancelledOn === null ? now : s.cancelledAt,
    cancelReason:
      state.cancelledOn === null && pending?.kind !== 'cancellation' ? null : (change.reason ?? s.cancelReason),
    isEndRecorded,
    restartedAfter: change.restartedAfter ?? s.restartedAfter,
  }
}

/** Returns the memo and flag of each component in a list, as answers show them. */
export const shownOf = (list: readonly SubscriptionComponentBody[]) =>
  list.map(({ componentID, Memo }) => ({
    componentId: componentID as ComponentId,
    memo: Memo ?? null,
    isSetUnits: false,
  }))

/** Subscriptions of which what is due cannot be billed: the refusal of operations, with the ways out. */

/** The constraint that refuses to bill a period twice. */
export const CHARGED_ONCE = 'charges_once'

/** Bills what is due up to a day, which is not after today, at 0.00, and returns its charges. What is due after it is billed as ever. */
export async function skipDue(
  tx: Transaction,
  context: IssueContext,
  s: BillableSubscription,
  until: IsoDate,
): Promise<{ skipped: readonly PlannedCharge[]; isBilled: boolean }> {
  let skipped: readonly PlannedCharge[] = []
  if (s.dueOn !== null && s.dueOn <= until) {
    const plan = planSkip(s, until, await planContext(tx, context, [s]))
    plan.zeroCharges = await notCharged(tx, plan.zeroCharges)
    await applyPlans(tx, context, [plan])
    skipped = plan.zeroCharges.map(({ charge }) => charge)
  }
  const failure = await tryToBill(tx, context, await loadSubscription(tx, s.id))
  return { skipped, isBilled: failure === undefined }
}

/** Leaves out charges of which the period was billed before: where that is why what is due cannot be billed, there is nothing to count. */
async function notCharged(tx: Transaction, charges: readonly ZeroCharge[]): Promise<ZeroCharge[]> {
  const isCharged = await listCharged(tx, tx.account, charges)
  return charges.filter((_, index) => !isCharged.has(index))
}

/** Makes the refusal (409) of an operation on a subscription that cannot be billed. */
const billingFailed = ({ id }: BillableSubscription, reason: string): Fault =>
  conflict(
    'billing_failed',
    `What is due on subscription ${id} cannot be billed: ${reason} ` +
      `Correct its usage (PUT /v1/subscriptions/${id}/components/recordusage, dated in its cycle), or bill what is due at 0.00 (POST /v1/subscriptions/${id}/skip).`,
  )

/** Invoices what is due today on one subscription; where that fails, only the failure is written, and the refusal is returned. */
export async function tryToBill(
  tx: Transaction,
  context: IssueContext,
  s: BillableSubscription,
): Promise<Fault | undefined> {
  if (!isDue(s, context)) return undefined
  const plans = await planContext(tx, context, [s])
  const failed = await tried(tx, () => applyPlans(tx, context, [planSubscription(s, plans)]))
  if (!failed) return undefined
  const reasons = reasonsOf(failed.error, CHARGED_ONCE)
  await markFailing(tx, context, [{ recordType: 'subscription', recordId: s.id, customerId: s.customerId, ...reasons }])
  return billingFailed(s, reasons.reason)
}

/** Invoices what is due today before an operation does its own work; refused (409) where that cannot be billed. */
export async function billBefore(tx: Transaction, context: IssueContext, s: BillableSubscription): Promise<void> {
  const failure = await tryToBill(tx, context, s)
  if (failure) throw failure
}
