import { introduced } from '../../platform/http/tags.ts'
import { searchRecords } from '../finding/search.ts'
import { filteredComponent, filteredPackage } from '../packages/by-code.ts'
import type { ComponentState } from '../../engine/subscription/components.ts'
import { assert } from '../../kernel/assert.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import type { BodyOf } from '../../platform/wire/read.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { ofCustomerInPath } from '../customers/record.ts'
import { findCustomerView } from '../customers/queries.ts'
import { invoicePreviewShape } from '../invoices/wire.ts'
import { addSubscription } from './actions.ts'
import { planContext } from './bill.ts'
import { dropFutureChanges } from './change.ts'
import { changeOperations } from './change-routes.ts'
import { detailOperations } from './detail-routes.ts'
import { skipOperation } from './skip-routes.ts'
import { type ResolvedReferences, resolveReferences, composeSubscription } from './resolve.ts'
import { writePreview } from './preview.ts'
import {
  countSubscriptions,
  listSubscriptions,
  type Subscription,
  type SubscriptionFilter,
  type SubscriptionView,
  withShownComponents,
  COUNTED_SUBSCRIPTIONS,
} from './queries.ts'
import { foundSubscription, loadSubscription, subscriptionKind } from './record.ts'
import { presented, subscriptionEtag, subscriptionFilters, SubscriptionIn, subscriptionShape } from './wire.ts'

const tag = introduced(
  'Subscriptions',
  'Packages and components that a customer has, billed term by term until they end.',
)

const list = {
  tag,
  out: subscriptionShape,
  filters: subscriptionFilters,
  filterOf: async (
    query: BodyOf<typeof subscriptionFilters>,
    { account }: RequestContext,
    db: Queryable,
  ): Promise<SubscriptionFilter> => ({
    status: query.comp_Status,
    packageId: await filteredPackage(db, account.id, query),
    componentId: await filteredComponent(db, account.id, query),
    reference: query.Reference,
    found: await searchRecords(db, account.id, query.q, { list: 'subscriptions' }),
    customerId: query.customerID,
  }),
  knowsUpdates: true as const,
  rows: listSubscriptions,
  complete: async (db: Queryable, { account, moment }: RequestContext, rows: SubscriptionView[]) =>
    (await withShownComponents(db, account.id, rows)).map((row) => presented(row, moment.today)),
  count: countSubscriptions,
}

/** Writes the preview of the next invoice. `components` are given if the subscription is not stored. */
async function previewOf(
  db: Queryable,
  context: RequestContext,
  subscription: Subscription,
  components?: readonly ComponentState[],
): Promise<string> {
  const customer = await findCustomerView(db, context.account.id, subscription.customerId, context.moment.today)
  assert(customer, `customer ${subscription.customerId} exists`)
  const account = await getAccountSettings(db, context.account.id)
  const plans = await planContext(db, context, [subscription])
  return writePreview({
    subscription,
    customer,
    account,
    moment: context.moment,
    plans: components ? { ...plans, components: new Map([[subscription.id, components]]) } : plans,
  })
}

const reading = (): Operation[] => [
  listOperation({
    ...list,
    id: 'listSubscriptions',
    path: '/v1/subscriptions',
    summary: 'List subscriptions',
    blocks: COUNTED_SUBSCRIPTIONS,
  }),
  listOperation({
    ...list,
    id: 'listCustomerSubscriptions',
    path: '/v1/customers/{customerID}/subscriptions',
    summary: 'List the subscriptions of a customer',
    parent: ofCustomerInPath,
  }),
  subscriptionKind.readOperation({ id: 'getSubscription', tag, summary: 'Read a subscription' }),
]

const previewing = (): Operation[] => [
  readOperation({
    id: 'previewSubscription',
    path: '/v1/subscriptions/{subscriptionID}/preview',
    tag,
    summary: 'Preview the next invoice, with its own date; nothing is stored',
    success: { status: 200, schema: invoicePreviewShape.schema },
    read: async (db, context, { params }) => {
      const found = await foundSubscription(db, context, params)
      return { status: 200, body: await previewOf(db, context, found) }
    },
  }),
  writeOperation({
    id: 'previewNewSubscription',
    method: 'POST',
    path: '/v1/subscriptions/preview',
    tag,
    permission: 'read',
    summary: 'Preview the first invoice of a subscription that is not made',
    body: SubscriptionIn,
    success: { status: 200, schema: invoicePreviewShape.schema },
    refusals: { 409: 'The package, version or customer takes no new subscriptions' },
    references: (tx, context, { body }, problems) => resolveReferences(tx, context, body, problems),
    write: async (tx, context, { body }, _record, resolved) => {
      const { facts, set } = composeSubscription(resolved as ResolvedReferences, body, context)
      return { status: 200, body: await previewOf(tx, context, { ...facts, id: 0n }, set.components) }
    },
  }),
]

const changing = (): Operation[] => [
  writeOperation({
    id: 'addSubscription',
    method: 'POST',
    path: '/v1/subscriptions',
    tag,
    summary: 'Subscribe a customer to a package; what is due today is invoiced at once',
    body: SubscriptionIn,
    success: { status: 201, schema: subscriptionShape.schema },
    refusals: { 409: 'The package, version or customer takes no new subscriptions' },
    references: (tx, context, { body }, problems) => resolveReferences(tx, context, body, problems),
    write: async (tx, context, { body }, _record, resolved) => {
      const added = await addSubscription(tx, context, resolved as ResolvedReferences, body)
      return subscriptionKind.created(presented(added, context.moment.today), context)
    },
  }),
  writeOperation({
    id: 'dropFutureChanges',
    method: 'DELETE',
    path: '/v1/subscriptions/{subscriptionID}/futurechanges',
    tag,
    summary: 'Drop the pending change of a subscription, if there is one',
    success: { status: 204, headers: ['ETag'] },
    refusals: { 409: 'The subscription has ended' },
    record: subscriptionKind.deleting.record,
    etag: subscriptionEtag,
    write: async (tx, context, _input, subscription: Subscription) => {
      await dropFutureChanges(tx, context, subscription)
      return subscriptionKind.edited(await loadSubscription(tx, subscription.id))
    },
  }),
]

export const subscriptionOperations = (): Operation[] => [
  ...reading(),
  ...previewing(),
  ...changing(),
  ...detailOperations(),
  ...changeOperations(),
  skipOperation(),
]
