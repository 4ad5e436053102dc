import type { Instant } from '../../kernel/calendar.ts'
import { assert } from '../../kernel/assert.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { bigints } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, type Fragment, fragment, namesOf, NOTHING, sql } from '../../platform/database/sql.ts'
import { EVENTS } from './packed.ts'
import { EVENT_TYPES, type EventType } from './types.ts'

/**
 * Records that were changed since an instant, by their events and by notes of changes that have no event of their own (decision 27). The clock is that of
 * the database, in real time.
 */

const RECORD_TYPES = [
  'customer',
  'subscription',
  'invoice',
  'recurring_invoice',
  'package',
  'component',
  'payment',
  'credit_note',
] as const

/** A kind of record whose list can be asked for what was updated. */
export type UpdatedType = (typeof RECORD_TYPES)[number]

/** Events after which a record reads as before: something was sent, tried or billed. */
const LEAVE_IT: readonly EventType[] = [
  'customer.reminder_queued',
  'payment.receipt_queued',
  'invoice.debit_unannounced',
  'invoice.link_revoked',
  'subscription.billing_failed',
  'subscription.billing_recovered',
  'recurring_invoice.billing_failed',
  'recurring_invoice.billing_recovered',
]

const typesOf = (recordType: UpdatedType): EventType[] =>
  EVENT_TYPES.filter((type) => type.startsWith(`${recordType}.`) && !LEAVE_IT.includes(type))

/** Events that update a record by those of its type, and by those that bear its identifier though they are another record's. */
const EVENTS_OF: Readonly<Record<UpdatedType, string>> = Object.fromEntries(
  RECORD_TYPES.map((recordType) => {
    const others: EventType[] = recordType === 'subscription' ? ['usage.recorded'] : []
    return [recordType, arrayLiteral([...typesOf(recordType), ...others])]
  }),
) as Record<UpdatedType, string>

/** Events that show in the customer whom they belong to: their primary payment method. */
const METHOD_EVENTS = arrayLiteral(EVENT_TYPES.filter((type) => type.startsWith('payment_method.')))

// Read once, before the list: few against many, whatever else the list is filtered by.
const updated = (account: AccountId, recordType: UpdatedType, since: Instant): Fragment => fragment`
  select e.record_id from ${namesOf(recordType === 'invoice' ? EVENTS.list : EVENTS.rows)} e
   where e.account_id = ${account} and e.type = any(${EVENTS_OF[recordType]}::text[]) and e.recorded_at >= ${since}
  union
  select n.record_id from record_changes n
   where n.account_id = ${account} and n.record_type = ${recordType} and n.changed_at >= ${since}
  ${
    recordType === 'customer'
      ? fragment`union
  select e.customer_id from event_rows e
   where e.account_id = ${account} and e.type = any(${METHOD_EVENTS}::text[]) and e.recorded_at >= ${since}`
      : NOTHING
  }`

/** Returns the condition that a record was changed at an instant or later; `id` is its column as it stands in the code. */
export const onlyUpdated = (
  account: AccountId,
  recordType: UpdatedType,
  id: string,
  since: Instant | null | undefined,
): Fragment =>
  since == null ? NOTHING : fragment`and ${namesOf(id)} = any(array(${updated(account, recordType, since)}))`

/** Returns the end of a statement that notes the change of the records whose identifiers its part `changed` returns as `id`. */
export const notingChanged = (account: AccountId, recordType: UpdatedType): Fragment => fragment`
  insert into record_changes (account_id, record_type, record_id) select ${account}, ${recordType}, id from changed`

/** Notes that records were changed which no event is written of, without waiting. */
export const sendChanged = (tx: Transaction, recordType: UpdatedType, ids: readonly Id[]): void => {
  assert(ids.length > 0, 'something was changed')
  tx.send(sql`
    insert into record_changes (account_id, record_type, record_id)
    select ${tx.account}, ${recordType}, * from unnest(${bigints(
      ids.map((id) => ({ id })),
      'id',
    )}::bigint[])`)
}
