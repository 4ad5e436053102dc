import { assert } from '../../kernel/assert.ts'
import type { SubscriptionId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { PathParams } from '../../platform/http/operation.ts'
import { recordKind } from '../../platform/http/record.ts'
import type { EventType } from '../events/types.ts'
import { recordChange } from '../events/record.ts'
import { listStoredComponents } from '../subscription-components/queries.ts'
import {
  findLockedSubscription,
  findSubscription,
  lockCustomersOf,
  type ShownSubscription,
  type SubscriptionView,
  withShownComponents,
} from './queries.ts'
import { type PresentedSubscription, presented, subscriptionEtag, subscriptionShape } from './wire.ts'

/**
 * Locks the customer of a subscription, then reads the subscription: the order of every change. Both are sent at once; the second begins
 * when the lock is there, so that it sees what whoever held it has written.
 */
async function lockSubscription(tx: Transaction, id: SubscriptionId): Promise<SubscriptionView | undefined> {
  const [, subscription] = await Promise.all([lockCustomersOf(tx, [id]), findLockedSubscription(tx, id)])
  return subscription
}

export const subscriptionKind = recordKind<PresentedSubscription, 'subscription', SubscriptionView>({
  code: 'subscription',
  name: 'subscription',
  param: 'subscriptionID',
  path: '/v1/subscriptions',
  out: subscriptionShape,
  idOf: ({ id }) => id,
  find: async (db, { account, moment }, id) => {
    const [found, components] = await Promise.all([
      findSubscription(db, account.id, id),
      listStoredComponents(db, account.id, [id]),
    ])
    return found && presented({ ...found, components: components.get(id) ?? [] }, moment.today)
  },
  lock: (tx, _context, id) => lockSubscription(tx, id),
  etag: subscriptionEtag,
})

/** Finds the subscription of a path, or throws its 404. */
export async function foundSubscription(
  db: Queryable,
  { account }: RequestContext,
  params: PathParams,
): Promise<SubscriptionView> {
  const id = subscriptionKind.pathId(params)
  const found = await findSubscription(db, account.id, id)
  if (!found) throw subscriptionKind.unknown(id)
  return found
}

/** Loads a subscription that exists, with its components. */
export async function loadSubscription(tx: Transaction, id: SubscriptionId): Promise<ShownSubscription> {
  const subscription = await findSubscription(tx, tx.account, id)
  assert(subscription, `subscription ${id} exists`)
  const [shown] = await withShownComponents(tx, tx.account, [subscription])
  return shown as ShownSubscription
}

/** Records an event of a subscription, with the subscription as it now is. */
export async function recordSubscriptionEvent(
  tx: Transaction,
  context: RequestContext,
  type: EventType & `subscription.${string}`,
  s: ShownSubscription,
  reason: string | null = null,
): Promise<void> {
  const row = presented(s, context.moment.today)
  await recordChange(tx, context, subscriptionKind, { type, row, customerId: s.customerId, reason })
}
