import { CHARGE_KINDS } from '../../engine/subscription/charges.ts'
import { addDays } from '../../kernel/calendar.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { date, longText } from '../../platform/wire/fields.ts'
import { objectOf, required } from '../../platform/wire/read.ts'
import { orNull, outDate, outList, outObject, outWord } from '../../platform/wire/write.ts'
import { skipDue } from './failing.ts'
import type { Subscription } from './queries.ts'
import { loadSubscription, recordSubscriptionEvent, subscriptionKind } from './record.ts'
import { subscriptionEtag } from './wire.ts'

const SkipIn = objectOf({ Until: required(date()), Reason: required(longText()) }, { name: 'Skip' })

const SkippedOut = outObject(
  {
    Skipped: outList(
      outObject({
        Kind: outWord(CHARGE_KINDS),
        From: orNull(outDate('Calendar date; null for fees')),
        To: orNull(outDate('Last day; null for fees')),
      }),
    ),
  },
  'Skipped',
)

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
    references: async (_tx, context, { body }, problems) => {
      const { today } = context.moment
      if (body.Until && body.Until > today)
        problems.add('date_future', 'Until', `Until ${body.Until} lies in the future; today is ${today}.`)
    },
    write: async (tx, context, { body }, s: Subscription) => {
      const { skipped, isBilled } = await skipDue(tx, context, s, body.Until)
      if (skipped.length > 0) {
        const changed = await loadSubscription(tx, s.id)
        await recordSubscriptionEvent(tx, context, 'subscription.skipped', changed, body.Reason)
      }
      const shown = (day: string | null) => (day === null ? null : dateWithOffset(day, context.account.timeZone))
      const wire = skipped.map(({ kind, from, until }) => ({
        Kind: kind,
        From: shown(from),
        To: shown(until === null ? null : addDays(until, -1)),
      }))
      return {
        status: 201,
        body: SkippedOut.write({ Skipped: wire }),
        ...(isBilled ? {} : { headers: { 'perennial-warning': 'billing_failed' } }),
      }
    },
  })
