import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { ReadableKind } from '../../platform/http/record.ts'
import { sendEvents } from './queries.ts'
import type { EventType } from './types.ts'

/** Records one change made by a request. `record` is the JSON text of the record as it now is. */
export async function recordEvent(
  tx: Transaction,
  context: RequestContext,
  event: { type: EventType; recordId: Id; customerId?: Id | null; record: string; reason?: string | null },
): Promise<void> {
  const { type, recordId, record } = event
  sendEvents(tx, [
    {
      type,
      recordId,
      record,
      customerId: event.customerId ?? null,
      reason: event.reason ?? null,
      happenedAt: context.moment.now,
      actor: context.actor,
    },
  ])
}

/**
 * Records that a declared record was added, changed or deleted, with its fields as they now are. Returns their JSON text, which an answer
 * may carry as well.
 */
export async function recordChange<Row, Code extends string>(
  tx: Transaction,
  context: RequestContext,
  kind: Pick<ReadableKind<Row, Code>, 'write' | 'idOf'>,
  change: { type: EventType & `${Code}.${string}`; row: Row; customerId?: Id; reason?: string | null },
): Promise<string> {
  const record = kind.write(change.row, context)
  await recordEvent(tx, context, { ...change, recordId: kind.idOf(change.row), record })
  return record
}
