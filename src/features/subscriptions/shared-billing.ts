import type { IsoDate } from '../../kernel/calendar.ts'
import { isLate } from '../../engine/subscription/components.ts'
import type { SharedComponents } from '../subscription-components/group-by-facts.ts'
import { type BillingPlan, type PlanContext, planSubscription } from './bill.ts'
import type { BillableSubscription } from './queries.ts'

/**
 * Steady subscriptions: those of which only the next period is due, in the middle of their life. What one of them is billed follows from facts that it
 * shares with thousands, so a run plans each combination of these facts once.
 */

/** Subscriber and subscription of a plan that is nobody's. */
const NOBODY = 0n

/**
 * Adds the facts that all steady subscriptions have in common, beside having a period behind them; whether components are to be read is settled by then, and
 * what else belongs to their invoice. They are one literal which ends with the others, because V8 makes objects of several spreads property by property: that was
 * a third of making a shared plan.
 */
const withSharedFacts = <Facts extends { lastFrom: IsoDate }>(facts: Facts) => ({
  id: NOBODY,
  customerId: NOBODY,
  startDate: facts.lastFrom,
  trialEndDate: null,
  syncDate: null,
  endDate: null,
  feesOn: null,
  lastInvoiceDate: null,
  pendingKind: null,
  pendingOn: null,
  cancelledOn: null,
  cancelReason: null,
  isEndRecorded: false,
  gatewayId: null,
  paymentMethodId: null,
  componentsRevision: 0,
  pausedOn: null,
  customerVersion: 0,
  poNumber: null,
  isCompany: false,
  vatNumber: null,
  ...facts,
})

type SharedFacts = ReturnType<typeof withSharedFacts<{ lastFrom: IsoDate }>>

/** The facts from which what a steady subscription is billed follows. They name neither it nor its customer, so a plan cannot depend on who they are. */
export interface BillingFacts extends Omit<BillableSubscription, keyof SharedFacts> {
  lastFrom: IsoDate
  components: SharedComponents
  /** The customer is a business, as far as taxes depend on that. */
  isBusiness: boolean
  locale: string | null
}

/**
 * Plans what subscriptions with these facts are billed on a day: one invoice of an amount over 0. Returns undefined where it is anything else, or where
 * it cannot be planned, which is then found for each of them alone. Late usage is that, since it depends on what its invoices stand at.
 */
export function planSharedBilling(facts: BillingFacts, context: PlanContext, day: IsoDate): BillingPlan | undefined {
  const { components } = facts
  if (components.some(({ usage }) => usage.some(isLate))) return undefined
  const plan = planned(withSharedFacts(facts), { ...context, components: new Map([[NOBODY, components]]) }, day)
  const isPlain = plan?.ended === null && plan.invoices.length === 1 && (plan.credits ?? []).length === 0
  return isPlain && plan.invoices.every(({ totalMinor }) => totalMinor > 0n) ? plan : undefined
}

function planned(s: BillableSubscription, context: PlanContext, day: IsoDate): BillingPlan | undefined {
  try {
    return planSubscription(s, context, day)
  } catch {
    return undefined
  }
}
