import type { AccountId } from '../../kernel/ids.ts'
import { type Fragment, fragment, namesOf } from '../../platform/database/sql.ts'

/**
 * The parts of statements that find an event in a row of `issued_events`, where those of invoices that are issued together are, by its place
 * (decision 29). A row is called `s`.
 */

/** Most events of a row, so that a reader of one knows how far back its row can begin. */
export const EVENTS_MAX = 256

export const ISSUED = fragment`'invoice.issued'`

/** The invoice of the event `p.id` of a row. */
export const INVOICE_OF_EVENT = fragment`s.first_invoice_id + (p.id - s.first_event_id)`

/** Place of the event `p.id` in its row, counted from 1. */
const PLACE_OF_EVENT = fragment`(p.id - s.first_event_id)::integer + 1`

/** The record of the event `p.id` of a row: what it has in common with others, and its own method and order number. */
export const RECORD_OF_EVENT = fragment`
  (s.records -> case when s.places is not null then s.places[${PLACE_OF_EVENT}]::integer
                     when jsonb_array_length(s.records) = 1 then 0 else (p.id - s.first_event_id)::integer end)
    || case when s.method_ids[${PLACE_OF_EVENT}] is null then '{}' else jsonb_build_object('customerPaymentMethodID', s.method_ids[${PLACE_OF_EVENT}]) end
    || case when s.po_numbers[${PLACE_OF_EVENT}] is null then '{}' else jsonb_build_object('poNumber', s.po_numbers[${PLACE_OF_EVENT}]) end`

/** Returns the condition that a row has an event. */
export const holdsEvent = (account: AccountId, row: string, id: Fragment): Fragment => {
  const s = namesOf(row)
  return fragment`
    ${s}.account_id = ${account} and ${s}.first_event_id <= ${id} and ${s}.first_event_id > ${id} - ${EVENTS_MAX} and ${s}.last_event_id >= ${id}`
}

/** Returns the condition that a row has the event of an invoice. */
export const holdsInvoice = (account: AccountId, id: Fragment): Fragment => fragment`
  s.account_id = ${account} and s.first_invoice_id <= ${id} and s.first_invoice_id > ${id} - ${EVENTS_MAX}
    and ${id} - s.first_invoice_id <= s.last_event_id - s.first_event_id`
