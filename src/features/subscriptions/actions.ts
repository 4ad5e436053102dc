import { stateOf } from './state.ts'
import { assert } from '../../kernel/assert.ts'
import { missing } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { OnReturn } from '../customers/actions.ts'
import type { EventType } from '../events/queries.ts'
import { recordEvent } from '../events/record.ts'
import { applyPlans, billSubscription, planContext, planSubscriptionReturn } from './bill.ts'
import { updateShown } from '../subscription-components/queries.ts'
import type { ComponentBody } from '../subscription-components/wire.ts'
import { writeComponentsOf } from './written-components.ts'
import { recordOpening } from '../subscription-components/count-usage.ts'
import { type Chosen, composeSubscription } from './resolve.ts'
import {
  findSubscription,
  insertSubscription,
  listOpenSubscriptions,
  type Subscription,
  type ShownSubscription,
  type SubscriptionView,
  withShownComponents,
  lockCustomersOf,
} from './queries.ts'
import { type SubscriptionBody, SubscriptionOut, subscriptionToWire } from './wire.ts'

export const unknownSubscription = (id: bigint | string) =>
  missing('subscription_unknown', `There is no subscription ${id}.`, 'subscriptionID')

/**
 * Locks the customer of a subscription, then reads the subscription: the order of every change. Both are sent at once; the second begins
 * when the lock is there, so that it sees what whoever held it has written.
 */
export async function lockedSubscription(tx: Transaction, id: bigint): Promise<SubscriptionView> {
  const [, subscription] = await Promise.all([
    lockCustomersOf(tx, tx.account, [id]),
    findSubscription(tx, tx.account, id),
  ])
  if (!subscription) throw unknownSubscription(id)
  return subscription
}

export async function reread(tx: Transaction, id: bigint): Promise<ShownSubscription> {
  const subscription = await findSubscription(tx, tx.account, id)
  assert(subscription, `subscription ${id} exists`)
  const [shown] = await withShownComponents(tx, tx.account, [subscription])
  return shown as ShownSubscription
}

const written = (s: ShownSubscription, { account, moment }: RequestContext): string =>
  SubscriptionOut.write(subscriptionToWire(s, { timeZone: account.timeZone, today: moment.today }))

/** Records an event of a subscription, with the subscription as it now is. */
export async function record(
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  s: ShownSubscription,
  reason: string | null = null,
): Promise<void> {
  await recordEvent(tx, context, {
    type,
    recordId: s.id,
    customerId: s.customerId,
    record: written(s, context),
    reason,
  })
}

/** Adds a subscription and invoices everything that is due today. Returns it, and its JSON text. */
export async function addSubscription(
  tx: Transaction,
  context: RequestContext,
  chosen: Chosen,
  body: SubscriptionBody,
): Promise<{ subscription: Subscription; json: string }> {
  const { row, set } = composeSubscription(chosen, body, context)
  const id = await insertSubscription(tx, tx.account, row, context.moment.now)
  if (set.components.length > 0) {
    await writeComponentsOf(tx, [{ subscriptionId: id, before: [], after: set.components }], context.moment.today)
    await updateShown(tx, tx.account, id, shownOf(body.componentUsage ?? []))
  }
  let added = await reread(tx, id)
  if (set.opening.length > 0) {
    await recordOpening(tx, context, { subscription: added, state: stateOf(added) }, set.opening)
    added = await reread(tx, id)
  }
  await record(tx, context, 'subscription.created', added)
  await billSubscription(tx, context, added)
  const subscription = await reread(tx, id)
  return { subscription, json: written(subscription, context) }
}

/** Returns the memo and flag of each component in a list, as answers show them. */
export const shownOf = (list: readonly ComponentBody[]) =>
  list.map(({ componentID, Memo }) => ({ componentId: componentID, memo: Memo ?? null, isSetUnits: false }))

/** Resumes the subscriptions of a customer that is billed again from today. */
export const resumeSubscriptions: OnReturn = async (tx, context, customer, gapFrom) => {
  const open = await listOpenSubscriptions(tx, tx.account, customer.id)
  const plans = await planContext(tx, context, open)
  await applyPlans(
    tx,
    context,
    open.map((s) => planSubscriptionReturn(s, gapFrom, plans)),
  )
}
