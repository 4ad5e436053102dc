import { pathParameter } from '../../platform/http/path-parameters.ts'
import { PERIODS_MAX } from '../billing-run/due-kind.ts'
import { listRateTerms } from '../packages/queries.ts'
import {
  changeAtRenewal,
  changeEndDate,
  changeNow,
  type ChangePlan,
  changeStartDate,
  replaceFuture,
} from '../../engine/subscription/changes.ts'
import { type CancelKind, cancel, endedOnOf } from '../../engine/subscription/cancel.ts'
import {
  cancelSubscription,
  type OperationPlan,
  reactivateSubscription,
  withComponents,
  withComponentsAnew,
} from '../../engine/subscription/component-changes.ts'
import { isMoreDueThan } from '../../engine/subscription/plan-due.ts'
import type { SubscriptionFacts } from '../../engine/subscription/components.ts'
import { hasEnded, isFuture } from '../../engine/subscription/subscription.ts'
import { conflict, type Fault, invalid, missing, type Problems } from '../../kernel/fault.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { type Operation, type Representation, writeOperation } from '../../platform/http/operation.ts'
import { loadInvoiceParts } from '../invoices/load-parts.ts'
import { listInvoicesByIds } from '../invoices/queries.ts'
import { subscriptionKind } from './record.ts'
import { type ChangeMade, changeSubscription, type ChangeSubject, pauseOf } from './change.ts'
import {
  ChangeEndDateIn,
  ChangeMadeOut,
  changeMadeToWire,
  ChangePackageIn,
  ChangePreviewOut,
  changePreviewToWire,
  ChangeStartDateIn,
  CancelIn,
  PreviewQuery,
  ReactivateIn,
  type ChangeBody,
} from './change-wire.ts'
import { trialEnd } from './resolve.ts'
import { resolveOffer, findPackageOffer, findTermOffer, type FoundOffer } from './offer.ts'
import { type Subscription } from './queries.ts'
import { withOpeningKept } from '../subscription-components/count-usage.ts'
import { presented, subscriptionEtag } from './wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

pathParameter('kind', 'How the subscription ends.', {
  type: 'string',
  enum: ['renewal', 'norefund', 'prorata', 'fullcredit'],
  description: 'How to cancel; any letter case',
})

const tag = 'Subscriptions'

/** Declares what a change answers to a request that prefers return=representation; it answers that on its own. */
export const changeRepresentation: Representation<never> = { schema: ChangeMadeOut.schema, headers: ['ETag'] }

/**
 * Answers 204; if the request asks for a preview, 200 with the invoices and credit notes that the change would make, and drops the change; if
 * it prefers return=representation, 200 with those that the change has made, and the subscription.
 */
export async function answerChange(
  tx: Transaction,
  context: RequestContext,
  made: ChangeMade,
  { query: { preview }, isRepresented }: { query: { preview?: boolean | null }; isRepresented: boolean },
): Promise<Answer> {
  const etag = subscriptionEtag(made.subscription)
  if (!preview && !isRepresented) return noContent(etag)
  const { account, moment } = context
  const invoices = await loadInvoiceParts(
    tx,
    account.id,
    await listInvoicesByIds(tx, account.id, made.invoiceIds),
    moment.today,
  )
  const { creditNotes, subscription } = made
  const documents = { invoices, creditNotes, currency: subscription.currency }
  const writing = writingOf(context)
  if (preview)
    return { status: 200, body: ChangePreviewOut.write(changePreviewToWire(documents, writing)), isPreview: true }
  const wire = changeMadeToWire(documents, presented(subscription, moment.today), writing)
  return { status: 200, body: ChangeMadeOut.write(wire), etag }
}

const ended = (s: Subscription): Fault =>
  conflict('subscription_ended', `Subscription ${s.id} has ended; only reactivating is possible.`)

export function checkRunning({ state, subscription }: ChangeSubject, today: string): void {
  if (hasEnded(state, today)) throw ended(subscription)
}

/**
 * Plans a subscription that has not begun anew after a change of its start or package: its components begin with it and keep their opening
 * usage.
 */
function begunAnew(plan: ChangePlan, { components }: ChangeSubject): OperationPlan {
  const anew = withComponentsAnew(plan, components)
  return { ...anew, components: withOpeningKept(anew.components, components, anew.state) }
}

