import { planNextInvoice } from '../../engine/subscription/plan-due.ts'
import type { Moment } from '../../kernel/context.ts'
import type { AccountSettings } from '../accounts/queries.ts'
import type { CustomerView } from '../customers/queries.ts'
import { collectionMethodOf } from '../invoices/collection.ts'
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
  const planned = planNextInvoice({ state: stateOf(subscription, offer), components }, moment.today)
  return planned && composePlanned(subscription, planned, plans)
}

export function writePreview(facts: PreviewFacts): string {
  const { subscription, customer, account, moment } = facts
  const composed = nextComposed(facts)
  return writePreviewed({
    customer,
    account,
    moment,
    currency: subscription.currency,
    poNumber: subscription.poNumber,
    collectionMethod: subscription.collectionMethod ?? collectionMethodOf(subscription.paymentMethod),
    notes: account.notes,
    terms: account.terms,
    subscriptionId: subscription.id === 0n ? null : subscription.id,
    recurringInvoiceId: null,
    composed,
  })
}
