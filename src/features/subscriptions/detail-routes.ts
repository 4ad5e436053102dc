import { chooseCollection } from '../collection-terms/choose.ts'
import { sendChangedWords } from '../finding/words.ts'
import { subscriptionReferenceTaken } from './actions.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { loadSubscription, recordSubscriptionEvent, subscriptionKind } from './record.ts'
import { billBefore } from './change.ts'
import { updateDetails } from './change-queries.ts'
import { deleteSubscriptions } from './state-queries.ts'
import { type DetailsBody, SubscriptionDetailsIn } from './change-wire.ts'
import type { Subscription } from './queries.ts'
import { nextActionOn, stateOf } from './state.ts'
import { subscriptionStatusOf } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

/** Operations that edit everything of a subscription except its package and dates, and that delete one that never began. */

const tag = 'Subscriptions'

const isRunning = (s: Subscription, today: string): boolean =>
  !['Cancelled', 'Expired'].includes(subscriptionStatusOf(s, today))

export const detailOperations = (): Operation[] => [
  writeOperation({
    ...subscriptionKind.editing,
    id: 'editSubscription',
    tag,
    summary: 'Edit lead days, purchase order number, reference and collection details; changes only what is sent',
    body: SubscriptionDetailsIn,
    refusals: { 409: 'The subscription has ended, or another one has the Reference' },
    references: async (tx, _context, { body }, problems: Problems, given: Subscription) =>
      checkDetails(tx, body, given, problems),
    write: async (tx, context, { body }, given: Subscription) => {
      const { today, now } = context.moment
      if (!isRunning(given, today))
        throw conflict('subscription_ended', `Subscription ${given.id} has ended and cannot be edited.`)
      await billBefore(tx, context, given)
      const s = await loadSubscription(tx, given.id)
      const leadDays =
        body.numDaysBeforeToInv ?? (body.numDaysBeforeToInv === null ? context.account.leadDays : s.leadDays)
      // A changed number of lead days acts from the next run on, so the due day moves now.
      const components = s.components.map(({ state }) => state)
      const dueOn = nextActionOn({ state: stateOf({ ...s, leadDays }), components }, today, s.isEndRecorded)
      const details = { leadDays, dueOn, ...kept(body, s) }
      await refuseOn(updateDetails(tx, tx.account, s.id, details, now), subscriptionReferenceTaken(details.reference))
      sendChangedWords(tx, 'subscriptions', s.id, [s.reference], [details.reference])
      const edited = await loadSubscription(tx, s.id)
      await recordSubscriptionEvent(tx, context, 'subscription.updated', edited)
      return subscriptionKind.edited(edited)
    },
  }),
  writeOperation({
    ...subscriptionKind.deleting,
    id: 'deleteSubscription',
    tag,
    summary: 'Delete a subscription that has not begun and was never invoiced',
    refusals: { 409: 'The subscription has begun, or was invoiced: cancel it instead' },
    write: async (tx, context, _input, given: Subscription) => {
      const isNew = context.moment.today < given.startDate && given.lastInvoiceDate === null && given.lastFrom === null
      if (!isNew)
        throw conflict('subscription_begun', `Subscription ${given.id} has begun or was invoiced; cancel it instead.`)
      await recordSubscriptionEvent(tx, context, 'subscription.deleted', await loadSubscription(tx, given.id))
      await deleteSubscriptions(tx, tx.account, [given.id])
      return noContent()
    },
  }),
]

const kept = (body: DetailsBody, s: Subscription) => ({
  poNumber: body.poNumber === undefined ? s.poNumber : body.poNumber,
  reference: body.Reference === undefined ? s.reference : body.Reference,
  collectionMethod: body.CollectionMethod === undefined ? s.collectionMethod : body.CollectionMethod,
  gatewayId: body.gatewayID === undefined ? s.gatewayId : body.gatewayID,
  paymentMethodId: body.customerPaymentMethodID === undefined ? s.paymentMethodId : body.customerPaymentMethodID,
})

/** Checks the collection details that a subscription would have. What it has already is not checked again. */
async function checkDetails(
  tx: Transaction,
  body: Partial<DetailsBody>,
  s: Subscription,
  problems: Problems,
): Promise<void> {
  const { collectionMethod, gatewayId, paymentMethodId } = kept(body, s)
  if (collectionMethod === s.collectionMethod && gatewayId === s.gatewayId && paymentMethodId === s.paymentMethodId)
    return
  const wanted = { CollectionMethod: collectionMethod, gatewayID: gatewayId, customerPaymentMethodID: paymentMethodId }
  const { currency, paymentMethod } = s
  await chooseCollection(tx, wanted, { customer: { id: s.customerId, paymentMethod }, currency }, problems)
}