/** Declares a change of package or of term; the two differ only in how their offer is found. */
function offerOperation(about: {
  id: string
  path: string
  summary: string
  kind: 'package' | 'term'
  find: typeof findPackageOffer
}): Operation {
  return writeOperation<Subscription, ChangeBody, { preview?: boolean | null }, FoundOffer>({
    id: about.id,
    method: 'PUT',
    path: about.path,
    tag,
    summary: about.summary,
    body: ChangePackageIn,
    query: PreviewQuery,
    preview: ChangePreviewOut.schema,
    representation: changeRepresentation,
    refusals: { 409: 'The subscription has ended, nothing would change, or the package cannot be used' },
    record: subscriptionKind.editing.record,
    references: (tx, _context, { body }, problems: Problems, s) => about.find(tx, s, body, problems),
    etag: subscriptionEtag,
    write: async (tx, context, { body, ...input }, s, found) => {
      const made = await changeSubscription(tx, context, s, (subject, charges) => {
        const { today } = context.moment
        checkRunning(subject, today)
        const { offer, ids, asAdded } = resolveOffer(found, subject.subscription, body)
        const event = 'subscription.changed' as const
        if (isFuture(subject.state, today)) {
          return {
            event,
            offer: ids,
            plan: begunAnew(
              replaceFuture(subject.state, { ...offer, ...asAdded(subject.state.startDate) }, today),
              subject,
            ),
          }
        }
        const plan = (changed: ChangePlan) => withComponents(changed, subject.components)
        if (body.When === 'now')
          return {
            event,
            offer: ids,
            plan: plan(changeNow(subject.state, offer, { charges, today, pausedOn: s.pausedOn })),
          }
        return {
          event,
          pendingOffer: ids,
          plan: plan(changeAtRenewal(subject.state, about.kind, offer, { charges, today })),
        }
      })
      return answerChange(tx, context, made, input)
    },
  })
}

const unknownKind = (kind: string): Fault =>
  missing(
    'cancel_kind_unknown',
    `There is no way of cancelling called ${JSON.stringify(kind.slice(0, 40))}; there are renewal, norefund, prorata and fullcredit.`,
    'kind',
  )

const KINDS: readonly string[] = ['renewal', 'norefund', 'prorata', 'fullcredit']

const cancelling = (): Operation =>
  writeOperation({
    id: 'cancelSubscription',
    method: 'PUT',
    path: '/v1/subscriptions/{subscriptionID}/cancel/{kind}',
    tag,
    summary: 'Cancel a subscription: at renewal, or today without, with part or with full credit',
    body: CancelIn,
    takesAnyBody: true,
    query: PreviewQuery,
    preview: ChangePreviewOut.schema,
    representation: changeRepresentation,
    refusals: { 409: 'The subscription has ended, or ends no later than its next renewal' },
    record: async (tx, context, { params }) => {
      const kind = params['kind']?.toLowerCase() ?? ''
      const subscription = await subscriptionKind.locked(tx, context, params)
      if (!KINDS.includes(kind)) throw unknownKind(kind)
      return { subscription, kind: kind as CancelKind }
    },
    etag: ({ subscription }: { subscription: Subscription }) => subscriptionEtag(subscription),
    write: async (
      tx,
      context,
      { body, ...input },
      { subscription, kind }: { subscription: Subscription; kind: CancelKind },
    ) => {
      const made = await changeSubscription(
        tx,
        context,
        subscription,
        ({ state, components, subscription: s }, charges) => {
          const facts = { charges, today: context.moment.today }
          const plan =
            components.length === 0
              ? withComponents(cancel(state, kind, facts), [])
              : cancelSubscription({ state, components }, kind, facts, s.pausedOn !== null)
          const isPending = plan.state.cancelledOn === null
          return {
            plan,
            event: isPending ? 'subscription.cancellation_scheduled' : 'subscription.cancelled',
            reason: body.Reason ?? null,
          }
        },
      )
      return answerChange(tx, context, made, input)
    },
  })

