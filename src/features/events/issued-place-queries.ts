import type { AccountId } from '../../kernel/ids.ts'
import { type Fragment, fragment } from '../../platform/database/sql.ts'
import { EVENTS } from './packed.ts'

/**
 * The parts of statements that find an event in a row of `event_packs`, where those of invoices that are issued together are, by its place
 * (decision 29), and those of mails with invoices that are queued together (decision 45). A row is called `s`.
 */

/** The types of events that share rows. */
export const SHARED_TYPES = ['invoice.issued', 'invoice.mail_queued'] as const
export type SharedType = (typeof SHARED_TYPES)[number]

/** The type of the events of a row. */
export const TYPE_OF_ROW = fragment`case when s.mailed is null then 'invoice.issued' else 'invoice.mail_queued' end`

/** Returns the condition that the events of a row are of a type; null: of any. */
export const rowsOf = (type: SharedType | null): Fragment => {
  if (type === null) return fragment`true`
  return type === 'invoice.issued' ? fragment`s.mailed is null` : fragment`s.mailed is not null`
}

/** Returns the invoice of an event of a row. */
export const invoiceOfEvent = (id: Fragment): Fragment =>
  fragment`s.first_invoice_id + coalesce(s.mailed[(${id} - s.first_event_id)::integer + 1], ${id} - s.first_event_id)`

/** Place of the event `p.id` in its row, counted from 1. */
const PLACE_OF_EVENT = fragment`(p.id - s.first_event_id)::integer + 1`

/** The record of the event `p.id` of a row: what it has in common with others, and its own method and order number; of a mail its invoice. */
export const RECORD_OF_EVENT = fragment`
  case when s.mailed is not null then jsonb_build_object('invoiceID', ${invoiceOfEvent(fragment`p.id`)}) else
  (s.records -> coalesce(s.record_index[${PLACE_OF_EVENT}], 0))
    || case when s.method_ids[${PLACE_OF_EVENT}] is null then '{}' else jsonb_build_object('customerPaymentMethodID', s.method_ids[${PLACE_OF_EVENT}]) end
    || case when s.po_numbers[${PLACE_OF_EVENT}] is null then '{}' else jsonb_build_object('poNumber', s.po_numbers[${PLACE_OF_EVENT}]) end end`

/** Returns what finds the events of an invoice in rows of a type, each as its `id` and the `first` and time of its row. */
export const eventsOfInvoice = (account: AccountId, type: SharedType | null, invoice: Fragment): Fragment => {
  const issued = fragment`
    select s.first_event_id + (${invoice} - s.first_invoice_id) as id, s.first_event_id as first, s.happened_at from event_packs s
     where s.account_id = ${account} and s.mailed is null and ${EVENTS.mayHaveMember('s', invoice)}
       and ${invoice} - s.first_invoice_id <= s.last_event_id - s.first_event_id`
  const mailed = fragment`
    select s.first_event_id + array_position(s.mailed, (${invoice} & ${EVENTS.maxIds - 1})::smallint) - 1 as id, s.first_event_id as first, s.happened_at from event_packs s
     where s.account_id = ${account} and s.mailed is not null and s.first_invoice_id = ${invoice} - (${invoice} & ${EVENTS.maxIds - 1})
       and (${invoice} & ${EVENTS.maxIds - 1})::smallint = any (s.mailed)`
  if (type === null) return fragment`${issued} union all ${mailed}`
  return type === 'invoice.issued' ? issued : mailed
}
