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

/** The record of the event `p.id` of a row. */
export const RECORD_OF_EVENT = fragment`
  s.records -> case when jsonb_array_length(s.records) = 1 then 0 else (p.id - s.first_event_id)::integer end`

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
