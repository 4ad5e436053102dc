import type { IsoDate } from '../../kernel/calendar.ts'
import type { PlannedCharge } from './charges.ts'
import type { ChangeFacts, ChangePlan } from './changes.ts'
import { usageFrom } from './component-cycles.ts'
import {
  attachComponent,
  changeVersion,
  chargedUntil,
  type ComponentOffer,
  type ComponentState,
  isMetered,
  leaveOut,
  reattachComponent,
  restartComponent,
  setQuantity,
  type SubscriptionFacts,
} from './components.ts'
import type { GivenBack } from './coverage.ts'
import { cancel, type CancelKind, reactivate } from './cancel.ts'
import { periodContaining } from './period.ts'
import type { PlanOptions } from './deferred.ts'
import { planSubscriptionDue } from './plan-due.ts'
import type { PlannedInvoice } from './renewal.ts'
import { withUsage } from './usage.ts'

/** Changes of a subscription together with its components. Each answers what is then kept, invoiced and given back. */

export interface OperationPlan extends SubscriptionFacts {
  invoices: PlannedInvoice[]
  /** As in `SubscriptionPlan`: negative lines that become credits. */
  credited: PlannedCharge[]
  givenBack: GivenBack[]
}

/** Plans a change of the package with the components beside it: only extensions touch them. */
export const withComponents = (plan: ChangePlan, components: readonly ComponentState[]): OperationPlan => ({
  state: plan.state,
  components: chargedUntil(components, plan.componentsChargedUntil),
  invoices: plan.invoices,
  credited: [],
  givenBack: plan.givenBack,
})

/** Plans a future subscription with another start or package: its components begin when it does. */
export const withComponentsAnew = (plan: ChangePlan, components: readonly ComponentState[]): OperationPlan => ({
  ...withComponents(plan, []),
  components: components.map((component) => restartComponent(component, plan.state)),
})

/**
 * Cancels a subscription with its components. Rules: usage so far and what rises owe up to today are invoiced at once; with full credit
 * rises are not, and usage of the running cycle is priced 0 whenever it is reported. Of a customer that is not billed now
 * (`isPaused`) the credits are made at once, and what is to be invoiced waits for the return.
 */
export function cancelSubscription(
  facts: SubscriptionFacts,
  kind: CancelKind,
  changes: ChangeFacts,
  isPaused: boolean,
): OperationPlan {
  const plan = cancel(facts.state, kind, changes)
  const isEnded = plan.state.endDate === changes.today && plan.state.cancelledOn === changes.today
  if (!isEnded) return withComponents(plan, facts.components)
  const components =
    kind === 'fullcredit' ? facts.components.map((component) => freed(component, changes.today)) : facts.components
  if (isPaused)
    return withComponents(plan, kind === 'prorata' ? components.map((one) => risesCut(one, changes.today)) : components)
  const due = planSubscriptionDue({ state: plan.state, components }, changes.today, {
    extrasNow: true,
    risesByDay: kind === 'prorata',
  })
  const { state, invoices, credited } = due
  return { state, components: [...due.components], invoices, credited, givenBack: plan.givenBack }
}

/**
 * Returns a component whose rises are owed up to today only, also without pro rata: by name it was asked so, and they wait for the return.
 */
const risesCut = (component: ComponentState, today: IsoDate): ComponentState =>
  component.owed.length === 0
    ? component
    : { ...component, owed: component.owed.map((rise) => ({ ...rise, cutOn: today })) }

/** Returns a component as full credit leaves it: no rise is owed, and the running cycle's usage costs nothing. */
function freed(component: ComponentState, today: IsoDate): ComponentState {
  if (!isMetered(component)) return { ...component, owed: [] }
  const { nextFrom, cycle } = component
  if (nextFrom > today) return component
  const running = usageFrom(component, nextFrom)
  return withUsage(component, { ...running, until: periodContaining(cycle, nextFrom).until, isFree: true })
}

/** Starts again, or drops a pending cancellation: see `reactivate`. Components keep version and quantity; those left out stay away. */
export function reactivateSubscription(
  facts: SubscriptionFacts,
  given: { startDate: IsoDate | null; endDate: IsoDate | null },
  changes: ChangeFacts,
): OperationPlan {
  const plan = reactivate(facts.state, given, changes)
  if (plan.state.stretch === facts.state.stretch) return withComponents(plan, facts.components)
  return withComponentsAnew(plan, facts.components)
}

/**
 * Plans what another set of components makes now. Of a customer that is not billed now (`isPaused`) nothing is invoiced: what waits goes
 * on waiting for the return.
 */
export function planModified(
  { state, components }: SubscriptionFacts,
  today: IsoDate,
  { isPaused, ...options }: PlanOptions & { isPaused: boolean },
): OperationPlan {
  if (isPaused) return { state, components, invoices: [], credited: [], givenBack: [] }
  return { ...planSubscriptionDue({ state, components }, today, options), givenBack: [] }
}

/** Returns whether a change of components owes more than before, for a cycle that was invoiced. */
export const isRaised = (before: readonly ComponentState[], after: readonly ComponentState[]): boolean =>
  after.some((component) => {
    const known = before.find(({ componentId }) => componentId === component.componentId)
    return component.owed.length > (known?.owed.length ?? 0)
  })

/**
 * Returns the components after a list that is the whole set: new ones join, those not in it are left out, the others take quantity and
 * version. A rise is owed afterwards; `planSubscriptionDue` invoices it (at once with `extrasNow`). Opening usage of a new metered
 * component is reported by the caller; a metered one's quantity is ignored. Of a customer that is not billed since `pausedOn` one that joins while the
 * package's running period is not invoiced owes nothing: it is billed on the return.
 */
export function modifyComponents(
  { state, components }: SubscriptionFacts,
  offers: readonly ComponentOffer[],
  today: IsoDate,
  pausedOn: IsoDate | null = null,
): ComponentState[] {
  const since =
    pausedOn !== null && state.cursor.nextFrom <= today && state.cursor.nextFrom >= pausedOn ? pausedOn : null
  const known = components.map((component): ComponentState => {
    const offer = offers.find(({ componentId }) => componentId === component.componentId)
    if (offer === undefined) return component.leftOutOn === null ? leaveOut(component, state, today) : component
    if (component.leftOutOn !== null) return reattachComponent(component, state, offer, today, since)
    const versioned = changeVersion(component, offer.version, today)
    return isMetered(versioned) ? versioned : setQuantity(versioned, offer.quantity, state, today)
  })
  const added = offers
    .filter(({ componentId }) => components.every((component) => component.componentId !== componentId))
    .map((offer) => attachComponent(state, offer, today, since))
  return [...known, ...added]
}