const dating = (): Operation[] => [
  writeOperation({
    id: 'changeStartDate',
    method: 'PUT',
    path: '/v1/subscriptions/{subscriptionID}/changestartdate',
    tag,
    summary: 'Move the start of a subscription that has not begun',
    body: ChangeStartDateIn,
    query: PreviewQuery,
    preview: ChangePreviewOut.schema,
    representation: changeRepresentation,
    refusals: { 409: 'The subscription has begun or ended, or ended after the new start before it was started again' },
    record: subscriptionKind.editing.record,
    etag: subscriptionEtag,
    write: async (tx, context, { body, ...input }, s: Subscription) => {
      const rate = await presentRate(tx, s)
      const made = await changeSubscription(tx, context, s, (subject) => {
        checkRunning(subject, context.moment.today)
        const { restartedAfter } = subject.subscription
        const start = { startDate: body.StartDate, trialEndDate: trialEnd(body.StartDate, rate), restartedAfter }
        const plan = changeStartDate(subject.state, start, context.moment.today)
        const begun = begunAnew(plan, subject)
        checkPeriods(begun, context.moment.today, 'StartDate')
        return { plan: begun, event: 'subscription.changed' }
      })
      return answerChange(tx, context, made, input)
    },
  }),
  writeOperation({
    id: 'changeEndDate',
    method: 'PUT',
    path: '/v1/subscriptions/{subscriptionID}/changeenddate',
    tag,
    summary: 'Move or clear the end of a subscription',
    body: ChangeEndDateIn,
    query: PreviewQuery,
    preview: ChangePreviewOut.schema,
    representation: changeRepresentation,
    refusals: {
      409: 'The subscription has ended, or the new end lies before today or, without pro rata, inside what is invoiced',
    },
    record: subscriptionKind.editing.record,
    etag: subscriptionEtag,
    write: async (tx, context, { body, ...input }, s: Subscription) => {
      const made = await changeSubscription(tx, context, s, (subject, charges) => {
        checkRunning(subject, context.moment.today)
        return {
          plan: withComponents(
            changeEndDate(subject.state, body.EndDate, { charges, today: context.moment.today }),
            subject.components,
          ),
          event: 'subscription.changed',
        }
      })
      return answerChange(tx, context, made, input)
    },
  }),
  writeOperation({
    id: 'reactivateSubscription',
    method: 'PUT',
    path: '/v1/subscriptions/{subscriptionID}/reactivate',
    tag,
    summary: 'Drop a pending cancellation, or start an ended subscription again',
    body: ReactivateIn,
    isBodyOptional: true,
    query: PreviewQuery,
    preview: ChangePreviewOut.schema,
    representation: changeRepresentation,
    refusals: { 409: 'The subscription is running, its package is inactive, or its customer is not billed' },
    record: subscriptionKind.editing.record,
    etag: subscriptionEtag,
    write: async (tx, context, { body, ...input }, s: Subscription) => {
      const rate = await presentRate(tx, s)
      const isActive = rate?.isPackageActive === true && rate.isVersionActive
      const made = await changeSubscription(tx, context, s, (subject, charges) => {
        const { today } = context.moment
        const isAgain = hasEnded(subject.state, today)
        if (isAgain && s.pausedOn !== null)
          throw conflict(
            'customer_not_billed',
            `Customer ${s.customerId} is ${pauseOf(s)}: nothing is started again meanwhile.`,
          )
        if (isAgain && !isActive)
          throw conflict(
            'package_inactive',
            `The package or version of subscription ${s.id} is inactive and takes no subscriptions.`,
          )
        const plan = reactivateSubscription(
          subject,
          { startDate: body.StartDate ?? null, endDate: body.EndDate ?? null },
          { charges, today },
        )
        checkPeriods(plan, today, 'StartDate')
        const again = isAgain ? { restartedAfter: endedOnOf(subject.state) } : {}
        return { plan, event: 'subscription.reactivated', ...again }
      })
      return answerChange(tx, context, made, input)
    },
  }),
]

/** Checks that no more than 1,000 periods would be billed at once (else 400). Rule: a cycle of a component counts as a period. */
function checkPeriods(facts: SubscriptionFacts, today: IsoDate, field: string): void {
  if (!isMoreDueThan(facts, today, PERIODS_MAX)) return
  throw invalid(
    'too_many_periods',
    `${field} ${facts.state.startDate} would bill more than ${PERIODS_MAX} periods at once.`,
    field,
  )
}

export const changeOperations = (): Operation[] => [
  offerOperation({
    id: 'changePackage',
    path: '/v1/subscriptions/{subscriptionID}/changepackage',
    summary: 'Change the package of a subscription, at renewal or now',
    kind: 'package',
    find: findPackageOffer,
  }),
  offerOperation({
    id: 'changeTerm',
    path: '/v1/subscriptions/{subscriptionID}/changeterm',
    summary: 'Change the term of a subscription within its package, at renewal or now',
    kind: 'term',
    find: findTermOffer,
  }),
  cancelling(),
  ...dating(),
]

/** Reads the rate that the package version of a subscription has now. */
const presentRate = async (tx: Transaction, s: Subscription) =>
  (await listRateTerms(tx, tx.account, s.packageVersionId, s.currency))[0]
