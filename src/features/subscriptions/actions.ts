import { refuseOn } from '../../platform/database/failures.ts'
import { conflict } from '../../kernel/fault.ts'
import { sendNewWords } from '../finding/words.ts'
import { CHARGED_ONCE, shownOf } from './change.ts'
import { stateOf } from './state.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { OnReturn } from '../customers/actions.ts'
import { applyPlans, billSubscription, planContext, planSubscriptionReturn } from './bill.ts'
import { billEachReturning } from '../billing-run/failing.ts'
import { updateShown } from '../subscription-components/queries.ts'
import { writeComponentsOf } from './written-components.ts'
import { recordOpening } from '../subscription-components/count-usage.ts'
import { type ResolvedReferences, composeSubscription } from './resolve.ts'
import { insertSubscription, listOpenSubscriptions, type ShownSubscription } from './queries.ts'
import { loadSubscription, recordSubscriptionEvent } from './record.ts'
import type { SubscriptionBody } from './wire.ts'

/** Adds a subscription and invoices everything that is due today. Returns it as it then is. */
export async function addSubscription(
  tx: Transaction,
  context: RequestContext,
  resolved: ResolvedReferences,
  body: SubscriptionBody,
): Promise<ShownSubscription> {
  const { row, set } = composeSubscription(resolved, body, context)
  const id = await refuseOn(
    insertSubscription(tx, tx.account, row, context.moment.now),
    subscriptionReferenceTaken(row.reference),
  )
  sendNewWords(tx, 'subscriptions', [{ id, texts: [row.reference] }])
  if (set.components.length > 0) {
    await writeComponentsOf(tx, [{ subscriptionId: id, before: [], after: set.components }], context.moment.today)
    await updateShown(tx, tx.account, id, shownOf(body.componentUsage ?? []))
  }
  let added = await loadSubscription(tx, id)
  if (set.opening.length > 0) {
    await recordOpening(tx, context, { subscription: added, state: stateOf(added) }, set.opening)
    added = await loadSubscription(tx, id)
  }
  await recordSubscriptionEvent(tx, context, 'subscription.created', added)
  await billSubscription(tx, context, added)
  return loadSubscription(tx, id)
}

/** Returns the refusal of a reference that another subscription has. */
export const subscriptionReferenceTaken = (reference: string | null) => ({
  subscriptions_reference_key: () =>
    conflict('reference_taken', `Another subscription has the Reference ${JSON.stringify(reference)}.`, 'Reference'),
})

/** Resumes the subscriptions of a customer that is billed again from today. One that cannot be billed keeps the gap and holds up nothing. */
export const resumeSubscriptions: OnReturn = async (tx, context, customer, gapFrom) => {
  const open = await listOpenSubscriptions(tx, tx.account, customer.id)
  const plans = await planContext(tx, context, open)
  await billEachReturning(tx, context, {
    type: 'subscription',
    onceConstraint: CHARGED_ONCE,
    gap: { from: gapFrom, until: context.moment.today },
    records: open.map((s) => ({
      id: s.id,
      customerId: s.customerId,
      plan: () => planSubscriptionReturn(s, gapFrom, plans),
    })),
    apply: (ready) => applyPlans(tx, context, ready),
  })
}
