import type { ComponentState } from '../../engine/subscription/components.ts'
import { assert } from '../../kernel/assert.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import {
  type Answer,
  noContent,
  type Operation,
  lookupOperation,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { countList, listAnswer, pageStart } from '../../platform/http/paging.ts'
import { pageOf } from '../../platform/http/query.ts'
import { getAccountSettings } from '../accounts/queries.ts'
import { unknownCustomer } from '../customers/record.ts'
import { findCustomer, findCustomerView } from '../customers/queries.ts'
import { InvoicePreviewOut } from '../invoices/wire.ts'
import { addSubscription, lockedSubscription, reread, unknownSubscription } from './actions.ts'
import { planContext } from './bill.ts'
import { dropFutureChanges } from './change.ts'
import { changeOperations } from './change-routes.ts'
import { listStoredComponents } from '../subscription-components/queries.ts'
import { detailOperations } from './detail-routes.ts'
import { type Chosen, chooseReferences, composeSubscription } from './resolve.ts'
import { writePreview } from './preview.ts'
import {
  countSubscriptions,
  findSubscription,
  listSubscriptions,
  type Subscription,
  type SubscriptionFilter,
  withShownComponents,
} from './queries.ts'
import {
  subscriptionEtag,
  SubscriptionIn,
  SubscriptionOut,
  SubscriptionQuery,
  SubscriptionsOut,
  subscriptionToWire,
} from './wire.ts'

const tag = 'Subscriptions'
const id = 'subscriptionID'

async function answerList(
  db: Queryable,
  { account, moment }: RequestContext,
  filter: SubscriptionFilter,
  asked: { page: ReturnType<typeof pageOf>; url: string },
  publicUrl: string | undefined,
): Promise<Answer> {
  const { page, url } = asked
  const isFiltered = Object.values(filter).some((value) => value != null)
  const start = isFiltered
    ? { fromId: 0n, skip: (page.page - 1) * page.size }
    : await pageStart(db, account.id, 'subscriptions', page)
  const found = await listSubscriptions(db, account.id, filter, start, page.size + 1, moment.today)
  const rows = await withShownComponents(db, account.id, found)
  const clock = { timeZone: account.timeZone, today: moment.today }
  const count = () =>
    isFiltered ? countSubscriptions(db, account.id, filter, moment.today) : countList(db, account.id, 'subscriptions')
  return listAnswer(
    { rows, page, url, count },
    (some) => SubscriptionsOut.write(some.map((row) => subscriptionToWire(row, clock))),
    publicUrl,
  )
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

const reading = ({ publicUrl }: { publicUrl: string | undefined }): Operation[] => [
  readOperation({
    id: 'listSubscriptions',
    method: 'GET',
    path: '/v1/subscriptions',
    tag,
    summary: 'List subscriptions',
    query: SubscriptionQuery,
    success: { status: 200, schema: SubscriptionsOut.schema },
    read: (db, context, { query, url }) =>
      answerList(
        db,
        context,
        { status: query.comp_Status, packageId: query.packageID, customerId: query.customerID },
        { page: pageOf(query), url },
        publicUrl,
      ),
  }),
  readOperation({
    id: 'listCustomerSubscriptions',
    method: 'GET',
    path: '/v1/customers/{customerID}/subscriptions',
    tag,
    summary: 'List the subscriptions of a customer',
    query: SubscriptionQuery,
    success: { status: 200, schema: SubscriptionsOut.schema },
    read: async (db, context, { params, query, url }) => {
      const customerId = pathId(params, 'customerID', unknownCustomer)
      if (!(await findCustomer(db, context.account.id, customerId))) throw unknownCustomer(customerId)
      return answerList(
        db,
        context,
        { customerId, status: query.comp_Status, packageId: query.packageID },
        { page: pageOf(query), url },
        publicUrl,
      )
    },
  }),
  lookupOperation({
    id: 'getSubscription',
    method: 'GET',
    path: '/v1/subscriptions/{subscriptionID}',
    tag,
    summary: 'Read a subscription',
    success: { status: 200, schema: SubscriptionOut.schema },
    read: async (db, { account, moment }, { params }) => {
      const subscriptionId = pathId(params, id, unknownSubscription)
      const [found, components] = await Promise.all([
        findSubscription(db, account.id, subscriptionId),
        listStoredComponents(db, account.id, [subscriptionId]),
      ])
      if (!found) throw unknownSubscription(subscriptionId)
      const shown = { ...found, components: components.get(subscriptionId) ?? [] }
      const body = SubscriptionOut.write(subscriptionToWire(shown, { timeZone: account.timeZone, today: moment.today }))
      return { status: 200, body, etag: subscriptionEtag(found) }
    },
  }),
]

const previewing = (): Operation[] => [
  readOperation({
    id: 'previewSubscription',
    method: 'GET',
    path: '/v1/subscriptions/{subscriptionID}/preview',
    tag,
    summary: 'The next invoice as it would be made, with its own date; nothing is stored',
    success: { status: 200, schema: InvoicePreviewOut.schema },
    read: async (db, context, { params }) => {
      const found = await findSubscription(db, context.account.id, pathId(params, id, unknownSubscription))
      if (!found) throw unknownSubscription(params[id] ?? '')
      return { status: 200, body: await previewOf(db, context, found) }
    },
  }),
  writeOperation({
    id: 'previewNewSubscription',
    method: 'POST',
    path: '/v1/subscriptions/preview',
    tag,
    permission: 'read',
    summary: 'The first invoice of a subscription that is not made',
    body: SubscriptionIn,
    success: { status: 200, schema: InvoicePreviewOut.schema },
    refusals: { 409: 'The package, version or customer takes no new subscriptions' },
    references: (tx, context, { body }, problems) => chooseReferences(tx, context, body, problems),
    write: async (tx, context, { body }, _record, chosen) => {
      const { facts, set } = composeSubscription(chosen as Chosen, body, context)
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
    success: { status: 201, schema: SubscriptionOut.schema },
    refusals: { 409: 'The package, version or customer takes no new subscriptions' },
    references: (tx, context, { body }, problems) => chooseReferences(tx, context, body, problems),
    write: async (tx, context, { body }, _record, chosen) => {
      const { subscription, json } = await addSubscription(tx, context, chosen as Chosen, body)
      const headers = { location: `/v1/subscriptions/${subscription.id}` }
      return { status: 201, body: json, etag: subscriptionEtag(subscription), headers }
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
    record: (tx, _context, { params }) => lockedSubscription(tx, pathId(params, id, unknownSubscription)),
    etag: (subscription: Subscription) => subscriptionEtag(subscription),
    write: async (tx, context, _input, subscription: Subscription) => {
      await dropFutureChanges(tx, context, subscription)
      return noContent(subscriptionEtag(await reread(tx, subscription.id)))
    },
  }),
]

export const subscriptionOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  ...reading(deps),
  ...previewing(),
  ...changing(),
  ...detailOperations(),
  ...changeOperations(),
]
