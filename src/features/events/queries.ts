import type { Instant } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { column, sql } from '../../platform/database/sql.ts'

/** One change: type `<resource>.<past tense>`, the record as it was at commit, who did it and why. */
export interface NewEvent {
  type: EventType
  recordId: Id
  customerId: Id | null
  happenedAt: Instant
  actor: string
  reason: string | null
  /** JSON text of the record; null where the record's own rows are frozen. */
  record: string | null
}

/** Every type of event there is; docs/events.md lists them with their records, and a test keeps both equal. */
export const EVENT_TYPES = [
  'account.created',
  'account.updated',
  'account.logo_changed',
  'account.clock_moved',
  'account.invoice_number_raised',
  'api_key.created',
  'api_key.revoked',
  'currency.added',
  'currency.deleted',
  'tax_setting.created',
  'tax_setting.updated',
  'tax_setting.deleted',
  'customer.created',
  'customer.updated',
  'customer.archived',
  'customer.reopened',
  'customer.suspended',
  'customer.unsuspended',
  'customer.deleted',
  'customer.anonymised',
  'customer_contact.created',
  'customer_contact.updated',
  'customer_contact.deleted',
  'customer_note.created',
  'customer_note.updated',
  'customer_note.deleted',
  'custom_field.created',
  'custom_field.deleted',
  'package_group.created',
  'package_group.updated',
  'package_group.deleted',
  'package.created',
  'package.updated',
  'package.deleted',
  'package_version.created',
  'package_version.updated',
  'package_version.deleted',
  'component.created',
  'component.updated',
  'component.deleted',
  'component_version.created',
  'component_version.updated',
  'component_version.deleted',
  'subscription.created',
  'subscription.cancellation_scheduled',
  'subscription.future_changes_dropped',
  'subscription.cancelled',
  'subscription.expired',
  'invoice.issued',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** Writes events, one or thousands, in the transaction of the changes they tell of. */
export const insertEvents = (tx: Transaction, events: readonly NewEvent[]) =>
  tx.rows(sql`
    insert into events (account_id, type, record_id, customer_id, happened_at, actor, reason, record)
    select ${tx.account}, * from unnest(
      ${column(events, 'type')}::text[], ${column(events, 'recordId')}::bigint[], ${column(events, 'customerId')}::bigint[],
      ${column(events, 'happenedAt')}::timestamptz[], ${column(events, 'actor')}::text[], ${column(events, 'reason')}::text[],
      ${column(events, 'record')}::jsonb[])`)
