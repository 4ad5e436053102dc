import { assert } from '../../kernel/assert.ts'
import { conflict, missing } from '../../kernel/fault.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { nextRenewalOnOrAfter } from '../../engine/period.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { lockCustomer } from '../customers/queries.ts'
import type { OnReturn } from '../customers/actions.ts'
import type { EventType } from '../events/queries.ts'
import { recordEvent } from '../events/record.ts'
import { applyPlans, billSubscription, planContext, planReturn } from './bill.ts'
import { type Chosen, composeSubscription } from './choose.ts'
import { cancellationDayOf, cursorOf, nextActionOn, termsOf } from './facts.ts'
import {
  findSubscription,
  findSubscriptionCustomer,
  insertSubscription,
  listOpenSubscriptions,
  type Subscription,
} from './queries.ts'
import { updateCancellation } from './state-queries.ts'
import { statusOf, type SubscriptionBody, SubscriptionOut, subscriptionToWire } from './wire.ts'

export const unknownSubscription = (id: bigint | string) =>
  missing('subscription_unknown', `There is no subscription ${id}.`, 'subscriptionID')

/** Locks the customer of a subscription, then reads the subscription: the order of every change. */
export async function lockedSubscription(tx: Transaction, id: bigint): Promise<Subscription> {
  const owner = await findSubscriptionCustomer(tx, tx.account, id)
  if (!owner) throw unknownSubscription(id)
  await lockCustomer(tx, tx.account, owner.customerId)
  const subscription = await findSubscription(tx, tx.account, id)
  if (!subscription) throw unknownSubscription(id)
  return subscription
}

export async function reread(tx: Transaction, id: bigint): Promise<Subscription> {
  const subscription = await findSubscription(tx, tx.account, id)
  assert(subscription, `subscription ${id} exists`)
  return subscription
}

const written = (s: Subscription, { account, moment }: RequestContext): string =>
  SubscriptionOut.write(subscriptionToWire(s, { timeZone: account.timeZone, today: moment.today }))

async function record(
  tx: Transaction,
  context: RequestContext,
  type: EventType,
  s: Subscription,
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

/** Adds a subscription and invoices everything that is due today. Answers it as JSON text. */
export async function addSubscription(
  tx: Transaction,
  context: RequestContext,
  chosen: Chosen,
  body: SubscriptionBody,
): Promise<{ subscription: Subscription; json: string }> {
  const { row } = composeSubscription(chosen, body, context)
  const id = await insertSubscription(tx, tx.account, row, context.moment.now)
  const added = await reread(tx, id)
  await record(tx, context, 'subscription.created', added)
  await billSubscription(tx, context, added)
  const subscription = await reread(tx, id)
  return { subscription, json: written(subscription, context) }
}

/** Ends a subscription after what is invoiced; one that has not begun ends at once, without money. */
export async function cancelAtRenewal(
  tx: Transaction,
  context: RequestContext,
  given: Subscription,
  reason: string | null,
): Promise<Subscription> {
  await billSubscription(tx, context, given)
  const s = await reread(tx, given.id)
  const { today, now } = context.moment
  const status = statusOf(s, today)
  if (status === 'Cancelled' || status === 'Expired') {
    throw conflict(
      'subscription_ended',
      `Subscription ${s.id} is ${status.toLowerCase()} and cannot be cancelled again.`,
    )
  }
  if (status === 'Future') {
    const to = {
      pendingKind: null,
      pendingOn: null,
      cancelledOn: today,
      reason,
      dueOn: null,
      isEndRecorded: true,
    } as const
    await updateCancellation(tx, tx.account, s.id, to, now)
    const cancelled = await reread(tx, s.id)
    await record(tx, context, 'subscription.cancelled', cancelled, reason)
    return cancelled
  }
  const endsOn = renewalOfCancellation(s, today)
  if (s.endDate !== null && s.endDate <= endsOn) {
    throw conflict(
      'subscription_ends_earlier',
      `Subscription ${s.id} ends on ${s.endDate}, not later than its next renewal ${endsOn}.`,
    )
  }
  const cancelling: Subscription = { ...s, pendingKind: 'cancellation', pendingOn: endsOn }
  const dueOn = nextActionOn(termsOf(cancelling), cursorOf(s), false)
  await updateCancellation(
    tx,
    tx.account,
    s.id,
    { pendingKind: 'cancellation', pendingOn: endsOn, cancelledOn: null, reason, dueOn, isEndRecorded: false },
    now,
  )
  const pending = await reread(tx, s.id)
  await record(tx, context, 'subscription.cancellation_scheduled', pending, reason)
  return pending
}

/** The next renewal; of a customer that is not billed now, the first one still to come. */
const renewalOfCancellation = (s: Subscription, today: IsoDate): IsoDate =>
  s.nextFrom > today ? s.nextFrom : nextRenewalOnOrAfter(termsOf(s).cycle, today)

/** Drops the pending change, if there is one, and invoices what it had held back. */
export async function dropFutureChanges(tx: Transaction, context: RequestContext, given: Subscription): Promise<void> {
  await billSubscription(tx, context, given)
  const s = await reread(tx, given.id)
  const { today, now } = context.moment
  const cancelsOn = cancellationDayOf(s)
  if (s.pendingKind === null || (cancelsOn !== null && cancelsOn <= today)) {
    const status = statusOf(s, today)
    if (status === 'Cancelled' || status === 'Expired') {
      throw conflict(
        'subscription_ended',
        `Subscription ${s.id} is ${status.toLowerCase()}: there is no future change to drop.`,
      )
    }
    return
  }
  const dueOn = nextActionOn(termsOf({ ...s, pendingKind: null, pendingOn: null }), cursorOf(s), false)
  await updateCancellation(
    tx,
    tx.account,
    s.id,
    { pendingKind: null, pendingOn: null, cancelledOn: null, reason: null, dueOn, isEndRecorded: false },
    now,
  )
  await billSubscription(tx, context, await reread(tx, s.id))
  await record(tx, context, 'subscription.future_changes_dropped', await reread(tx, s.id))
}

/** Goes on with the subscriptions of a customer that is billed again from today. */
export const resumeSubscriptions: OnReturn = async (tx, context, customer, gapFrom) => {
  const open = await listOpenSubscriptions(tx, tx.account, customer.id)
  const plans = await planContext(tx, context)
  await applyPlans(
    tx,
    context,
    open.map((s) => planReturn(s, gapFrom, plans)),
  )
}
