import { planThroughGaps } from '../../engine/subscription/gaps.ts'
import { planNextInvoice } from '../../engine/subscription/plan-due.ts'
import type { PlannedInvoice } from '../../engine/subscription/renewal.ts'
import type { Moment } from '../../kernel/context.ts'
import type { AccountSettings } from '../accounts/queries.ts'
import { paperTextsOf } from '../accounts/texts.ts'
import { collectionMethodOf } from '../collection-terms/rules.ts'
import type { CustomerView } from '../customers/queries.ts'
import type { NewInvoice } from '../invoices/issue.ts'
import { writePreviewed } from '../invoices/preview.ts'
import { composePlanned, type PlanContext } from './bill.ts'
import type { Subscription } from './queries.ts'
import { stateOf } from './state.ts'

/** Previews of the next invoice of a subscription, made from the facts of today and not stored. */

export interface PreviewFacts {
  subscription: Subscription
  customer: CustomerView
  account: AccountSettings
  moment: Moment
  plans: PlanContext
}

/** Returns the next invoice; undefined if there is none, or if the customer is suspended or archived and not billed. */
function nextComposed({ subscription, plans, moment }: PreviewFacts): NewInvoice | undefined {
  if (subscription.pausedOn !== null) return undefined
  const offer = plans.offers.get(subscription.id)
  const components = plans.components.get(subscription.id) ?? []
  const gaps = plans.failing.get(subscription.id)?.gaps ?? []
  const facts = { state: stateOf(subscription, offer), components }
  const due = planThroughGaps(facts, moment.today, gaps)
  const isMade = ({ charges }: PlannedInvoice) => charges.some(({ netMinor }) => netMinor !== 0n)
  const planned =
    gaps.length === 0
      ? planNextInvoice(facts, moment.today)
      : (due.invoices.find(isMade) ?? planNextInvoice(due, moment.today))
  return planned && composePlanned(subscription, planned, plans)
}

export function writePreview(facts: PreviewFacts): string {
  const { subscription, customer, account, moment } = facts
  const composed = nextComposed(facts)
  const { notes, terms } = paperTextsOf(account, customer.locale ?? account.locale)
  return writePreviewed({
    customer,
    account,
    moment,
    currency: subscription.currency,
    poNumber: subscription.poNumber,
    collectionMethod: subscription.collectionMethod ?? collectionMethodOf(subscription.paymentMethod),
    notes,
    terms,
    subscriptionId: subscription.id === 0n ? null : subscription.id,
    recurringInvoiceId: null,
    composed,
  })
}
