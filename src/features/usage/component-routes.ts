import { planModified } from '../../engine/subscription/component-changes.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { answerChange, changeRepresentation, checkRunning } from '../subscriptions/change-routes.ts'
import { changeSubscription, shownOf } from '../subscriptions/change.ts'
import { ChangePreviewOut, PreviewQuery } from '../subscriptions/change-wire.ts'
import { findComponents, wantedComponents } from '../subscription-components/resolve.ts'
import { listStoredComponents } from '../subscription-components/queries.ts'
import { ModifyIn } from '../subscription-components/wire.ts'
import type { Subscription } from '../subscriptions/queries.ts'
import { subscriptionKind } from '../subscriptions/record.ts'
import { subscriptionEtag } from '../subscriptions/wire.ts'

export const subscriptionComponentOperations = (): Operation[] => [
  writeOperation({
    id: 'modifyComponents',
    method: 'PUT',
    path: '/v1/subscriptions/{subscriptionID}/components/modify',
    tag: 'Subscriptions',
    summary: 'Set which components a subscription has, and how many of each: the list is the whole set',
    body: ModifyIn,
    query: PreviewQuery,
    preview: ChangePreviewOut.schema,
    representation: changeRepresentation,
    refusals: { 409: 'The subscription has ended, its customer is not billed, or a component cannot be used' },
    record: subscriptionKind.editing.record,
    etag: subscriptionEtag,
    references: async (tx, _context, { body }, problems, s: Subscription) => {
      const present =
        s.componentsRevision === 0 ? [] : ((await listStoredComponents(tx, tx.account, [s.id])).get(s.id) ?? [])
      return findComponents(tx, body.componentUsage, s.currency, present, problems)
    },
    write: async (tx, context, { body, ...input }, s: Subscription, wished) => {
      const { today } = context.moment
      const made = await changeSubscription(tx, context, s, (subject) => {
        checkRunning(subject, today)
        const { state } = subject
        const set = wantedComponents(wished, subject, s.currency, { today, pausedOn: s.pausedOn })
        const plan = planModified({ state, components: set.components }, today, {
          isPaused: s.pausedOn !== null,
          extrasNow: body.When === 'now',
        })
        return {
          plan,
          opening: set.opening,
          shown: shownOf(body.componentUsage),
          event: 'subscription.changed',
        }
      })
      return answerChange(tx, context, made, input)
    },
  }),
]
