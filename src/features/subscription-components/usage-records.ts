import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { listSharedRecords, type SharedReports } from './usage-batch-queries.ts'
import { USAGE_TEXTS } from './wire.ts'

/** Returns the JSON text of events of usage whose reports share rows, by event; an event whose row is not there has none. */
export async function writeUsageRecords(
  db: Queryable,
  account: AccountId,
  events: readonly (SharedReports & { eventId: Id })[],
): Promise<Map<Id, string>> {
  const found = await listSharedRecords(db, account, events, USAGE_TEXTS)
  const nameOf = ({ firstUsageId, subscriptionId }: SharedReports) => `${firstUsageId}/${subscriptionId}`
  const texts = new Map(found.map((one) => [nameOf(one), one.record]))
  return new Map(
    events.flatMap((event) => {
      const text = texts.get(nameOf(event))
      return text === undefined ? [] : [[event.eventId, text] as const]
    }),
  )
}
