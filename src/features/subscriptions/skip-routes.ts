import { CHARGE_KINDS } from '../../engine/subscription/charges.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { checkSkip, SkipIn, skipOut, skippedAnswer } from '../billing-run/skip-wire.ts'
import { skipDue } from './change.ts'
import type { Subscription } from './queries.ts'
import { loadSubscription, recordSubscriptionEvent, subscriptionKind } from './record.ts'
import { subscriptionEtag } from './wire.ts'

const SkippedOut = skipOut(CHARGE_KINDS, 'Skipped', 'What kind of charge is skipped.')

/** Declares billing what is due at 0.00: the way out where it cannot be billed, and the usage is as it should be. */
export const skipOperation = (): Operation =>
  writeOperation({
    id: 'skipSubscription',
    method: 'POST',
    path: '/v1/subscriptions/{subscriptionID}/skip',
    tag: 'Subscriptions',
    summary: 'Count what is due on a subscription up to a day as billed at 0.00, also where it cannot be billed',
    body: SkipIn,
    success: { status: 201, schema: SkippedOut.schema, headers: ['Perennial-Warning'] },
    record: subscriptionKind.editing.record,
    etag: subscriptionEtag,
    references: async (_tx, context, { body }, problems) => checkSkip(body, context, problems),
    write: async (tx, context, { body }, s: Subscription) => {
      const { skipped, isBilled } = await skipDue(tx, context, s, body.Until)
      if (skipped.length > 0) {
        const changed = await loadSubscription(tx, s.id)
        await recordSubscriptionEvent(tx, context, 'subscription.skipped', changed, body.Reason)
      }
      return skippedAnswer(SkippedOut, context, skipped, isBilled)
    },
  })
